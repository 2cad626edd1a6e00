"""EDF, EDF+ and BDF files: each signal by its own rate, unit and range, gaps by its times, leads by their names."""

import re
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from beatwire.recordings import NO_VALUE, read_blocks, read_recording
from draws import draws
from edf_files import Raw, record_times, write_edf, write_raw_edf
from hypothesis import given, settings
from hypothesis import strategies as st
from sources import UV_PER, heart, message_of

edfio = pytest.importorskip("edfio", reason="needs edfio (pip install 'beatwire[formats]')")

NUMBER = count()


@settings(max_examples=draws(40), deadline=None)
@given(
    rates=st.lists(st.sampled_from([100, 125, 200, 250]), min_size=1, max_size=3),
    units=st.lists(st.sampled_from(["mV", "uV", "V", "adu"]), min_size=3, max_size=3),
    low=st.floats(-9, -2), high=st.floats(2, 9), turned=st.booleans(), seed=st.integers(0, 99), bdf=st.booleans(),
)  # fmt: skip
def test_each_signal_of_an_edf_file_has_its_own_rate_unit_and_range(
    rates: list[int], units: list[str], low: float, high: float, turned: bool, seed: int, bdf: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    path = tmp_path_factory.getbasetemp() / f"e{next(NUMBER)}.x"
    rng = np.random.default_rng(seed)
    kind, signal_kind = (edfio.Bdf, edfio.BdfSignal) if bdf else (edfio.Edf, edfio.EdfSignal)
    signals, truth = [], []
    for k, (rate, unit) in enumerate(zip(rates, units, strict=False)):
        mv = rng.uniform(low, high, 3 * rate)
        per = 1000 / UV_PER.get(unit, 1000)
        limits = (float(f"{low * per:.3g}") * 1.1, float(f"{high * per:.3g}") * 1.1)
        signals.append(signal_kind(mv * per, rate, label=f"ECG {k}", physical_dimension=unit, physical_range=limits))
        truth.append(-mv if turned else mv)
    signals.append(signal_kind(np.zeros(3), 1, label="SpO2", physical_dimension="%", physical_range=(0, 100)))
    kind(signals, annotations=[edfio.EdfAnnotation(0.5, None, "note")]).write(path)
    if turned:  # the largest digital value stands for the smallest physical one
        content = bytearray(path.read_bytes())
        n = int(content[252:256])
        for k in range(len(rates)):
            low_at, high_at = (256 + n * before + 8 * k for before in (104, 112))
            lowest, highest = content[low_at : low_at + 8], content[high_at : high_at + 8]
            content[low_at : low_at + 8], content[high_at : high_at + 8] = highest, lowest
        path.write_bytes(content)
    for k, (rate, unit) in enumerate(zip(rates, units, strict=False)):
        recording = read_recording(path, column=f"ECG {k}", lead="all")
        assert (recording.rate_hz, recording.samples.shape) == (rate, (1, 3 * rate))
        if unit == "adu":
            assert recording.uv_per_unit == 0
            continue
        got = recording.samples[0] * recording.uv_per_unit / 1000
        got, expected = got - got.mean(), truth[k] - truth[k].mean()  # a scale may subtract an offset, and says so
        assert np.abs(got - expected).max() <= 0.011
        (block,) = read_blocks(path, column=f"ECG {k}", samples=3 * rate)
        if not bdf:
            assert np.array_equal(block.samples, recording.samples)
        again = block.samples[0] * block.uv_per_unit / 1000  # of 24 bits there is room for what may follow
        assert np.abs(again - again.mean() - expected).max() <= 0.011
    if any(unit != "adu" for unit in units[: len(rates)]):
        assert "SpO2" not in read_recording(path, lead="all").leads


def test_the_gaps_of_a_discontinuous_edf_file_are_where_its_times_say(tmp_path: Path) -> None:
    path, mv = tmp_path / "d.edf", heart(200, 6)
    write_edf(path, mv, 200, annotations=[])
    content = bytearray(path.read_bytes())
    content[192:197] = b"EDF+D"
    for record, onset in enumerate([0, 1, 4.5, 5.5, 6.5, 20]):
        old, new = f"+{record}\x14\x14".encode(), f"+{onset:g}\x14\x14".encode()
        at = content.find(old + b"\0", 768 + record * (400 + 8))
        content[at : at + len(new)] = new
    path.write_bytes(content)
    recording = read_recording(path)
    assert recording.samples.shape == (1, 4200)
    assert recording.notes == ("2 gaps in its times, 15 s without samples",)
    values = recording.samples[0] * recording.uv_per_unit / 1000
    for record, at in enumerate([0, 200, 900, 1100, 1300, 4000]):
        assert np.abs(values[at : at + 200] - mv[200 * record : 200 * record + 200]).max() < 1e-3
    assert (recording.samples[0] == NO_VALUE).sum() == 3000
    content[at - 4 : at] = content[at - 4 : at]
    path.write_bytes(bytes(content).replace(b"+20\x14", b"+2\x14\0"))
    assert message_of(path) == (
        "d.edf: expected data records in the order of time, less than a day apart; got 6.5 s then 2 s (records 5 and 6)"
    )


@settings(max_examples=draws(40), deadline=None)
@given(
    seconds=st.sampled_from([1, 4, 10, 30, 60]), gap_ms=st.sampled_from([5, 9, 25, 50]),
    rate=st.sampled_from([200, 256]), gaps=st.integers(1, 5),
)  # fmt: skip
def test_a_short_gap_between_long_data_records_is_one_too(
    seconds: int, gap_ms: int, rate: int, gaps: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path, n = tmp_path_factory.getbasetemp() / f"short{next(NUMBER)}.edf", gaps + 1
    onsets = [round(k * (seconds + gap_ms / 1000), 6) for k in range(n)]
    signal = Raw("ECG", "uV", np.arange(n * seconds * rate) % 1000)
    write_raw_edf(path, [signal, record_times(onsets)], n, seconds=seconds, kind="EDF+D")
    recording = read_recording(path)
    assert abs(recording.seconds - onsets[-1] - seconds) < 1 / rate
    assert recording.notes[0].startswith(f"{gaps} gap")


def test_an_edf_file_that_is_cut_or_was_not_closed_is_said(tmp_path: Path) -> None:
    path = tmp_path / "c.edf"
    write_edf(path, heart(200), 200)
    content = path.read_bytes()
    path.write_bytes(content[:-1000])
    assert message_of(path) == "c.edf: expected 20 data records of 1 s; got 17"
    path.write_bytes(content[:236] + b"-1      " + content[244:-1000])
    recording = read_recording(path)
    left = "left out: 200 bytes behind its last whole data record"
    assert recording.samples.shape == (1, 3400)
    assert recording.notes == ("its header states no length: it holds 17 s", left)
    path.write_bytes(content[:300])
    assert message_of(path) == "c.edf: expected an EDF or BDF file; got: 300 bytes of a header of 512"


def test_of_a_sleep_recording_the_ecg_alone_is_a_lead(tmp_path: Path) -> None:
    mv = heart(100)
    labels = ("EEG Fpz-Cz", "C3-A2", "EOG horizontal", "ECG", "EMG submental", "Resp oro-nasal")
    signals = [
        edfio.EdfSignal(mv * 1000, 100, label=label, physical_dimension="uV", physical_range=(-9999, 9999))
        for label in labels
    ]
    edfio.Edf(signals).write(tmp_path / "sleep.edf")
    recording = read_recording(tmp_path / "sleep.edf", lead="first")
    assert recording.leads == ("ECG",)
    assert recording.notes == ("left out: EEG Fpz-Cz, C3-A2, EOG horizontal, EMG submental, Resp oro-nasal",)
    assert read_recording(tmp_path / "sleep.edf", column="C3-A2").leads == ("C3-A2",)
    edfio.Edf(signals[:1]).write(tmp_path / "eeg.edf")
    assert message_of(tmp_path / "eeg.edf") == (
        "eeg.edf: expected a lead in volts; got EEG Fpz-Cz, named like other signals (choose with --column)"
    )


@settings(max_examples=draws(25), deadline=None)
@given(
    stated=st.sampled_from(["", "n/a", "nan", "1e", "-327\xcf8"]), at=st.integers(0, 3),
    of=st.sampled_from(["II", "SpO2", "EDF Annotations"]),
)  # fmt: skip
def test_a_range_that_is_no_number_costs_its_own_signal_alone_its_calibration(
    stated: str, at: int, of: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path, values = tmp_path_factory.getbasetemp() / f"e{next(NUMBER)}.edf", np.arange(1000) % 777
    names = {"I": "uV", "II": "uV", "SpO2": "%", "EDF Annotations": ""}
    signals = [Raw(name, unit, values, ("-32768", "32767")) for name, unit in names.items()]
    row = signals[list(names).index(of)]
    ends = [*row.physical, *map(str, row.range)]
    ends[at] = stated
    row.physical, row.range = (ends[0], ends[1]), (ends[2], ends[3])  # type: ignore[assignment]
    write_raw_edf(path, signals, 5)
    recording, kind = read_recording(path), "physical" if at < 2 else "digital"
    assert recording.leads == (("I",) if of == "II" else ("I", "II"))
    assert recording.uv_per_unit == 1
    assert (recording.samples == values).all()
    assert (f"II: expected numbers as its {kind} range; got " in " ".join(recording.notes)) == (of == "II")
    alone = read_recording(path, column="II")
    assert alone.uv_per_unit == (0 if of == "II" else 1)


def test_a_digital_range_may_be_written_with_a_decimal_point(tmp_path: Path) -> None:
    values = np.arange(1000) % 777
    row = Raw("II", "uV", values, ("-32768", "32767"), ("-32768.0", "32767.0"))  # type: ignore[arg-type]
    write_raw_edf(tmp_path / "e.edf", [row], 5)
    recording = read_recording(tmp_path / "e.edf")
    assert (recording.uv_per_unit, recording.notes) == (1, ())
    assert np.array_equal(recording.samples[0], values)


@pytest.mark.parametrize("at", [8, 60, 167, 200])
def test_a_line_end_in_the_texts_of_an_edf_header_makes_it_no_table(at: int, tmp_path: Path) -> None:
    values = np.arange(1000) % 777
    write_raw_edf(tmp_path / "e.edf", [Raw("II", "uV", values, ("-32768", "32767"))], 5)
    content = (tmp_path / "e.edf").read_bytes()
    (tmp_path / "e.edf").write_bytes(content[:at] + b"\n" + content[at + 1 :])
    assert np.array_equal(read_recording(tmp_path / "e.edf").samples[0], values)


@pytest.mark.parametrize("field", [b"        ", b"-200    ", b"2e2     ", b"\x18 < .   "])
def test_a_signal_without_its_number_of_samples_is_one_error(field: bytes, tmp_path: Path) -> None:
    signals = [Raw(name, "uV", np.arange(1000) % 77, ("-32768", "32767")) for name in ("II", "V5")]
    write_raw_edf(tmp_path / "e.edf", signals, 5)
    content = bytearray((tmp_path / "e.edf").read_bytes())
    content[256 + 2 * 216 + 8 : 256 + 2 * 216 + 16] = field
    (tmp_path / "e.edf").write_bytes(content)
    got = f"in a data record in its header; got {field!r}"
    assert message_of(tmp_path / "e.edf") == f"e.edf: expected the samples of 'V5' {got}"


@settings(max_examples=draws(40), deadline=None)
@given(
    low=st.integers(0, 9), share=st.floats(0.5, 1.0), bdf=st.booleans(), turned=st.booleans(), seed=st.integers(0, 99)
)
def test_a_digital_range_beyond_that_of_signed_numbers_is_one_of_numbers_without_a_sign(
    low: int, share: float, bdf: bool, turned: bool, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path, full = tmp_path_factory.getbasetemp() / f"u{next(NUMBER)}.edf", 1 << (24 if bdf else 16)
    high = round(share * (full - 1))
    digital = np.random.default_rng(seed).integers(low, high + 1, 1000)
    limits = (high, low) if turned else (low, high)
    write_raw_edf(path, [Raw("ECG", "mV", digital, ("-5", "5"), limits), Raw("II", "mV", digital % 77)], 5, bdf=bdf)
    recording = read_recording(path)
    mv = recording.samples[0] * recording.uv_per_unit / 1000
    expected = (digital - limits[0]) / (limits[1] - limits[0]) * 10 - 5
    assert np.ptp(mv - expected) < 0.01
    said = "read as numbers without a sign, by their digital range: ECG"
    assert (said in recording.notes) == bool((digital >= full // 2).any() and high >= full // 2)


def test_what_is_behind_the_zero_at_the_end_of_a_field_does_not_belong_to_it(tmp_path: Path) -> None:
    path, values = tmp_path / "z.edf", np.arange(1000) % 777
    signals = [Raw("EKG Ö", "uV", values, ("-32768", "32767")), Raw("V1", "uV", values, ("-32768", "32767"))]
    write_raw_edf(path, signals, 5, fill=b"\0")
    content = path.read_bytes()
    head = re.sub(rb"\0+", lambda found: b"\0" + b"7" * (len(found[0]) - 1), content[:768])
    path.write_bytes(head.replace("Ö\0".encode("latin-1") + b"7", "Ö\0".encode()) + content[768:])
    recording = read_recording(path)
    assert (recording.leads, recording.rate_hz, recording.uv_per_unit) == (("EKG Ö", "V1"), 200, 1)
    assert (recording.samples == values).all()
    assert recording.notes == ()


@settings(max_examples=draws(60), deadline=None)
@given(
    kind=st.sampled_from(["", "EDF+C", "EDF+D"]), gap_s=st.sampled_from([0, 2]), lost=st.none() | st.integers(0, 9),
    noted=st.lists(st.tuples(st.floats(0, 9), st.booleans()), min_size=10, max_size=10), times=st.booleans(),
)  # fmt: skip
def test_events_are_no_times_of_data_records_and_a_missing_time_is_said(
    kind: str, gap_s: int, lost: int | None, noted: list[tuple[float, bool]], times: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    path, values = tmp_path_factory.getbasetemp() / f"n{next(NUMBER)}.edf", np.arange(2000) % 777
    onsets = [k + (gap_s if k >= 4 else 0) for k in range(10)]
    content = b""
    for k, (onset, (later, is_before)) in enumerate(zip(onsets, noted, strict=True)):
        time = f"+{onset}\x14\x14\0".encode() if k != lost and times else b""
        event = f"+{onset + later:.2f}\x150.1\x14beat\x14\0".encode()
        content += (event + time if is_before else time + event).ljust(60, b"\0")
    annotations = Raw("EDF Annotations", "", np.frombuffer(content, "<i2"))
    write_raw_edf(path, [Raw("ECG", "uV", values, ("-32768", "32767")), annotations], 10, kind=kind)
    if kind == "EDF+D" and times and lost is not None:
        got = f"none in record {lost + 1}"
        assert message_of(path) == f"{path.name}: expected annotations with the times of its data records; got {got}"
    elif kind != "EDF+D" or times:
        recording = read_recording(path)
        has_gap = gap_s and times and lost is None
        assert recording.samples.shape[1] == 2000 + (400 if has_gap else 0)
        said = " ".join(recording.notes)
        assert ("1 gap in its times, 2 s without samples" in said) == bool(has_gap)
        assert ("read without gaps: expected the time of" in said) == (times and lost is not None and gap_s > 0)
