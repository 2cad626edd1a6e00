"""Pacing: send by the clock without drift, or as fast as the reader commits.

In: when a message is due, or how many messages wait for the reader. Out: a wait. Clock and sleep are arguments, so
tests do not wait.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from beatwire.errors import UserError

MAX = float("inf")


@dataclass
class Pacer:
    """Waits until ``start + due / speed``; every deadline counts from the start, so errors do not add up.

    speed     multiple of real time; ``MAX``: no waits
    worst_s   the longest delay behind a deadline so far, seconds
    """

    speed: float
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    worst_s: float = 0.0
    start_s: float = field(init=False)

    def __post_init__(self) -> None:
        self.start_s = self.clock()

    def wait(self, due_s: float) -> float:
        """Sleep until ``due_s`` seconds of signal are due; return the delay behind that time, seconds."""
        if self.speed == MAX:
            return 0.0
        deadline_s = self.start_s + due_s / self.speed
        left_s = deadline_s - self.clock()
        while left_s > 0:
            self.sleep(left_s)
            left_s = deadline_s - self.clock()
        self.worst_s = max(self.worst_s, -left_s)
        return -left_s


@dataclass
class LagLimit:
    """Limits the messages that the reader has not committed, for a broker that keeps few of them.

    lag          returns the number of messages that the reader has not committed
    group        the reader's group, for the error message
    most_bytes   limit of their bytes; all of them may be in one partition
    most         limit of their number
    patience_s   a reader that commits nothing for so long is an error, seconds
    waited_s     seconds of waiting so far
    """

    lag: Callable[[], int]
    group: str
    most_bytes: int = 3 << 20
    most: int = 60_000
    patience_s: float = 60.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    waited_s: float = 0.0
    _room_bytes: float = 0.0
    _room: int = 0
    _sent_bytes: int = 0
    _sent: int = 0

    def wait(self, messages: int, size: int) -> None:
        """Wait until the broker can keep more messages, and count these as sent.

        Parameters
        ----------
        messages, size
            Number and bytes of the messages to send.

        Raises
        ------
        UserError
            The reader has committed nothing for ``patience_s`` seconds.
        """
        since_s = began_s = self.clock()
        before = -1
        while messages > self._room or size > self._room_bytes:
            unread = self.lag()
            mean = self._sent_bytes / self._sent if self._sent else size / messages
            self._room = self.most - unread
            self._room_bytes = self.most_bytes - unread * mean
            if (messages <= self._room and size <= self._room_bytes) or unread == 0:
                break
            if unread != before:
                before, since_s = unread, self.clock()
            if self.clock() - since_s > self.patience_s:
                raise UserError(
                    f"replay: expected group {self.group!r} to commit; "
                    f"got no commit in {self.patience_s:g} s with {unread} messages unread"
                )
            self.sleep(0.002)
        self.waited_s += self.clock() - began_s
        self._room -= messages
        self._room_bytes -= size
        self._sent += messages
        self._sent_bytes += size


def parse_speed(text: str) -> float:
    """Parse a speed: ``1``, ``20``, ``0.5``, ``1x`` or ``max``.

    Raises
    ------
    UserError
        The text is neither a positive number nor ``max``.
    """
    if text.strip().lower() == "max":
        return MAX
    try:
        speed = float(text.strip().lower().removesuffix("x"))
    except ValueError:
        speed = 0.0
    if not 0 < speed <= 1e6:
        raise UserError(f"--speed: expected a number above 0, or max; got {text!r}")
    return speed
