"""Time in one pass over the streams of a tick: arrivals by partition, and stretches that begin behind beats."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from beatwire.jit import cpu
from beatwire.kernels.intake import clock
from beatwire.kernels.intake.avro import MAX_INDEX
from beatwire.records import Event
from beatwire.records.columns import EVENT_COLUMNS
from beatwire.stages.support.streams.stretches import begun_later
from hypothesis import example, given
from hypothesis import strategies as st
from oracles import SentChunk
from steps import Aligner

SLOTS = 6


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(-5, 50)), min_size=SLOTS, max_size=SLOTS),
    st.sets(st.integers(0, SLOTS - 1)),
)
def test_the_newest_arrival_of_a_partition_is_that_of_its_streams_in_the_tick(
    streams: list[tuple[int, int]], drawn: set[int]
) -> None:
    partitions = np.array([p for p, _ in streams], np.int32)
    arrived_us = np.array([at_us for _, at_us in streams], np.int64)
    newest_us = np.array([-3, 7, 100, 0])
    last_us = cpu.kernels.note_arrivals(np.array(sorted(drawn), np.int64), partitions, arrived_us, newest_us)
    expected = {0: -3, 1: 7, 2: 100, 3: 0}
    of_tick = {p: [streams[s][1] for s in drawn if streams[s][0] == p] for p in {streams[s][0] for s in drawn}}
    expected |= {p: max(0, *at_us) for p, at_us in of_tick.items()}
    assert newest_us.tolist() == list(expected.values())
    assert last_us == max((expected[p] for p in of_tick), default=0)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 3),  # pass
            st.integers(0, SLOTS - 1),
            st.just(Event.RESTART),
            st.integers(0, 9),  # sample
            st.integers(-3, 9),  # up to where the session was known
        ),
        max_size=12,
    ),
    st.lists(st.tuples(st.integers(0, SLOTS - 1), st.integers(0, 3)), max_size=12),
)
def test_a_stretch_begins_behind_a_beat_where_a_later_pass_begins_it(
    given_events: list[tuple[int, ...]], beats: list[tuple[int, int]]
) -> None:
    events = np.zeros((len(given_events), EVENT_COLUMNS), np.int64)
    events[:, :5] = np.array(given_events, np.int64).reshape(-1, 5)
    aligned = cast(Any, SimpleNamespace(restarts=events, anchors=np.zeros((SLOTS, 1), np.int64)))
    rows = np.array(beats, np.int64).reshape(-1, 2)
    expected = [
        sum(
            own == slot and number > of_beat and (value < 0 or sample < value)
            for number, own, _, sample, value in given_events
        )
        for slot, of_beat in beats
    ]
    assert begun_later(aligned, rows[:, 0].copy(), rows[:, 1].copy()).tolist() == expected


@given(st.integers(0, MAX_INDEX), st.integers(0, 1 << 40), st.integers(0, clock.MAX_ANCHORS))
def test_an_anchor_has_its_first_sample_and_its_stretch(first: int, stretch: int, later: int) -> None:
    anchor = clock.packed(stretch, first)
    assert 0 <= anchor < 1 << 63
    assert (clock.first_of(anchor), clock.stretch_of(anchor, stretch + later)) == (first, stretch)


@example([("ahead", "absent", 1, False), ("back", "values", 1, False)])
@example([("ahead", "off", 1, False), ("back", "values", 1, False)])
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["on", "on", "ahead", "back"]),
            st.sampled_from(["values", "absent", "off"]),
            st.sampled_from([1, 1, 1, 2]),  # session
            st.booleans(),  # the tick ends
        ),
        min_size=1,
        max_size=30,
    )
)
def test_clocks_count_the_stretches_that_events_begin_also_where_a_chunk_far_ahead_has_no_values(
    drawn: list[tuple[str, str, int, bool]],
) -> None:
    """Else samples before one of them in its tick have the times of another clock."""
    aligner, first, before, counted, waiting = Aligner(), 100, 100, 0, list[bytes]()
    for number, (step, kind, session, ends) in enumerate([("on", "values", 1, False), *drawn]):
        before, first = (first, first + 7_000) if step == "ahead" else (before, before if step == "back" else first)
        samples = np.full((1, 10), -32768 if kind == "absent" else 7, np.int16)
        waiting.append(SentChunk("bed", session, first, samples, lead_off=int(kind == "off")).message())
        first += 10
        if ends or number == len(drawn):
            aligned, waiting = aligner.tick(waiting, arrival_us=[10**6] * len(waiting)), []
            begun = int(begun_later(aligned, np.zeros(1, np.int64), np.full(1, -1))[0])
            assert aligned.anchors[0, clock.STRETCH] == counted + begun
            counted += begun
