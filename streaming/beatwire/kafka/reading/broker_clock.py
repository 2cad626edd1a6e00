"""The time by the broker's clock, as messages show it: when the newest arrived there, and how long ago it was polled.

In: the parts of polls. Out: the time for the graph, and how far the clock of this machine is ahead. State: the newest
message of the last poll that had any, whether more waited after it, and the smallest difference of the clocks of late.
Only what comes after nothing waited is fresh: the end of a backlog may be old, of a feed that has failed. Silence is a
duration between a chunk's arrival, which the broker's clock has stamped, and now: so now is by that clock too, and the
clock of this machine decides nothing. Between messages the monotonic clock goes on. The time is late by what a poll
takes, never early; after a backlog, or a step of the broker's clock, the next poll has the right one.

Clocks of several brokers are taken for one (`beatwire.kafka.reading.staff`). What producers have
stamped is no clock: then the time is that of this machine.
"""

import time
from collections.abc import Sequence

from beatwire.kafka.consuming.batch import Part

APART_S = 0.5  # from which on a difference of the clocks is reported
_WINDOW_S = 10.0  # of the smallest difference: a poll may be late, and none is early


class BrokerClock:
    """Estimates the broker's clock; for use by one thread.

    Attributes
    ----------
    ahead_s : float
        By how much the clock of this machine is ahead of the broker's, where that is ``APART_S`` at least; else 0.
    """

    def __init__(self) -> None:
        self._newest_us, self._polled_s = 0, 0.0
        self._least_s, self._since_s = float("inf"), float("-inf")
        self._was_caught_up = False
        self.ahead_s = 0.0

    def note(self, parts: Sequence[Part], *, caught_up: bool) -> None:
        """Note what was polled; `caught_up`: nothing more waits at the broker, so the next message is fresh."""
        was_caught_up, self._was_caught_up = self._was_caught_up, caught_up
        newest = next((part for part in reversed(parts) if len(part.arrival_us)), None)
        if newest is None:
            return
        self._newest_us = int(newest.arrival_us.max()) if newest.by_broker else 0
        self._polled_s = newest.polled_s
        if not newest.by_broker:
            self.ahead_s = 0.0
        elif caught_up and was_caught_up:
            self._compare((time.time_ns() / 1e3 - self.now_us()) / 1e6)

    def now_us(self) -> int:
        """Return the time, microseconds since 1970; that of this machine if the broker has not stamped the newest."""
        if not self._newest_us:
            return time.time_ns() // 1000
        return self._newest_us + round((time.monotonic() - self._polled_s) * 1e6)

    def _compare(self, ahead_s: float) -> None:
        now_s = time.monotonic()
        if self._since_s == float("-inf"):
            self._since_s = now_s - 0.8 * _WINDOW_S  # of a start: soon
        self._least_s = min(self._least_s, ahead_s)
        if now_s - self._since_s >= _WINDOW_S:
            self.ahead_s = self._least_s if abs(self._least_s) >= APART_S else 0.0
            self._least_s, self._since_s = float("inf"), now_s
