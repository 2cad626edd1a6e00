"""How long a broker is waited for.

In: a sender whose messages are not acknowledged yet, and whether the process is to end. Out: all are, or an error.
State: when the process was to end.
"""

import threading
import time

from beatwire.kafka.publishing.sender import Sender

OUTAGE_S = 120.0  # an outage of the broker that is waited for
STOPPED_S = 3.0  # the same after a signal to stop: what is not published then, a successor publishes
SLICE_S = 1.0  # of each call: a signal cannot end it


class StaleError(Exception):
    """The tick was not published, or its outcome is unknown; the group's commits decide."""


class Patience:
    """Whether a broker is waited for: until ``STOPPED_S`` after the process is to end."""

    def __init__(self, stop: threading.Event) -> None:
        self.stop = stop
        self._stopped_s: float | None = None

    @property
    def ended(self) -> bool:
        """Return whether the process was to end so long ago."""
        if self.stop.is_set() and self._stopped_s is None:
            self._stopped_s = time.monotonic()
        return self._stopped_s is not None and time.monotonic() - self._stopped_s > STOPPED_S


def flush_until(sender: Sender, stop: threading.Event) -> None:
    """Wait until the broker has acknowledged every message, for a short time once the process is to end.

    Raises
    ------
    FatalError
        A message has failed, or the broker did not in `OUTAGE_S` seconds.
    StaleError
        The process is to end.
    """
    began_s, patience = time.monotonic(), Patience(stop)
    while sender.unacknowledged() and time.monotonic() - began_s < OUTAGE_S:
        sender.check()
        sender.producer.flush(SLICE_S)
        if patience.ended and sender.unacknowledged():
            raise StaleError
    sender.flush(0.0)
