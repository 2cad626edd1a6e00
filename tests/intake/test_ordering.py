"""Events of a tick in the order of each stream: the kernels against a sort."""

import numpy as np
import pytest
from beatwire.jit import cpu
from beatwire.kernels.intake import ordering
from beatwire.records import I64, Event
from beatwire.records.alignment import EventPlaces, PassBeats, PassLanes


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


def begins(row: I64, lanes: int) -> I64:
    found = np.full(lanes + 1, 77)
    cpu.kernels.find_begins(len(row) + 1, row, found)
    assert found.tolist() == np.searchsorted(row, np.arange(lanes + 1)).tolist()
    return found


def placed(events: I64, merged: list[tuple[I64, PassBeats]], per_slot: I64) -> EventPlaces:
    """Return where the events of each slot go, by the kernels; ``per_slot``: how many there are."""
    counts, at = np.full((2, len(per_slot)), 77)
    cpu.kernels.count_entered(events, counts)
    for lanes, found in merged:
        cpu.kernels.count_merged(len(lanes), lanes, found, counts)
    first, run = np.full((2, len(per_slot) + 1), 77)
    n = cpu.kernels.place_counted(counts, first, at, run)
    assert counts.tolist() == per_slot.tolist()
    assert first.tolist() == [0, *np.cumsum(per_slot).tolist()]
    assert at.tolist() == first[:-1].tolist()
    assert run[: n + 1].tolist() == [*first[:-1][per_slot > 0].tolist(), first[-1]]
    return EventPlaces(first, at, np.empty(first[-1], np.int64))


def in_order(slots: int, events: I64, passes: list[tuple[I64, ...]]) -> tuple[I64, I64]:
    """Return the events of align and of passes as the kernels order them, and the same, unordered, by this test."""
    all_events, per_slot, merged = [events], np.bincount(events[:, 1], minlength=slots), []
    beats = 0
    for number, (lanes, session, known, row, sample, block_row, end, kind) in enumerate(passes):
        n, bank = len(lanes), number % 2
        per_slot[lanes] += 1 + np.bincount(row, minlength=n) + np.bincount(block_row, minlength=n)
        of_beats = [
            (number, lanes[r], Event.BEAT, s, beats + b, session[r], bank)
            for b, (r, s) in enumerate(zip(row, sample, strict=True))
        ]
        of_blocks = [
            (number, lanes[r], Event.BLOCK, e, k, session[r], bank)
            for r, e, k in zip(block_row, end, kind, strict=True)
        ]
        marks = [(number, lanes[r], Event.WATERMARK, known[r], known[r], session[r], bank) for r in range(n)]
        all_events.append(np.array([*of_beats, *of_blocks, *marks], np.int64).reshape(-1, 7))
        found = PassBeats(begins(row, n), begins(block_row, n), sample, end, kind)
        merged.append((n, number, PassLanes(bank, lanes, session, known), found, beats))
        beats += len(row)
    unordered = np.concatenate(all_events)
    ordered = np.empty((len(unordered), 6), np.int64)
    places = placed(events, [(lanes.slot, found) for _, _, lanes, found, _ in merged], per_slot)
    cpu.kernels.enter_events(events, places, ordered)
    for n, *one in merged:
        cpu.kernels.merge_lane(n, *one, places, ordered)
    return ordered, unordered


@pytest.mark.parametrize("slots", [1, 2, 40])
def test_events_of_all_passes_are_in_the_order_of_each_stream(slots: int) -> None:
    rng = np.random.default_rng(slots)
    for passes in (1, 2, 5):
        n = 2 * slots
        number = rng.integers(0, passes, n)
        kinds = rng.integers(Event.RESTART, Event.BEAT, n)
        events = np.zeros((n, 7), np.int64)
        events[:, :4] = np.stack([number, rng.integers(0, slots, n), kinds, rng.integers(0, 9, n) + 10 * number], 1)
        events[:, 4:] = np.arange(3 * n).reshape(n, 3)  # equal events keep their order
        ordered, unordered = in_order(slots, events, [of_a_pass(rng, k, rng.permutation(slots)) for k in range(passes)])
        assert len(ordered) == 2 * slots + 5 * passes * slots
        np.testing.assert_array_equal(ordered, by_sorting(unordered))


def test_a_beat_at_the_end_of_a_block_comes_before_it() -> None:
    one, none = np.zeros(1, np.int64), np.zeros(0, np.int64)
    nothing = np.zeros((0, 7), np.int64)
    ordered, _ = in_order(1, nothing, [(one, one, one + 5, one, one + 4, one, one + 4, one + 1)])
    assert ordered[:, 2:5].tolist() == [[Event.BEAT, 4, 0], [Event.BLOCK, 4, 1], [Event.WATERMARK, 5, 5]]
    assert len(in_order(1, nothing, [(none,) * 8])[0]) == 0


@pytest.mark.parametrize("slots", [1, 3, 50])
def test_the_end_of_a_stream_is_its_last_watermark_or_its_last_restart(slots: int) -> None:
    rng = np.random.default_rng(slots)
    slot = np.sort(rng.integers(0, 2 * slots, 6 * slots))
    events = np.zeros((len(slot), 6), np.int64)
    events[:, 0], events[:, 1], events[:, 3] = slot, rng.integers(0, 5, len(slot)), rng.integers(-9, 99, len(slot))
    events[:, 2] = rng.choice([Event.RESTART, Event.BEAT, Event.WATERMARK], len(slot), p=[0.2, 0.6, 0.2])
    run = np.empty(len(slot) + 1, np.int64)
    n = cpu.kernels.find_runs(events, run)
    marks, passed = np.full(2 * slots, -1), np.full((2 * slots, 2), -7)
    cpu.kernels.find_end(n, run, events, marks, passed)
    expected, until = np.full(2 * slots, -1), np.full((2 * slots, 2), -7)
    for own in np.split(events, run[1:n]):
        stream = own[0, 0]
        for row in own[own[:, 2] == Event.RESTART]:
            until[stream] = row[1], -1
        for row in own[own[:, 2] == Event.WATERMARK]:
            until[stream], expected[stream] = (row[1], row[3]), row[3]
    np.testing.assert_array_equal(marks, expected)
    np.testing.assert_array_equal(passed, until)


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
