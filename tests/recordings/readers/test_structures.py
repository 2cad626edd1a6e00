"""An ECG in structures, among signals of other rates and lengths, with times in text: in files of arrays and JSON."""

import json
from contextlib import nullcontext, suppress
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.io
from beatwire.errors import UserError
from beatwire.recordings import as_recording, read_recording
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from mat73_files import write_mat73
from sources import heart, message_of

pytest.importorskip("h5py", reason="needs h5py (pip install 'beatwire[formats]')")

NUMBER = count()
RATE_HZ = 250.0
MV = heart(RATE_HZ, seconds=8)
T = np.arange(len(MV)) / RATE_HZ
KINDS = ("mat", "mat73", "hdf5", "json")
OF_OTHERS = st.sampled_from(["ppg", "PPG", "acc", "resp", "temp", "EDA", "ABP", "emg"])
INNER = st.sampled_from(["data", "values", "signal", "x", "samples"])


def written(factory: pytest.TempPathFactory, kind: str, held: dict[str, Any]) -> Path:
    import h5py

    path = factory.getbasetemp() / f"structure{next(NUMBER)}"

    def put(group: Any, values: dict[str, Any]) -> None:
        for name, value in values.items():
            if isinstance(value, dict):
                put(group.create_group(name), value)
            elif np.ndim(value):
                texts = {"dtype": h5py.string_dtype()} if np.asarray(value).dtype.kind in "UO" else {}
                group.create_dataset(name, data=np.asarray(value, object) if texts else value, **texts)
            else:
                group.attrs[name] = value

    if kind == "json":
        path.write_text(json.dumps(held, default=lambda array: array.tolist()))
    elif kind == "mat73":
        write_mat73(path, held)
    elif kind == "hdf5":
        with h5py.File(path, "w") as file:
            put(file, held)
    else:
        with path.open("wb") as content:
            scipy.io.savemat(content, held, appendmat=False)
    return path


@settings(max_examples=draws(40), deadline=None)
@given(
    kind=st.sampled_from(KINDS), others=st.lists(OF_OTHERS, min_size=1, max_size=3, unique_by=str.casefold),
    rates=st.lists(st.sampled_from([50.0, 125.0, 250.0, 500.0]), min_size=3, max_size=3), inner=INNER,
    outer=st.sampled_from(["", "sensors", "subject1"]), rate=st.sampled_from(["fs", "sampling_rate"]),
    ecg=st.sampled_from(["ecg", "ECG", "EKG", "lead_II"]), axes=st.integers(1, 3), alone=st.booleans(),
)  # fmt: skip
def test_of_sensors_in_structures_the_ecg_is_read_whole_at_its_own_rate(
    kind: str, others: list[str], rates: list[float], inner: str, outer: str, rate: str, ecg: str, axes: int,
    alone: bool, tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    rng = np.random.default_rng(axes)
    sensors = {
        name: {inner: rng.normal(0, 1, (axes, int(8 * hz)) if axes > 1 else int(8 * hz)), rate: hz}
        for name, hz in zip(others, rates, strict=False)
    }
    sensors |= {} if alone else {ecg: {inner: MV, rate: RATE_HZ}}
    path = written(tmp_path_factory, kind, {outer: sensors} if outer else sensors)
    if alone:
        with pytest.raises(UserError):
            read_recording(path, fs=RATE_HZ)
        return
    recording = read_recording(path)
    assert (recording.rate_hz, recording.leads) == (RATE_HZ, (ecg,))
    np.testing.assert_allclose(recording.samples[0] * recording.uv_per_unit / 1000, MV, atol=0.002)


@settings(max_examples=draws(20), deadline=None)
@given(
    kind=st.sampled_from(KINDS), outer=st.sampled_from(["rec", "subject1", "S", "patient_3"]),
    leads=st.lists(st.sampled_from(["I", "II", "V1", "ECG1", "lead_V5"]), min_size=1, max_size=3, unique=True),
    beside=st.booleans(), chosen=st.sampled_from(["", "{}", "{outer}.{}"]),
)  # fmt: skip
def test_leads_in_a_structure_have_their_own_names_whatever_it_is_called(
    kind: str, outer: str, leads: list[str], beside: bool, chosen: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    held: dict[str, Any] = {outer: {name: MV * (k + 1) for k, name in enumerate(sorted(leads))}}
    (held if beside else held[outer])["fs"] = RATE_HZ
    column = chosen.format(leads[-1], outer=outer) or None
    recording = read_recording(written(tmp_path_factory, kind, held), column=column)
    assert (recording.rate_hz, recording.leads) == (RATE_HZ, (leads[-1],) if column else tuple(sorted(leads)))


@settings(max_examples=draws(30), deadline=None)
@given(
    kind=st.sampled_from([*KINDS, "npz"]), gap=st.integers(0, 450),
    name=st.sampled_from(["t", "time", "Timestamp", "x"]),
    form=st.sampled_from(["2024-03-05T{}", "2024-03-05 {}", "{}", "2024-03-05T{}Z", "2024-03-05T{}+02:00"]),
    start=st.sampled_from([3600.0, 86397.0]), stated=st.booleans(), leads=st.integers(1, 3),
)  # fmt: skip
def test_times_in_text_beside_the_samples_show_their_gaps(
    kind: str, gap: int, name: str, form: str, start: float, stated: bool, leads: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    start = start if form == "{}" else 3600.0  # through midnight
    at = np.arange(len(MV)) + np.where(np.arange(len(MV)) < 700, 0, gap)
    clock = [divmod(round((start + k / RATE_HZ) * 1000) % 86400000, 1000) for k in at.tolist()]
    texts = [form.format(f"{s // 3600:02d}:{s // 60 % 60:02d}:{s % 60:02d}.{ms:03d}") for s, ms in clock]
    held: dict[str, Any] = {name: np.array(texts, object if kind == "mat" else None)}
    held |= dict.fromkeys(["I", "II", "V5"][:leads], MV) | ({"fs": RATE_HZ} if stated else {})
    if kind == "npz":
        path = tmp_path_factory.getbasetemp() / f"texts{next(NUMBER)}.npz"
        np.savez(path, **held)
    elif kind == "mat73" and len(texts) > 500:  # more cells are not looked at
        return
    else:
        path = written(tmp_path_factory, kind, held)
    recording = read_recording(path)
    assert (recording.rate_hz, recording.samples.shape) == (RATE_HZ, (leads, len(MV) + gap))
    assert (recording.samples[:, 700 : 700 + gap] == -32768).all()


@settings(max_examples=draws(20), deadline=None)
@given(
    kind=st.sampled_from(["npz", "frame", "mapping", "records"]), dtype=st.sampled_from([">f4", ">f8", ">i2", ">i4"]),
    beside=st.sampled_from(["", "label", "t"]),
)  # fmt: skip
def test_the_order_of_bytes_changes_nothing(
    kind: str, dtype: str, beside: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    uv = np.rint(MV * 1000)
    others = {"label": np.arange(len(uv)) % 2, "t": T}
    columns = {"II": uv.astype(dtype)} | ({beside: others[beside].astype(dtype)} if beside else {})
    columns |= {"t": T.astype(">f8")} if beside == "t" else {}
    source: Any = columns
    if kind == "npz":
        source = tmp_path_factory.getbasetemp() / f"bytes{next(NUMBER)}.npz"
        np.savez(source, **columns)
    elif kind == "frame":
        source = pd.DataFrame(columns)
    elif kind == "records":
        source = np.rec.fromarrays([*columns.values()], names=[*columns])
    recording = as_recording(source, fs=RATE_HZ, gain=1000.0)
    assert recording.leads == ("II",)
    np.testing.assert_allclose(recording.samples[0] * recording.uv_per_unit, uv, atol=2)


OF_LEADS = st.lists(st.sampled_from(["I", "II", "III", "aVR", "V1", "V2", "V5"]), min_size=1, max_size=5, unique=True)


@settings(max_examples=draws(30), deadline=None)
@given(
    leads=OF_LEADS, others=st.lists(OF_OTHERS, max_size=2, unique_by=str.casefold),
    key=st.sampled_from(["name", "lead"]), rate=st.sampled_from(["each", "beside", "differ"]),
    unit=st.sampled_from(["mV", "uV", ""]), inner=INNER,
)  # fmt: skip
def test_a_list_of_channels_by_their_names_is_one_recording(
    leads: list[str], others: list[str], key: str, rate: str, unit: str, inner: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    per = 1000 if unit == "uV" else 1
    channels: list[dict[str, Any]] = [{key: lead, inner: (MV * (k + 1) * per).tolist()} for k, lead in enumerate(leads)]
    channels += [{key: name, inner: [0.5, 0.2, 0.1] * 400} for name in others]
    for k, channel in enumerate(channels):
        channel |= {"unit": unit if k < len(leads) else "g"} if unit else {}
        channel |= {} if rate == "beside" else {"fs": RATE_HZ if k < len(leads) else 50}
    channels[0] |= {"fs": 125} if rate == "differ" else {}
    path = written(tmp_path_factory, "json", {"channels": channels} | ({"fs": 250} if rate == "beside" else {}))
    if rate == "differ" and len(leads) > 1:
        assert "expected one" in message_of(path)
        return
    recording = read_recording(path)
    assert (recording.rate_hz, recording.leads) == (125 if rate == "differ" else RATE_HZ, tuple(leads))
    expected = np.outer(np.arange(1, len(leads) + 1), MV)
    np.testing.assert_allclose(recording.samples * recording.uv_per_unit / 1000, expected, atol=0.002 * len(leads))


@settings(max_examples=draws(30), deadline=None)
@given(
    leads=st.integers(2, 12), size=st.integers(2, 30), turned=st.booleans(), named=st.booleans(),
    stated=st.sampled_from(["seq", "t"]),
)  # fmt: skip
def test_leads_and_moments_of_packets_are_not_taken_for_each_other(
    leads: int, size: int, turned: bool, named: bool, stated: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    mv = np.array([np.roll(MV, 90 * k) * (1 + k % 3) + 0.3 * k for k in range(leads)])[:, : len(MV) // size * size]
    names = ["I", "II", "III", "aVR", "aVL", "aVF", "V1", "V2", "V3", "V4", "V5", "V6"][:leads]
    packets: list[dict[str, Any]] = []
    for k in range(0, mv.shape[1], size):
        values = mv[:, k : k + size].T if turned else mv[:, k : k + size]
        packets.append({"t": k / RATE_HZ} if stated == "t" else {"seq": k // size})
        packets[-1] |= {"ecg": values.tolist()} | ({"leads": names} if named else {})
    path = written(tmp_path_factory, "json", {"fs": RATE_HZ, "unit": "mV", "packets": packets})
    with suppress(UserError) if size <= leads else nullcontext():
        recording = read_recording(path)
        assert (recording.rate_hz, len(recording.leads)) == (RATE_HZ, leads)
        np.testing.assert_allclose(recording.samples * recording.uv_per_unit / 1000, mv, atol=0.01)


@pytest.mark.parametrize("kind", KINDS)
def test_a_few_numbers_that_are_called_as_the_signal_within_a_structure_do_not_replace_it(
    tmp_path_factory: pytest.TempPathFactory, kind: str
) -> None:
    path = written(tmp_path_factory, kind, {"rec": {"ECG": MV}, "ECG": np.array([1.0, 2.0, 3.0]), "fs": RATE_HZ})
    assert read_recording(path).samples.shape == (1, len(MV))
