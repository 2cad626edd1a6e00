"""Commits outside a transaction, which wait until the polling thread carries them out.

In: positions, from any thread. Out: commits of the group, by the thread that owns the consumer. State: the newest
position of each partition that waits.
"""

import contextlib
import threading
from collections.abc import Container, Mapping

from confluent_kafka import Consumer, KafkaException, TopicPartition

from beatwire.kafka.consuming.commits import as_commit
from beatwire.kafka.consuming.positions import Position
from beatwire.kafka.consuming.topic_id import TopicId


class CommitQueue:
    """The commits that wait.

    Parameters
    ----------
    topic
        The topic of the positions, by its name at the brokers.
    topic_id
        Its id, which is added to the positions.
    settings
        Of this monitor, which are added, too.
    """

    def __init__(self, topic: str, topic_id: TopicId, settings: str | None = None) -> None:
        self._topic, self._topic_id, self._settings = topic, topic_id, settings
        self._waiting: dict[int, Position] = {}
        self._lock = threading.Lock()

    def add(self, positions: Mapping[int, Position]) -> None:
        """Add positions; a newer one replaces one that waits."""
        with self._lock:
            self._waiting.update(positions)

    def offsets(self, positions: Mapping[int, Position]) -> list[TopicPartition]:
        """Return positions as confluent-kafka commits them."""
        topic_id, settings = self._topic_id.known, self._settings
        own = {p: at._replace(topic_id=topic_id, settings=settings) for p, at in positions.items()}
        return [as_commit(self._topic, p, at) for p, at in own.items()]

    def carry_out(self, consumer: Consumer, assigned: Container[int], *, wait: bool = False) -> None:
        """Commit what waits of the assigned partitions, and drop the rest; `wait`: until the broker has answered."""
        with self._lock:
            offsets = self.offsets({p: at for p, at in self._waiting.items() if p in assigned})
            self._waiting.clear()
        if not offsets:
            return
        with contextlib.suppress(KafkaException):  # at least once: what is not committed is read again
            if wait:
                consumer.commit(offsets=offsets, asynchronous=False)
            else:
                consumer.commit(offsets=offsets, asynchronous=True)
