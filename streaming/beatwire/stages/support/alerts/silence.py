"""From when the silence of each stream counts: its last chunk of use, unless the feed or the broker's clock says other.

In:    the arrival of the newest chunk of any stream, steps of the broker's clock, and the slots of each tick
Out:   int64 [streams], microseconds since 1970
State: when the feed resumed, and chunks with a time that was still to come

After a silence of the whole feed the streams return one after the other: each has its limit from the first chunk of any
stream on. So has each when the broker's clock was set forward. A feed of a few slow senders resumes with every chunk:
what resumes again and again excuses nobody after ``CHAIN_US``. A chunk from the future arrived before the clock was set
back: it counts from the moment at which that is seen.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from beatwire.records import I64, Aligned
from beatwire.stages.support.alerts.service_alerts import FEED_S

CHAIN_US = 120_000_000
FUTURE_US = 500_000  # clocks of several brokers differ by less


@dataclass(slots=True)
class Silence:
    """What silence is measured by.

    newest_us   arrival of the newest chunk of any stream, whoever reads it; 0: unknown
    resumed_us  when the feed resumed, and streams began to be excused; 0: never
    chain_us    when it did first, of times that are at most ``CHAIN_US`` apart
    again_us    when it did last
    used_us     int64 [slots], last chunk of use, if that was in the future; else -1
    seen_us     int64 [slots], when that was seen
    """

    newest_us: int = 0
    resumed_us: int = 0
    chain_us: int = 0
    again_us: int = 0
    used_us: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    seen_us: I64 = field(default_factory=lambda: np.zeros(0, np.int64))

    def watch_feed(self, newest_us: int, *, was_set: bool = False) -> None:
        """Take the arrival of the newest chunk of any stream, 0: unknown; ``was_set``: the clock was, forward."""
        if newest_us and (was_set or (self.newest_us and newest_us - self.newest_us > FEED_S * 1e6)):
            if not 0 <= newest_us - self.again_us <= CHAIN_US:
                self.chain_us = newest_us
            if newest_us - self.chain_us <= CHAIN_US:
                self.resumed_us = newest_us
            self.again_us = newest_us
        self.newest_us = newest_us

    def last(self, aligned: Aligned) -> I64:
        """Return the last chunk of use of each stream, where it is in the future the time at which that was seen."""
        used_us, now_us, streams = aligned.slots.used_us, aligned.now_us, len(aligned.slots.used_us)
        self.resumed_us = min(self.resumed_us, now_us)
        future = used_us > now_us + FUTURE_US
        if not len(self.used_us) and not future.any():
            return used_us
        missing = np.full(max(0, streams - len(self.used_us)), -1)
        self.used_us, self.seen_us = np.append(self.used_us, missing), np.append(self.seen_us, missing)
        anew = np.flatnonzero(future & (self.used_us[:streams] != used_us))
        self.used_us[anew], self.seen_us[anew] = used_us[anew], now_us
        seen: I64 = np.where(self.used_us[:streams] == used_us, self.seen_us[:streams], used_us)
        return seen
