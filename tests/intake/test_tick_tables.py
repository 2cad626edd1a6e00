"""What align finds in one pass over the chunks of a tick: groups, places, slots that were seen, partitions."""

import numpy as np
from beatwire.jit import cpu
from beatwire.kernels.intake import arrivals
from beatwire.records.alignment import AlignGroups
from beatwire.records.columns import CHUNK_COLUMNS, CHUNK_COUNT
from beatwire.stages.support.streams.align_tables import seen_in
from hypothesis import given
from hypothesis import strategies as st

CODES = (arrivals.PLACED, arrivals.BACKWARDS, arrivals.REFUSED, arrivals.NO_BANK)


@given(st.integers(1, 40), st.integers(1, 9), st.data())
def test_a_group_has_the_chunks_of_consecutive_slots_in_order_of_arrival(
    slots: int, count: int, data: st.DataObject
) -> None:
    slot = data.draw(st.lists(st.integers(-1, slots - 1), max_size=60))
    ints = np.zeros((len(slot), CHUNK_COLUMNS), np.int64)
    ints[:, CHUNK_COUNT] = data.draw(st.lists(st.integers(1, 500), min_size=len(slot), max_size=len(slot)))
    begin, stop, at, samples = np.full((4, count), 77, np.int64)
    none = np.zeros(0, np.int64)
    groups = AlignGroups(np.full(len(slot), 77), begin, stop, at, none, none.reshape(0, 3))
    cpu.kernels.group_chunks(np.array(slot, np.int64), ints, slots, groups, samples)
    assert begin.tolist() == at.tolist() == [0, *stop.tolist()[:-1]]
    assert stop[-1] == len(slot)
    last = -1
    for first, end, of_group in zip(begin.tolist(), stop.tolist(), samples.tolist(), strict=True):
        chunks = groups.chunk[first:end].tolist()
        assert chunks == sorted(chunks)
        assert of_group == sum(ints[k, CHUNK_COUNT] for k in chunks)
        own = {max(0, slot[k]) for k in chunks}
        assert all(s > last for s in own)
        assert not any(max(0, s) in own for k, s in enumerate(slot) if k not in chunks)
        last = max(own, default=last)
    assert sorted(groups.chunk.tolist()) == list(range(len(slot)))


def test_groups_of_many_slots_have_as_many_of_them() -> None:
    slots, count = 100_003, 64
    begin, stop, at, samples = np.empty((4, count), np.int64)
    none = np.zeros(0, np.int64)
    groups = AlignGroups(np.empty(slots, np.int64), begin, stop, at, none, none.reshape(0, 3))
    cpu.kernels.group_chunks(np.arange(slots), np.ones((slots, CHUNK_COLUMNS), np.int64), slots, groups, samples)
    assert set((stop - begin).tolist()) == {slots // count, slots // count + 1}


@given(st.lists(st.tuples(*[st.integers(0, 5)] * 3), max_size=30))
def test_the_rows_of_a_chunk_begin_behind_those_of_the_chunks_before_it(wrote: list[tuple[int, int, int]]) -> None:
    given_rows = np.array(wrote, np.int64).reshape(-1, 3)
    first = np.full_like(given_rows, 77)
    cpu.kernels.count_before(given_rows, first)
    assert first.tolist() == [[sum(row[c] for row in wrote[:k]) for c in range(3)] for k in range(len(wrote))]


@given(st.lists(st.tuples(st.integers(-1, 9), st.sampled_from(CODES)), max_size=30))
def test_a_slot_was_seen_if_a_chunk_was_placed_or_had_no_room(chunks: list[tuple[int, int]]) -> None:
    rows = np.array(chunks, np.int64).reshape(-1, 2)
    seen = seen_in(rows[:, 0].copy(), rows[:, 1].copy(), 10)
    assert seen.tolist() == sorted({slot for slot, code in chunks if slot >= 0 and code != arrivals.BACKWARDS})


@given(st.lists(st.tuples(st.integers(-1, 4), st.integers(0, 99)), max_size=20))
def test_a_stream_is_of_the_partition_of_its_last_chunk(chunks: list[tuple[int, int]]) -> None:
    rows = np.array(chunks, np.int64).reshape(-1, 2)
    known = np.full(5, -7, np.int32)
    cpu.kernels.note_partition(rows[:, 0].copy(), rows[:, 1].astype(np.int32), known)
    assert known.tolist() == [dict(chunks).get(slot, -7) for slot in range(5)]
