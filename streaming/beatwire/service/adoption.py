"""The log of alerts, read beside the loop: a slow log stops neither its turns nor its end.

In: what reads the log. Out: what it has found, or nothing if it is no longer needed. State: the thread that reads.
The loop waits for the log before it publishes, and turns meanwhile: probes see that it does, and streams that are not
monitored for long are announced.
"""

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from beatwire.errors import FatalError

Found = TypeVar("Found")

OUTAGE_S = 120.0  # an outage of the broker that is waited for
_RETRY_S = 0.2
_TURN_S = 0.1


class Adoption(Generic[Found]):
    """Reads what a new epoch has to adopt.

    Parameters
    ----------
    read
        Reads the log, in a thread; ends soon when its event is set.
    turn
        Called ten times a second while the log is read.
    """

    def __init__(self, read: Callable[[threading.Event], Found], turn: Callable[[], None]) -> None:
        self._read, self._turn = read, turn

    def wait(self, is_over: Callable[[], bool], begin: Callable[[], None] = lambda: None) -> Found | None:
        """Return what the log has; None if `is_over` returns True before it is read.

        Parameters
        ----------
        is_over
            The log is not needed any more.
        begin
            Called before each attempt to read.

        Raises
        ------
        UserError, FatalError
            The log cannot be read, for `OUTAGE_S` seconds if a broker is away.
        """
        deadline = time.monotonic() + OUTAGE_S
        while not is_over():
            begin()
            try:
                return self._attempt(is_over)
            except FatalError:
                if time.monotonic() > deadline:
                    raise
            until_s = time.monotonic() + _RETRY_S
            while not is_over() and time.monotonic() < until_s:
                time.sleep(0.01)
        return None

    def _attempt(self, is_over: Callable[[], bool]) -> Found | None:
        """Read once; return None if it is over before that has ended: the thread is abandoned."""
        given_up, found, failed = threading.Event(), list[Found](), list[BaseException]()

        def read() -> None:
            try:
                found.append(self._read(given_up))
            except BaseException as error:
                failed.append(error)

        thread = threading.Thread(target=read, name="alert-log", daemon=True)
        thread.start()
        thread.join(_TURN_S)
        while thread.is_alive() and not is_over():
            self._turn()
            thread.join(_TURN_S)
        if thread.is_alive():
            given_up.set()
            return None
        if failed:
            raise failed[0]
        return found[0]
