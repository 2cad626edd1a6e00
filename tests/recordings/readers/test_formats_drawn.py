"""Files of other formats as devices and libraries write them, right and not quite right: drawn, with a known ECG."""

from itertools import count
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from beatwire.recordings import NO_VALUE, read_recording
from dicom_files import write_dicom
from draws import draws
from edf_files import Raw, record_times, write_raw_edf
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sources import message_of

pytest.importorskip("edfio", reason="needs edfio (pip install 'beatwire[formats]')")
pytest.importorskip("pydicom", reason="needs pydicom (pip install 'beatwire[formats]')")

NUMBER = count()
SIZES = {"SS": 16, "US": 16, "SB": 8, "UB": 8, "SL": 32, "UL": 32}
OF_ECG = st.sampled_from(["ECG", "EKG1-EKG2", "ECG II", "V5", "Lead I", "MLII"])
OF_OTHERS = st.sampled_from([("Resp", "V"), ("Fp1-F7", "uV"), ("C3-A2", "uV"), ("SpO2", "%"), ("LOC", "uV"),
                             ("O1", "mV"), ("Status", "Boolean"), ("EMG Chin", "uV"), ("HRV", "ms")])  # fmt: skip
UNITS = {"mV": 1000.0, "MilliVol": 1000.0, "mvolt": 1000.0, "uV": 1.0, "microvol": 1.0, "\u00b5V": 1.0,
         "\u00c2\u00b5V": 1.0, "V": 1e6, "Volts": 1e6, "nV": 1e-3, "": 0.0, "adu": 0.0}  # fmt: skip

LABCHART = ("UnitName=\tmV\tV", "TopValue=\t10.0\t5.0", "BottomValue=\t-10\t-5")


def path_of(factory: pytest.TempPathFactory, ending: str = "") -> Path:
    return factory.getbasetemp() / f"drawn{next(NUMBER)}{ending}"


@settings(max_examples=draws(40), deadline=None)
@given(
    lead=OF_ECG, unit=st.sampled_from(sorted(UNITS)), others=st.lists(OF_OTHERS, max_size=4, unique=True),
    at=st.integers(0, 4), bdf=st.booleans(), fill=st.sampled_from([b" ", b"\0"]), comma=st.booleans(),
    length=st.sampled_from([None, 0, 256]), stated=st.sampled_from([None, -1, 1, 3]),
    date=st.sampled_from(["", "01.01.85", "XX.XX.XX", "32.13.99"]), seed=st.integers(0, 99),
)  # fmt: skip
def test_the_ecg_of_an_edf_file_is_found_beside_other_signals_whatever_its_unit_and_its_header(
    lead: str, unit: str, others: list[tuple[str, str]], at: int, bdf: bool, fill: bytes, comma: bool,
    length: int | None, stated: int | None, date: str, seed: int, tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    path = path_of(tmp_path_factory, ".edf")
    rng = np.random.default_rng(seed)
    digital = rng.integers(-3000, 3000, 4 * 250)
    physical = ("-3276,8", "3276,7") if comma else ("-3276.8", "3276.7")
    signals = [Raw(label, of, rng.integers(-3000, 3000, 4 * 100)) for label, of in others]
    signals.insert(at % (len(signals) + 1), Raw(lead, unit, digital, physical))
    header = {"length": length, "stated": stated}
    write_raw_edf(path, signals, 4, bdf=bdf, fill=fill, date=date, **{k: v for k, v in header.items() if v is not None})
    recording = read_recording(path, lead="all")
    assert (recording.leads, recording.rate_hz, recording.samples.shape) == ((lead,), 250, (1, 1000))
    uv = UNITS[unit]
    assert recording.uv_per_unit == pytest.approx(0.1 * uv)
    assert np.array_equal(recording.samples[0], digital)
    said = {None: "", 1: "header states 1 data records", 3: "header states 3 data", -1: "no length: it holds 4 s"}[
        stated
    ]
    assert said in " ".join(recording.notes)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({"stated": ""}, "r.edf: expected the number of its data records in its header; got b'        '"),
        ({"seconds": "one"}, "r.edf: expected the duration of its data records in its header; got b'one     '"),
        ({"seconds": 0}, "r.edf: expected a duration of its data records above 0 s; got 0 s"),
        ({"stated": 5}, "r.edf: expected 5 data records of 1 s; got 4"),
    ],
)
def test_a_header_without_what_is_needed_is_one_error(tmp_path: Path, header: dict[str, object], message: str) -> None:
    write_raw_edf(tmp_path / "r.edf", [Raw("ECG", "mV", np.arange(1000))], 4, **header)
    assert message_of(tmp_path / "r.edf") == message


@settings(max_examples=draws(40), deadline=None)
@example(rates=[50, 128], gaps=[0.0, 0.0, 1.0, 0.0, 0.0], seconds=1)
@given(
    rates=st.lists(st.sampled_from([50, 100, 125, 128, 200, 250, 256, 500, 1000]), min_size=2, max_size=3, unique=True),
    gaps=st.lists(st.sampled_from([0.0]) | st.floats(0.002, 7.0), min_size=2, max_size=7),
    seconds=st.sampled_from([1, 2, 4]),
)
def test_leads_of_different_rates_are_at_the_same_time_behind_each_gap_and_end_together(
    rates: list[int], gaps: list[float], seconds: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path, n = path_of(tmp_path_factory, ".edf"), len(gaps) + 1
    onsets = [round(k * seconds + sum(gaps[:k]), 6) for k in range(n)]
    ramps = [  # each sample has its time within the data records, in milliseconds
        Raw(f"ECG {rate}", "uV", np.rint(np.arange(n * seconds * rate) * 1000 / rate).astype(int), ("-32768", "32767"))
        for rate in rates
    ]
    write_raw_edf(path, [*ramps, record_times(onsets)], n, seconds=seconds, kind="EDF+D")
    recording, fast, slow = read_recording(path, lead="all"), max(rates), min(rates)
    values = np.where(recording.samples == -32768, np.nan, recording.samples * recording.uv_per_unit)
    fastest = values[rates.index(fast)]
    assert (recording.rate_hz, np.isfinite(fastest[-1])) == (fast, True)
    assert (np.isnan(values) == np.isnan(fastest)).all()
    inner = np.isfinite(fastest)
    for onset, gap in zip([*onsets[1:], values.shape[1] / fast], [*gaps, 0.0], strict=True):  # the last sample lasts
        inner[max(0, round((onset - gap) * fast) - fast // slow - 2) : round(onset * fast) + 1] = False
    np.testing.assert_allclose(values[:, inner], np.tile(fastest[inner], (len(rates), 1)), atol=2.0)
    assert read_recording(path, column=f"ECG {slow}").rate_hz == slow


@pytest.mark.parametrize("field", [b"10.0", b"nan", b"inf", b"1e1"])
def test_a_number_of_data_records_that_is_not_whole_is_one_error(field: bytes, tmp_path: Path) -> None:
    path = tmp_path / "r.edf"
    write_raw_edf(path, [Raw("ECG", "mV", np.arange(1000))], 4)
    content = path.read_bytes()
    path.write_bytes(content[:236] + field.ljust(8) + content[244:])
    got = repr(field.ljust(8))
    assert message_of(path) == f"r.edf: expected the number of its data records in its header; got {got}"
    path.write_bytes(content[:252] + b"0   " + content[256:])
    assert message_of(path) == ("r.edf: expected an EDF or BDF file; got: b'0   ' signals, by its header")


@settings(max_examples=draws(20), deadline=None)
@given(
    letter=st.sampled_from("FCTPO"), number=st.integers(7, 20) | st.just(1), other=st.sampled_from(["", "Resp", "A"]),
    end=st.sampled_from(["-REF", ":Ref", "-Avg", "-LE", ""]),
)  # fmt: skip
def test_a_signal_with_the_short_name_of_an_electrode_is_a_lead_where_no_other_remains(
    letter: str, number: int, end: str, other: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path, name = path_of(tmp_path_factory, ".edf"), f"{letter}{number}{end}"
    rng = np.random.default_rng(number)
    signals = [Raw(label, "mV", rng.integers(-3000, 3000, 1000)) for label in (name, other) if label]
    write_raw_edf(path, signals, 4)
    is_taken = other == "A" and name != "C1"
    recording = read_recording(path)
    both = ("C1", "A") if other == "A" else (name,)  # C1 is a lead of the chest as well
    assert recording.leads == (("A",) if is_taken else both if name == "C1" else (name,))
    said = f"named like electrodes of the head, read as ECG: {name}"
    assert (said in recording.notes) == (not is_taken and name != "C1")


def test_of_signals_of_the_head_none_is_a_lead(tmp_path: Path) -> None:
    signals = [Raw(label, "uV", np.arange(800)) for label in ("Fp1", "C4-M1", "E1-M2", "ROC", "F7")]
    write_raw_edf(tmp_path / "r.edf", signals, 4)
    assert message_of(tmp_path / "r.edf").startswith("r.edf: expected a lead in volts; got Fp1, C4-M1, E1-M2, ROC, F7")
    assert read_recording(tmp_path / "r.edf", column="Fp1").leads == ("Fp1",)


@settings(max_examples=draws(40), deadline=None)
@given(
    stored=st.sampled_from(sorted(SIZES)), big=st.booleans(), has_padding=st.booleans(), channels=st.integers(1, 3),
    unit=st.sampled_from(["uV", "mV"]), seed=st.integers(0, 99),
    name=st.sampled_from(["Lead {} (Einthoven)", "{}, augmented", "MDC_ECG_LEAD_{}"]),
)  # fmt: skip
def test_samples_of_a_dicom_waveform_are_read_in_every_encoding_and_order_of_bytes(
    stored: str, big: bool, has_padding: bool, channels: int, unit: str, name: str, seed: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    path = path_of(tmp_path_factory, ".dcm")
    bits = SIZES[stored]
    least = 0 if stored[0] == "U" else -(2 ** (bits - 1))
    middle = 2 ** (bits - 1) if stored[0] == "U" else 0
    half = min(2 ** (bits - 1) - 2, 9000)
    values = middle + np.random.default_rng(seed).integers(-half, half, (channels, 501))
    if has_padding:
        values[:, 100:120] = least
    sensitivity = 0.5 if unit == "uV" else 0.0005
    rows = [(name.format(f"V{k + 1}"), sensitivity, unit, -middle * sensitivity, values[k]) for k in range(channels)]
    write_dicom(path, [
        {"rate_hz": 250, "stored": stored, "bits": bits, "padding": least if has_padding else None, "channels": rows}
    ], big=big)  # fmt: skip
    recording = read_recording(path, lead="all")
    assert recording.leads == tuple(f"V{k + 1}" for k in range(channels))
    expected = np.where(has_padding & (values == least), NO_VALUE, values - middle)
    assert recording.uv_per_unit == pytest.approx(0.5)
    assert np.array_equal(recording.samples, expected)


def test_channels_of_one_name_are_two_leads_and_samples_that_cannot_be_read_are_one_error(tmp_path: Path) -> None:
    path, rows = tmp_path / "w.dcm", [("ECG", 1, "uV", 0, np.arange(500)), ("ECG", 1, "uV", 0, -np.arange(500))]
    write_dicom(path, [{"rate_hz": 250, "channels": rows}])
    assert read_recording(path, lead="all").leads == ("ECG", "ECG.1")
    write_dicom(path, [{"rate_hz": 250, "channels": rows, "cut": 10}])
    assert message_of(path) == "w.dcm: expected 2000 bytes (500 samples of 2 channels in group 0); got 1990"
    write_dicom(path, [{"rate_hz": 250, "bits": 8, "stored": "MB", "channels": rows}])
    assert message_of(path) == "w.dcm: expected samples on a linear scale; got those of the mu-law (MB)"


@pytest.mark.parametrize("kind", ["M8[ns]", "M8[ms]", "m8[us]"])
def test_dates_in_an_npz_file_are_its_clock_and_show_its_gaps(kind: str, tmp_path: Path) -> None:
    mv = np.random.default_rng(1).uniform(-1, 1, 500)
    ms = np.arange(500) * 4
    ms[300:] += 2000
    times = (ms.astype("m8[ms]") if kind[0] == "m" else ms.astype("m8[ms]") + np.datetime64("2024-05-01")).astype(kind)
    np.savez(tmp_path / "x.npz", x=times, II=mv, V5=-mv)
    recording = read_recording(tmp_path / "x.npz")
    assert (recording.leads, recording.rate_hz, recording.samples.shape) == (("II", "V5"), 250, (2, 1000))
    assert (recording.samples[:, 300:800] == NO_VALUE).all()


def test_a_rate_may_be_a_text_or_an_interval_and_one_of_two_is_that_of_the_ecg(tmp_path: Path) -> None:
    path, mv = tmp_path / "x.npz", np.random.default_rng(1).uniform(-1, 1, 500)
    for stated in ({"fs": "250"}, {"fs": "250 Hz"}, {"dt": 0.004}, {"sampling_interval": 0.004}):
        np.savez(path, ecg=mv, **stated)
        assert read_recording(path).rate_hz == 250
    np.savez(path, ecg=mv, ppg=mv[::2], ecg_fs=250, ppg_fs=125, notes=np.array([{}], object))
    assert read_recording(path).rate_hz == 250
    np.savez(path, ecg=mv, fs=250, Fs=500)
    assert message_of(path) == (
        "x.npz: expected one sampling rate; got 250 Hz by its 'fs', 500 Hz by its 'Fs': give --fs"
    )
    assert read_recording(path, fs=500).rate_hz == 500
    np.savez(path, ecg=mv, ts=0.01)
    assert "expected a sampling rate" in message_of(path)
    assert read_recording(path, fs=250).rate_hz == 250
    np.savez(path, note="none", fs=250)
    assert message_of(path) == "x.npz: expected an array of numbers; got 'note' (text), 'fs' (a number)"


@pytest.mark.parametrize("name", ["dt", "Dt", "interval", "sampling_interval", "sample_period", "delta_t"])
def test_a_rate_that_is_given_comes_before_an_interval_that_a_file_states(name: str, tmp_path: Path) -> None:
    mv = np.random.default_rng(1).uniform(-1, 1, 500)
    np.savez(tmp_path / "x.npz", ecg=mv, **{name: 0.01})
    assert read_recording(tmp_path / "x.npz").rate_hz == 100
    recording = read_recording(tmp_path / "x.npz", fs=250)
    assert recording.rate_hz == 250
    assert recording.notes[0] == f"rate: 250 Hz, as given; its {name!r} would be 100 Hz"


@settings(max_examples=draws(25), deadline=None)
@given(
    kind=st.sampled_from(["M8[ns]", "M8[ms]", "M8[D]", "M8[Y]", "m8[us]", "m8"]), length=st.sampled_from([3, 400, 900]),
    fault=st.sampled_from(["NaT", "falls", "all one"]), name=st.sampled_from(["x", "date", "ecg_time", "II"]),
    signal=st.sampled_from(["sig", "data", "ecg"]), leads=st.integers(1, 3),
)  # fmt: skip
def test_dates_that_are_no_clock_of_the_samples_are_left_out(
    kind: str, length: int, fault: str, name: str, signal: str, leads: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = path_of(tmp_path_factory, ".npz")
    times = (np.arange(length) * 4 % (length if fault == "falls" else 10**6)).astype("i8").astype(kind)
    if fault == "NaT":
        times[length // 2] = "NaT"
    elif fault == "all one":
        times[:] = times[0]
    mv = np.random.default_rng(1).uniform(-1, 1, (leads, 400))
    np.savez(path, **{name: times, signal: mv if leads > 1 else mv[0]})
    recording = read_recording(path, fs=250)
    assert (recording.rate_hz, recording.samples.shape) == (250, (leads, 400))
    assert recording.notes[0] == f"left out: {name!r} (times, but not one a sample that rises)"


def test_the_cells_of_a_matlab_file_are_leads_and_a_later_version_than_its_header_says_is_refused(
    tmp_path: Path,
) -> None:
    mv = np.random.default_rng(1).uniform(-1, 1, (3, 500))
    cells = np.empty(3, object)
    cells[:] = list(mv)
    scipy.io.savemat(tmp_path / "x.mat", {"ECG": cells, "fs": 250})
    recording = read_recording(tmp_path / "x.mat")
    assert np.abs(recording.samples * recording.uv_per_unit / 1000 - mv).max() <= 0.0006
    scipy.io.savemat(tmp_path / "A1.mat", {"val": np.rint(mv * 1000).astype(np.int16)})
    (tmp_path / "A1.hea").write_text("A1 3 250 500\n" + 3 * "A1.mat 16+24 1000/mV 16 0 0 0 0 II\n")
    assert message_of(tmp_path / "A1") == (
        "A1.mat: expected samples from byte 24, as its header says; got a file of MATLAB 5 or later: save it with "
        "version 4"
    )


@settings(max_examples=draws(20), deadline=None)
@given(
    stem=st.sampled_from(["aVR", "aVL", "aVF", "V1", "MLII", "III"]),
    tail=st.sampled_from(["_mV", " (mV)", "_uV", "-mV", "_raw"]),
)
def test_a_lead_with_a_unit_behind_its_name_is_as_good_as_any_other(
    stem: str, tail: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = path_of(tmp_path_factory, ".csv")
    mv = np.random.default_rng(2).uniform(-1, 1, (400, 2)).round(4)
    np.savetxt(path, mv, delimiter=",", header=f"I{tail},{stem}{tail}", comments="", fmt="%.4f")
    assert len(read_recording(path, fs=250).leads) == 2


@settings(max_examples=draws(25), deadline=None)
@given(
    keys=st.sampled_from([(), LABCHART[:1], LABCHART]),
    remarks=st.sets(st.integers(0, 399), max_size=4), ends=st.sampled_from(["#* start", "#1 end, of test", "#"]),
)  # fmt: skip
def test_the_keys_and_the_remarks_of_labchart_are_no_samples(
    keys: tuple[str, ...], remarks: set[int], ends: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = path_of(tmp_path_factory, ".txt")
    mv = np.random.default_rng(3).uniform(-1, 1, 400).round(4)
    head = ["Interval=\t4 ms", "ChannelTitle=\tECG\tResp", "Range=\t10.000 mV\t5.000 V", *keys]
    rows = [f"{k / 250:.4f}\t{v:.4f}\t{k % 7}" + (f"\t{ends}" if k in remarks else "") for k, v in enumerate(mv)]
    path.write_text("\n".join([*head, *rows]) + "\n")
    recording = read_recording(path)
    assert (recording.leads, recording.rate_hz, recording.samples.shape) == (("ECG",), 250, (1, 400))
    assert np.abs(recording.samples[0] * recording.uv_per_unit / 1000 - mv).max() < 0.0006
    path.write_text("\n".join([*head, *rows, "1.6\t0.1\t2\tx"]) + "\n")
    assert message_of(path).endswith("expected 3 columns in every line; line " + f"{len(head) + 401} has 4")
