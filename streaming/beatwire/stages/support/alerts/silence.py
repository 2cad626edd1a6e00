"""From when the silence of each stream counts: since its last chunk of use was read, unless the feed failed after it.

In:    what is known of the feed (``Watched``), and the slots with a chunk of use in each tick
Out:   int64 [slots] twice, microseconds by the clock of ``Watched``
State: when the last chunk of use of each stream was read; whether a failure of the feed has excused the stream since

All times are of one clock, which no one sets: what gateways and brokers write into messages decides nothing here, so
their clocks may differ and be set. Time for which no broker answers does not pass.

After an outage of the whole feed, or of the brokers, the streams return one after the other: each has its limit from
the first chunk of any stream on. A shorter pause does not count as silence of a stream. A stream is excused once after
each of its chunks by the first pause that ends, and once by the first outage: so a feed that resumes again and again,
as one of a few slow senders, excuses no stream for ever.

Without a watch over the feed the clock is that of the ticks; a step back does not count, nor does a replay.
"""

from dataclasses import dataclass, field

import numpy as np

from beatwire.records import I64, U8, Aligned, Bool
from beatwire.records.feed import Watched
from beatwire.stages.support.alerts.service_alerts import FEED_S

PAUSE_US = 500_000  # of the feed, from which on streams are excused
PAUSE, OUTAGE = 1, 2  # by what


@dataclass(slots=True)
class Silence:
    """What silence is measured by.

    watched     of the feed; its time is that of the ticks if nobody watches
    tick_us     the clock of the last tick, if nobody watches
    last_us     int64 [slots], when the last chunk of use was read; 0: none was
    counts_us   int64 [slots], when silence counts from
    excused     uint8 [slots], by what that is later: PAUSE, OUTAGE; 0: nothing
    """

    watched: Watched = field(default_factory=lambda: Watched(0))
    tick_us: int = -1
    last_us: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    counts_us: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    excused: U8 = field(default_factory=lambda: np.zeros(0, np.uint8))

    def watch(self, watched: Watched) -> None:
        """Take what is known of the feed at the next tick."""
        before, self.watched, self.tick_us = self.watched, watched, -1
        # What ends before any chunk has come since another outage ended is the same outage.
        same = self.counts_us == before.resumed_us if before.newest_us < before.resumed_us else np.False_
        if watched.resumed_us > before.resumed_us:
            self._excuse(watched.resumed_us, None, same)
            same = self.counts_us == watched.resumed_us
        paused_us = watched.newest_us - before.newest_us
        if before.newest_us and paused_us > PAUSE_US:
            self._excuse(watched.newest_us, paused_us if paused_us <= FEED_S * 1e6 else None, same)

    def note(self, aligned: Aligned) -> None:
        """Note which streams have a chunk of use in this tick."""
        if self.tick_us >= 0 or not self.watched.now_us:
            now_us = aligned.now_us or int(aligned.slots.used_us.max(initial=0))  # unknown: that of the newest chunk
            passed_us = max(0, now_us - self.tick_us) if self.tick_us >= 0 else 1
            self.watched = Watched(self.watched.now_us + passed_us)
            if aligned.caught_up or now_us > self.tick_us:  # else it may be a replay, after which the clock goes on
                self.tick_us = now_us
        missing = len(aligned.slots.used_us) - len(self.last_us)
        if missing > 0:
            self.last_us = np.append(self.last_us, np.zeros(missing, np.int64))
            self.counts_us = np.append(self.counts_us, np.full(missing, self.watched.now_us))
            self.excused = np.append(self.excused, np.zeros(missing, np.uint8))
        used = aligned.used
        self.last_us[used] = self.counts_us[used] = self.watched.now_us
        self.excused[used] = 0

    def _excuse(self, resumed_us: int, paused_us: int | None, again: Bool | np.bool_) -> None:
        """Let streams whose last chunk was before an outage count from later: for how long that was; None: anew.

        ``again``: also those that an outage has excused.
        """
        by = OUTAGE if paused_us is None else PAUSE
        before = ((self.excused < by) | again) & (self.last_us < resumed_us)
        later_us = resumed_us if paused_us is None else np.minimum(self.counts_us + paused_us, resumed_us)
        self.counts_us = np.where(before, np.maximum(later_us, self.counts_us), self.counts_us)
        self.excused[before] = np.maximum(self.excused[before], by)
