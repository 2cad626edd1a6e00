"""EDF and DICOM files that contradict themselves, or hold more than they state: it is read right, or said."""

import gzip
from itertools import count
from pathlib import Path

import numpy as np
import pandas as pd
import pydicom
import pytest
import scipy.io
from beatwire.recordings import NO_VALUE, read_recording
from dicom_files import write_dicom
from draws import draws
from edf_files import Raw, record_times, write_raw_edf
from hypothesis import given, settings
from hypothesis import strategies as st
from sources import message_of

pytest.importorskip("edfio", reason="needs edfio (pip install 'beatwire[formats]')")

NUMBER = count()
UV = ("-32768", "32767")


@settings(max_examples=draws(50), deadline=None)
@given(
    kind=st.sampled_from(["EDF+C", "EDF+D", "edf+d", "EDF", ""]), seconds=st.sampled_from([1, 2]),
    gaps=st.lists(st.sampled_from([0.0, 0.0, 0.5, 3.0]), min_size=1, max_size=8), jitter=st.booleans(),
)  # fmt: skip
def test_the_times_of_data_records_show_the_gaps_whatever_the_header_calls_the_file(
    kind: str, seconds: int, gaps: list[float], jitter: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path, n = tmp_path_factory.getbasetemp() / f"gaps{next(NUMBER)}.edf", len(gaps) + 1
    rng = np.random.default_rng(n)
    onsets = [round(7 + k * seconds + sum(gaps[:k]) + jitter * rng.uniform(0, 0.0005), 6) for k in range(n)]
    digital = rng.integers(-900, 900, (n, seconds * 100))
    signals = [Raw("ECG", "uV", digital.ravel(), UV), record_times(onsets)]
    write_raw_edf(path, signals, n, seconds=seconds, kind=kind)
    missing = np.full(800, NO_VALUE)
    truth = np.concatenate(
        [digital[0], *(np.r_[missing[: round(g * 100)], d] for g, d in zip(gaps, digital[1:], strict=True))]
    )
    recording = read_recording(path)
    assert np.array_equal(recording.samples[0], truth)
    assert ("in its times" in " ".join(recording.notes)) == (sum(gaps) > 0)


@settings(max_examples=draws(50), deadline=None)
@given(
    kind=st.sampled_from(["EDF+C", "EDF+D"]), rate=st.sampled_from([128, 250, 256, 300, 512, 1000, 2048]),
    each=st.integers(7, 400), digits=st.integers(2, 4), cut=st.booleans(), begin=st.floats(0, 99),
    gaps=st.dictionaries(st.integers(1, 29), st.floats(2, 9), max_size=3),
)  # fmt: skip
def test_times_of_data_records_that_were_rounded_are_no_gaps_and_no_falls(
    kind: str, rate: int, each: int, digits: int, cut: bool, begin: float, gaps: dict[int, float],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    path, unit = tmp_path_factory.getbasetemp() / f"rounded{next(NUMBER)}.edf", 10.0**-digits
    each = max(each, int(3 * unit * rate))
    digital = np.random.default_rng(each).integers(-900, 900, (30, each))
    true = np.array([begin + k * each / rate + sum(gaps.get(j, 0) for j in range(k + 1)) for k in range(30)])
    onsets = [round(float(t), digits) for t in (np.floor(true / unit + 1e-6) * unit if cut else true)]
    signals = [Raw("ECG", "uV", digital.ravel(), UV), record_times(onsets)]
    write_raw_edf(path, signals, 30, seconds=f"{each / rate:.8f}"[:8], kind=kind)
    recording = read_recording(path)
    samples, seconds = recording.samples[0], sum(gaps.values())
    assert np.array_equal(samples[samples != NO_VALUE], digital.ravel())
    assert abs((samples == NO_VALUE).sum() - seconds * recording.rate_hz) <= (len(gaps) + 1) * (unit * rate + 1)
    said = " ".join(recording.notes)
    assert (f"{len(gaps)} gap{'s'[: len(gaps) > 1]} in its times, " in said) if gaps else recording.notes == ()


@settings(max_examples=draws(20), deadline=None)
@given(kind=st.sampled_from(["EDF+C", "EDF+D", ""]), at=st.integers(1, 4), back_s=st.floats(0.1, 5.0))
def test_data_records_whose_times_fall_are_said(
    kind: str, at: int, back_s: float, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"falls{next(NUMBER)}.edf"
    digital = np.random.default_rng(1).integers(-900, 900, 500)
    onsets = [9 + k - back_s * (k >= at) for k in range(5)]
    write_raw_edf(path, [Raw("ECG", "uV", digital, UV), record_times(onsets)], 5, kind=kind)
    said = f"expected data records in the order of time, less than a day apart; got {8 + at} s then"
    if kind == "EDF+D":
        assert said in message_of(path)
    else:
        recording = read_recording(path)
        assert np.array_equal(recording.samples[0], digital)
        assert f"read without gaps, in the order of the file: {said}" in " ".join(recording.notes)


@pytest.mark.parametrize("onsets", [[0.0] * 5, [np.nan] * 5])
def test_times_that_a_program_does_not_keep_are_not_used(onsets: list[float], tmp_path: Path) -> None:
    digital = np.random.default_rng(1).integers(-900, 900, 500)
    write_raw_edf(tmp_path / "r.edf", [Raw("ECG", "uV", digital, UV), record_times(onsets)], 5, kind="EDF+C")
    recording = read_recording(tmp_path / "r.edf")
    assert np.array_equal(recording.samples[0], digital)
    assert recording.notes == ()


@settings(max_examples=draws(20), deadline=None)
@given(stated=st.sampled_from([-1, 3, 5]), behind=st.integers(0, 450))
def test_bytes_behind_the_last_data_record_are_said(
    stated: int, behind: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"behind{next(NUMBER)}.edf"
    write_raw_edf(path, [Raw("ECG", "uV", np.arange(500), UV)], 5, stated=stated)
    path.write_bytes(path.read_bytes() + bytes(behind))
    recording = read_recording(path)
    assert recording.samples.shape == (1, 500 + 100 * (behind // 200))
    left = behind % 200
    assert (f"left out: {left} bytes behind its last whole data record" in recording.notes) == (left > 0)


@settings(max_examples=draws(40), deadline=None)
@given(
    lengths=st.lists(st.integers(60, 400), min_size=1, max_size=5),
    gaps=st.lists(st.integers(0, 300), min_size=5, max_size=5),
    order=st.randoms(use_true_random=False), begin=st.integers(0, 500),
)  # fmt: skip
def test_groups_of_a_dicom_waveform_are_at_their_times_in_any_order(
    lengths: list[int], gaps: list[int], order: object, begin: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path, rng = tmp_path_factory.getbasetemp() / f"order{next(NUMBER)}.dcm", np.random.default_rng(sum(lengths))
    at, groups, truth = begin, [], []
    for length, gap in zip(lengths, gaps, strict=False):
        values = rng.integers(-900, 900, length)
        groups.append({"rate_hz": 250, "offset_ms": at * 4, "channels": [("Lead II", 1, "uV", 0, values)]})
        truth += [values, np.full(gap, NO_VALUE)]
        at += length + gap
    order.shuffle(groups)  # type: ignore[attr-defined]
    write_dicom(path, groups)
    recording = read_recording(path)
    assert np.array_equal(recording.samples[0], np.concatenate(truth[:-1]))
    assert recording.notes == ()


@settings(max_examples=draws(25), deadline=None)
@given(
    strip=st.integers(0, 3), begins=st.lists(st.integers(0, 3), min_size=1, max_size=3, unique=True),
    shorter=st.integers(1, 300), states=st.booleans(),
)  # fmt: skip
def test_of_dicom_groups_at_one_time_the_longest_is_read_wherever_it_stands(
    strip: int, begins: list[int], shorter: int, states: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path, rng = tmp_path_factory.getbasetemp() / f"strip{next(NUMBER)}.dcm", np.random.default_rng(shorter)
    long = rng.integers(-900, 900, 1200)
    groups = [
        {
            "rate_hz": 250,
            "offset_ms": 1200 * at,
            "channels": [("Lead II", 1, "uV", 0, rng.integers(-900, 900, shorter))],
        }
        for at in begins
    ]
    groups.insert(strip, {"rate_hz": 250, "channels": [("Lead II", 1, "uV", 0, long)]})
    write_dicom(path, groups)
    if not states:
        opened = pydicom.dcmread(path)
        for group in opened.WaveformSequence:
            del group.MultiplexGroupTimeOffset
        opened.save_as(path)
    recording = read_recording(path)
    assert np.array_equal(recording.samples, [long])
    left = [k for k in range(len(groups)) if k != min(strip, len(begins))]
    assert recording.notes == tuple(f"left out: II of group {k}, at the time of another one" for k in left)


@settings(max_examples=draws(30), deadline=None)
@given(
    lengths=st.lists(st.integers(600, 2000), min_size=2, max_size=6), fast=st.sampled_from([0.0, 0.0, 0.0008]),
    rate=st.sampled_from([257, 500, 1000, 2000, 4000]), gap=st.sampled_from([0, 0, 3]),
)  # fmt: skip
def test_groups_of_a_dicom_waveform_whose_times_are_rounded_follow_one_another(
    rate: int, lengths: list[int], fast: float, gap: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path, rng = tmp_path_factory.getbasetemp() / f"rounded{next(NUMBER)}.dcm", np.random.default_rng(sum(lengths))
    parts = [rng.integers(-900, 900, length) for length in lengths]
    begins = np.cumsum([0, *lengths[:-1]]) / rate * (1 - fast) + gap * (np.arange(len(parts)) == len(parts) - 1)
    write_dicom(path, [
        {"rate_hz": rate, "offset_ms": round(1000 * begin), "channels": [("Lead II", 1, "uV", 0, part)]}
        for begin, part in zip(begins, parts, strict=True)
    ])  # fmt: skip
    recording = read_recording(path)
    samples, notes = recording.samples[0], recording.notes
    assert (np.array_equal(samples[samples != NO_VALUE], np.concatenate(parts)), notes) == (True, ())
    assert abs((samples == NO_VALUE).sum() - gap * rate) <= rate * (0.002 + fast * sum(lengths) / rate) * bool(gap)


def test_a_dicom_waveform_that_contradicts_itself_is_said(tmp_path: Path) -> None:
    path, values = tmp_path / "w.dcm", np.random.default_rng(2).integers(-900, 900, 500)
    rows = [(f"Lead {name}", 1, "uV", 0, values) for name in ("I", "II")]

    def changed(**fields: object) -> None:
        write_dicom(path, [{"rate_hz": 250, "channels": rows}])
        opened = pydicom.dcmread(path)
        for name, value in fields.items():
            setattr(opened.WaveformSequence[0], name, value)
        opened.save_as(path)

    changed(ChannelDefinitionSequence=[])
    assert message_of(path) == "w.dcm: expected 2 channels in group 0; it describes 0"
    changed(SamplingFrequency=None)
    assert message_of(path) == "w.dcm: expected a sampling rate of group 0; got 0 Hz"
    changed(WaveformBitsAllocated=8)
    assert message_of(path) == "w.dcm: expected 16 bits for samples stored as SS in group 0; got 8"
    changed(NumberOfWaveformSamples=400)
    recording = read_recording(path)
    assert np.array_equal(recording.samples, [values[:400]] * 2)
    assert recording.notes == ("left out: 400 bytes behind the samples that group 0 states",)


def test_the_unit_of_a_dicom_channel_may_be_stated_in_words_and_its_name_may_be_missing(tmp_path: Path) -> None:
    path, values = tmp_path / "w.dcm", np.random.default_rng(2).integers(-900, 900, 500)
    write_dicom(path, [{"rate_hz": 250, "channels": [("Lead I", 1, "uV", 0, values)]}])
    opened = pydicom.dcmread(path)
    (unit,) = opened.WaveformSequence[0].ChannelDefinitionSequence[0].ChannelSensitivityUnitsSequence
    unit.CodeMeaning = "microvolt"
    del unit.CodeValue
    opened.WaveformSequence[0].ChannelDefinitionSequence[0].ChannelSourceSequence[0].CodeMeaning = ""
    opened.save_as(path)
    recording = read_recording(path)
    assert (recording.uv_per_unit, recording.leads) == (1, ("lead 0",))


@pytest.mark.parametrize("kind", ["edf", "dcm", "npy", "mat", "parquet", "feather", "pickle"])
def test_a_compressed_file_of_another_format_than_text_is_one_error(kind: str, tmp_path: Path) -> None:
    plain, packed, values = tmp_path / f"x.{kind}", tmp_path / f"x.{kind}.gz", np.arange(600) % 77
    table = pd.DataFrame({"II": values})
    if kind == "edf":
        write_raw_edf(plain, [Raw("ECG", "uV", values, UV)], 6)
    elif kind == "dcm":
        write_dicom(plain, [{"rate_hz": 250, "channels": [("Lead I", 1, "uV", 0, values)]}])
    elif kind == "mat":
        scipy.io.savemat(plain, {"ecg": values})
    elif kind == "npy":
        np.save(plain, values)
    else:
        getattr(table, f"to_{kind}")(plain)
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    got = "a pickle of Python, which beatwire does not read" if kind == "pickle" else "a compressed file: unpack it"
    assert message_of(packed).startswith(f"x.{kind}.gz: expected an ECG recording; got {got}")


def test_an_old_feather_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"FEA1" + bytes(300))
    assert message_of(tmp_path / "x").endswith(", which beatwire does not read: save it as Parquet")


@pytest.mark.parametrize("content", [b"ARROW1\0\0", b"\xff\xff\xff\xff\x78\1\0\0"])
def test_a_damaged_file_of_arrow_is_one_line(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(content + bytes(300))
    assert message_of(tmp_path / "x").startswith("x: expected an Arrow table; got: ")


@settings(max_examples=draws(25), deadline=None)
@given(
    bits=st.integers(9, 15), offset=st.integers(-60, 60), has_padding=st.booleans(), is_signed=st.booleans(),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_signs_that_a_dicom_waveform_lost_are_restored_and_said(
    bits: int, offset: int, has_padding: bool, is_signed: bool, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path, whole = tmp_path_factory.getbasetemp() / "signs.dcm", 1 << bits
    walk = np.random.default_rng(seed).integers(-9, 10, 800).cumsum()
    values = np.clip(walk - walk.mean().astype(int), 70 - whole // 2, whole // 2 - 70) + offset
    written = values % whole if is_signed else values + whole // 2  # a converter without signs, stated wrong
    written[-20:] = np.where(has_padding, -32768, written[-20:])
    group = {"rate_hz": 250, "bits_stored": bits, "padding": -32768 if has_padding else None}
    write_dicom(path, [group | {"channels": [("II", 1, "uV", 0, written)]}])
    recording = read_recording(path)
    expected = values if is_signed else written
    assert np.array_equal(recording.samples[0, :-20], expected[:-20])
    assert (recording.samples[0, -20:] == NO_VALUE).all() or not has_padding
    assert ("without their sign" in str(recording.notes)) == bool(is_signed and (values[: -20 or None] < 0).any())
