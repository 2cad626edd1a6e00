"""Write one row of ``Aligned.events``; the kinds are in ``records.events``."""

from beatwire.records import I64
from beatwire.records.columns import (
    EVENT_BANK,
    EVENT_KIND,
    EVENT_PASS,
    EVENT_SAMPLE,
    EVENT_SESSION,
    EVENT_SLOT,
    EVENT_VALUE,
)


def write_event(row: I64, number: int, slot: int, kind: int, sample: int, value: int, session: int, bank: int) -> None:
    """Write an event of pass ``number`` to a row of events."""
    row[EVENT_PASS] = number
    row[EVENT_SLOT] = slot
    row[EVENT_KIND] = kind
    row[EVENT_SAMPLE] = sample
    row[EVENT_VALUE] = value
    row[EVENT_SESSION] = session
    row[EVENT_BANK] = bank
