"""A stream that has more transitions in a tick than there is room for has the same as with room for all."""

from typing import Any

import numpy as np
import pytest
from beatwire.stages.support.alerts import transition_room
from bedside import Ward, device_chunk
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

BEDS = ("bed-0", "bed-1", "bed-2")
ROOMY = 10_000


def ticks() -> st.SearchStrategy[list[dict[str, Any]]]:
    """Draw ticks of 60 s, in which much begins and ends."""
    bed, at = st.sampled_from(BEDS), st.integers(1, 59)
    beat = st.tuples(bed, at, st.sampled_from([20.0, 45.0, 70.0, 130.0, 250.0]), st.booleans(), st.just(0.0))
    block = st.tuples(bed, at, st.sampled_from([0, 1, 2, 8, 9]))
    drift = st.tuples(bed, at, st.sampled_from([900, -300]))
    some = st.fixed_dictionaries(
        {
            "beats": st.lists(beat, max_size=25, unique_by=lambda b: b[:2]),
            "blocks": st.lists(block, max_size=8, unique_by=lambda b: b[:2]),
            "drifts": st.lists(drift, max_size=12, unique_by=lambda b: b[:2]),
        }
    )
    return st.lists(some, min_size=1, max_size=3)


def transitions(given_ticks: list[dict[str, Any]], spare: int) -> tuple[list[list[dict[str, Any]]], list[bool]]:
    """Return the transitions of each tick, and whether a stream has stopped."""
    stopped: list[bool] = []

    def has_stopped(room: Any) -> bool:
        stopped.append(found := has_stopped_in(room))
        return found

    has_stopped_in = transition_room.has_stopped
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transition_room, "SPARE", spare)
        patch.setattr("beatwire.stages.judging.alert.has_stopped", has_stopped)
        ward, found = Ward(), []
        ward.tick(*(device_chunk(stream=bed) for bed in BEDS))
        for k, one in enumerate(given_ticks):
            moved = {
                name: [(bed, 100 * at + 6000 * k, *rest) for bed, at, *rest in sorted(rows, key=lambda row: row[1])]
                for name, rows in one.items()
            }
            found.append(ward.tick(known=[(bed, 6000 * (k + 1)) for bed in BEDS], **moved))
    return found, stopped


@settings(max_examples=draws(25), deadline=None)
@given(ticks(), st.integers(0, 2))
def test_transitions_do_not_depend_on_the_room(given_ticks: list[dict[str, Any]], spare: int) -> None:
    expected, stopped = transitions(given_ticks, ROOMY)
    assert not any(stopped)
    assert transitions(given_ticks, spare)[0] == expected


def test_streams_that_stop_go_on_until_all_are_done() -> None:
    drifts = [(bed, at, -300 if at % 2 else 900) for at in range(2, 50) for bed in BEDS[:2]]
    expected, _ = transitions([{"drifts": drifts}], ROOMY)
    found, stopped = transitions([{"drifts": drifts}], 0)
    assert found == expected
    assert sum(one["rule"] == "drift" for one in found[0]) == 2 * 48
    assert sum(stopped) >= 47


def test_the_transitions_of_several_calls_are_those_of_each_stream_in_their_order() -> None:
    parts = [
        (np.array(stream), np.array([[k] for k in row]), np.array(row, np.float64))
        for stream, row in (([0, 2, 2], [1, 2, 3]), ([0, 2], [4, 5]))
    ]
    rows, value = transition_room.in_order(parts)
    assert rows[:, 0].tolist() == value.tolist() == [1, 4, 2, 3, 5]
