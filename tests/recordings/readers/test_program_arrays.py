"""Arrays as LabChart, AcqKnowledge, EEGLAB and NWB hold them: the ECG of each by its name, rate, unit and place."""

import json
from itertools import count
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from beatwire.recordings import NO_VALUE, read_recording
from draws import draws
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sources import UV_PER, heart, message_of

NUMBER = count()
MV = {rate: heart(rate, 12) for rate in (200, 400, 1000)}
OTHERS = ["Resp", "BP", "Temp", "EDA"]


def _new(factory: pytest.TempPathFactory, ending: str) -> Path:
    return factory.getbasetemp() / f"program{next(NUMBER)}.{ending}"


@settings(max_examples=draws(40), deadline=None)
@given(
    rate=st.sampled_from(sorted(MV)), others=st.lists(st.sampled_from(OTHERS), max_size=3, unique=True),
    at=st.integers(0, 3), unit=st.sampled_from(["V", "mV", "uV"]), slower=st.booleans(), gap_s=st.integers(0, 50),
    cut=st.sampled_from([0, 1000, 1500]), zero=st.sampled_from([None, 0.0, -2048.0]),
)  # fmt: skip
def test_the_channels_of_labchart_lie_one_after_the_other_block_by_block(
    rate: int, others: list[str], at: int, unit: str, slower: bool, gap_s: int, cut: int, zero: float | None,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    path = _new(tmp_path_factory, "mat")
    titles = [*others[:at], "ECG", *others[at:]]
    ecg = MV[rate] * 1000 / UV_PER[unit]
    blocks = [ecg[:cut], ecg[cut:]] if cut else [ecg]
    starts, ends, rates, pieces, done = [], [], [], [], 0
    for title in titles:  # LabChart writes all blocks of a channel, or all channels of a block
        own = rate if title == "ECG" or not slower else 100
        parts = [b if title == "ECG" else np.full(len(b) * own // rate, 37.0) for b in blocks]
        pieces += parts
        edges = done + np.cumsum([0, *map(len, parts)])
        done = int(edges[-1])
        starts.append(edges[:-1] + 1.0)
        ends.append(edges[1:] + 0.0)
        rates.append([float(own)] * len(blocks))
    data = np.concatenate(pieces)
    saved: dict[str, object] = {"data": data[None]}
    if zero is None and cut:  # without a scale
        saved |= {"scaleunits": np.zeros((0, 0)), "scaleoffset": np.zeros((0, 0))}
    if zero is not None:  # in 16 bits: each channel in each block has its scale
        steps = np.array([[0.0005 * 1000 / UV_PER[unit] if title == "ECG" else 1.0] * len(blocks) for title in titles])
        counts = np.concatenate(
            [piece / step - zero for piece, step in zip(pieces, np.repeat(steps[:, :1], len(blocks)), strict=True)]
        )
        saved = {"data": np.rint(counts).astype(np.int16)[None], "scaleunits": steps, "scaleoffset": steps * 0 + zero}
    days = 738000.4 + np.array([0.0, (cut / rate + gap_s) / 86400])[: len(blocks)]
    scipy.io.savemat(path, {
        **saved, "datastart": np.array(starts), "dataend": np.array(ends),
        "samplerate": np.array(rates), "titles": np.array(titles), "unittext": np.array(["mmHg", unit]),
        "unittextmap": np.array([[2.0 if title == "ECG" else 1.0] * len(blocks) for title in titles]),
        "blocktimes": days[None], "tickrate": np.full((1, len(blocks)), float(rate)), "com": np.zeros((0, 5)),
    })  # fmt: skip
    recording = read_recording(path)
    gap = round(gap_s * rate) if cut else 0
    assert (recording.rate_hz, recording.leads) == (rate, ("ECG",))
    assert recording.samples.shape == (1, len(ecg) + gap)
    got = np.delete(recording.samples[0], np.s_[cut : cut + gap])
    assert (recording.samples[0, cut : cut + gap] == NO_VALUE).all()
    uv = got * recording.uv_per_unit
    assert np.allclose(uv - np.median(uv - MV[rate] * 1000), MV[rate] * 1000, atol=1.0)


@settings(max_examples=draws(20), deadline=None)
@given(unit=st.sampled_from(["V", "mV", "uV"]), blocks=st.integers(1, 3), chosen=st.integers(0, 2))
def test_blocks_of_the_extension_of_labchart_have_their_units_and_one_is_chosen(
    unit: str, blocks: int, chosen: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path, held = _new(tmp_path_factory, "mat"), {}
    for block in range(1, blocks + 1):
        rows = np.stack([MV[400] * 1000 / UV_PER[unit], 37 + np.sin(np.arange(len(MV[400])))])[:, : 1200 * block]
        held |= {f"data_block{block}": rows, f"titles_block{block}": np.array(["ECG", "Temp"]),
                 f"units_block{block}": np.array([unit, "C"]),
                 f"ticktimes_block{block}": np.arange(rows.shape[1])[None] / 400}  # fmt: skip
    scipy.io.savemat(path, held)
    if blocks > 1:
        got = ", ".join(f"data_block{k + 1}" for k in range(blocks))
        assert message_of(path) == f"{path.name}: expected one block; got {got}: choose with --column data_block1"
    block = chosen % blocks + 1
    recording = read_recording(path, column=f"data_block{block}" if blocks > 1 else None)
    assert (recording.leads, recording.rate_hz, recording.samples.shape) == (("ECG",), 400, (1, 1200 * block))
    assert np.allclose(recording.samples[0] * recording.uv_per_unit, MV[400][: 1200 * block] * 1000, atol=1.0)


@settings(max_examples=draws(15), deadline=None)
@given(
    step=st.sampled_from([0.0, np.nan, np.inf, 0.0005]), zero=st.sampled_from([0.0, np.nan, -2048.0]),
    other=st.sampled_from([0.0, 1.0]),
)  # fmt: skip
def test_a_scale_of_labchart_that_is_none_is_said_for_a_lead_in_volts(
    step: float, zero: float, other: float, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path, counts = _new(tmp_path_factory, "mat"), np.rint(MV[200] / 0.0005).astype(np.int16)
    scipy.io.savemat(path, {
        "data": np.concatenate([counts, counts])[None], "datastart": np.array([[1.0], [1.0 + len(counts)]]),
        "dataend": np.array([[1.0 * len(counts)], [2.0 * len(counts)]]), "samplerate": np.full((2, 1), 200.0),
        "titles": np.array(["ECG", "Temp"]), "unittext": np.array(["mV", "C"]), "unittextmap": np.array([[1.0], [2.0]]),
        "scaleunits": np.array([[step], [other]]), "scaleoffset": np.array([[zero], [0.0]]),
    })  # fmt: skip
    recording = read_recording(path)
    is_known = step == 0.0005 and np.isfinite(zero)
    got = recording.samples[0] * (recording.uv_per_unit or 0.5)
    assert np.allclose(got - np.median(got - MV[200] * 1000), MV[200] * 1000, atol=1.0)
    said = f"ECG: expected numbers as its scale, not 0; got {zero:g} and {step:g}: not calibrated"
    assert (recording.uv_per_unit > 0, said in recording.notes) == (is_known, not is_known)
    assert not any("Temp: " in note for note in recording.notes)


def test_an_export_of_labchart_that_contradicts_itself_is_one_error(tmp_path: Path) -> None:
    held = {"data": MV[200][None], "datastart": np.array([[1.0]]), "dataend": np.array([[9e3]]), "samplerate": 200.0}
    scipy.io.savemat(tmp_path / "x.mat", held)
    assert message_of(tmp_path / "x.mat") == (
        "x.mat: expected 9000 samples of all channels, at rates above 0; got 2400"
    )


@settings(max_examples=draws(40), deadline=None)
@given(
    others=st.lists(st.sampled_from(OTHERS), min_size=1, max_size=3, unique=True), at=st.integers(0, 3),
    names=st.sampled_from(["labels", "titles_block1", "channels", "EEG.chanlocs.labels"]), turned=st.booleans(),
    rate=st.sampled_from(["isi", "fsample", "EEG.srate"]), npz=st.booleans(),
)  # fmt: skip
def test_what_the_names_of_the_rows_call_another_quantity_is_no_lead(
    others: list[str], at: int, names: str, turned: bool, rate: str, npz: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    titles = [*others[:at], "ECG", *others[at:]]
    rng = np.random.default_rng(len(others))
    rows = np.stack([MV[400] if title == "ECG" else rng.uniform(-1, 1, len(MV[400])) for title in titles])
    stated: dict[str, object] = {"isi": 2.5, "isi_units": "ms"} if rate == "isi" else {rate.rpartition(".")[2]: 400.0}
    npz = npz and "." not in names
    if "." in names:
        places = np.array([(title,) for title in titles], [("labels", "O")])
        held = {"EEG": {"data": rows.T if turned else rows, "chanlocs": places}, **stated}
    else:
        held = {"data": rows.T if turned else rows, names: np.array(titles), **stated}
    path = _new(tmp_path_factory, "npz" if npz else "mat")
    np.savez(path, **held) if npz else scipy.io.savemat(path, held)
    recording = read_recording(path)
    assert (recording.rate_hz, recording.leads) == (400, ("ECG",))
    assert np.allclose(recording.samples[0] * recording.uv_per_unit, MV[400] * 1000, atol=1.0)


@pytest.mark.parametrize("name", ["time", "rpeaks", "hr", "resp", "PPG", "rr", "acc_x"])
def test_a_clock_or_another_quantity_alone_is_no_ecg(name: str, tmp_path: Path) -> None:
    is_clock = name in ("time", "rpeaks")
    np.savez(tmp_path / "x.npz", **{name: np.arange(4000) / 400 if is_clock else MV[400]}, fs=400)
    why = "a clock or a count" if is_clock else "another quantity, by its name: choose with --column"
    assert message_of(tmp_path / "x.npz") == f"x.npz: expected an array of ECG; got {name!r} alone ({why})"
    if not is_clock:
        assert read_recording(tmp_path / "x.npz", column=name).samples.shape == (1, len(MV[400]))
        np.save(tmp_path / f"{name}.npy", MV[400])  # what a file is called says nothing
        assert read_recording(tmp_path / f"{name}.npy", fs=400).samples.shape == (1, len(MV[400]))


@settings(max_examples=draws(20), deadline=None)
@given(
    recordings=st.integers(2, 20), leads=st.integers(2, 12), first=st.booleans(),
    beside=st.sampled_from(["y", "exam_id"]), kind=st.sampled_from(["npz", "mat", "h5"]),
)  # fmt: skip
def test_an_array_of_many_recordings_is_refused_and_what_is_beside_it_is_no_lead(
    recordings: int, leads: int, first: bool, beside: str, kind: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    shape = (recordings, 300, leads) if first else (recordings, leads, 300)
    held = {
        "tracings": np.random.default_rng(leads).uniform(-1, 1, shape),
        beside: np.arange(recordings) ** 2 % 7 + 0.5,
    }
    path = _new(tmp_path_factory, kind)
    if kind == "npz":
        np.savez(path, **held)
    elif kind == "mat":
        scipy.io.savemat(path, held)
    else:
        h5py = pytest.importorskip("h5py", reason="needs h5py (pip install 'beatwire[formats]')")
        with h5py.File(path, "w") as file:
            for name, values in held.items():
                file[name] = values
    got = f"'tracings', of the shape {list(shape)}: save one recording of it alone"
    assert message_of(path, fs=400) == f"{path.name}: expected one recording, [leads, n]; got {got}"


def test_the_samples_of_kardia_are_in_its_resolution(tmp_path: Path) -> None:
    samples = {
        "leadI": np.rint(MV[200] * 2000).astype(int).tolist(),
        "leadII": np.rint(MV[200] * 1000).astype(int).tolist(),
    }
    stated = {"frequency": 200, "mainsFrequency": 60, "amplitudeResolution": 500}
    (tmp_path / "x.json").write_text(json.dumps({"data": {"samples": samples, **stated}}))
    recording = read_recording(tmp_path / "x.json")
    assert (recording.rate_hz, recording.leads) == (200, ("leadI", "leadII"))
    assert np.allclose(recording.samples[0] * recording.uv_per_unit, MV[200] * 1000, atol=1.0)


def test_samples_of_nwb_are_multiplied_by_their_conversion(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="needs h5py (pip install 'beatwire[formats]')")
    with h5py.File(tmp_path / "x.nwb", "w") as file:
        series = file.create_group("acquisition/ECG")
        data = series.create_dataset("data", data=np.rint(MV[400] * 400).astype(np.int16))
        data.attrs["conversion"], data.attrs["unit"] = 2.5e-6, "volts"
        series.create_dataset("starting_time", data=0.0).attrs["rate"] = 400.0
    recording = read_recording(tmp_path / "x.nwb")
    assert (recording.rate_hz, recording.samples.shape) == (400, (1, len(MV[400])))
    assert np.allclose(recording.samples[0] * recording.uv_per_unit, MV[400] * 1000, atol=2.6)


@settings(max_examples=draws(40), deadline=None)
@given(
    name=st.sampled_from(["adc_gain", "gain", "resolution", "scale", "lsb_uv", "sensitivity"]),
    unit=st.sampled_from(["mV", "uV", "V"]), counts=st.booleans(),
    kind=st.sampled_from(["json", "rows", "packets", "npz", "mat"]), leads=st.integers(1, 2), differ=st.booleans(),
)  # fmt: skip
@example(name="gain", unit="mV", counts=True, kind="rows", leads=1, differ=False)
@example(name="adc_gain", unit="uV", counts=True, kind="packets", leads=2, differ=False)
def test_a_factor_beside_whole_numbers_is_used_or_said(
    name: str, unit: str, kind: str, counts: bool, leads: int, differ: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    differ = differ and leads > 1
    per_mv = 2000.0
    factor = per_mv * UV_PER[unit] / 1000 if name == "adc_gain" else 200.0
    values = np.rint(MV[200] * per_mv) if counts else MV[200] * 1000 / UV_PER[unit] + 1e-7
    held = {
        "ecg": np.stack([values] * leads) if leads > 1 else values, "fs": 200.0, "units": unit,
        name: np.array([factor, factor / 2]) if differ else factor,
    }  # fmt: skip
    path = _new(tmp_path_factory, "json" if kind in ("rows", "packets") else kind)
    if kind in ("rows", "packets"):
        table = {"t": np.arange(len(values)) / 200.0, **dict.fromkeys(("I", "II")[:leads], values)}
        step = 20 if kind == "packets" else 1
        rows = [{n: c[k : k + step].tolist() for n, c in table.items()} for k in range(0, len(values), step)]
        held["ecg"] = rows if step > 1 else [{n: c[0] for n, c in row.items()} for row in rows]
        held[name] = np.asarray(held[name]).tolist()
        path.write_text(json.dumps(held))
    elif kind == "json":
        path.write_text(json.dumps({n: v.tolist() if isinstance(v, np.ndarray) else v for n, v in held.items()}))
    elif kind == "npz":
        np.savez(path, **held)
    else:
        scipy.io.savemat(path, held)
    recording = read_recording(path)
    is_said = any(note.startswith(f"not used: its {name!r} of ") for note in recording.notes)
    if counts and name == "adc_gain" and not differ and factor != 1:
        assert np.allclose(recording.samples[0] * recording.uv_per_unit, MV[200] * 1000, atol=1.1)
    assert is_said is (counts and factor != 1 and (name != "adc_gain" or differ))
