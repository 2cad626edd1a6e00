"""How long the streams of this worker are not monitored: from a change of the assignment to the end of the replay.

In: each turn of the loop, whether its partitions are covered. Out: the time in `Counters` and the log; the alerts of
partitions that are not covered for long. State: since when, and whether that was said. The graph ends these alerts.
Until they are known to be published they are sent again, each with the same id.
"""

import logging
from collections.abc import Callable, Iterable
from typing import Any

from beatwire.alerts.rules import INTERRUPTED
from beatwire.records import Outgoing
from beatwire.service.observing.counters import Counters
from beatwire.service.observing.health import LoopState
from beatwire.service.observing.logs import log_event
from beatwire.stages.support.alerts.service_alerts import interrupted_messages
from beatwire.wire import names
from beatwire.wire.alerts import encode_alert
from beatwire.wire.cloud_events import alert_headers

INTERRUPTED_S = INTERRUPTED.default  # a shorter hand-over is over before anybody has read of it
_AGAIN_S = 1.0  # between two attempts to say it


class Interruption:
    """Watches the hand-overs of one loop.

    Parameters
    ----------
    counters, loop
        Where the time is counted, and what probes read.
    clock_us, clock_s
        The time by the broker's clock, microseconds since 1970; and a clock for durations.

    Attributes
    ----------
    alerts : list of dict
        What may be published of the present interruption. The log may have been read before, so it is adopted with it.
    """

    def __init__(
        self, counters: Counters, loop: LoopState, clock_us: Callable[[], int], clock_s: Callable[[], float]
    ) -> None:
        self._counters, self._loop = counters, loop
        self._clock_us, self._clock_s = clock_us, clock_s
        self._since_s, self._since_us, self._said = 0.0, 0, False
        self._next_s = 0.0  # of the next attempt to say it
        self.alerts: list[dict[str, Any]] = []

    def turn(self, partitions: int, held: int, *, covered: bool) -> bool:
        """Take a turn of the loop; return True if it is to be said now that its partitions are not monitored."""
        now_s, was_interrupted, interrupted = self._clock_s(), self._loop.interrupted, partitions > 0 and not covered
        self._loop.turn(now_s, partitions, interrupted=interrupted, held=held)
        if interrupted and not was_interrupted:
            self._since_s, self._since_us, self._said, self.alerts = now_s, 0, False, []
            self._next_s = now_s + INTERRUPTED_S
        elif interrupted and not self._said and now_s > self._next_s:
            self._next_s = now_s + _AGAIN_S
            return True
        elif was_interrupted and partitions and not interrupted:
            interrupted_s = round(now_s - self._since_s, 3)
            self._counters.interrupted_s.add(interrupted_s)
            text = f"monitoring {partitions} partitions, after {interrupted_s:.1f} s of replay"
            log_event("covered", text, level=logging.DEBUG, partitions=partitions, interrupted_s=interrupted_s)
        return False

    def publish(self, send: Callable[[Outgoing], None], partitions: Iterable[int], model: str) -> None:
        """Send the alerts of partitions that are not monitored; ``model`` is the version of the scoring model."""
        self._since_us = self._since_us or self._clock_us() - round(1e6 * (self._clock_s() - self._since_s))
        messages = interrupted_messages(sorted(partitions), self._since_us, INTERRUPTED_S)
        said = [one | {"model": model} for one in messages]
        keys: list[bytes | None] = [one["id"].encode() for one in said]
        self.alerts = said  # also if that is not known
        send(Outgoing(names.ALERTS, keys, [encode_alert(one).encode() for one in said], list(map(alert_headers, said))))
        self._said = True
