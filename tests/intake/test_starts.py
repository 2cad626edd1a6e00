"""Where no replay may begin: at a first chunk of a stream that is not what the stream was."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from beatwire.pipeline.starts import MOST_US, STEP_US
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from marked import RATE_HZ, Reading
from oracles import SentChunk


def test_no_replay_begins_where_the_first_chunk_of_a_stream_was_rejected() -> None:
    reading = Reading()
    reading.read(("bed", 0, 5))
    for k in range(5, 25):  # of a stranger that is far behind
        reading.read(("bed", 0, 1), ("young", k, k + 1)) if k > 5 else reading.read(("bed", 5, 90))
    reading.read(("bed", 90, 91), ("young", 25, 26))
    starts = reading.marks.starts
    assert [starts.at_or_before(0, tick) for tick in (0, 1, 2, 10, 20, 21)] == [0, 1, 1, 1, 1, 21]


def test_no_replay_begins_where_a_stream_has_jumped_to_a_wrong_place_and_back() -> None:
    reading = Reading()
    for begin in (*range(10), 5000, *range(10, 20)):
        reading.read(("bed", begin, begin + 1))
    starts = reading.marks.starts
    assert [starts.at_or_before(0, tick) for tick in (9, 10, 11, 12)] == [9, 9, 9, 12]


@settings(max_examples=draws(20), deadline=None)
@given(st.lists(st.sets(st.sampled_from(["a", "b", "c"])), min_size=1, max_size=15))
def test_a_replay_begins_where_every_stream_of_its_partition_may(strangers: list[set[str]]) -> None:
    """``strangers``: of each tick, the streams whose first chunk is one that is far behind."""
    reading, bad = Reading(), [False]
    reading.read(*((stream, 0, 90) for stream in "abc"))
    for k, strange in enumerate(strangers, 90):
        reading.read(*((stream, *place) for stream in "abc" for place in [(0, 1)] * (stream in strange) + [(k, k + 1)]))
        bad.append(bool(strange))
    for tick in range(len(bad)):
        expected = max(t for t in range(tick + 1) if not bad[t])
        assert reading.marks.starts.at_or_before(0, tick) == expected


@pytest.mark.parametrize(
    "strange", [{"rate_hz": 50.0}, {"uv_per_unit": 2.0}, {"leads": ("V5",)}, {"samples": np.zeros((2, 100), np.int16)}]
)
def test_no_replay_begins_where_the_first_chunk_of_a_stream_said_other_things(strange: dict[str, Any]) -> None:
    reading = Reading()
    for k in range(5):
        chunk = replace(SentChunk("bed", 1, round(k * RATE_HZ), np.zeros((1, 100), np.int16)), **strange)
        reading.read(("bed", k, k + 1), before=[chunk] if k in (2, 3) else [])
    starts = reading.marks.starts
    assert [starts.at_or_before(0, tick) for tick in range(5)] == [0, 1, 1, 1, 4]


@pytest.mark.parametrize("set_back", [False, True])
def test_a_stranger_that_begins_every_tick_lengthens_a_replay_to_a_bound(set_back: bool) -> None:
    reading, tick_s, back = Reading(), 10, 0
    reading.now_s = 5000.0
    reading.read(("bed", 0, tick_s))
    for k in range(1, 150):
        if set_back and k % 40 == 0:
            reading.now_s, back = reading.now_s - 500.0, back + 1
        reading.read(("bed", 0, 1), ("bed", tick_s * k, tick_s * (k + 1)))
        begin = reading.marks.starts.at_or_before(0, reading.oldest())
        most = (MOST_US + 2 * STEP_US) / 1e6 / tick_s + back + 2
        assert k - most <= begin <= reading.oldest()
    assert begin > 50


def test_what_is_older_than_all_replays_is_forgotten() -> None:
    reading = Reading()
    reading.read(("bed", 0, 90))
    for k in range(90, 300):
        reading.read(("bed", 0, 1), ("bed", k, k + 1))
        reading.read(("bed", k + 1, k + 2))
        reading.marks.starts.at_or_before(0, reading.oldest())
    assert len(reading.marks.starts.stretches[0]) < 100
