"""WFDB records: read as the wfdb package reads them, on one scale; a damaged one gives a one-line error."""

from contextlib import suppress
from itertools import count
from pathlib import Path

import fsspec
import numpy as np
import pytest
import wfdb
from beatwire.errors import UserError
from beatwire.recordings import NO_VALUE, Recording, read_recording
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from sources import message_of

N = 500
NUMBER = count()
MV = np.round(0.3 * np.sin(np.arange(N) / 7.0) + np.where(np.arange(N) % 200 == 50, 1.2, 0.0), 3)


def same_as_mv(recording: Recording, lead: int) -> bool:
    return bool(np.allclose(recording.samples[lead] * recording.uv_per_unit, MV * 1000, atol=2.51))


def write_wfdb(folder: Path, **changes: object) -> Path:
    digital = np.stack([np.rint(MV * 200) + 1024, np.rint(MV * 400)], axis=1).astype(np.int64)
    settings = {
        "record_name": "r1", "fs": 250, "units": ["mV", "mV"], "sig_name": ["MLII", "V5"], "d_signal": digital,
        "fmt": ["16", "16"], "adc_gain": [200.0, 400.0], "baseline": [1024, 0], "write_dir": str(folder),
    } | changes  # fmt: skip
    wfdb.wrsamp(**settings)
    return folder / "r1"


def test_leads_of_different_gains_share_one_scale(tmp_path: Path) -> None:
    for source in (write_wfdb(tmp_path), tmp_path / "r1.hea", tmp_path / "r1.dat"):
        recording = read_recording(source)
        assert (recording.name, recording.rate_hz, recording.leads) == ("r1", 250.0, ("MLII", "V5"))
        assert recording.uv_per_unit == 2.5
        assert same_as_mv(recording, 0)
        assert same_as_mv(recording, 1)
    assert read_recording(tmp_path / "r1", lead="V5").leads == ("V5",)


def test_invalid_samples_have_no_value_and_other_units_are_left_out(tmp_path: Path) -> None:
    digital = np.stack([np.rint(MV * 200), np.full(N, 80)], axis=1).astype(np.int64)
    digital[7, 0] = -32768
    write_wfdb(tmp_path, d_signal=digital, units=["mV", "mmHg"], baseline=[0, 0], sig_name=["II", "ABP"])
    recording = read_recording(tmp_path / "r1")
    assert recording.leads == ("II",)
    assert np.array_equal(np.flatnonzero(recording.samples[0] == NO_VALUE), [7])
    assert recording.notes == ("left out: ABP",)


def test_a_gain_of_zero_is_not_calibrated(tmp_path: Path) -> None:
    write_wfdb(tmp_path)
    header = tmp_path / "r1.hea"
    header.write_text(header.read_text().replace("200.0(1024)/mV", "0(1024)/mV").replace("400.0(0)/mV", "0"))
    recording = read_recording(tmp_path / "r1")
    assert recording.uv_per_unit == 0
    assert np.array_equal(recording.samples[0], np.rint(MV * 200))
    assert recording.notes == ("not calibrated: amplitudes are relative to this recording",)


def test_the_error_of_a_truncated_wfdb_record_names_the_expected_and_the_actual_size(tmp_path: Path) -> None:
    signal = write_wfdb(tmp_path).with_suffix(".dat")
    signal.write_bytes(signal.read_bytes()[:1500])
    assert message_of(tmp_path / "r1") == "r1.dat: expected 2000 bytes (500 samples of 2 leads); got 1500"


@pytest.mark.parametrize("ending", ["dat", "atr"])
def test_a_table_with_the_ending_of_a_signal_is_read_as_a_table(tmp_path: Path, ending: str) -> None:
    """Other programs write columns of numbers as .dat."""
    t = np.arange(500) / 250
    np.savetxt(tmp_path / f"a.{ending}", np.stack([t, np.sin(9 * t)], axis=1))
    (tmp_path / f"b.{ending}").write_text("time,ecg\r\n" + "".join(f"{a:.3f},{np.sin(9 * a):.3f}\r\n" for a in t))
    for name in "ab":
        recording = read_recording(tmp_path / f"{name}.{ending}")
        assert (recording.rate_hz, recording.samples.shape) == (250.0, (1, 500))


def test_the_missing_part_of_a_wfdb_record_is_named(tmp_path: Path) -> None:
    write_wfdb(tmp_path)
    assert (
        message_of(tmp_path / "r1", fs=360) == "r1: expected --fs 250, the rate of its header, or no --fs; got --fs 360"
    )
    assert message_of(tmp_path / "r1", lead="V1") == "r1: expected one of its leads, 0 'MLII', 1 'V5'; got 'V1'"
    (tmp_path / "r1.hea").rename(tmp_path / "r2.hea")
    assert message_of(tmp_path / "r1.dat").endswith(
        "r1.dat: expected its WFDB header r1.hea beside it; there is none (of raw samples, save an array as .npy)"
    )
    (tmp_path / "r1.dat").unlink()
    assert message_of(tmp_path / "r2") == "r2: expected r1.dat beside its header; there is none"
    (tmp_path / "r3.hea").write_text("this is not a header\n")
    assert message_of(tmp_path / "r3") == (
        "r3.hea: expected a WFDB header (record, number of signals); got 'this is not a header'"
    )
    (tmp_path / "r4.hea").write_text("r4 1 0 10\nr4.dat 16 200 16 0 0 0 0 II\n")
    assert message_of(tmp_path / "r4").startswith("r4.hea: expected a rate of 50-4000 Hz; got 0")


@pytest.mark.parametrize(
    ("record", "rate_hz", "uv"), [("mitdb/101", 360, 5), ("svdb/800", 128, 5), ("qtdb/sel14046", 250, 0)]
)
def test_a_real_record_reads_as_the_wfdb_package_reads_it(
    ecg_folder: Path, record: str, rate_hz: float, uv: float
) -> None:
    recording = read_recording(ecg_folder / record)
    assert (recording.rate_hz, recording.uv_per_unit, len(recording.leads)) == (rate_hz, uv, 2)
    raw = wfdb.rdrecord(str(ecg_folder / record), physical=False)
    assert np.array_equal(recording.samples, (raw.d_signal - np.array(raw.baseline)).T)


@pytest.mark.parametrize(
    ("unit", "uv"), [("mV", 5.0), ("uV", 0.005), ("µV", 0.005), ("V", 5000.0), ("adu", 0.0), ("NU", 0.0), ("", 5.0)]
)
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_the_unit_decides_and_one_that_is_not_known_is_not_calibrated(
    tmp_path: Path, unit: str, uv: float, encoding: str
) -> None:
    (tmp_path / "u.dat").write_bytes(np.arange(-300, 300, dtype="<i2").tobytes())
    gain = f"200/{unit}" if unit else "200"
    (tmp_path / "u.hea").write_bytes(f"u 1 250 600\nu.dat 16 {gain} 16 0 0 0 0 II\n".encode(encoding))
    recording = read_recording(tmp_path / "u")
    assert recording.uv_per_unit == pytest.approx(uv)
    assert ("not calibrated" in " ".join(recording.notes)) == (uv == 0)
    assert np.array_equal(recording.samples[0], np.arange(-300, 300))


def test_a_negative_gain_turns_the_lead_over(tmp_path: Path) -> None:
    (tmp_path / "n.dat").write_bytes(np.arange(100, dtype="<i2").tobytes())
    (tmp_path / "n.hea").write_text("n 1 250 0\nn.dat 16 -200(10)/mV 16 0 0 0 0 II\n")
    assert np.array_equal(read_recording(tmp_path / "n").samples[0], 10 - np.arange(100))


def test_a_header_without_a_rate_has_that_of_wfdb_and_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "n.dat").write_bytes(np.arange(100, dtype="<i2").tobytes())
    (tmp_path / "n.hea").write_text("n 1\nn.dat 16\n")
    recording = read_recording(tmp_path / "n")
    assert (recording.rate_hz, recording.uv_per_unit, recording.samples.shape) == (250, 0, (1, 100))
    assert recording.notes[0] == "its header states no rate: 250 Hz, the default of WFDB"
    assert read_recording(tmp_path / "n", fs=500).rate_hz == 500


@pytest.mark.parametrize("name", [".", "..", "../x.dat", "/etc/passwd", "a/../../x", "C:\\x.dat", "..\\x.dat"])
@pytest.mark.parametrize("kind", ["signal", "segment"])
def test_a_name_that_leads_out_of_the_folder_is_refused_in_one_line(tmp_path: Path, name: str, kind: str) -> None:
    line = f"{name} 16 200 16 0 0 0 0 II" if kind == "signal" else f"{name} 10"
    (tmp_path / "r.hea").write_text(f"r{'/1' if kind == 'segment' else ''} 1 250 10\n{line}\n")
    message = message_of(tmp_path / "r")
    assert message == f"r.hea: expected the name of a file in its folder; got {name!r}"


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("", "r.hea: expected a WFDB header; the file is empty"),
        ("r 0 250 10\n", "r: expected signals; its header states none"),
        ("r 2 250 10\nr.dat 16 200\n", "r.hea: expected 2 signals; got 1"),
        ("r 1 250 10\nr.dat\n", "r.hea: line 2: expected a file and its format; got 'r.dat'"),
        ("r 1 250 ten\nr.dat 16\n", "r.hea: line 1: expected a number of samples; got 'ten'"),
        ("r 1 fast 10\nr.dat 16\n", "r.hea: line 1: expected a rate in Hz; got 'fast'"),
        ("# a comment\nr 1 250 10\nr.dat 16 200 16 zero\n", "r.hea: line 3: expected a whole number; got 'zero'"),
        ("r 1 250 10\nr.dat 16 mV\n", "r.hea: line 2: expected a gain; got 'mV'"),
        ("r 1 250 10\nr.dat 77 200\n", "r.dat: expected one of the formats 8, 16, 24, 32, 61, 80, 160, 212, 310, 311"),
        ("r 1 250 10\n. 16 200\n", "r.hea: expected the name of a file in its folder; got '.'"),
        ("r/2 1 250 20\ns 10\nr 10\n", "s: expected a WFDB record; there is no s.hea"),
        ("r/1 1 250 20\nr 20\n", "r: expected segments without segments of their own; got r"),
        ("r/1 1 250 20\n~ 20\n", "r: expected segments with signals; there are none"),
    ],
)
def test_a_damaged_header_is_one_error_of_one_line(tmp_path: Path, header: str, message: str) -> None:
    (tmp_path / "r.hea").write_text(header)
    (tmp_path / "r.dat").write_bytes(bytes(20))
    found = message_of(tmp_path / "r")
    assert found.startswith(message)
    assert "\n" not in found


def test_the_segments_of_a_record_at_an_address_are_fetched(tmp_path: Path) -> None:
    memory = fsspec.filesystem("memory")
    for name, gain in (("a", 200), ("b", 400)):
        memory.pipe(f"/far/sub/{name}.dat", (np.arange(-gain, gain, dtype="<i2")).tobytes())
        memory.pipe(f"/far/sub/{name}.hea", f"{name} 1 250 {2 * gain}\n{name}.dat 16 {gain} 16 0 0 0 0 II\n".encode())
    memory.pipe("/far/r.hea", b"r/3 1 250 1300\nsub/a 400\n~ 100\nsub/b 800\n")
    recording = read_recording("memory://far/r")
    uv = recording.samples[0] * recording.uv_per_unit
    assert np.allclose([uv[0], uv[399], uv[500], uv[1299]], [-1000, 995, -1000, 997.5])
    assert (recording.samples[0, 400:500] == NO_VALUE).all()


@settings(max_examples=draws(200), deadline=None)
@given(text=st.text(st.sampled_from("r/ 0129.:+x()~-#V\nm.dat16"), max_size=60), raw=st.binary(max_size=40))
def test_no_header_and_no_file_raises_anything_but_a_user_error(
    text: str, raw: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder, name = tmp_path_factory.getbasetemp(), f"fuzz{next(NUMBER)}"
    (folder / f"{name}.dat").write_bytes(raw)
    (folder / f"{name}.hea").write_bytes(f"{name} 1 250 {text}".encode() if len(text) % 2 else text.encode())
    with suppress(UserError):
        read_recording(folder / name)


@pytest.mark.parametrize(("frames", "said"), [(1000, False), (900, False), (600, True), (0, False), (None, False)])
def test_a_signal_file_that_is_longer_than_its_header_states_is_said(
    tmp_path: Path, frames: int | None, said: bool
) -> None:
    (tmp_path / "r.dat").write_bytes(np.arange(1000, dtype="<i2").tobytes())
    length = "" if frames is None else f" {frames}"
    (tmp_path / "r.hea").write_text(f"r 1 250{length}\nr.dat 16 200 16 0 0 0 0 II\n")
    note = f"its header states {frames} samples; r.dat holds 1000"
    assert (note in read_recording(tmp_path / "r").notes) == said


def test_a_header_with_more_signals_or_segments_than_it_states_is_refused(tmp_path: Path) -> None:
    path = write_wfdb(tmp_path)
    header = path.with_suffix(".hea")
    text = header.read_text()
    header.write_text(text.replace("r1 2 ", "r1 1 "))
    assert message_of(path).startswith("r1.hea: expected 1 signals, as its first line says; line 3 is another one")
    header.write_text(text + "written by a program\nother.dat 16 200\n")
    assert read_recording(path).leads == ("MLII", "V5")
    (tmp_path / "all.hea").write_text(f"all/1 2 250 {N}\nr1 {N}\nr1 {N}\n")
    assert message_of(tmp_path / "all").startswith("all.hea: expected 1 segments, as its first line says; line 3")


def test_samples_behind_a_skew_that_a_file_holds_are_read(tmp_path: Path) -> None:
    digital = np.rint(MV * 200).astype("<i2")
    (tmp_path / "s.dat").write_bytes(digital.tobytes())
    (tmp_path / "s.hea").write_text(f"s 1 250 {N - 9}\ns.dat 16:9 200 16 0 0 0 0 II\n")
    assert np.array_equal(read_recording(tmp_path / "s").samples[0], digital[9:])


@pytest.mark.parametrize(("unit", "name"), [("mmHg", "ABP"), ("mV", "V2")])
def test_a_signal_of_another_quantity_takes_the_place_of_no_lead(unit: str, name: str, tmp_path: Path) -> None:
    samples = np.random.default_rng(1).integers(-900, 900, (500, 2)).astype("<i2")
    for segment, second in (("a", "mV 12 0 0 0 0 V5"), ("b", f"{unit} 12 0 0 0 0 {name}")):
        (tmp_path / f"{segment}.dat").write_bytes(samples.tobytes())
        lines = [f"{segment}.dat 16 200/mV 12 0 0 0 0 II", f"{segment}.dat 16 200/{second}"]
        (tmp_path / f"{segment}.hea").write_text("\n".join([f"{segment} 2 250 500", *lines]) + "\n")
    (tmp_path / "r.hea").write_text("r/2 2 250 1000\na 500\nb 500\n")
    recording = read_recording(tmp_path / "r")
    assert recording.leads == ("II", "V5")
    assert np.array_equal(recording.samples[:, :500], samples.T)
    if name == "ABP":
        assert (recording.samples[1, 500:] == NO_VALUE).all()
        assert recording.notes == ("left out: ABP",)
    else:
        assert np.array_equal(recording.samples[:, 500:], samples.T)
        assert recording.notes == ("segment b: V2 is taken as V5, the lead at its place",)
