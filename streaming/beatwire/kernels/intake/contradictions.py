"""Bodies that find two senders in one session: what comes of a sample is not what came of it before.

In:    the chunks of a stream in order of arrival
Out:   whether they contradict each other
State: columns ``SLOT_VALUES_TO`` to ``SLOT_VALUES`` of ``records.slot_columns``: of each second a byte of one value of
       the first lead, for ``KEPT`` seconds; differences in a row

A device may send samples again, and some send them corrected: then most values are equal. Of two devices hardly any is.
``IN_A_ROW`` differences in a row, none ``APART_US`` or more after the one before, are a contradiction. So it depends
on ``KEPT`` seconds and four times ``APART_US``.
"""

from beatwire.kernels.packed_bytes import PER_COLUMN, byte_at, put_byte
from beatwire.records import I64, U8
from beatwire.records.columns import CHUNK_AT, CHUNK_COUNT, CHUNK_FIRST, CHUNK_LEAD_OFF
from beatwire.records.slot_columns import SLOT_DIFFERENCES, SLOT_DIFFERS_US, SLOT_VALUES, SLOT_VALUES_TO, VALUE_COLUMNS

KEPT = PER_COLUMN * VALUE_COLUMNS
NONE = 0  # the byte of no value
NO_VALUE = 0x8000  # a sample without a value
IN_A_ROW = 4
APART_US = 5_000_000


def byte_of(sample: int) -> int:
    """Return the byte of a sample of 16 bits: of two samples that are near another one."""
    return NONE if sample == NO_VALUE else 1 + sample % 255


def forget_values(state: I64) -> None:
    """Forget what came: another session begins."""
    state[SLOT_VALUES_TO] = 0
    state[SLOT_DIFFERENCES] = 0


def compare_values(state: I64, payload: U8, ints: I64, step: int, arrived_us: int) -> bool:
    """Compare the samples of a chunk with those that came before, and keep them; return True if one has come before.

    ``step``: samples of a second.
    """
    again = False
    if ints[CHUNK_LEAD_OFF] & 1:
        return again
    first, stop, at = int(ints[CHUNK_FIRST]), int(ints[CHUNK_FIRST] + ints[CHUNK_COUNT]), int(ints[CHUNK_AT])
    for number in range((first + step - 1) // step, (stop + step - 1) // step):
        p = at + 2 * (number * step - first)
        value = byte_of(int(payload[p]) | (int(payload[p + 1]) << 8))
        to = int(state[SLOT_VALUES_TO])
        if number >= to:
            for between in range(max(to, number - KEPT + 1), number):
                put_byte(state, SLOT_VALUES, between % KEPT, NONE)
            state[SLOT_VALUES_TO] = number + 1
            put_byte(state, SLOT_VALUES, number % KEPT, value)
        elif number >= to - KEPT and value != NONE:
            before = byte_at(state, SLOT_VALUES, number % KEPT)
            if before == NONE:
                put_byte(state, SLOT_VALUES, number % KEPT, value)
            elif before == value:
                again = True
                state[SLOT_DIFFERENCES] = 0
            else:
                late = arrived_us - state[SLOT_DIFFERS_US] >= APART_US
                state[SLOT_DIFFERENCES] = 1 if late else state[SLOT_DIFFERENCES] + 1
                state[SLOT_DIFFERS_US] = arrived_us
    return again


def is_contradicted(state: I64, arrived_us: int) -> bool:
    """Return True, once, if the chunks up to now contradict each other."""
    if state[SLOT_DIFFERENCES] < IN_A_ROW or arrived_us - state[SLOT_DIFFERS_US] >= APART_US:
        return False
    state[SLOT_DIFFERENCES] = 0
    return True
