"""What retention deleted before the monitor had read or replayed it.

In: parts of the topic, as they are polled. Out: the next live part with what is missing (``Part.expired``). State: what
has not been passed on yet. The end of each partition in that part is its next offset, also of one without messages: the
monitor commits a position after what is missing, so that it is counted once.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from confluent_kafka import Consumer, TopicPartition

from beatwire.kafka.consuming.batch import Part, offsets_of
from beatwire.kafka.consuming.positions import skipped
from beatwire.records import Expired


class Deleted:
    """What is missing and has not been passed on.

    Parameters
    ----------
    topic
        The topic, by its name at the brokers.
    """

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._missing: dict[int, Expired] = {}

    def begin(self, missing: Mapping[int, Expired]) -> None:
        """Begin an epoch, with what is missing before its first messages."""
        self._missing = {p: expired for p, expired in missing.items() if any(expired)}

    def note(self, consumer: Consumer, part: Part, expected: Mapping[int, int], until: Mapping[int, int]) -> None:
        """Note what is missing between the messages of a part, if retention has overtaken this member.

        Parameters
        ----------
        consumer
            Whose last fetch says what the broker has.
        part
            Messages that were polled.
        expected
            partition -> the offset after the messages before them.
        until
            partition -> messages before it are replayed.
        """
        count = np.bincount(part.partition)
        for partition, end in part.next_offset.items():
            first = expected.get(partition, end)
            if end - first != count[partition]:
                at = TopicPartition(self._topic, partition)
                low, _ = consumer.get_watermark_offsets(at, cached=True) or (0, 0)
                missing = skipped(offsets_of(part, partition), first, low, until.get(partition))
                if any(missing):
                    self._missing[partition] = self._missing.get(partition, Expired()) | missing

    def pass_on(self, part: Part, next_offset: Mapping[int, int]) -> Part:
        """Return a live part with what is missing; `next_offset`: partition -> offset after its messages."""
        if not self._missing:
            return part
        ends, missing = part.next_offset | {p: next_offset[p] for p in self._missing}, self._missing
        self._missing = {}
        return replace(part, next_offset=ends, expired=missing)
