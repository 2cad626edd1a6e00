"""The buffer between the polling thread and the monitor: what has been polled and not yet taken.

In: parts, one a poll. Out: all waiting parts of one kind (replay or live) at once. State: the waiting parts, their
messages and bytes, and whether the buffer is open. The buffer holds about one full tick; the polling thread waits
while it is full.

While the assignment changes the buffer is closed to the monitor: waiting parts are discarded (they will be polled
again), and `take` returns None. The buffer is *idle* when the monitor has finished the parts that it took last; the
next call of `take` is the sign of that.
"""

from __future__ import annotations

import threading

from beatwire.kafka.batch import Part

# A full tick: enough messages that the fixed costs of a tick do not matter, few enough to bound its memory.
TICK_MESSAGES = 49_152
TICK_BYTES = 32 << 20


class HandOver:
    """Passes parts from one thread to another."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._parts: list[tuple[bool, Part]] = []  # (belongs to a replay, part)
        self._messages = 0
        self._bytes = 0
        self._open = False
        self._working = False
        self._closed = False
        self._failure: BaseException | None = None

    # ---- called by the polling thread ----

    def put(self, part: Part, *, replay: bool) -> None:
        """Add the part of one poll, without waiting; a suspended buffer discards it."""
        with self._changed:
            if self._open:
                self._parts.append((replay, part))
                self._messages += len(part.messages)
                self._bytes += len(part.payload)
                self._changed.notify_all()

    def wait_for_space(self, timeout_s: float) -> bool:
        """Wait until less than a full tick waits; return False after `timeout_s` seconds."""
        with self._changed:
            return self._changed.wait_for(
                lambda: self._closed or (self._messages < TICK_MESSAGES and self._bytes < TICK_BYTES), timeout_s
            )

    def wait_until_idle(self, timeout_s: float) -> bool:
        """Wait until the monitor has finished the parts that it took; return False after `timeout_s` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self._closed or not self._working, timeout_s)

    def suspend(self) -> None:
        """Discard the waiting parts, and return None to the monitor until `resume` is called."""
        with self._changed:
            self._open = False
            self._clear()

    def resume(self) -> None:
        """Pass parts to the monitor again."""
        with self._changed:
            self._open = True
            self._changed.notify_all()

    def fail(self, error: BaseException) -> None:
        """Raise `error` in the monitor's next call of `take`."""
        with self._changed:
            self._failure = error
            self._changed.notify_all()

    # ---- called by the monitor ----

    def take(self, timeout_s: float) -> tuple[list[Part], bool, bool] | None:
        """Return the waiting parts; wait at most `timeout_s` seconds for the first.

        Returns
        -------
        parts, replay, all_taken
            The parts, perhaps none; whether they belong to a replay; whether no part is left. None while the buffer
            is suspended.

        Raises
        ------
        BaseException
            The error that ended the polling thread.
        """
        with self._changed:
            self._working = False
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._parts or self._failure is not None, timeout_s)
            if self._failure is not None:
                raise self._failure
            if not self._open:
                return None
            replay = bool(self._parts) and self._parts[0][0]
            parts = [part for kind, part in self._parts if kind is replay]
            rest = [(kind, part) for kind, part in self._parts if kind is not replay]
            self._clear()
            for kind, part in rest:
                self.put(part, replay=kind)
            self._working = True
            return parts, replay, not rest

    def close(self) -> None:
        """End every present and future wait of the polling thread."""
        with self._changed:
            self._closed = True
            self._working = False
            self._changed.notify_all()

    def _clear(self) -> None:
        self._parts, self._messages, self._bytes = [], 0, 0
        self._changed.notify_all()
