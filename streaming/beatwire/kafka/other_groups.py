"""Whether another group monitors the same topics: each would adopt, and end, the alerts of the other.

In: a cluster and a group. Out: names of other groups. State of a watch: those that it has found. Ids of alerts do not
name the group that raised them: a group that begins anew finds them. One set of topics has one group of monitors;
another one needs a prefix of its own. A group of monitors is known by its commits, whose metadata say where a replay
begins: one that has just begun is found later.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Self

from confluent_kafka import ConsumerGroupState, KafkaException

from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming.commits import commits_of_monitors
from beatwire.kafka.consuming.positions import Position
from beatwire.wire import names

_MOST = 100  # groups that are looked at
_INTERVAL_S = 60.0


class GroupWatch:
    """Looks for other groups again and again, in a thread: one that begins later may be the wrong one.

    Parameters
    ----------
    report
        Called with all other groups when there is one that no earlier call had, or that was gone meanwhile.
    """

    def __init__(self, cluster: Cluster, group: str, report: Callable[[list[str]], None]) -> None:
        self._cluster, self._group, self._report = cluster, group, report
        self._known: set[str] = set()
        self._stop = threading.Event()

    def look(self) -> None:
        """Look once."""
        others = other_monitors(self._cluster, self._group)
        is_new = not self._known.issuperset(others)
        self._known = set(others)
        if is_new:
            self._report(others)

    def _run(self) -> None:
        while not self._stop.wait(_INTERVAL_S):
            self.look()

    def __enter__(self) -> Self:
        self.look()
        threading.Thread(target=self._run, name="group-watch", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()


def other_monitors(cluster: Cluster, group: str, *, timeout_s: float = 3.0) -> list[str]:
    """Return the other groups with members that have committed as monitors do; empty if the broker does not say."""
    return [name for name in _monitors(cluster, timeout_s) if name != group]


def judging_otherwise(cluster: Cluster, limits: str, *, timeout_s: float = 3.0) -> list[str]:
    """Return the groups of monitors at work that have other default limits; empty if the broker does not say.

    Parameters
    ----------
    limits
        The digest of those of the caller (`beatwire.alerts.settings.Settings.digest`).
    """
    stated = {name: {one.settings for one in commits} for name, commits in _monitors(cluster, timeout_s).items()}
    own = f"limits:{limits}"
    return [name for name, of in stated.items() if any(one is not None and own not in one.split(",") for one in of)]


def other_defaults(groups: Sequence[str]) -> str:
    """Return what to say about groups that have other default limits.

    >>> other_defaults(["beatwire"])[:74]
    "expected the limits of the monitors' configuration; group 'beatwire' has o"
    """
    named = ", ".join(map(repr, groups))
    return (
        f"expected the limits of the monitors' configuration; group {named} has others: what is a default here may not "
        "be what it judges by"
    )


def _monitors(cluster: Cluster, timeout_s: float) -> dict[str, list[Position]]:
    """Return groups with members -> their commits, of those that have committed as monitors do."""
    admin, topic = cluster.admin(), cluster.topic(names.SAMPLES)
    try:
        active = admin.list_consumer_groups(
            states={ConsumerGroupState.STABLE, ConsumerGroupState.PREPARING_REBALANCING}, request_timeout=timeout_s
        ).result(timeout_s)
        partitions = list(admin.list_topics(topic, timeout=timeout_s).topics[topic].partitions)
    except (KafkaException, TimeoutError, ValueError):
        return {}
    found = {
        name: commits_of_monitors(cluster, name, names.SAMPLES, partitions, timeout_s=timeout_s)
        for name in sorted(one.group_id for one in active.valid)[:_MOST]
    }
    return {name: commits for name, commits in found.items() if commits}
