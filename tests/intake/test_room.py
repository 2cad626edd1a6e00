"""Rows of arrays: as many as what can occur in each of some stretches."""

from beatwire.stages.support.room import LEAST_ROWS, PARTS, room_for
from hypothesis import given
from hypothesis import strategies as st
from steps import fresh_of


@given(st.lists(st.integers(0, 300), max_size=8) | st.lists(st.just(64), max_size=8), st.integers(1, 80))
def test_as_much_as_possible_is_the_sum_over_the_stretches(samples: list[int], apart: int) -> None:
    assert fresh_of([0] * len(samples), samples).most_in(apart) == sum(n // apart + 1 for n in samples)


@given(st.integers(1, 2_000_000))
def test_arrays_have_room_for_their_rows_and_few_more_and_there_are_few_sizes(rows: int) -> None:
    room = room_for(rows)
    assert rows <= room <= max(rows + LEAST_ROWS - 1, rows * (1 + 1 / PARTS))
    assert room_for(room) == room
    assert room_for(room + 1) >= min(room + LEAST_ROWS, room * (1 + 1 / (2 * PARTS)))
