"""What happens to a stream, in the order in which it travels: the kinds of events, and how one is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the records take the kinds from here
    from streaming.records import I64

RESTART, GAP, LEADS_CHANGED, BEAT, BLOCK, KNOWN, CLOCK, DRIFTED = range(8)


def write_event(events: I64, row: int, number: int, slot: int, kind: int, index: int, value: int, session: int) -> None:
    """Write an event of pass ``number``: a row of ``Aligned.events``."""
    events[row, 0] = number
    events[row, 1] = slot
    events[row, 2] = kind
    events[row, 3] = index
    events[row, 4] = value
    events[row, 5] = session
