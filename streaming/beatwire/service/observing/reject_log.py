"""What is logged of messages that cannot be used: how many of each kind, with one reason each, at most once a minute.

In: the rejects of each tick. Out: an event ``rejects``. State: the counts since the last event. A sender of a million
corrupt messages therefore writes one line a minute; every message is in the dead-letter topic with its own reason.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable

from beatwire.records import Rejects
from beatwire.service.observing.logs import log_event
from beatwire.service.observing.pace import Pace


class RejectLog:
    """Counts rejects, and logs them.

    Parameters
    ----------
    clock_s
        Returns seconds, never decreasing.
    """

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._pace = Pace(clock_s)
        self._counts: Counter[str] = Counter()
        self._examples: dict[str, str] = {}

    def add(self, rejects: Rejects) -> None:
        """Add the rejects of a tick, one without any included: it may be time for an event."""
        for fault, count in rejects.counts():
            self._counts[fault.kind] += count
            if fault.kind not in self._examples:
                # Without what was found: it may be a sample. The dead letter has it.
                self._examples[fault.kind] = fault.reason.partition("; got ")[0]
        if self._counts and self._pace.is_due:
            self._pace.note()
            self._log()

    def _log(self) -> None:
        kinds = ", ".join(f"{count} {kind} ({self._examples[kind]})" for kind, count in self._counts.most_common())
        total = self._counts.total()
        text = f"{total} {'message' if total == 1 else 'messages'} to the dead-letter topic: {kinds}"
        log_event("rejects", text, level=logging.WARNING, count=total, kinds=dict(self._counts))
        self._counts, self._examples = Counter(), {}
