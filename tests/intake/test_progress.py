"""What a member has taken, against the group's commits: whether it goes on with its state."""

import pytest
from beatwire.kafka.consuming.progress import Beginning, Progress


def taken(*, start: dict[int, int], ticks: tuple[dict[int, int], ...], unknown: bool = False) -> Progress:
    progress = Progress()
    progress.begin_epoch(3, start)
    for positions in ticks:
        progress.take(positions)
    if unknown:
        progress.doubt()
    return progress


@pytest.mark.parametrize(
    ("unknown", "committed", "expected", "offsets"),
    [
        (False, {0: 12, 1: 5}, Beginning.GOING_ON, {0: 12, 1: 5}),
        (False, {0: 12, 1: 5, 2: 7}, Beginning.GOING_ON, {0: 12, 1: 5}),
        (True, {0: 12, 1: 5}, Beginning.GOING_ON, {0: 12, 1: 5}),
        (True, {0: 10, 1: 5, 2: 7}, Beginning.UNPUBLISHED, {0: 12, 1: 5}),
        (False, {0: 10, 1: 5}, Beginning.ANEW, {}),  # at least once: a commit was lost
        (True, {0: 13, 1: 5}, Beginning.ANEW, {}),  # somebody else has published
        (False, {0: 12}, Beginning.ANEW, {}),  # a partition is lost
    ],
)
def test_a_member_goes_on_if_the_commits_are_where_its_last_tick_ended(unknown, committed, expected, offsets):
    progress = taken(start={0: 8, 1: 5}, ticks=({0: 10}, {0: 12}), unknown=unknown)
    assert progress.go_on_from(committed) == offsets
    assert progress.beginning is expected


def test_an_empty_tick_that_may_not_have_been_published_is_the_end_of_the_state():
    progress = taken(start={0: 8}, ticks=({0: 10}, {}), unknown=True)
    assert progress.go_on_from({0: 10}) == {}


def test_a_member_that_lost_a_partition_or_its_state_begins_anew_until_it_has_taken_a_tick():
    progress = taken(start={0: 8}, ticks=({0: 10},))
    progress.lose(3)
    for _ in range(2):
        assert progress.go_on_from({0: 10}) == {}
    progress.begin_epoch(5, {0: 8})
    progress.take({0: 10})
    assert progress.go_on_from({0: 10}) == {0: 10}
    assert Progress().go_on_from({0: 10}) == {}


def test_a_doubt_about_one_tick_is_none_about_the_next_nor_about_another_epoch() -> None:
    progress = Progress()
    progress.begin_epoch(1, {0: 7})
    progress.take({0: 9})
    progress.doubt()
    progress.take({0: 12})
    assert (progress.go_on_from({0: 9}), progress.beginning) == ({}, Beginning.ANEW)
    progress.doubt()
    progress.begin_epoch(2, {0: 12})
    assert (progress.go_on_from({0: 12}), progress.beginning) == ({0: 12}, Beginning.GOING_ON)
