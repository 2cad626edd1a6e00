"""Messages that wait for the broker, first in, first out: in memory here, on disk in ``spool``.

Several threads put, one takes.
"""

import threading
from collections import deque
from collections.abc import Sequence
from typing import Protocol

from beatwire_producers.devices.chunks import Message

MOST_BYTES = 256 << 20  # in memory


class Outbox(Protocol):
    """Messages that wait; ``loss`` says why some were lost."""

    lost: int
    loss: str

    @property
    def has_taken_enough(self) -> bool:
        """Return whether the broker has to acknowledge what was taken before more is."""
        ...

    def put(self, messages: Sequence[Message]) -> None:
        """Add messages."""
        ...

    def take(self, most: int, timeout_s: float) -> list[Message]:
        """Return the next messages; wait for the first of them."""
        ...

    def all_acknowledged(self) -> None:
        """Forget what was taken: the broker has acknowledged it."""
        ...

    def __len__(self) -> int: ...

    def close(self) -> None:
        """Close what is open."""
        ...


class Memory:
    """Messages in memory. What is too much pushes out what has waited longest.

    Parameters
    ----------
    most_bytes
        Of keys and values.

    Attributes
    ----------
    lost : int
        Messages that were pushed out.
    loss : str
        Says so.
    """

    loss = "no more room in memory; the oldest messages are lost (--spool FOLDER keeps them)"
    has_taken_enough = False

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.lost = 0
        self._most_bytes, self._bytes = most_bytes, 0
        self._messages: deque[Message] = deque()
        self._changed = threading.Condition()

    def put(self, messages: Sequence[Message]) -> None:
        """Add messages."""
        with self._changed:
            self._messages.extend(messages)
            self._bytes += sum(map(_size, messages))
            while self._bytes > self._most_bytes:
                self._bytes -= _size(self._messages.popleft())
                self.lost += 1
            self._changed.notify()

    def take(self, most: int, timeout_s: float) -> list[Message]:
        """Return the next messages; wait for the first of them."""
        with self._changed:
            if not self._messages:
                self._changed.wait(timeout_s)
            taken = [self._messages.popleft() for _ in range(min(most, len(self._messages)))]
            self._bytes -= sum(map(_size, taken))
            return taken

    def all_acknowledged(self) -> None:
        """Do nothing: what was taken is not here any more."""

    def __len__(self) -> int:
        return len(self._messages)

    def close(self) -> None:
        """Do nothing."""


def _size(message: Message) -> int:
    return len(message.key) + len(message.value)
