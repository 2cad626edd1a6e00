"""What retention deleted before the monitor had read or replayed it.

In: parts of the topic, as they are polled. Out: the next live part with what is missing (``Part.expired``). State: what
has not been passed on yet. The end of each partition in that part is its next offset, also of one without messages: the
monitor commits a position after what is missing, so that it is counted once.

Offsets that go back are reported here, too: librdkafka goes on in silence if the broker has lost the end of its log, or
if the topic was deleted and created again.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from confluent_kafka import Consumer, TopicPartition

from beatwire.kafka.consuming.batch import Part, offsets_of
from beatwire.kafka.consuming.positions import skipped
from beatwire.kafka.consuming.topic_id import TopicId
from beatwire.records import Expired

_LOGGER = logging.getLogger("beatwire")


class Deleted:
    """What is missing and has not been passed on.

    Parameters
    ----------
    topic
        The topic, by its name at the brokers.
    topic_id
        Its id, which is asked for again when offsets go back.
    """

    def __init__(self, topic: str, topic_id: TopicId) -> None:
        self._topic, self._topic_id = topic, topic_id
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
            if end - first < count[partition] and (begin := int(offsets_of(part, partition).min())) < first:
                self._topic_id.ask(doubted=True)
                _LOGGER.warning(
                    "kafka: %s/%d: expected offset %d next; got %d: the broker has lost the end of its log, or the "
                    "topic was created again; what comes is analysed",
                    self._topic, partition, first, begin,
                    extra={
                        "event": "offsets go back",
                        "fields": {"partition": partition, "expected": first, "got": begin},
                    },
                )  # fmt: skip
            elif end - first != count[partition]:
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
