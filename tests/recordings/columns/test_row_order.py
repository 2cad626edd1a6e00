"""Rows that come twice or late: each is read once, in the order of the clock, and that is said."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from beatwire.recordings import read_recording
from beatwire.recordings.read import as_recording
from beatwire.recordings.synthetic.person import synthetic_recording
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from sources import message_of

UV = synthetic_recording("synthetic:seconds=30,seed=5", rate_hz=250).samples[0].astype(int)
N = len(UV)
CLOCKS = ("s", "ms", "us from 4294", "midnight", "count", "date")


def column(clock: str, rate_hz: float, jitter_s: float = 0.0, seed: int = 0) -> np.ndarray:
    """Return the cells of a clock of N rows."""
    t = np.arange(N) / rate_hz + np.random.default_rng(seed).uniform(-jitter_s, jitter_s, N)
    if clock == "count":
        return np.arange(N)
    if clock == "ms":
        return (t * 1e3).round(3)
    if clock == "us from 4294":
        return (4_294_000_000 + np.rint(t * 1e6).astype(np.int64)) % 2**32
    start = pd.Timestamp("2026-03-14 23:59:50" if clock == "midnight" else "2026-03-14 10:00:00")
    stamps = start + pd.to_timedelta(t.round(6), unit="s")
    cells = {"midnight": stamps.strftime("%H:%M:%S.%f"), "date": stamps.strftime("%Y-%m-%dT%H:%M:%S.%fZ")}
    return np.asarray(cells[clock]) if clock in cells else t.round(6)


@settings(deadline=None, max_examples=draws(80))
@given(
    clock=st.sampled_from(CLOCKS), rate_hz=st.sampled_from([125.0, 250.0, 360.0, 500.0, 1000.0]),
    what=st.sampled_from(["each twice", "some twice", "last twice", "block twice", "swapped", "late", "file twice"]),
    at=st.integers(1000, N - 1000), size=st.integers(1, 60), by=st.integers(1, 300), in_frame=st.booleans(),
    jitter=st.sampled_from([0.0, 0.05]),
)  # fmt: skip
def test_rows_that_come_twice_or_late_are_read_once_and_in_order(
    clock: str, rate_hz: float, what: str, at: int, size: int, by: int, in_frame: bool, jitter: float
) -> None:
    if what == "file twice" and (clock in ("midnight", "us from 4294") or N / rate_hz == 60):
        return  # a clock that turns, at midnight or each minute, goes on
    row = np.arange(N)
    row = {
        "each twice": np.repeat(row, 2), "some twice": np.sort(np.r_[row, row[::97]]), "last twice": np.r_[row, N - 1],
        "block twice": np.r_[row[:at], row[at - size : at], row[at:]],
        "swapped": np.r_[row[:at], at + 1, at, row[at + 2 :]],
        "late": np.r_[row[:at], row[at + size : at + size + by], row[at : at + size], row[at + size + by :]],
        "file twice": np.r_[row, row],
    }[what]  # fmt: skip
    table = pd.DataFrame({"time": column(clock, rate_hz, jitter / rate_hz), "ECG (uV)": UV}).iloc[row]
    fs = rate_hz if clock == "count" else None
    if clock in ("us from 4294", "count", "ms"):
        table = table.rename(columns={"time": {"count": "sample", "ms": "time_ms"}.get(clock, "time_us")})
    if in_frame and clock not in ("midnight", "date"):
        recording = as_recording(table.reset_index(drop=True), fs)
    else:
        with TemporaryDirectory() as folder:
            table.to_csv(Path(folder) / "x.csv", index=False)
            recording = read_recording(Path(folder) / "x.csv", fs=fs)
    assert recording.rate_hz == pytest.approx(rate_hz, rel=2e-3)
    assert recording.samples.shape == (1, N), recording.notes
    assert np.array_equal(recording.samples[0], UV)
    said = "late" if what in ("swapped", "late") else "twice"
    assert any(f"rows come {said}" in note or f"comes {said}" in note for note in recording.notes)


@settings(deadline=None, max_examples=draws(25))
@given(
    bits=st.sampled_from([12, 13, 14, 15, 16]), full=st.floats(0.8, 0.999), every=st.sampled_from([1, 2, 4, 8]),
    times=st.integers(2, 3), is_count=st.booleans(),
)  # fmt: skip
def test_a_file_that_comes_twice_has_no_clock_that_turned_however_near_to_a_turn_it_ends(
    bits: int, full: float, every: int, times: int, is_count: bool
) -> None:
    clock = np.arange(0, full * 2**bits, 1 if is_count else every)
    uv = np.rint(300 * np.sin(clock / 31.0) + 90 * np.sin(clock / 7.7)).astype(np.int16)
    name, rate_hz = ("sample", 250.0) if is_count else ("time_ms", 1000.0 / every)
    table = pd.DataFrame({name: clock, "ECG (uV)": uv})
    recording = as_recording(pd.concat([table] * times, ignore_index=True), rate_hz)
    assert np.array_equal(recording.samples, uv[None]), recording.notes
    assert any("rows come twice" in note for note in recording.notes)


@settings(deadline=None, max_examples=draws(30))
@given(
    rate_hz=st.sampled_from([250.0, 1000.0, 1024.0]), digits=st.integers(0, 3), seed=st.integers(0, 99),
    has_flat=st.booleans(), jitter_s=st.sampled_from([0.0, 0.002]),
)  # fmt: skip
def test_rows_that_share_a_time_or_jitter_stay_as_they_are(
    rate_hz: float, digits: int, seed: int, has_flat: bool, jitter_s: float
) -> None:
    rng = np.random.default_rng(seed)
    times = (np.arange(N) / rate_hz + rng.normal(0, jitter_s, N) * (digits == 3)).round(digits)
    uv = 0 * UV + 7 if has_flat else UV
    table = pd.DataFrame({"time_s": times, "ECG (uV)": uv})
    recording = as_recording(table, rate_hz if digits < 3 else None)
    assert not any("twice" in note or "come late" in note for note in recording.notes)


def test_a_table_that_counts_down_is_refused(tmp_path: Path) -> None:
    pd.DataFrame({"sample": np.arange(N)[::-1], "ECG (uV)": UV}).to_csv(tmp_path / "x.csv", index=False)
    assert message_of(tmp_path / "x.csv", fs=250) == (
        "x.csv: expected rows from the first sample to the last; column 'sample' counts down: turn the table round"
    )
