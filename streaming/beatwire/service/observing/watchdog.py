"""The watchdog: a thread that logs when the loop stands still, where it stands, and when it turns again.

In: the verdicts of a `Health`. Out: one event when a hang begins and one when it ends. State: whether the loop hangs.
Nothing is ended: a restart is the decision of whoever probes ``/healthz``.
"""

import logging
import threading
from typing import Self

from beatwire.service.observing.health import Health
from beatwire.service.observing.logs import log_event

_CHECK_S = 1.0


class Watchdog:
    """Watches a loop while the block runs.

    Parameters
    ----------
    health
        Of the loop.
    """

    def __init__(self, health: Health) -> None:
        self._health = health
        self._stop = threading.Event()
        self._hangs = False
        self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def check(self) -> None:
        """Log if the loop has begun to hang, or turns again."""
        verdict = self._health.healthy()
        if not verdict.ok and not self._hangs:
            log_event("hang", verdict.body["reason"], level=logging.ERROR)
        if verdict.ok and self._hangs:
            log_event("turns again", "the loop turns again", level=logging.WARNING)
        self._hangs = not verdict.ok

    def _run(self) -> None:
        while not self._stop.wait(_CHECK_S):
            self.check()
