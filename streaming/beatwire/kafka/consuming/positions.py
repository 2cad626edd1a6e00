"""Positions: the committed offset of a partition, and the offset from which a successor replays.

In and out: a commit as Kafka stores it, an offset and a metadata string. Both offsets are in the commit. The offset
itself is the next message to publish for; everything before it has been published. The metadata contains the offset
from which a successor replays the partition, with its output discarded, to rebuild the state at the commit, the time of
the commit, the id of the topic, the settings of the monitor, and the banks that were open. A commit with other metadata
needs no replay. Fields of a later version are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from enum import Enum, auto
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from beatwire.records import I64, Expired
from beatwire.records.samples import BankKind

# Anybody who may commit for the group can write metadata: what does not match is none of a monitor.
_BANK = r"[0-9]{1,4}(?:\.[0-9]{1,20})?x[0-9]{1,2}"
_SECTION = r"[a-z]{1,16}:[0-9a-f]{6}"
_KNOWN = "(?:at|topic|settings|banks)="
_PATTERN = re.compile(
    rf"beatwire rewind=([0-9]{{1,19}})(?: at=([0-9]{{1,19}}))?(?: topic=([A-Za-z0-9_-]{{22}}))?"
    rf"(?: settings=({_SECTION}(?:,{_SECTION}){{0,15}}))?(?: banks=((?:{_BANK}(?:,{_BANK})*)?))?"
    rf"(?: (?!{_KNOWN})[a-z]{{1,16}}=\S*)*$"
)
_MOST_METADATA = 4_096  # bytes: the broker's offset.metadata.max.bytes, by default


class Position(NamedTuple):
    """The position of a group in one partition.

    offset   of the next message to publish for
    rewind   of the first message that a successor has to replay; at most `offset`
    at_ms    of the commit and of the messages of its tick, milliseconds since 1970, producer's clock; 0: unknown
    banks    that were open at the commit; None: unknown
    topic_id of the topic, 22 characters; None: unknown
    leader   the leader epoch of the message before `offset`; None: unknown. Kafka stores it beside the metadata
    settings of the monitor, ``section:digest`` with commas between them; None: unknown
    """

    offset: int
    rewind: int
    at_ms: int = 0
    banks: frozenset[BankKind] | None = None
    topic_id: str | None = None
    leader: int | None = None
    settings: str | None = None

    @property
    def metadata(self) -> str:
        """Return the metadata of the commit; without the banks if a broker would not take so long a text.

        >>> Position(120, 7).metadata
        'beatwire rewind=7'
        >>> Position(120, 7, 1795438456642).metadata
        'beatwire rewind=7 at=1795438456642'
        >>> Position(120, 7, topic_id='obSTE3MLT0CklpNUVoNolw').metadata
        'beatwire rewind=7 topic=obSTE3MLT0CklpNUVoNolw'
        >>> Position(120, 7, settings="limits:1a2b3c,models:0d9e8f").metadata
        'beatwire rewind=7 settings=limits:1a2b3c,models:0d9e8f'
        >>> Position(120, 7, banks=frozenset({(360.0, 2), (128.0, 2)})).metadata
        'beatwire rewind=7 banks=128.0x2,360.0x2'
        >>> Position(120, 7, banks=frozenset((50 + k / 3, 12) for k in range(400))).metadata
        'beatwire rewind=7'
        """
        text = f"beatwire rewind={self.rewind}" + (f" at={self.at_ms}" if self.at_ms else "")
        text += f" topic={self.topic_id}" if self.topic_id else ""
        text += f" settings={self.settings}" if self.settings else ""
        if self.banks is None:
            return text
        with_banks = f"{text} banks={_banks_text(self.banks)}"
        return with_banks if len(with_banks) <= _MOST_METADATA else text

    @staticmethod
    def from_commit(offset: int, metadata: str | None, leader: int | None = None) -> Position:
        """Return the position that a commit contains.

        >>> Position.from_commit(120, 'beatwire rewind=7 at=1795438456642')[:3]
        (120, 7, 1795438456642)
        >>> Position.from_commit(120, 'beatwire rewind=7 banks=128.0x2 later=1').banks
        frozenset({(128.0, 2)})
        >>> Position.from_commit(120, None)[:3]
        (120, 120, 0)
        """
        found = _PATTERN.match(metadata or "")
        if found is None:
            return Position(offset, offset, leader=leader)
        banks = None
        if found[5] is not None:
            kinds = (text.split("x") for text in found[5].split(",") if text)
            banks = frozenset((float(rate_hz), int(leads)) for rate_hz, leads in kinds)
        return Position(offset, min(offset, int(found[1])), int(found[2] or 0), banks, found[3], leader, found[4])


def is_monitors(metadata: str | None) -> bool:
    """Return True if metadata are those of a monitor's commit.

    >>> is_monitors("beatwire rewind=7"), is_monitors("beatwire rewind=7 banks=?"), is_monitors(None)
    (True, False, False)
    """
    return _PATTERN.match(metadata or "") is not None


@lru_cache(maxsize=8)  # the partitions of a tick have the same, and so have most ticks
def _banks_text(banks: frozenset[BankKind]) -> str:
    return ",".join(f"{rate_hz!r}x{leads}" for rate_hz, leads in sorted(banks))


class OffsetRange(NamedTuple):
    """The offsets of a partition that the broker has: ``[low, high)``."""

    low: int
    high: int


class Cause(Enum):
    """Why a group begins before its commit, or with another topic.

    CREATED  the topic was deleted and created again, or that is likely: the commit is beyond the end
    LOST     the broker has lost the end of the log, but not the commit: both reach its disk independently
    """

    CREATED = auto()
    LOST = auto()


def cause_to_go_back(position: Position, available: OffsetRange, topic_id: str | None) -> Cause | None:
    """Return why a commit does not hold for the present topic; None if it does.

    Parameters
    ----------
    position
        The commit.
    available
        The present offsets of the partition.
    topic_id
        The present id of the topic; None: unknown.

    Examples
    --------
    >>> cause_to_go_back(Position(80, 20, topic_id="a"), OffsetRange(0, 90), "b")
    <Cause.CREATED: 1>
    >>> cause_to_go_back(Position(80, 20, topic_id="a"), OffsetRange(0, 9), "a")
    <Cause.LOST: 2>
    >>> cause_to_go_back(Position(80, 20), OffsetRange(0, 9), "a")  # the commit of an earlier version
    <Cause.CREATED: 1>
    """
    known = position.topic_id is not None and topic_id is not None
    if known and position.topic_id != topic_id:
        return Cause.CREATED
    if position.offset > available.high:
        return Cause.LOST if known else Cause.CREATED
    return None


def clip_to_available(
    position: Position | None, available: OffsetRange, topic_id: str | None = None
) -> tuple[Position, Expired]:
    """Move a commit into the offsets that the broker has.

    Parameters
    ----------
    position
        The commit; None if the group has none: it begins with the oldest message.
    available
        The present offsets of the partition.
    topic_id
        The present id of the topic; None: unknown.

    Returns
    -------
    Position, Expired
        The position to begin with, and the messages that retention has deleted.

    Examples
    --------
    >>> clip_to_available(None, OffsetRange(5, 9))[0][:2]
    (5, 5)
    >>> at, expired = clip_to_available(Position(8, 2), OffsetRange(5, 9))
    >>> at[:2], expired
    ((8, 5), Expired(unread=0, replay=3, first=0))
    >>> clip_to_available(Position(4, 2), OffsetRange(5, 9))[1]
    Expired(unread=1, replay=2, first=4)
    >>> clip_to_available(Position(80, 7, topic_id="a"), OffsetRange(0, 9), "a")[0][:2]  # the end of the log is lost
    (9, 7)
    >>> clip_to_available(Position(80, 7, topic_id="a"), OffsetRange(0, 90), "b")[0][:2]  # created again
    (0, 0)
    """
    cause = None if position is None else cause_to_go_back(position, available, topic_id)
    if position is None or cause is Cause.CREATED:
        return Position(available.low, available.low, topic_id=topic_id), Expired()
    end = min(position.offset, available.high)  # before it at a commit that is beyond the end
    begin = min(position.rewind, end)
    offset, rewind = max(end, available.low), max(begin, available.low)
    unread, replay = offset - end, min(end, rewind) - begin
    at = Position(offset, rewind, position.at_ms, position.banks, topic_id, None if unread else position.leader)
    return at, Expired(unread, replay, end if unread else 0)


def skipped(offsets: I64, expected: int, low: int, until: int | None) -> Expired:
    """Return what retention has deleted between messages: librdkafka continues with the oldest one in silence.

    Ends of transactions have offsets and are no messages, so a gap alone is no sign: the offsets in it must be older
    than the oldest one that the broker has.

    Parameters
    ----------
    offsets : int64 [n]
        Of messages that were received, ascending, n > 0.
    expected
        The offset after the last message before them.
    low
        The oldest offset that the broker has.
    until
        Messages before it are replayed; None: all have not been read before.

    Examples
    --------
    >>> skipped(np.array([3, 4, 9]), 3, 8, None)
    Expired(unread=3, replay=0, first=5)
    >>> skipped(np.array([3, 4, 6]), 3, 2, None)  # 5 is the end of a transaction
    Expired(unread=0, replay=0, first=0)
    """
    end = min(low, int(offsets[-1])) if until is None else min(low, int(offsets[-1]), until)
    missing = max(0, end - expected) - int(((expected <= offsets) & (offsets < end)).sum())
    if until is not None or not missing:
        return Expired(replay=missing)
    in_order = int(
        (offsets == expected + np.arange(len(offsets))).argmin()
    )  # messages before the first that is missing
    return Expired(unread=missing, first=expected + in_order)


def without(offsets: Mapping[int, int], partitions: Collection[int]) -> dict[int, int]:
    """Return the offsets of the other partitions.

    >>> without({0: 5, 1: 7}, {1})
    {0: 5}
    """
    return {partition: offset for partition, offset in offsets.items() if partition not in partitions}
