"""One row of ``Aligned.events``; the kinds are in ``records.events``."""

from __future__ import annotations

from beatwire.records import I64


def write_event(events: I64, row: int, number: int, slot: int, kind: int, index: int, value: int, session: int) -> None:
    """Write an event of pass ``number``: a row of ``Aligned.events``."""
    events[row, 0] = number
    events[row, 1] = slot
    events[row, 2] = kind
    events[row, 3] = index
    events[row, 4] = value
    events[row, 5] = session
