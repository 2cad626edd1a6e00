"""WFDB records: read as the wfdb package reads them, on one scale; a damaged one gives a one-line error."""

from pathlib import Path

import numpy as np
import pytest
import wfdb
from beatwire.recordings import NO_VALUE, Recording, read_recording
from sources import message_of

N = 500
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


def test_the_missing_part_of_a_wfdb_record_is_named(tmp_path: Path) -> None:
    write_wfdb(tmp_path)
    assert (
        message_of(tmp_path / "r1", fs=360) == "r1: expected --fs 250, the rate of its header, or no --fs; got --fs 360"
    )
    assert message_of(tmp_path / "r1", lead="V1") == "r1: expected one of its leads, 0 'MLII', 1 'V5'; got 'V1'"
    (tmp_path / "r1.hea").rename(tmp_path / "r2.hea")
    assert message_of(tmp_path / "r1.dat").endswith("r1.dat: expected its WFDB header r1.hea beside it; there is none")
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
