"""Bodies for the pending intervals of a stream: samples that came before their turn, in ascending order, apart.

State: columns ``FIRST_PENDING`` and on of ``records.slot_columns``, first sample and stop of each interval
"""

from beatwire.records import I64
from beatwire.records.slot_columns import FIRST_PENDING, SLOT_PENDING


def pending_until(state: I64, to: int) -> int:
    """Return the end of the last pending interval, or ``to`` if that is later."""
    if state[SLOT_PENDING] == 0:
        return to
    return max(to, int(state[FIRST_PENDING + 2 * state[SLOT_PENDING] - 1]))


def drop_pending(state: I64, k: int) -> None:
    """Remove pending interval ``k``."""
    left = int(state[SLOT_PENDING]) - 1
    for m in range(FIRST_PENDING + 2 * k, FIRST_PENDING + 2 * left):
        state[m] = state[m + 2]
    state[SLOT_PENDING] = left


def add_pending(state: I64, first: int, stop: int) -> None:
    """Add an interval to the pending ones and merge those that touch; the caller has checked for room."""
    k = 0
    while k < state[SLOT_PENDING]:
        begin = int(state[FIRST_PENDING + 2 * k])
        end = int(state[FIRST_PENDING + 2 * k + 1])
        if first <= end and begin <= stop:
            first = min(first, begin)
            stop = max(stop, end)
            drop_pending(state, k)
        else:
            k += 1
    k = int(state[SLOT_PENDING])
    while k > 0 and state[FIRST_PENDING + 2 * k - 2] > first:
        state[FIRST_PENDING + 2 * k] = state[FIRST_PENDING + 2 * k - 2]
        state[FIRST_PENDING + 2 * k + 1] = state[FIRST_PENDING + 2 * k - 1]
        k -= 1
    state[FIRST_PENDING + 2 * k] = first
    state[FIRST_PENDING + 2 * k + 1] = stop
    state[SLOT_PENDING] += 1
