"""How often an event is logged: once a minute at most.

In: the time. Out: whether the next event is due. State: when it is.
"""

import time
from collections.abc import Callable

EVERY_S = 60.0


class Pace:
    """Says when an event may be logged.

    Parameters
    ----------
    clock_s
        Returns seconds, never decreasing.
    """

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._due_s = -float("inf")

    @property
    def is_due(self) -> bool:
        """True if none was logged within the last minute."""
        return self._clock_s() >= self._due_s

    def note(self) -> None:
        """Note that one is logged now."""
        self._due_s = self._clock_s() + EVERY_S
