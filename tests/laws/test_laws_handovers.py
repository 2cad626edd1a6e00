"""Law 3 on drawn histories of owners: partitions change hands as in a group, and nothing is lost or comes twice.

Each worker is a real monitor with a real graph. Its commits are those that brokers store, and what one worker has
published of an alert the next one adopts.
"""

from collections import Counter

import pytest
from beatwire.service.observing.tick_log import TickLog
from handed_over import history_differs

SEEDS = 1_000  # of the heavy suite
FEW = [*range(10), 52, 77]  # in the last two a commit that forgets a replay loses something


@pytest.mark.parametrize("seed", FEW)
def test_what_workers_publish_whose_partitions_change_is_what_one_publishes(seed: int) -> None:
    differs, _ = history_differs(seed)
    assert not differs


@pytest.mark.slow
def test_1000_histories_of_owners_publish_what_one_worker_publishes() -> None:
    begun, found = Counter[str](), list[str]()
    for seed in range(SEEDS):
        differs, history = history_differs(seed)
        begun += history.begun
        found += [differs] if differs else []
    assert not found
    # A history has about six epochs that begin anew, and one each of the others.
    assert min(begun[how] for how in ("ANEW", "GOING_ON", "UNPUBLISHED")) > SEEDS // 2


def test_the_law_finds_commits_that_forget_the_replay_of_what_was_taken_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """As commits did when a graph named a tick from before the partition was its worker's."""

    def offset(self: TickLog, partition: int, tick: int, otherwise: int = 0) -> int:
        row = max(tick - self._first, 0)
        return self._starts[row].get(partition, otherwise) if row < len(self._starts) else otherwise

    monkeypatch.setattr(TickLog, "offset", offset)
    differs, history = history_differs(52)
    assert differs
    assert history.begun["GOING_ON"] > 0
