"""Messages of the monitor's own topics that cannot be used: counted by topic, each said once in the log.

In: `Unusable`, as readers find them; the topic of alerts is read again with every hand-over. Out: events ``unusable
message``, and the counts. State: hashes of what was said, at most ``MOST_SAID``; then the oldest may be said again. A
flood of them writes ``MOST_A_MINUTE`` lines a minute at most; the counts have them all.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable

from beatwire.service.observing.logs import log_event
from beatwire.wire.fields import Unusable

MOST_SAID = 10_000
MOST_A_MINUTE = 20


class UnusableLog:
    """Counts messages that cannot be used, and logs them.

    Parameters
    ----------
    counts
        By topic.
    clock_s
        Returns seconds, never decreasing.
    """

    def __init__(self, counts: Counter[str], clock_s: Callable[[], float] = time.monotonic) -> None:
        self._counts, self._clock_s = counts, clock_s
        self._said: dict[int, None] = {}
        self._minute, self._lines = -1, 0

    def take(self, found: list[Unusable]) -> None:
        """Count and log all messages of a list, and remove them from it: another thread may append to it."""
        while found:
            self.add(found.pop(0))

    def add(self, found: Unusable) -> None:
        """Add a message; one that was said before is the same and is not counted again."""
        name = hash(found)
        if name in self._said:
            return
        self._counts[found.topic] += 1
        self._said[name] = None
        if len(self._said) > MOST_SAID:
            del self._said[next(iter(self._said))]
        minute = int(self._clock_s() // 60)
        self._lines = self._lines + 1 if minute == self._minute else 1
        self._minute = minute
        if self._lines <= MOST_A_MINUTE:
            log_event("unusable message", str(found), level=logging.WARNING, topic=found.topic)
