"""When to send the next message: by the clock without drift, or as fast as nothing is lost.

Clock and sleep are arguments, so tests never wait.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from beatwire.errors import UserError

MAX = float("inf")


@dataclass
class Pacer:
    """Deadlines at ``start + due / speed``, each from the start and never from the one before.

    worst_s   the furthest that a message has been behind its deadline so far
    """

    speed: float
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    worst_s: float = 0.0
    start_s: float = field(init=False)

    def __post_init__(self) -> None:
        self.start_s = self.clock()

    def wait(self, due_s: float) -> float:
        """Sleep until ``due_s`` seconds of signal are due; return how far behind we are, seconds."""
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
    """Let no more be unread than a broker with a small memory keeps.

    lag          messages that the reader has not committed yet
    most_bytes   of unread messages; one partition may hold all of them
    most         unread messages
    patience_s   how long the reader may stand still before that is an error
    """

    lag: Callable[[], int]
    who: str
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
        """Wait until ``messages`` more of ``size`` bytes together can be kept, and count them as sent.

        Raises
        ------
        UserError
            the reader stands still.
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
                    f"replay: expected group {self.who!r} to read on; "
                    f"{unread} messages have been waiting for {self.patience_s:g} s"
                )
            self.sleep(0.002)
        self.waited_s += self.clock() - began_s
        self._room -= messages
        self._room_bytes -= size
        self._sent += messages
        self._sent_bytes += size


def parse_speed(text: str) -> float:
    """Read ``1``, ``20``, ``0.5``, ``1x`` or ``max``.

    Raises
    ------
    UserError
        anything else.
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
