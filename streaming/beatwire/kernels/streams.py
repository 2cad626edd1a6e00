"""Bodies over all streams of a tick that find those which the host has to look at."""

from beatwire.kernels.alerts.alert_state import FIRST_ONSET, NO_DATA, NOT_MONITORED
from beatwire.records import F64, I32, I64, U8, Bool
from beatwire.records.samples import SlotColumns

HAS_NO_DATA, IS_NOT_MONITORED = 1, 2  # bits of the alerts that are about a stream and not its samples
LONGEST = (1 << 31) - 1  # of an age, 35 minutes or weeks of samples: more than is compared with it


def find_open(i: int, slots: I64, found: U8) -> None:
    """Write which alerts about the stream of slot ``i`` are on, as bits."""
    state = slots[i]
    no_data, not_monitored = state[FIRST_ONSET + NO_DATA] >= 0, state[FIRST_ONSET + NOT_MONITORED] >= 0
    found[i] = HAS_NO_DATA * int(no_data) + IS_NOT_MONITORED * int(not_monitored)


def note_arrivals(seen: I64, partitions: I32, arrived_us: I64, newest_us: I64) -> int:
    """Write the newest arrival of each partition of the streams ``seen``; return that of all, 0 if it is before 0.

    Parameters
    ----------
    seen : int64 [s]
        Slots.
    partitions, arrived_us : int32 and int64 [slots]
        Partition and last arrival of each stream.
    newest_us : int64 [partitions], written
        The other partitions keep theirs.
    """
    last_us = 0
    for i in range(seen.shape[0]):
        newest_us[partitions[seen[i]]] = 0
    for i in range(seen.shape[0]):
        partition, at_us = partitions[seen[i]], int(arrived_us[seen[i]])
        if at_us > newest_us[partition]:
            newest_us[partition] = at_us
        last_us = max(last_us, at_us)
    return last_us


def note_times(
    i: int, seen: I64, slots: SlotColumns, newest_us: I64, steps: int, outlasts_us: I64, at: I64, step: F64,
    now_us: I64, due: Bool,
) -> None:  # fmt: skip
    """Write the times of the stream of slot ``seen[i]``, and whether it is due for a mark of ``pipeline.rewind``.

    Parameters
    ----------
    slots
        The streams after the tick.
    newest_us, steps, outlasts_us
        Arrival and active time at the newest marks by time, int64 [slots, 2]; one is due where both are ``1 / steps``
        of ``outlasts_us`` [2] later.
    at, step
        Samples of the newest marks by samples, int64 [slots], and how far these are apart, in each bank.
    now_us : int64 [slots, 2], written
    due : bool [2, n], written
        By time, and by samples.
    """
    slot = seen[i]
    arrived_us, active_us, bank = slots.arrived_us[slot], slots.active_us[slot], slots.bank[slot]
    now_us[slot, 0], now_us[slot, 1] = arrived_us, active_us
    last = newest_us[slot]
    late, active = steps * (arrived_us - last[0]), steps * (active_us - last[1])
    due[0, i] = late >= outlasts_us[0] and active >= outlasts_us[1]
    due[1, i] = bank >= 0 and slots.expected[slot] - at[slot] >= step[bank]


def add_mark(i: int, slots: I64, tick: int, now: I64, far: I64, at: I64, ticks: I32, ages: I32) -> None:
    """Add a mark to the stream of slot ``slots[i]``; the newest one that is far back takes the place of older ones.

    Parameters
    ----------
    tick
        That the mark is of.
    now, far : int64 [n, k]
        Where each stream is by ``k`` clocks or counts, and how far back by all of them is far.
    at : int64 [slots, k], written
        Where the newest mark is.
    ticks, ages : int32 [slots, m], int32 [slots, m, k], written
        The marks, oldest first, and how far before the newest they are, at most ``LONGEST``.
    """
    slot, last, distant = slots[i], ticks.shape[1] - 1, 0
    for m in range(last + 1):
        is_far = True
        for k in range(at.shape[1]):
            age = 0
            if m < last:
                age = int(ages[slot, m + 1, k]) + int(now[i, k]) - int(at[slot, k])
                age = max(-LONGEST, min(LONGEST, age))
            ages[slot, m, k] = age
            is_far = is_far and age >= far[i, k]
        ticks[slot, m] = ticks[slot, m + 1] if m < last else tick
        distant += int(is_far)
    for m in range(distant - 1):
        ticks[slot, m] = ticks[slot, distant - 1]
        for k in range(at.shape[1]):
            ages[slot, m, k] = ages[slot, distant - 1, k]
    for k in range(at.shape[1]):
        at[slot, k] = now[i, k]
