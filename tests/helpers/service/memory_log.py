"""What brokers have, in memory: the messages of each partition, the commits of the group, and what was published."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from beatwire.kafka.consuming.positions import Position
from beatwire.records import LimitChange, Outgoing
from beatwire.wire import names
from beatwire.wire.alerts import decode_alert
from beatwire.wire.dead_letters import letters_of
from confluent_kafka import TopicPartition


class Sent(NamedTuple):
    """A message, and when it arrives at the broker."""

    arrived_us: int
    value: bytes
    key: bytes | None = None


class Log:
    """What the brokers have.

    partitions  the messages of each, in the order of their arrival
    commits     partition -> offset and metadata
    limits      of streams, as staff enter them
    now_us      the time: what arrives later cannot be read yet
    beats       stream -> values, in the order of publication
    alerts      transitions, in that order
    letters     (reason, topic, partition, offset) of each dead letter
    """

    def __init__(self, partitions: Sequence[Sequence[Sent]], now_us: int, limits: Sequence[LimitChange] = ()) -> None:
        self.partitions, self.now_us = partitions, now_us
        self.limits = sorted(limits, key=lambda one: one.since_us)
        self._arrived_us = [[one.arrived_us for one in of_partition] for of_partition in partitions]
        self.commits: dict[int, tuple[int, str]] = {}
        self.beats: dict[bytes, list[bytes]] = {}
        self.alerts: list[dict[str, Any]] = []
        self.letters: list[tuple[str, str, int, int]] = []

    def end(self, partition: int) -> int:
        """Return the offset after the last message that has arrived."""
        return bisect_right(self._arrived_us[partition], self.now_us)

    def active_alerts(self) -> list[dict[str, Any]]:
        """Return the alerts whose last state is not ``off``."""
        last: dict[str, dict[str, Any]] = {}
        for alert in self.alerts:
            last.pop(alert["id"], None)
            last[alert["id"]] = alert
        return [alert for alert in last.values() if alert["state"] != "off"]

    def append(self, outgoing: Sequence[Outgoing], positions: Mapping[int, Position]) -> None:
        """Publish messages and commit positions, in one transaction."""
        for p, position in positions.items():
            assert self.commits.get(p, (0, ""))[0] <= position.offset <= self.end(p), "a commit goes forward"
            assert 0 <= position.rewind <= position.offset
            self.commits[p] = position.offset, position.metadata
        for messages in outgoing:
            pairs = zip(messages.keys, map(bytes, messages.values), strict=True)
            if messages.topic == names.DEAD_LETTERS:
                self.letters += [(one.reason, one.topic, one.partition, one.offset) for one in letters_of(messages)]
            elif messages.topic == names.ALERTS:
                self.alerts += [decode_alert(value, key) for key, value in pairs]
            elif messages.topic == names.BEATS:
                for key, value in pairs:
                    self.beats.setdefault(bytes(key or b""), []).append(value)


class Commits:
    """What a source asks its consumer at the beginning of an epoch."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def committed(self, assigned: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        """Return the commits of the group."""
        found = []
        for at in assigned:
            offset, metadata = self._log.commits.get(at.partition, (-1001, ""))
            found.append(TopicPartition(at.topic, at.partition, offset, metadata))
        return found

    def get_watermark_offsets(self, at: TopicPartition, timeout: float) -> tuple[int, int]:
        """Return the offsets that the broker has."""
        return 0, self._log.end(at.partition)
