"""Find the tick from which a successor must replay to reach the present state, by partition.

Every ``STEP_S`` of its samples, or at the end of a longer tick, a stream leaves a mark: the number of the tick that
begins there. The newest mark that is the horizon back counts, and takes the place of those before it. After a restart
a stream depends on nothing before it. A stream that has been silent for more than ``silence_s`` will restart, and needs
no replay. Time passes by partition, as partitions that are read after an outage are not read equally far; when all that
the broker has is read, it passes in all of them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np

from beatwire.records import F64, I32, I64, Aligned
from beatwire.records.columns import EVENT_KIND, EVENT_SAMPLE, EVENT_SLOT
from beatwire.records.events import RESTART

STEP_S = 10.0  # a twelfth of the horizon: so much more than needed is replayed at most, or a tick


@dataclass(slots=True)
class Marks:
    """Marks of each stream.

    horizon_s, silence_s
    ticks      int64 [slots, n], ticks of the marks, oldest first: the first one counts
    samples    int64 [slots, n], samples of the marks
    at         int64 [slots], sample of the newest mark
    newest_us  int64 [partitions], arrival up to which all chunks have been read
    """

    horizon_s: float
    silence_s: float
    ticks: I64 = field(init=False)
    samples: I64 = field(init=False)
    at: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    newest_us: I64 = field(default_factory=lambda: np.zeros(0, np.int64))

    def __post_init__(self) -> None:
        """Size the rows: one mark more than the horizon has steps."""
        self.ticks = np.zeros((0, int(np.ceil(self.horizon_s / STEP_S)) + 1), np.int64)
        self.samples = self.ticks.copy()

    def note(self, tick: int, aligned: Aligned, partitions: I32, unread: Collection[int] = ()) -> None:
        """Add the marks of tick number ``tick``.

        Parameters
        ----------
        partitions : int32 [streams]
            Partition of each stream.
        unread
            Partitions of which ``aligned.caught_up`` says nothing.
        """
        expected, arrived_us = aligned.slots.expected, aligned.slots.arrived_us
        missing = len(expected) - len(self.at)
        if missing > 0:
            self.at = np.concatenate([self.at, np.zeros(missing, np.int64)])
            self.ticks = np.concatenate([self.ticks, np.full((missing, self.ticks.shape[1]), tick)])
            self.samples = np.concatenate([self.samples, np.zeros((missing, self.samples.shape[1]), np.int64)])
        restarted = aligned.events[aligned.events[:, EVENT_KIND] == RESTART]
        self.ticks[restarted[:, EVENT_SLOT]] = tick
        self.at[restarted[:, EVENT_SLOT]] = restarted[:, EVENT_SAMPLE]
        self.samples[restarted[:, EVENT_SLOT]] = restarted[:, EVENT_SAMPLE, None]
        # A stream that waited begins in the tick of its first chunk.
        waited = aligned.waited[aligned.waited[:, 0] >= 0]
        np.minimum.at(self.ticks, waited[:, 0], waited[:, 1:])
        # Of the session that a tick ends with: the passes of an earlier session of the tick leave no mark.
        rates_hz = np.array([bank.rate_hz for bank in aligned.banks])
        seen = aligned.seen[aligned.slots.bank[aligned.seen] >= 0]
        due = seen[expected[seen] - self.at[seen] >= STEP_S * rates_hz[aligned.slots.bank[seen]]]
        self._add(due, tick + 1, expected[due], rates_hz[aligned.slots.bank[due]])
        self._pass_time(partitions[aligned.seen], arrived_us[aligned.seen], aligned, unread)

    def _pass_time(self, partitions: I32, arrived_us: I64, aligned: Aligned, unread: Collection[int]) -> None:
        """Note the arrivals of a tick; if nothing else waits at the broker, time has passed in all partitions."""
        more = int(partitions.max(initial=-1)) + 1 - len(self.newest_us)
        if more > 0:
            self.newest_us = np.concatenate([self.newest_us, np.zeros(more, np.int64)])
        np.maximum.at(self.newest_us, partitions, arrived_us)
        if aligned.caught_up and len(self.newest_us):
            is_read = ~np.isin(np.arange(len(self.newest_us)), list(unread))
            self.newest_us[is_read] = self.newest_us.max()

    def _add(self, slots: I64, tick: int, sample: I64, rate_hz: F64) -> None:
        """Add a mark to streams, and drop those that are not needed any more."""
        self.at[slots] = sample
        ticks = np.column_stack([self.ticks[slots, 1:], np.full(len(slots), tick)])
        samples = np.column_stack([self.samples[slots, 1:], sample])
        far = samples <= (sample - np.ceil(self.horizon_s * rate_hz))[:, None]
        counts = np.maximum(far.sum(axis=1) - 1, 0)  # column of the newest mark that is the horizon back
        columns = np.maximum(np.arange(samples.shape[1]), counts[:, None])
        self.ticks[slots] = np.take_along_axis(ticks, columns, axis=1)
        self.samples[slots] = np.take_along_axis(samples, columns, axis=1)

    def oldest(self, partition: int, partitions: I32, arrived_us: I64, default: int) -> int:
        """Return the tick from which a partition must be replayed.

        Parameters
        ----------
        partitions, arrived_us : int32 and int64 [streams]
            Partition and last arrival of each stream.
        default
            Result for a partition whose streams need no replay.
        """
        newest_us = self.newest_us[partition] if partition < len(self.newest_us) else 0
        of_partition = (partitions == partition) & (newest_us - arrived_us <= self.silence_s * 1e6)
        return int(self.ticks[: len(of_partition)][of_partition, 0].min(initial=default))
