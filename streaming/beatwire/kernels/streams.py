"""Bodies over all streams of a tick that find those which the host has to look at."""

from beatwire.kernels.alerts.alert_state import FIRST_ONSET, NO_DATA, NOT_MONITORED
from beatwire.records import F64, I32, I64, U8, Bool
from beatwire.records.samples import SlotColumns

HAS_NO_DATA, IS_NOT_MONITORED = 1, 2  # bits of the alerts that are about a stream and not its samples


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
