"""Law 3 on drawn histories of owners: partitions change hands as in a group, and nothing is lost or comes twice.

Each worker is a real monitor with a real graph. Its commits are those that brokers store, and what one worker has
published of an alert the next one adopts.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from beatwire.pipeline.rewind import TimeMarks
from beatwire.pipeline.starts import Starts
from beatwire.service.observing.tick_log import TickLog
from beatwire.stages.support.streams.waiting import WaitingRoom
from handed_over import history_differs

SEEDS = 600  # of the heavy suite
FEW = [*range(8), 12, 16, 27, 163]


@pytest.mark.parametrize("seed", FEW)
def test_what_workers_publish_whose_partitions_change_is_what_one_publishes(seed: int) -> None:
    differs, _ = history_differs(seed)
    assert not differs


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_600_histories_of_owners_publish_what_one_worker_publishes() -> None:
    begun, found = Counter[str](), list[str]()
    for seed in range(SEEDS):
        differs, history = history_differs(seed)
        begun += history.begun
        found += [differs] if differs else []
    assert not found
    # A history has about six epochs that begin anew, and one each of the others.
    assert min(begun[how] for how in ("ANEW", "GOING_ON", "UNPUBLISHED")) > SEEDS // 2


def offset_of_one_tick(self: TickLog, partition: int, tick: int, otherwise: int = 0) -> int:
    """As commits were when a graph named a tick from before the partition was its worker's."""
    row = max(tick - self._first, 0)
    return self._starts[row].get(partition, otherwise) if row < len(self._starts) else otherwise


@pytest.mark.parametrize(
    ("kind", "method", "fault", "seed"),
    [
        (TickLog, "offset", offset_of_one_tick, 16),  # forgets the replay of what was taken over
        (WaitingRoom, "oldest_tick", lambda _, __, default: default, 27),  # forgets chunks that wait for a bank
        (TimeMarks, "before", lambda _, ticks: ticks, 13),  # forgets what outlasts a restart
        (Starts, "at_or_before", lambda _, __, tick: tick, 163),  # lets a replay begin with a stranger
    ],
    ids=["taken over", "waiting", "outlasts a restart", "stranger"],
)
def test_the_law_finds_commits_that_forget_a_part_of_the_replay(
    monkeypatch: pytest.MonkeyPatch, kind: type, method: str, fault: Callable[..., Any], seed: int
) -> None:
    monkeypatch.setattr(kind, method, fault)
    differs, history = history_differs(seed)
    assert differs
    assert history.begun["ANEW"] > 1
