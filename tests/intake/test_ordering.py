"""Events of a tick in the order of each stream: the kernels against a sort."""

from __future__ import annotations

import numpy as np
import pytest
from beatwire.jit import cpu
from beatwire.kernels.intake import ordering
from beatwire.records import I64, Event
from beatwire.records.alignment import PassBeats, PassLanes
from beatwire.records.selection import ListedBlocks


def by_sorting(events: I64) -> I64:
    """Return the events sorted by slot, pass, restart first, watermark last, sample and kind."""
    rank = np.where(events[:, 2] == Event.RESTART, 0, np.where(events[:, 2] == Event.WATERMARK, 2, 1))
    keys = events[:, 2], events[:, 3], rank, events[:, 0], events[:, 1]
    return np.ascontiguousarray(events[np.lexsort(keys)][:, [1, 5, 2, 3, 4, 6]])


def of_a_pass(rng: np.random.Generator, number: int, slots: I64) -> tuple[I64, ...]:
    """Return the lanes of a pass, and their beats and blocks in order of lane and sample."""
    n = len(slots)
    row, block_row = np.sort(rng.integers(0, n, 3 * n)), np.sort(rng.integers(0, n, n))
    sample, end = rng.integers(0, 9, 3 * n) + 10 * number, rng.integers(0, 9, n) + 10 * number
    sample, end = sample[np.lexsort((sample, row))], end[np.lexsort((end, block_row))]
    return slots, 7 + slots, np.full(n, 10 * number + 10), row, sample, block_row, end, rng.integers(0, 3, n)


@pytest.mark.parametrize("slots", [1, 2, 40])
def test_events_of_all_passes_are_in_the_order_of_each_stream(slots: int) -> None:
    rng = np.random.default_rng(slots)
    for passes in (1, 2, 5):
        kinds = rng.integers(Event.RESTART, Event.BEAT, 2 * slots)
        number = rng.integers(0, passes, 2 * slots)
        columns = [number, rng.integers(0, slots, 2 * slots), kinds, rng.integers(0, 9, 2 * slots) + 10 * number]
        events = np.zeros((2 * slots + 6 * passes * slots, 7), np.int64)
        n = 2 * slots
        events[:n, :4] = np.stack(columns, axis=1)
        events[:n, 4:] = np.arange(3 * n).reshape(n, 3)  # equal events keep their order
        beats = 0
        for k in range(passes):
            lanes, session, known, row, sample, *blocks = of_a_pass(rng, k, rng.permutation(slots))
            of_lanes = PassLanes(k % 2, lanes, session, known)
            n = cpu.kernels.merge_pass(k, of_lanes, PassBeats(row, sample), beats, ListedBlocks(*blocks), events, n)
            beats += len(row)
        assert n == 2 * slots + 5 * passes * slots
        assert sorted(events[:n][events[:n, 2] == Event.BEAT, 4].tolist()) == list(range(beats))
        ordered = np.empty((n, 6), np.int64)
        place = np.empty(n, np.int64)
        cpu.kernels.by_stream(events[:n], np.zeros(slots + 1, np.int64), np.empty(slots, np.int64), place, ordered)
        np.testing.assert_array_equal(ordered, by_sorting(events[:n]))


def test_a_beat_at_the_end_of_a_block_comes_before_it() -> None:
    one, none = np.zeros(1, np.int64), np.zeros(0, np.int64)
    events = np.empty((3, 7), np.int64)
    lanes, blocks = PassLanes(0, one, one, one + 5), ListedBlocks(one, one + 4, one + 1)
    n = cpu.kernels.merge_pass(0, lanes, PassBeats(one, one + 4), 9, blocks, events, 0)
    assert events[:n, 2:5].tolist() == [[Event.BEAT, 4, 9], [Event.BLOCK, 4, 1], [Event.WATERMARK, 5, 5]]
    lanes, blocks = PassLanes(0, none, none, none), ListedBlocks(none, none, none)
    assert cpu.kernels.merge_pass(0, lanes, PassBeats(none, none), 0, blocks, events, 0) == 0


def test_runs_are_where_the_first_column_changes() -> None:
    for slot, begins in (([3], [0, 1]), ([0, 0, 2, 2, 2, 5], [0, 2, 5, 6])):
        events = np.zeros((len(slot), 6), np.int64)
        events[:, 0] = slot
        run = np.empty(len(slot) + 1, np.int64)
        n = cpu.kernels.find_runs(events, run)
        assert run[: n + 1].tolist() == begins


def test_kinds_equal_those_of_the_records() -> None:
    assert (ordering.RESTART, ordering.BEAT, ordering.BLOCK, ordering.WATERMARK) == (
        Event.RESTART, Event.BEAT, Event.BLOCK, Event.WATERMARK,
    )  # fmt: skip
