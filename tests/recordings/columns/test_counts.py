"""Tables with a column that counts samples or packets: what it leaves out is missing, and what it cannot be is said."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from beatwire.errors import UserError
from beatwire.recordings import NO_VALUE, read_blocks, read_recording
from beatwire.recordings.read import as_recording
from beatwire.recordings.synthetic.person import synthetic_recording
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

UV = synthetic_recording("synthetic:seconds=30,seed=5", rate_hz=250).samples[0].astype(int)
N = len(UV)
NAMES = ["packet", "seq", "Packet Number", "frame_id", "pkt"]


def read(table: pd.DataFrame, kind: str, fs: float | None = 250) -> tuple[np.ndarray, float, tuple[str, ...]]:
    """Return samples, rate and notes of a table, as a file, in blocks or in memory."""
    table = table.reset_index(drop=True)
    if kind == "frame":
        one = as_recording(table, fs)
        return one.samples[0], one.rate_hz, one.notes
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.csv"
        table.to_csv(path, index=False)
        parts = [*read_blocks(path, fs=fs, samples=2500)] if kind == "blocks" else [read_recording(path, fs=fs)]
    return np.concatenate([part.samples[0] for part in parts]), parts[0].rate_hz, parts[0].notes


@settings(deadline=None, max_examples=draws(60))
@given(
    together=st.integers(1, 80), turn=st.sampled_from([0, 16, 256, 65536]), begin=st.integers(0, 999),
    lost=st.lists(st.integers(5, 80), max_size=3, unique=True), many=st.integers(1, 3), name=st.sampled_from(NAMES),
    ecg=st.sampled_from(["ECG (uV)", "value_uV"]), kind=st.sampled_from(["file", "frame"]),
)  # fmt: skip
def test_packets_that_are_left_out_are_gaps_at_their_place(
    together: int, turn: int, begin: int, lost: list[int], many: int, name: str, ecg: str, kind: str
) -> None:
    number = np.arange(N) // together
    gone = np.isin(number, [k + j for k in lost for j in range(many)])
    gone &= (number >= 5) & (number < number[-1] - 5)
    counted = (begin + number) % turn if turn else begin + number
    samples, rate_hz, notes = read(pd.DataFrame({name: counted, ecg: UV})[~gone], kind)
    assert rate_hz == 250
    assert np.array_equal(samples, np.where(gone, NO_VALUE, UV))
    are = "s are" if gone.sum() > 1 else " is"
    assert (f"{gone.sum()} sample{are} missing by the count of {name!r}" in notes) == bool(gone.any())


@settings(deadline=None, max_examples=draws(20))
@given(at=st.integers(300, N - 300), size=st.integers(20, 250), kind=st.sampled_from(["file", "frame", "blocks"]))
def test_a_long_gap_is_as_long_as_the_count_says(at: int, size: int, kind: str) -> None:
    sample = np.arange(N) + np.where(np.arange(N) >= at, size * 250, 0)
    samples, _, _ = read(pd.DataFrame({"sample": sample, "ECG (uV)": UV}), kind)
    assert len(samples) == N + size * 250
    assert np.array_equal(np.delete(samples, np.arange(at, at + size * 250)), UV)


@settings(deadline=None, max_examples=draws(30))
@given(
    at=st.integers(500, N - 1000), size=st.integers(20, 400), kind=st.sampled_from(["file", "frame"]),
    what=st.sampled_from(["twice", "late", "from 0 again"]), together=st.sampled_from([1, 10]),
)  # fmt: skip
def test_rows_that_come_twice_or_late_are_said(at: int, size: int, kind: str, what: str, together: int) -> None:
    row = np.arange(N)
    if what == "twice":
        row = np.r_[row[:at], row[at - size : at], row[at:]]
    elif what == "late":
        row = np.r_[row[:at], row[at + size : at + 2 * size], row[at : at + size], row[at + 2 * size :]]
    count = row // together - np.where((row >= at) & (what == "from 0 again"), at // together, 0)
    _, _, notes = read(pd.DataFrame({"sample": count, "ECG (uV)": UV[row]}), kind)
    said = ("the count of 'sample' falls 1 time, first from ", f"{size} rows come {what}")
    assert any(note.startswith(said) for note in notes)


def test_numbers_of_packets_are_no_seconds_and_no_lead() -> None:
    table = pd.DataFrame({"packet": np.arange(N) // 73 % 256, "value": UV / 1000})
    with pytest.raises(UserError, match="column 'packet' only counts samples: give --fs, in Hz"):
        read(table, "file", None)
    assert as_recording(table, 130).leads == ("value",)


@pytest.mark.parametrize("kind", ["file", "frame"])
def test_a_count_beside_a_clock_in_whole_seconds_shows_where_samples_are_missing(kind: str) -> None:
    gone = (np.arange(N) >= 3000) & (np.arange(N) < 3040)
    table = pd.DataFrame({"sample": np.arange(N), "time": np.arange(N) // 250, "ECG (uV)": UV})[~gone]
    samples, rate_hz, notes = read(table, kind, None)
    assert rate_hz == 250
    assert np.array_equal(samples, np.where(gone, NO_VALUE, UV))
    assert "40 samples are missing by the count of 'sample'" in notes


@pytest.mark.parametrize("kind", ["file", "frame"])
def test_a_clock_that_does_not_show_what_the_count_leaves_out_is_said(kind: str) -> None:
    gone = (np.arange(N) >= 3000) & (np.arange(N) < 3040)
    table = pd.DataFrame({"sample": np.arange(N), "ECG (uV)": UV})[~gone]
    table["time"] = np.arange(len(table)) / 250
    assert "the count of 'sample' leaves out 40 samples, its times 0" in read(table, kind, None)[2]
