"""Ticks from which no replay may begin: the first chunk of a stream from there on was not what the stream was.

Such a chunk was rejected, or undone, because of chunks before it. A replay that begins with it would take it for the
beginning of the stream, and then reject what the stream was. This holds for every stream of a partition, whichever the
stream is that needs the replay.

A stranger may begin every tick of a stream. Such a stretch is bounded by what is read in ``MOST_US``: a replay then
begins with the stranger, and within that time takes the stream for what it is, as after any wrong chunk.
"""

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from beatwire.records import I32, I64, Aligned
from beatwire.records.columns import EVENT_SAMPLE, EVENT_SLOT, EVENT_VALUE

MOST_STRETCHES = 10_000  # of a partition; the oldest are dropped
MOST_US = 600_000_000  # five horizons: this much more is replayed at most
STEP_US = MOST_US // 20


@dataclass(slots=True)
class Starts:
    """Stretches of ticks in which no replay may begin, by partition.

    fitted       int64 [slots], last tick whose first chunk of the stream was one that fitted
    before_jump  int64 [slots], the same before the tick in which the stream jumped ahead last
    stretches    by partition, in order: what would begin in ``(first, last]`` begins in ``first``
    times        ticks and their times, ``STEP_US`` apart or more, the last one at least ``MOST_US`` ago first
    now_us       the time of the last tick, which a clock that is set back does not change
    clock_us     the clock at the last tick
    """

    fitted: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    before_jump: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    stretches: dict[int, deque[tuple[int, int]]] = field(default_factory=dict)
    times: deque[tuple[int, int]] = field(default_factory=lambda: deque([(0, 0)]))
    now_us: int = 0
    clock_us: int = 0

    def note(self, tick: int, aligned: Aligned, restarted: I64, partitions: I32) -> None:
        """Add tick number ``tick``.

        Parameters
        ----------
        restarted : int64 [r, EVENT_COLUMNS]
            The events of streams that have restarted.
        partitions : int32 [streams]
            Partition of each stream.
        """
        self._pass_time(tick, aligned.now_us)
        missing = len(aligned.slots.expected) - len(self.fitted)
        if missing > 0:
            self.fitted, self.before_jump = (
                np.concatenate([ticks, np.full(missing, tick)]) for ticks in (self.fitted, self.before_jump)
            )
        slots, at, known = (restarted[:, column] for column in (EVENT_SLOT, EVENT_SAMPLE, EVENT_VALUE))
        ahead, back = slots[(known >= 0) & (at > known)], slots[(known >= 0) & (at < known)]
        self.before_jump[ahead] = self.fitted[ahead]
        for slot in back.tolist():
            self._add(int(partitions[slot]), int(self.before_jump[slot]), tick)
        misfits = aligned.misfits_first
        for slot in misfits.tolist():
            self._add(int(partitions[slot]), int(self.fitted[slot]), tick)
        fitting = np.setdiff1d(aligned.seen, misfits, assume_unique=True) if len(misfits) else aligned.seen
        self.fitted[fitting] = tick

    def _add(self, partition: int, first: int, last: int) -> None:
        """Add a stretch that ends later than the others; join those in which it would begin."""
        stretches = self.stretches.setdefault(partition, deque(maxlen=MOST_STRETCHES))
        while stretches and stretches[-1][1] >= first:
            first = min(first, stretches.pop()[0])
        if first < last:
            stretches.append((first, last))

    def at_or_before(self, partition: int, tick: int) -> int:
        """Return the newest tick from which a partition may be replayed, at most ``tick``; forget what is older."""
        stretches = self.stretches.get(partition, deque())
        while stretches and stretches[0][1] < tick:
            stretches.popleft()
        return min(tick, max(stretches[0][0], self.times[0][0])) if stretches else tick

    def _pass_time(self, tick: int, clock_us: int) -> None:
        self.now_us += max(0, clock_us - self.clock_us) if self.clock_us else 0
        self.clock_us = clock_us
        if self.now_us - self.times[-1][1] >= STEP_US:
            self.times.append((tick, self.now_us))
        while len(self.times) > 1 and self.now_us - self.times[1][1] >= MOST_US:
            self.times.popleft()
