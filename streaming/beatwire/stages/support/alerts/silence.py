"""From when the silence of each stream counts: its last chunk of use, unless the feed or the broker's clock says other.

In:    the arrival of the newest chunk of any stream, and the slots of each tick
Out:   int64 [streams] twice, microseconds since 1970
State: when the feed resumed last; which chunk of each stream counts from another time than its arrival

After an outage of the whole feed the streams return one after the other: each has its limit from the first chunk of any
stream on. A shorter pause does not count as silence of a stream. When the broker's clock is set forward, the arrivals
show the same pause. A stream is excused once after each of its chunks, by the first resumption that is seen: so a feed
that resumes again and again, as one of a few slow senders, or of gateways whose clocks differ, excuses no stream for
ever. A chunk from the future arrived before the clock was set back: it counts from the moment at which that is seen.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from beatwire.records import I64, Aligned, Bool
from beatwire.stages.support.alerts.service_alerts import FEED_S

PAUSE_US = 500_000  # of the feed, from which on streams are excused
FUTURE_US = 500_000  # clocks of several brokers differ by less
BACK_US = 2_000_000  # so much later than now nothing counts from, when the clock has been set back


@dataclass(slots=True)
class Instead:
    """Chunks that count from another time than their own.

    chunk_us    int64 [slots], time of the chunk; -1: none
    counts_us   int64 [slots], when it counts from
    """

    chunk_us: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    counts_us: I64 = field(default_factory=lambda: np.zeros(0, np.int64))

    def of(self, last_us: I64, where: Bool, at_us: I64, now_us: int) -> I64:
        """Return from when the last chunk of each stream counts; from ``at_us`` on ``where`` it had no other time."""
        streams = len(last_us)
        if streams > len(self.chunk_us):
            missing = np.full(streams - len(self.chunk_us), -1)
            self.chunk_us, self.counts_us = np.append(self.chunk_us, missing), np.append(self.counts_us, missing)
        anew = np.flatnonzero(where & (self.chunk_us[:streams] != last_us))
        self.chunk_us[anew], self.counts_us[anew] = last_us[anew], at_us[anew]
        np.minimum(self.counts_us, now_us + BACK_US, out=self.counts_us)
        counts: I64 = np.where(self.chunk_us[:streams] == last_us, self.counts_us[:streams], last_us)
        return counts


@dataclass(slots=True)
class Silence:
    """What silence is measured by.

    newest_us   arrival of the newest chunk of any stream, whoever reads it; 0: unknown
    resumed_us  when the feed resumed last; 0: never
    paused_us   for how long it had paused
    future      chunks from the future
    excused     chunks before a pause of the feed
    """

    newest_us: int = 0
    resumed_us: int = 0
    paused_us: int = 0
    future: Instead = field(default_factory=Instead)
    excused: Instead = field(default_factory=Instead)

    def watch_feed(self, newest_us: int) -> None:
        """Take the arrival of the newest chunk of any stream, 0: unknown."""
        if self.newest_us and newest_us - self.newest_us > PAUSE_US:
            self.resumed_us, self.paused_us = newest_us, newest_us - self.newest_us
        self.newest_us = newest_us

    def of(self, aligned: Aligned) -> tuple[I64, I64]:
        """Return when the last chunk of use of each stream came, and from when on its silence counts."""
        used_us, now_us = aligned.slots.used_us, aligned.now_us
        self.resumed_us = min(self.resumed_us, now_us)
        last_us = self.future.of(used_us, used_us > now_us + FUTURE_US, np.full(len(used_us), now_us), now_us)
        later_us = last_us + (self.paused_us if self.paused_us <= FEED_S * 1e6 else self.resumed_us)
        later_us = np.minimum(later_us, self.resumed_us)
        return last_us, self.excused.of(last_us, last_us < self.resumed_us, later_us, now_us)
