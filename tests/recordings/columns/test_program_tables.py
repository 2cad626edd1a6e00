"""Tables as programs write them beside an ECG: phases, flags, counts, names that come twice, units in other letters."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from beatwire.errors import UserError
from beatwire.recordings import as_recording, read_recording
from beatwire.recordings.arrays import from_array
from beatwire.records import F64
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from sources import heart, message_of

RATE_HZ = 250.0
MV = heart(RATE_HZ, seconds=12)
T = np.arange(len(MV)) / RATE_HZ


def written(folder: str, columns: dict[str, F64], head: str = "", delimiter: str = ",") -> Path:
    """Write columns as a text table and return its path."""
    path = Path(folder) / "x.csv"
    rows = zip(*columns.values(), strict=True)
    lines = [delimiter.join(columns), *(delimiter.join(f"{v:.7g}" for v in row) for row in rows)]
    path.write_text(head + "\n".join(lines) + "\n", "utf-8")
    return path


@settings(max_examples=draws(20), deadline=None)
@given(
    beat_s=st.floats(0.4, 1.4), called=st.sampled_from(("ECG_Phase_Completion", "beat_phase", "resp phase", "pos")),
    per=st.sampled_from((1.0, 100.0, 6.283)), is_file=st.booleans(),
)  # fmt: skip
def test_the_phase_of_a_heartbeat_is_no_clock(beat_s: float, called: str, per: float, is_file: bool) -> None:
    columns = {"ECG_Clean": MV, called: T % beat_s / beat_s * per}
    with TemporaryDirectory() as folder:
        source = written(folder, columns) if is_file else pd.DataFrame(columns)
        recording = as_recording(source, fs=RATE_HZ)
        if is_file:
            assert "expected a sampling rate" in message_of(source)
    assert (recording.rate_hz, recording.leads) == (RATE_HZ, ("ECG_Clean",))


@settings(max_examples=draws(20), deadline=None)
@given(
    parts=st.integers(2, 9), name=st.sampled_from(("label", "stage", "session", "segment", "Beat_ID", "event")),
    first=st.booleans(), clock=st.sampled_from(("", "time", "jitter")),
)  # fmt: skip
def test_the_number_of_a_segment_is_no_clock(parts: int, name: str, first: bool, clock: str) -> None:
    steps = {"time": 0.0, "jitter": 0.02}
    times = {"time": T + steps[clock] * np.random.default_rng(parts).uniform(-1, 1, len(T))} if clock else {}
    columns = {**times, "II": MV}
    number = {name: np.arange(len(MV)) * parts // len(MV) + 1.0}
    table = pd.DataFrame({**number, **columns} if first else {**columns, **number})
    if not clock:
        with pytest.raises(UserError, match="sampling rate"):
            as_recording(table)
    recording = as_recording(table, fs=None if clock == "time" else RATE_HZ)
    assert (recording.rate_hz, recording.leads, recording.samples.shape[1]) == (RATE_HZ, ("II",), len(MV))


@settings(max_examples=draws(20), deadline=None)
@given(
    name=st.sampled_from(("DI", "DII", "I", "V1", "ECG marker", "TTL", "x")), high=st.sampled_from((1, 5, 255, -1)),
    every=st.integers(9, 900), wide=st.integers(3, 400), lead=st.sampled_from(("CH1", "ECG", "A1", "II")),
)  # fmt: skip
def test_a_column_of_two_values_beside_an_ecg_is_a_flag_whatever_its_name(
    name: str, high: int, every: int, wide: int, lead: str
) -> None:
    flag = np.where(np.arange(len(MV)) % every < min(wide, every - 1), high, 0)
    recording = from_array(pd.DataFrame({name: flag, lead: MV * 1000}), RATE_HZ)
    assert recording.leads == (lead,)
    assert from_array(pd.DataFrame({name: flag, lead: MV}), RATE_HZ, column=name).leads == (name,)


@pytest.mark.parametrize("limit", [1023, 4095, 65535])
def test_a_lead_that_is_off_and_jumps_between_its_limits_is_a_lead(limit: int) -> None:
    off = np.where(np.arange(len(MV)) % 7 < 3, limit, 0)
    frame = pd.DataFrame({"I": off, "II": np.round(MV * 200) + 512})
    assert from_array(frame, RATE_HZ).leads == ("I", "II")


@pytest.mark.parametrize("name", ["Sample Index", "packet_number", "Frame-ID", "counter"])
def test_a_count_that_jumps_is_no_lead(name: str) -> None:
    count = np.arange(len(MV)) // 3 * 7 % 200 + np.arange(len(MV)) % 3 * 50
    frame = pd.DataFrame({name: count, "EXG 0": MV * 1000, "EXG 1": MV * 500})
    assert as_recording(frame, fs=RATE_HZ).leads == ("EXG 0", "EXG 1")


@pytest.mark.parametrize("is_file", [True, False])
@pytest.mark.parametrize(("name", "per_mv"), [("ECG mV", 1), ("ECG_uV", 1000), ("V1 (uV)", 1000)])
def test_columns_of_one_name_keep_their_unit(name: str, per_mv: int, is_file: bool, tmp_path: Path) -> None:
    uv = np.round(MV * per_mv, 3)
    frame = pd.DataFrame(np.stack([uv, -uv], 1), columns=[name, name])
    path = tmp_path / "x.csv"
    frame.to_csv(path, index=False)
    recording = as_recording(path if is_file else frame, fs=RATE_HZ)
    assert np.abs(recording.samples * recording.uv_per_unit / 1000 - [MV, -MV]).max() < 0.01


def test_of_a_lead_that_is_there_raw_and_in_volts_under_one_name_the_volts_are_read(tmp_path: Path) -> None:
    head = '"sep=\t"\nS_1\tS_1\tS_1\tS_1\nTimestamp\tTimestamp\tECG LL-RA\tECG LL-RA\nRAW\tCAL\tRAW\tCAL\n'
    rows = [f"{131 * k % 2**24}\t{4 * k + 0.5}\t{int(v * 9e3)}\t{v:.5f}\n" for k, v in enumerate(MV)]
    path = tmp_path / "x.csv"
    path.write_text(head + "no units\tms\tno units\tmV\n" + "".join(rows))
    recording = read_recording(path)
    assert (recording.rate_hz, len(recording.leads)) == (RATE_HZ, 1)
    assert np.abs(recording.samples[0] * recording.uv_per_unit / 1000 - MV).max() < 0.01


@pytest.mark.parametrize("ticks", [1, 64, 131])
def test_ticks_of_a_clock_that_nobody_knows_show_gaps_beside_a_rate_that_is_given(ticks: int, tmp_path: Path) -> None:
    kept = np.delete(np.arange(len(MV)), slice(1000, 1100))
    rows = [f"{(ticks * k + 2**24 - 9000) % 2**24},{MV[k]:.4f}," for k in kept.tolist()]
    path = tmp_path / "x.csv"
    path.write_text("Timestamp_RAW,ECG_CAL\nno units,mV,\n" + "\n".join(rows) + "\n")
    recording = read_recording(path, fs=RATE_HZ)
    assert np.flatnonzero(recording.samples[0] == -32768).tolist() == list(range(1000, 1100))
    assert "only counts samples: give --fs" in message_of(path)


@pytest.mark.parametrize(
    "unit", ["ÂµV", "Î¼V", "\ufffdV", "\ufffd\ufffdV", "?V", "æV", "\u33b6", "\uff55\uff36", "ƒÊV", "µv"]
)  # fmt: skip
def test_a_micro_that_was_read_in_another_encoding_is_one(unit: str, tmp_path: Path) -> None:
    path = written(str(tmp_path), {"time": T, f"ECG ({unit})": MV * 1000})
    assert read_recording(path).uv_per_unit == 1.0


def test_a_time_in_millisec_is_no_second(tmp_path: Path) -> None:
    path = written(str(tmp_path), {"milliSec": T * 1000, "CH1": MV})
    assert read_recording(path).rate_hz == RATE_HZ


def test_columns_of_several_devices_have_their_sensors(tmp_path: Path) -> None:
    device = {
        "column": ["nSeq", "I1", "A1", "A2"], "label": ["A1", "A2"], "sensor": ["ECG", "ACC"], "sampling rate": 250,
    }  # fmt: skip
    head = json.dumps({"20:16": device, "20:17": {**device, "sensor": ["EDA", "ECG"]}})
    rows = [
        "\t".join(map(str, (k % 16, 0, int(v * 300) + 512, 400 + k % 7, k % 16, k % 2, k // 3, 500 - int(v * 200), "")))
        for k, v in enumerate(MV.tolist())
    ]
    path = tmp_path / "x.txt"
    path.write_text(f"# OpenSignals Text File Format\n# {head}\n# EndOfHeader\n" + "\n".join(rows) + "\n")
    recording = read_recording(path)
    assert recording.leads == ("A1", "A2.1")
    assert np.corrcoef(recording.samples, [MV, -MV])[(0, 1), (2, 3)].min() > 0.99


@pytest.mark.parametrize("delimiter", [",", " ", ";"])
def test_rows_of_numpy_with_all_digits_are_leads(delimiter: str, tmp_path: Path) -> None:
    np.savetxt(tmp_path / "x.csv", np.stack([MV, -MV]), delimiter=delimiter)
    assert read_recording(tmp_path / "x.csv", fs=RATE_HZ).samples.shape == (2, len(MV))


def test_names_for_all_integers_between_commas_settle_that_a_comma_is_no_decimal_sign(tmp_path: Path) -> None:
    rows = [f"{v:.0f},{-v:.0f},{v / 2:.0f}" for v in (MV * 10).tolist()]
    path = tmp_path / "x.csv"
    path.write_text("I,II,V1\n" + "\n".join(rows) + "\n")
    assert any("-0" in row for row in rows)
    assert read_recording(path, fs=RATE_HZ).leads == ("I", "II", "V1")


def test_a_column_that_is_asked_for_twice_is_read_once(tmp_path: Path) -> None:
    path = written(str(tmp_path), {"time": T, "ECG": MV, "V1": -MV})
    assert read_recording(path, column="V1,ECG,V1,1").leads == ("V1", "ECG")


def test_calibrated_and_raw_numbers_of_a_lead_are_that_lead_once(tmp_path: Path) -> None:
    frame = pd.DataFrame({"Shimmer_A1_ECG_LL-RA_24BIT_CAL": MV, "Shimmer_A1_ECG_LL-RA_24BIT_RAW": np.round(MV * 30000)})
    (tmp_path / "x.csv").write_text(
        "\n".join([",".join(frame), "mV,no_units", frame.to_csv(header=False, index=False)])
    )
    recording = read_recording(tmp_path / "x.csv", fs=RATE_HZ)
    assert recording.leads == ("Shimmer_A1_ECG_LL-RA_24BIT_CAL",)
    assert np.abs(recording.samples[0] * recording.uv_per_unit / 1000 - MV).max() < 0.01


@settings(max_examples=draws(20), deadline=None)
@given(size=st.sampled_from((1.0, 200.0, 3e4, 1e7)), first=st.booleans())
def test_a_lead_in_volts_is_not_coarse_beside_large_numbers_without_a_unit(size: float, first: bool) -> None:
    with TemporaryDirectory() as folder:
        columns = {"I (mV)": MV, "II": np.round(MV * size, 4)}
        columns = columns if first else dict(reversed(columns.items()))
        recording = as_recording(written(folder, columns), RATE_HZ)
    assert recording.uv_per_unit == 0
    for samples in recording.samples:
        assert np.corrcoef(samples, MV)[0, 1] > 0.999


def test_the_ports_of_a_device_are_no_leads(tmp_path: Path) -> None:
    columns = {"NSeq": np.arange(len(MV)) % 16, "I1": MV * 0 + 1, "I2": MV * 0, "O1": MV * 0, "AI1": MV}
    path = written(str(tmp_path), columns, delimiter="\t")
    assert read_recording(path, fs=RATE_HZ).leads == ("AI1",)
    path = written(str(tmp_path), {"I1 (mV)": MV, "I2 (mV)": -MV})
    assert read_recording(path, fs=RATE_HZ).leads == ("I1", "I2")
