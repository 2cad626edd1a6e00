"""Find the tick from which a successor must replay to reach the present state, by partition.

Every ``STEP_S`` of its samples, or at the end of a longer tick, a stream leaves a mark: the number of the tick that
begins there. The newest mark that is the horizon back counts, and takes the place of those before it. After a restart
the samples of a stream depend on nothing before it. Which sessions take turns, where a stream was before it jumped, and
for how long nothing was analysed is about its time and outlasts a restart: while one is recent, ``TimeMarks`` say from
where that is replayed. A stream that has been silent for more than ``silence_s`` will restart: it needs no replay. Time
passes by partition, as partitions that are read after an outage are not read equally far; when all that the broker has
is read, it passes in all of them. ``pipeline.starts`` says where no replay may begin.
"""

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np

from beatwire.jit import cpu
from beatwire.kernels.intake.senders import TURN_US
from beatwire.pipeline.starts import Starts
from beatwire.records import F64, I32, I64, Aligned
from beatwire.records.columns import EVENT_SAMPLE, EVENT_SLOT, EVENT_VALUE

STEP_S = 10.0  # a twelfth of the horizon: so much more than needed is replayed at most, or a tick
# Microseconds by the broker's clock: two returns of sessions and one before. Of active time
# (``kernels.intake.senders``): 60 s without a signal that can be judged, the most that may be set, and the time between
# two of its marks.
OUTLASTS_US = np.array([3 * TURN_US, 64_000_000])
TIME_STEPS = 9
MOST_TICKS = 1 << 30  # that are counted from one origin: marks are int32


@dataclass(slots=True)
class TimeMarks:
    """Marks by time: of each stream at least ``OUTLASTS_US / TIME_STEPS`` apart by both clocks.

    ticks      int32 [slots, n], ticks of the marks, oldest first: the first one counts
    newest_us  int64 [slots, 2], arrival and active time at the newest mark
    ages_us    int32 [slots, n, 2], how long before it the marks were, by both clocks
    now_us     int64 [slots, 2], both at the last chunk
    restart_us  int64 [slots, 2], the same at the end of the last tick with a restart that is not the stream's beginning
    """

    ticks: I32 = field(default_factory=lambda: np.zeros((0, TIME_STEPS + 1), np.int32))
    newest_us: I64 = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    ages_us: I32 = field(default_factory=lambda: np.zeros((0, TIME_STEPS + 1, 2), np.int32))
    now_us: I64 = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    restart_us: I64 = field(default_factory=lambda: np.zeros((0, 2), np.int64))

    def grow(self, streams: int, tick: int) -> None:
        """Make room for so many streams; the marks of new ones are at ``tick``."""
        missing = streams - len(self.ticks)
        if missing > 0:
            self.ticks = np.concatenate([self.ticks, np.full((missing, TIME_STEPS + 1), tick, np.int32)])
            self.ages_us = np.concatenate([self.ages_us, np.zeros((missing, TIME_STEPS + 1, 2), np.int32)])
            self.newest_us, self.now_us, self.restart_us = (
                np.concatenate([times_us, np.zeros((missing, 2), np.int64)])
                for times_us in (self.newest_us, self.now_us, self.restart_us)
            )

    def begin(self, tick: int, aligned: Aligned, restarted: I64) -> None:
        """Begin the marks of streams anew that are new, or were silent for long and nobody else sent for them.

        Parameters
        ----------
        restarted : int64 [r, EVENT_COLUMNS]
            The events of streams that have restarted in tick number ``tick``.
        """
        slots = restarted[:, EVENT_SLOT]
        if not len(slots):
            return
        now_us = np.column_stack([aligned.slots.arrived_us[slots], aligned.slots.active_us[slots]])
        self.restart_us[slots] = now_us
        was_active = np.zeros(len(self.ticks), np.bool_)
        if aligned.before is not None:
            was_active[: len(aligned.before.active_us)] = aligned.before.active_us > 0
        was_silent = (restarted[:, EVENT_VALUE] < -1) & ~np.isin(slots, aligned.contested)
        anew = ~was_active[slots] | was_silent
        begun = slots[anew]
        self.ticks[begun] = tick
        self.newest_us[begun] = now_us[anew]
        self.ages_us[begun] = 0
        self.restart_us[begun] = 0

    def add(self, slots: I64, tick: int) -> None:
        """Add a mark to streams, and drop those that are not needed any more."""
        far_us = np.tile(OUTLASTS_US, (len(slots), 1))
        cpu.kernels.add_mark(
            len(slots), slots, tick, self.now_us[slots], far_us, self.newest_us, self.ticks, self.ages_us
        )

    def before(self, ticks: I32) -> I32:
        """Return the tick from which each of the first streams must be replayed, by that of its samples, int32 [n]."""
        n = len(ticks)
        recent = ((self.now_us[:n] - self.restart_us[:n] <= OUTLASTS_US) & (self.restart_us[:n] > 0)).any(axis=1)
        earlier: I32 = np.where(recent, np.minimum(ticks, self.ticks[:n, 0]), ticks)
        return earlier


@dataclass(slots=True)
class Marks:
    """Marks of each stream.

    horizon_s, silence_s
    origin     the tick from which ticks of marks are counted
    ticks      int32 [slots, n], ticks of the marks, oldest first: the first one counts
    at         int64 [slots], sample of the newest mark
    ages       int32 [slots, n], how many samples before it the marks are
    newest_us  int64 [partitions], arrival up to which all chunks have been read
    last_us    the latest arrival of the last tick with chunks
    times      marks by time
    starts     where no replay may begin
    """

    horizon_s: float
    silence_s: float
    origin: int = field(default=0, init=False)
    ticks: I32 = field(init=False)
    ages: I32 = field(init=False)
    at: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    newest_us: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    last_us: int = 0
    times: TimeMarks = field(default_factory=TimeMarks)
    starts: Starts = field(default_factory=Starts)

    def __post_init__(self) -> None:
        """Size the rows: one mark more than the horizon has steps."""
        self.ticks = np.zeros((0, int(np.ceil(self.horizon_s / STEP_S)) + 1), np.int32)
        self.ages = self.ticks.copy()

    def note(self, tick: int, aligned: Aligned, partitions: I32, unread: Collection[int] = ()) -> None:
        """Add the marks of tick number ``tick``.

        Parameters
        ----------
        partitions : int32 [streams]
            Partition of each stream.
        unread
            Partitions of which ``aligned.caught_up`` says nothing.
        """
        expected, counted = aligned.slots.expected, self._counted(tick)
        missing = len(expected) - len(self.at)
        if missing > 0:
            self.at = np.concatenate([self.at, np.zeros(missing, np.int64)])
            self.ticks = np.concatenate([self.ticks, np.full((missing, self.ticks.shape[1]), counted, np.int32)])
            self.ages = np.concatenate([self.ages, np.zeros((missing, self.ages.shape[1]), np.int32)])
        self.times.grow(len(expected), counted)
        restarted = aligned.restarts
        self.starts.note(tick, aligned, restarted, partitions)
        self.ticks[restarted[:, EVENT_SLOT]] = counted
        self.at[restarted[:, EVENT_SLOT]] = restarted[:, EVENT_SAMPLE]
        self.ages[restarted[:, EVENT_SLOT]] = 0
        self.times.begin(counted, aligned, restarted)
        rates_hz = np.array([bank.rate_hz for bank in aligned.banks])
        seen, times = aligned.seen, self.times
        due = np.empty((2, len(seen)), np.bool_)
        cpu.kernels.note_times(
            len(seen),
            seen,
            aligned.slots,
            times.newest_us,
            TIME_STEPS,
            OUTLASTS_US,
            self.at,
            STEP_S * rates_hz,
            times.now_us,
            due,
        )
        times.add(seen[due[0]], counted + 1)
        # A stream that waited begins in the tick of its first chunk.
        waited = aligned.waited[aligned.waited[:, 0] >= 0]
        for ticks in (self.ticks, self.times.ticks) if len(waited) else ():
            np.minimum.at(ticks, waited[:, 0], (waited[:, 1:] - self.origin).astype(np.int32))
        # Of the session that a tick ends with: the passes of an earlier session of the tick leave no mark.
        slots = seen[due[1]]
        self._add(slots, counted + 1, expected[slots], rates_hz[aligned.slots.bank[slots]])
        self._pass_time(partitions, aligned, unread)

    def _counted(self, tick: int) -> int:
        """Return a tick as it is stored; one far from the origin becomes the origin: older ticks need no replay."""
        passed = tick - self.origin
        if passed < MOST_TICKS:
            return passed
        self.origin = tick
        for ticks in (self.ticks, self.times.ticks):
            ticks[:] = np.maximum(ticks - np.int64(passed), -MOST_TICKS)
        return 0

    def _pass_time(self, partitions: I32, aligned: Aligned, unread: Collection[int]) -> None:
        """Note the arrivals of a tick; if nothing else waits at the broker, time has passed in all partitions.

        The last tick of a partition counts, not the latest time: the clock of a broker may be set back.
        """
        seen = aligned.seen
        if int(partitions.max(initial=-1)) >= len(self.newest_us):
            more = max(0, int(partitions[seen].max(initial=-1)) + 1 - len(self.newest_us))
            self.newest_us = np.concatenate([self.newest_us, np.zeros(more, np.int64)])
        if len(seen):
            self.last_us = cpu.kernels.note_arrivals(seen, partitions, aligned.slots.arrived_us, self.newest_us)
        if aligned.caught_up and len(self.newest_us):
            is_read = ~np.isin(np.arange(len(self.newest_us)), list(unread)) if len(unread) else slice(None)
            self.newest_us[is_read] = self.last_us

    def _add(self, slots: I64, tick: int, sample: I64, rate_hz: F64) -> None:
        """Add a mark to streams, and drop those that are not needed any more."""
        far = np.ceil(self.horizon_s * rate_hz).astype(np.int64)
        cpu.kernels.add_mark(
            len(slots), slots, tick, sample[:, None], far[:, None], self.at[:, None], self.ticks, self.ages[:, :, None]
        )

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
        ticks = self.times.before(self.ticks[: len(of_partition), 0])
        return int(ticks[of_partition].min(initial=default - self.origin)) + self.origin
