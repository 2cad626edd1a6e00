"""The time by the broker's clock, and how late ticks are by it: one that is too late is not scored.

In: this machine's clock; ticks, each with how far that clock is ahead of the broker's.
Out: microseconds since 1970; ticks, marked as overloaded. State: how far ahead it was last.
"""

from collections.abc import Callable
from dataclasses import replace

from beatwire.kafka.consuming.batch import PolledTick
from beatwire.records import RawTick
from beatwire.service.observing.logs import log_clocks


class BrokerTime:
    """The broker's clock, as the last tick showed it; parameters as for `Monitor`."""

    def __init__(self, clock_us: Callable[[], int], score_within_s: float) -> None:
        self._clock_us, self._score_within_us = clock_us, round(score_within_s * 1e6)
        self._ahead_s = 0.0

    def now_us(self, polled: PolledTick | None = None) -> int:
        """Return the time, also while messages wait at the broker: as a tick shows it, or the last one."""
        if polled is not None and polled.ahead_s != self._ahead_s:
            self._ahead_s = polled.ahead_s
            log_clocks(polled.ahead_s)
        return self._clock_us() - round(self._ahead_s * 1e6)

    def marked(self, polled: PolledTick) -> RawTick:
        """Return a tick, marked as overloaded if it is too late: its beats are not scored, its rules are decided.

        A replay never is: it has to rebuild the history of all beats.
        """
        tick = polled.tick
        if polled.replay or not self._score_within_us or not len(tick.arrival_us):
            return tick
        behind_us = self.now_us(polled) - int(tick.arrival_us.max())
        return replace(tick, overloaded=behind_us > self._score_within_us)
