"""Dead letters: rejected messages, republished unchanged with the reason and their place in the log.

In: the rejects of a tick and the `Origin` of its messages. Out: one `Outgoing` for ``ecg.samples.dlq``: the original
keys and values, and the headers ``reason``, ``topic``, ``partition`` and ``offset``, all UTF-8 text.

A tick may have tens of thousands of rejects, so letters share what they have in common: the texts of equal reasons and
places are encoded once, and keys, values and offsets are read as columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from beatwire.records import Outgoing, Rejects
from beatwire.wire.names import DEAD_LETTERS


class Originals(NamedTuple):
    """Messages as they were received: a topic, and columns of equal length."""

    topic: str
    partitions: list[int]
    offsets: list[int]
    keys: list[bytes | None]
    values: list[bytes]


class Origin(Protocol):
    """The messages of a tick as they were received."""

    def originals(self, numbers: Sequence[int]) -> Originals:
        """Return the messages with these numbers in the tick, from 0; a tombstone's value is empty."""


def dead_letters(rejects: Rejects, origin: Origin) -> Outgoing:
    """Return the dead letters of a tick, in the order of its rejects."""
    original = origin.originals(rejects.message)
    topic = ("topic", original.topic.encode())
    reasons = {text: ("reason", text.encode()) for text in set(rejects.reason)}
    places = {partition: ("partition", b"%d" % partition) for partition in set(original.partitions)}
    headers = [
        [reasons[reason], topic, places[partition], ("offset", b"%d" % offset)]
        for reason, partition, offset in zip(rejects.reason, original.partitions, original.offsets, strict=True)
    ]
    return Outgoing(DEAD_LETTERS, original.keys, original.values, headers)
