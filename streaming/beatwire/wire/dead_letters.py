"""Dead letters: rejected messages, republished unchanged with the reason and their place in the log.

In: the rejects of a tick and the `Origin` of its messages. Out: one `Outgoing` for ``ecg.samples.dlq``: the original
keys and values, and the headers ``reason``, ``topic``, ``partition`` and ``offset``, all UTF-8 text.
"""

from __future__ import annotations

from typing import Protocol

from beatwire.records import Outgoing, Rejects
from beatwire.wire.names import DEAD_LETTERS


class Origin(Protocol):
    """The messages of a tick as they were received; ``k`` is the number of a message in its tick, from 0."""

    def key(self, k: int) -> bytes | None:
        """Return the key of message ``k``."""

    def value(self, k: int) -> bytes:
        """Return the value of message ``k``."""

    def location(self, k: int) -> tuple[str, int, int]:
        """Return topic, partition and offset of message ``k``."""


def dead_letters(rejects: Rejects, origin: Origin) -> Outgoing:
    """Return the dead letters of a tick, in the order of its rejects."""
    headers = []
    for k, reason in zip(rejects.message, rejects.reason, strict=True):
        topic, partition, offset = origin.location(k)
        headers.append(
            [
                ("reason", reason.encode()),
                ("topic", topic.encode()),
                ("partition", str(partition).encode()),
                ("offset", str(offset).encode()),
            ]
        )
    return Outgoing(
        DEAD_LETTERS, [origin.key(k) for k in rejects.message], [origin.value(k) for k in rejects.message], headers
    )
