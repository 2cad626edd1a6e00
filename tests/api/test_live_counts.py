"""``Live`` with tables: times within a chunk, and counts, that the samples contradict are said, and nothing else."""

import numpy as np
import pandas as pd
from beatwire.api.live_clock import ChunkClock
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from test_live_clock import KINDS, table


@settings(max_examples=draws(60), deadline=None)
@given(
    kind=st.sampled_from(KINDS), lengths=st.lists(st.integers(50, 400), min_size=1, max_size=4),
    gap_s=st.sampled_from([0.0, 0.5, 30.0, -0.2, -5.0]), drawn=st.data(),
)  # fmt: skip
def test_times_within_a_chunk_that_its_samples_contradict_are_said_once(
    kind: str, lengths: list[int], gap_s: float, drawn: st.DataObject
) -> None:
    holed = drawn.draw(st.integers(0, len(lengths) - 1))
    ends = np.cumsum([0, *lengths])
    seconds = 10 + np.arange(ends[-1]) / 250
    seconds[ends[holed] + drawn.draw(st.integers(40, lengths[holed] - 1)) :] += gap_s
    notes: list[str] = []
    clock = ChunkClock(250.0, notes.append)
    for first, last in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        clock.compare(table(kind, seconds[first:last], np.zeros(last - first)), first)
    assert len(notes) == (gap_s != 0), notes
    if notes:
        assert notes[0].startswith(f"from sample {ends[holed]} to {ends[holed + 1] - 1} the times of ")
        assert ("fall by" in notes[0]) == (gap_s < 0 and kind != "texts")


@settings(max_examples=draws(40), deadline=None)
@given(kind=st.sampled_from(KINDS), n=st.integers(100, 3000), rate=st.sampled_from([125.0, 200.0, 360.0, 500.0]))
def test_a_recording_that_is_pushed_at_once_at_another_rate_is_said(kind: str, n: int, rate: float) -> None:
    notes: list[str] = []
    ChunkClock(250.0, notes.append).compare(table(kind, np.arange(n) / rate, np.zeros(n)), 0)
    seconds = f"{(n - 1) / rate:.4g} s, the samples {(n - 1) / 250:.4g} s at 250 Hz"
    assert [seconds in note for note in notes] == [True]


@settings(max_examples=draws(40), deadline=None)
@given(
    length=st.integers(20, 600), begin_s=st.floats(0, 9), lost_s=st.sampled_from([0, 30]),
    written=st.sampled_from(["%Y-%m-%d %H:%M:%S", "%H:%M:%S", "dates"]),
)  # fmt: skip
def test_times_in_whole_seconds_are_no_gaps(length: int, begin_s: float, lost_s: int, written: str) -> None:
    notes: list[str] = []
    clock = ChunkClock(250.0, notes.append)
    for k in range(12):
        seconds = np.floor(begin_s + (k * length + np.arange(length)) / 250 + (lost_s if k > 5 else 0))
        dates = pd.Timestamp("2026-03-29 10:59:50") + pd.to_timedelta(seconds, unit="s")
        times = dates if written == "dates" else dates.strftime(written)
        clock.compare(pd.DataFrame({"time": times, "II": 0.0}), k * length)
    assert len(notes) == (lost_s > 0), notes


@settings(max_examples=draws(30), deadline=None)
@given(
    kind=st.sampled_from(["dates", "dates of a zone", "durations", "texts", "series"]), rows=st.integers(1, 3),
    begin_s=st.floats(0, 1), lost_s=st.sampled_from([0.0, 0.4]), at=st.integers(20, 39),
)  # fmt: skip
def test_a_gap_between_chunks_of_few_samples_is_said(
    kind: str, rows: int, begin_s: float, lost_s: float, at: int
) -> None:
    notes: list[str] = []
    clock = ChunkClock(250.0, notes.append)
    for k in range(40):
        seconds = begin_s + (k * rows + np.arange(rows)) / 250 + (lost_s if k >= at else 0.0)
        clock.compare(table(kind, seconds, np.zeros(rows)), k * rows)
    assert len(notes) == (lost_s > 0), notes


@settings(max_examples=draws(100), deadline=None)
@given(
    kind=st.sampled_from(["index", "named index", "sample", "Sample Index", "seq of packets", "dict"]),
    lengths=st.lists(st.integers(2, 50), min_size=5, max_size=9), begin=st.integers(2, 99),
    event=st.sampled_from(["none", "lost", "stated", "twice", "overlap", "restart", "own"]), at=st.integers(3, 4),
)  # fmt: skip
def test_samples_that_are_missing_or_come_twice_by_a_count_are_said(
    kind: str, lengths: list[int], begin: int, event: str, at: int
) -> None:
    is_of_packets = kind == "seq of packets"
    notes: list[str] = []
    clock, position, number = ChunkClock(250.0, notes.append), 0, begin
    for k, length in enumerate(lengths):
        if k == at and event != "none":
            lost = {"lost": 7, "stated": 7, "twice": -1 if is_of_packets else -lengths[k - 1], "overlap": -1}.get(
                event, 0
            )
            number = 0 if event == "restart" else number + lost
            position += 7 if event == "stated" else 0
        number = begin if event == "own" else number
        numbers = np.full(length, number) if is_of_packets else number + np.arange(length)
        number += 1 if is_of_packets else length
        chunk = pd.DataFrame({"II": np.zeros(length)}, index=numbers if "index" in kind else None)
        if kind == "named index":
            chunk.index.name = "sample"
        if "index" not in kind:
            chunk["seq" if is_of_packets else "sample" if kind == "dict" else kind] = numbers
        clock.compare(dict(chunk.items()) if kind == "dict" else chunk, position)
        position += length
    is_said = event in ("lost", "overlap", "twice") and not (is_of_packets and event in ("overlap", "twice"))
    assert len(notes) == is_said, notes
    assert all(f"to {sum(lengths[:at])} the count of " in note for note in notes)
