"""Positions: the committed offset of a partition, and the offset from which a successor replays.

In and out: a commit as Kafka stores it, an offset and a metadata string. Both offsets are in the commit. The offset
itself is the next message to publish for; everything before it has been published. The metadata contains the offset
from which a successor replays the partition, with its output discarded, to rebuild the state at the commit. A commit
with other metadata needs no replay.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_METADATA = "beatwire rewind={}"
_PATTERN = re.compile(r"beatwire rewind=(\d+)$")


class Position(NamedTuple):
    """The position of a group in one partition.

    offset   of the next message to publish for
    rewind   of the first message that a successor has to replay; at most `offset`
    """

    offset: int
    rewind: int

    @property
    def metadata(self) -> str:
        """Return the metadata of the commit.

        >>> Position(120, 7).metadata
        'beatwire rewind=7'
        """
        return _METADATA.format(self.rewind)

    @staticmethod
    def from_commit(offset: int, metadata: str | None) -> Position:
        """Return the position that a commit contains.

        >>> Position.from_commit(120, 'beatwire rewind=7')
        Position(offset=120, rewind=7)
        >>> Position.from_commit(120, None)
        Position(offset=120, rewind=120)
        """
        found = _PATTERN.match(metadata or "")
        return Position(offset, min(offset, int(found[1])) if found else offset)


class OffsetRange(NamedTuple):
    """The offsets of a partition that the broker has: ``[low, high)``."""

    low: int
    high: int


def clip_to_available(position: Position | None, available: OffsetRange) -> tuple[Position, int]:
    """Move a commit into the offsets that the broker has.

    Parameters
    ----------
    position
        The commit; None if the group has none: it begins with the oldest message.
    available
        The present offsets of the partition.

    Returns
    -------
    Position, int
        The position to begin with, and the number of messages to replay that retention has already deleted.

    Examples
    --------
    >>> clip_to_available(None, OffsetRange(5, 9))
    (Position(offset=5, rewind=5), 0)
    >>> clip_to_available(Position(8, 2), OffsetRange(5, 9))
    (Position(offset=8, rewind=5), 3)
    >>> clip_to_available(Position(80, 20), OffsetRange(0, 9))  # the topic was deleted and created again
    (Position(offset=0, rewind=0), 0)
    """
    if position is None or position.offset > available.high:
        return Position(available.low, available.low), 0
    offset, rewind = max(position.offset, available.low), max(position.rewind, available.low)
    return Position(offset, rewind), rewind - position.rewind
