"""Where a worker reads: the next offset of each partition, and where its replay must begin.

The commit of a partition carries both: the offset itself (everything before it has been published)
and, in the commit's metadata, the offset from which a successor replays with its output discarded.
Metadata that is not ours means that there is nothing to replay.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_METADATA = "beatwire rewind={}"
_PATTERN = re.compile(r"beatwire rewind=(\d+)$")


class Position(NamedTuple):
    """Of one partition.

    offset   the next message to publish for
    rewind   the first message a successor has to replay, at most `offset`
    """

    offset: int
    rewind: int

    @property
    def metadata(self) -> str:
        """What the commit carries beside the offset.

        >>> Position(120, 7).metadata
        'beatwire rewind=7'
        """
        return _METADATA.format(self.rewind)

    @staticmethod
    def committed(offset: int, metadata: str | None) -> Position:
        """Read a commit back.

        >>> Position.committed(120, 'beatwire rewind=7')
        Position(offset=120, rewind=7)
        >>> Position.committed(120, None)
        Position(offset=120, rewind=120)
        """
        found = _PATTERN.match(metadata or "")
        return Position(offset, min(offset, int(found[1])) if found else offset)


class Span(NamedTuple):
    """What is kept of a partition: ``[low, high)``."""

    low: int
    high: int


def resume_at(position: Position | None, kept: Span, *, earliest: bool) -> tuple[Position, int]:
    """Fit a commit to what the broker still has.

    Parameters
    ----------
    position
        The commit; None when the group has none.
    kept
        The partition's offsets now.
    earliest
        Without a commit, begin with the oldest message rather than with the next one.

    Returns
    -------
    Position, int
        Where to go on, and how many messages are lost to it: retention was quicker.

    Examples
    --------
    >>> resume_at(None, Span(5, 9), earliest=True)
    (Position(offset=5, rewind=5), 0)
    >>> resume_at(Position(8, 2), Span(5, 9), earliest=True)
    (Position(offset=8, rewind=5), 3)
    >>> resume_at(Position(80, 20), Span(0, 9), earliest=True)  # the topic was made anew
    (Position(offset=0, rewind=0), 0)
    """
    if position is None or position.offset > kept.high:
        start = kept.low if earliest else kept.high
        return Position(start, start), 0
    offset, rewind = max(position.offset, kept.low), max(position.rewind, kept.low)
    return Position(offset, rewind), rewind - position.rewind
