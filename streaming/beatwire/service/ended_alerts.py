"""Tombstones: an alert that ended longer ago than a setting is removed from ``ecg.alerts``, which is bounded by that.

In: the alerts of this worker's partitions that the log has as ended, at each hand-over; those that it publishes itself.
Out: tombstones, a few with each tick, in its transaction: so they are published once in effect, by the worker that owns
the partition, and whoever takes it over finds in the log what is left. State: the key of each ended alert and when it
ended; beyond ``MOST_ENDED`` the oldest are removed at once.

Invariant: an alert that goes on is never removed, not even if an earlier message of the same id said that it has ended.
"""

import contextlib
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any, NamedTuple

from beatwire.kafka.consuming.source import Source
from beatwire.kafka.reading.readers import read_active_alerts
from beatwire.records import Outgoing
from beatwire.stages.support.streams.partitions import murmur2
from beatwire.wire import names
from beatwire.wire.alerts import decode_alert
from beatwire.wire.fields import Unusable

MOST_ENDED = 200_000  # about 30 MB
MOST_A_TICK = 500


class AlertLog(NamedTuple):
    """What the log of alerts has.

    alerts   that are not off
    ended    of those that have ended key, time (us) and partition
    said_us  id -> when an alert was published last, of those that are not off
    """

    alerts: list[dict[str, Any]]
    ended: Sequence[tuple[bytes, int, int]] = ()
    said_us: Mapping[str, int] = {}


def read_log(
    source: Source,
    unusable: Callable[[Unusable], None],
    read_alerts: Callable[[], list[dict[str, Any]]] | None,
    given_up: threading.Event,
) -> AlertLog:
    """Return what the log has.

    Parameters
    ----------
    source
        Of the cluster.
    unusable
        Called for each message that is no alert, or one of a rule that this version does not have.
    read_alerts
        Reads the alerts that are not off in its place; None: nothing does.
    given_up
        Set when the log is not needed any more.

    Raises
    ------
    FatalError
        The log cannot be read.
    """
    if read_alerts is not None:
        return AlertLog(read_alerts())
    ended, said_us = list[tuple[bytes, int, int]](), dict[str, int]()
    alerts = read_active_alerts(
        source.cluster, any_rule=False, unusable=unusable, ended=lambda *one: ended.append(one),
        said=said_us.__setitem__, given_up=given_up,
    )  # fmt: skip
    return AlertLog(alerts, ended, said_us)


def is_owned(partition: int, key: bytes, assigned: Collection[int], partitions: int) -> bool:
    """Return whether an alert is this worker's: one of its partitions of the samples.

    A topic of samples that was created again may have fewer partitions than the log names: otherwise nobody would end
    the others. They belong where Kafka's partitioner puts the key: that of its stream is where the stream is now.

    Parameters
    ----------
    partition, key
        Of the alert: what it states, and what is hashed where there is no such partition any more.
    assigned, partitions
        The partitions of this worker; how many there are, 0: unknown.
    """
    return (murmur2(key) % partitions if 0 < partitions <= partition else partition) in assigned


def own_alerts(
    alerts: Iterable[dict[str, Any]], assigned: Collection[int], partitions: int
) -> list[dict[str, Any]]:  # fmt: skip
    """Return the alerts that are this worker's, and those that name no partition."""
    return [
        alert
        for alert in alerts
        if "partition" not in alert or is_owned(alert["partition"], alert["stream"].encode(), assigned, partitions)
    ]


class EndedAlerts:
    """The alerts that have ended and are in the log.

    Parameters
    ----------
    keep_s
        How long an ended alert stays in the log.
    """

    def __init__(self, keep_s: float) -> None:
        self._keep_us = round(keep_s * 1e6)
        self._ended_us: dict[bytes, int] = {}  # in the order in which they ended

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._ended_us)

    def begin(self, ended: Sequence[tuple[bytes, int, int]], assigned: Collection[int], partitions: int = 0) -> None:
        """Begin with what the log has: key, time in microseconds since 1970, and partition; see `is_owned`."""
        own = (one for one in ended if is_owned(one[2], one[0], assigned, partitions))
        self._ended_us = {key: time_us for key, time_us, _ in sorted(own, key=itemgetter(1))}

    def due(self, outgoing: Sequence[Outgoing], now_us: int) -> list[Outgoing]:
        """Note what a tick publishes; return the tombstones to publish with it."""
        for key, is_off in _transitions(outgoing):
            self._ended_us.pop(key, None)
            if is_off:
                self._ended_us[key] = now_us
        surplus, before_us = len(self._ended_us) - MOST_ENDED, now_us - self._keep_us
        keys: list[bytes | None] = []
        for oldest, ended_us in islice(self._ended_us.items(), MOST_A_TICK):
            if ended_us > before_us and len(keys) >= surplus:
                break
            keys.append(oldest)
        for removed in keys:
            self._ended_us.pop(removed or b"")
        return [Outgoing(names.ALERTS, keys, [b""] * len(keys), tombstones=True)] if keys else []


def _transitions(outgoing: Sequence[Outgoing]) -> Iterator[tuple[bytes, bool]]:
    """Yield the key of each alert that is published, and whether it has ended."""
    for messages in outgoing:
        if messages.topic == names.ALERTS:
            for key, value in zip(messages.keys, messages.values, strict=True):
                with contextlib.suppress(ValueError):
                    yield key or b"", decode_alert(value)["state"] == "off"
