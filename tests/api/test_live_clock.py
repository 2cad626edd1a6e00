"""``Live`` with tables that have times: what contradicts the count of samples is said, and nothing else."""

import datetime as dt
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
import pytest
from beatwire import Live
from beatwire.api.live_clock import ChunkClock
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

KINDS = [
    "dates",
    "dates of a zone",
    "durations",
    "second level",
    "column of dates",
    "texts",
    "ms",
    "time_s",
    "dict",
    "series",
]


def table(kind: str, seconds: np.ndarray, mv: np.ndarray) -> Any:
    """Return a chunk with its times."""
    dates = pd.Timestamp("2026-03-29 00:59:58") + pd.to_timedelta(seconds, unit="s").round("us")
    index: dict[str, Any] = {
        "dates": dates, "series": dates, "dates of a zone": dates.tz_localize("UTC").tz_convert("Europe/Berlin"),
        "durations": pd.to_timedelta(seconds, unit="s"),
        "second level": pd.MultiIndex.from_arrays([["bed 3"] * len(mv), dates]),
    }  # fmt: skip
    if kind in index:
        return pd.Series(mv, index[kind]) if kind == "series" else pd.DataFrame({"II": mv}, index[kind])
    column = {"column of dates": dates, "texts": dates.astype(str), "ms": seconds * 1000}.get(kind, seconds)
    name = "time (ms)" if kind == "ms" else "time_s"
    return {name: column, "II": mv} if kind == "dict" else pd.DataFrame({name: column, "II": mv})


@settings(max_examples=draws(60), deadline=None)
@given(
    kind=st.sampled_from(KINDS), lengths=st.lists(st.integers(2, 300), min_size=3, max_size=12), lost=st.data(),
    rate_hz=st.sampled_from([128.0, 250.0, 500.0]), drift=st.floats(-0.01, 0.01), jitter_s=st.sampled_from([0.0, 0.02]),
)  # fmt: skip
def test_times_that_samples_contradict_are_said_and_no_others(
    kind: str, lengths: list[int], lost: st.DataObject, rate_hz: float, drift: float, jitter_s: float
) -> None:
    at = lost.draw(st.none() | st.integers(1, len(lengths) - 1))
    gap_s = lost.draw(st.floats(0.3, 60.0) | st.floats(-60.0, -0.3))
    is_stated = lost.draw(st.booleans()) and gap_s > 0
    notes: list[str] = []
    clock, position, rng = ChunkClock(rate_hz, notes.append), 0, np.random.default_rng(1)
    for k, length in enumerate(lengths):
        later = gap_s if at is not None and k >= at else 0.0
        position += round(gap_s * rate_hz) if is_stated and k == at else 0
        begin = (sum(lengths[:k]) / rate_hz + later) * (1 + drift) + rng.uniform(0, jitter_s)
        clock.compare(table(kind, begin + np.arange(length) / rate_hz, np.zeros(length)), position)
        position += length
    assert len(notes) == (at is not None and not is_stated)
    if notes:
        first, last = sum(lengths[: (at or 0) - 1]), sum(lengths[:at])
        assert notes[0].endswith(": samples count (where some are missing, give first)")
        assert f" to {last} the times of " in notes[0] or f"from sample {first} to {last}" in notes[0]


@settings(max_examples=draws(40), deadline=None)
@given(
    days=st.integers(0, 25_000), seconds=st.integers(0, 86_390) | st.just(86_397),
    written=st.sampled_from(["%d/%m/%Y %H:%M:%S.%f", "%m/%d/%Y %I:%M:%S.%f %p", "%d.%m.%y %H:%M:%S"]),
    lost_s=st.sampled_from([0.0, 30.0]),
)  # fmt: skip
def test_dates_of_any_order_are_compared_across_midnight(days: int, seconds: int, written: str, lost_s: float) -> None:
    begin = dt.datetime(2001, 1, 1, tzinfo=dt.UTC) + dt.timedelta(days, seconds)
    notes: list[str] = []
    clock = ChunkClock(250.0, notes.append)
    for k in range(6):
        since_s = k + np.arange(250) / 250 + (lost_s if k > 2 else 0.0)
        times = [(begin + dt.timedelta(seconds=float(s))).strftime(written) for s in since_s]
        clock.compare(pd.DataFrame({"time": times, "II": 0.0}), 250 * k)
    assert len(notes) == (lost_s > 0), notes


def test_small_holes_in_each_chunk_add_up() -> None:
    notes: list[str] = []
    clock = ChunkClock(250.0, notes.append)
    times = np.delete(np.arange(5000) / 250, [k + j for k in range(0, 5000, 250) for j in range(100, 115)])
    for k in range(0, len(times), 235):
        clock.compare(pd.DataFrame({"time_s": times[k : k + 235], "II": 0.0}), k)
    assert notes[0].startswith("from sample 0 to 470 the times of 'time_s' advance 2 s, the samples 1.88 s at 250 Hz")
    assert 2 <= len(notes) <= 5


@pytest.mark.parametrize("time", [None, pd.NaT, [1], (1, 2), {"s": 1}, 1j, "noon", b"1970", 10**30, dt.time(10, 0)])
def test_a_time_that_is_none_costs_no_sample(time: Any) -> None:
    notes: list[str] = []
    with Live(fs=250, leads=["II"], units="mV", notes=notes.append) as live:
        for _ in range(3):
            live.push(pd.DataFrame({"time": pd.Series([time] * 50), "II": np.sin(np.arange(50) / 9)}))
        assert live.position == 150
    assert notes == []


@pytest.mark.parametrize(
    "chunk", [np.zeros(50), [0.0] * 50, pd.Series(np.zeros(50)), pd.DataFrame({"t": np.zeros(50)})]
)
def test_chunks_without_times_have_nothing_to_contradict(chunk: Any) -> None:
    notes: list[str] = []
    clock = ChunkClock(250.0, notes.append)
    for k in range(5):
        clock.compare(chunk, 70 * k)
    assert notes == []


def test_live_says_where_a_table_has_a_gap_and_where_the_kind_of_numbers_changes() -> None:
    notes: list[str] = []
    mv = np.sin(np.arange(250) / 9)
    with Live(fs=250, leads=["II"], units="mV", notes=notes.append) as live:
        for begin in (0.0, 1.0, 5.0):
            live.push(table("dates", begin + np.arange(250) / 250, mv))
    said = "from sample 250 to 500 the times of 'index' advance 4 s, the samples 1 s at 250 Hz: samples count"
    assert [note for note in notes if "times" in note] == [f"Live: {said} (where some are missing, give first)"]
    notes.clear()
    with Live(fs=250, leads=["II"], notes=notes.append) as live:
        for numbers in (mv, mv, mv, (200 * mv).astype(np.int16), mv):
            live.push(numbers)
    said = "Live: chunks of int16 after other numbers are taken in the same unit (give units or gain)"
    assert notes.count(said) == 1


def test_threads_that_push_to_one_monitor_take_turns() -> None:
    beat = np.exp(
        -((np.arange(200) / 250 - 0.4) ** 2) / 0.0002
    )  # each chunk is the same, so their order does not matter
    with Live(fs=250, leads=["II"], units="mV", notes=lambda _: None) as live:
        expected = [b.sample for _ in range(60) for b in live.push(beat).beats] + [b.sample for b in live.close().beats]
    with Live(fs=250, leads=["II"], units="mV", notes=lambda _: None) as live:

        def push() -> list[int]:
            return [b.sample for _ in range(15) for b in live.push(beat).beats]

        with ThreadPoolExecutor(4) as pool:
            parts = [running.result() for running in [pool.submit(push) for _ in range(4)]]
        assert live.position == 60 * 200
        parts.append([b.sample for b in live.close().beats])
    assert sorted(sample for part in parts for sample in part) == expected
    assert len(expected) > 55
