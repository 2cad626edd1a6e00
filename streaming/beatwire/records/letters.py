"""Rejected messages, and where messages were."""

from __future__ import annotations

from itertools import compress
from typing import NamedTuple

from beatwire.records.arrays import Bool


class Addresses(NamedTuple):
    """Where messages of one topic were, and their keys; columns of equal length."""

    topic: str
    offsets: list[int]
    keys: list[bytes | None]

    def some(self, rows: Bool) -> Addresses:
        """Return those of some rows."""
        kept = rows.tolist()
        return Addresses(self.topic, list(compress(self.offsets, kept)), list(compress(self.keys, kept)))


class Letter(NamedTuple):
    """A rejected message as it was received, and why it was rejected; a tombstone's value is empty.

    ``chunk`` is the number of a chunk in its bundle, from 0; None: the letter is a whole message.
    """

    reason: str
    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes
    chunk: int | None = None
