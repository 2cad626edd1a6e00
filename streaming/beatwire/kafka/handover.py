"""Between the polling thread and the monitor: what has been polled and not yet taken, of bounded size.

The gate is shut while the assignment changes: what waits is thrown away (it will be polled again)
and nothing is taken until it opens. `idle` means that the tick taken last has been dealt with: taking
the next one says so.
"""

from __future__ import annotations

import threading

from beatwire.kafka.batch import Part

TICK_MESSAGES = 65_536
TICK_BYTES = 32 << 20


class HandOver:
    """Parts in, ticks' worth of parts out; one thread on either side."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._parts: list[tuple[bool, Part]] = []  # (belongs to a replay, part)
        self._messages = 0
        self._bytes = 0
        self._open = False
        self._working = False
        self._closed = False
        self._failure: BaseException | None = None

    # ---- the polling thread's side ----

    def put(self, part: Part, *, replay: bool) -> None:
        """Add what one poll returned; never waits."""
        with self._changed:
            if self._open:
                self._parts.append((replay, part))
                self._messages += len(part.messages)
                self._bytes += len(part.payload)
                self._changed.notify_all()

    def wait_for_room(self, timeout_s: float) -> bool:
        """Wait until less than a full tick waits; False when `timeout_s` seconds have passed."""
        with self._changed:
            return self._changed.wait_for(
                lambda: self._closed or (self._messages < TICK_MESSAGES and self._bytes < TICK_BYTES), timeout_s
            )

    def wait_until_idle(self, timeout_s: float) -> bool:
        """Wait until the monitor has dealt with what it took; False when `timeout_s` seconds have passed."""
        with self._changed:
            return self._changed.wait_for(lambda: self._closed or not self._working, timeout_s)

    def shut(self) -> None:
        """Throw away what waits and hand out nothing more."""
        with self._changed:
            self._open = False
            self._clear()

    def reopen(self) -> None:
        """Hand out again."""
        with self._changed:
            self._open = True
            self._changed.notify_all()

    def fail(self, error: BaseException) -> None:
        """Raise `error` at the monitor's next take."""
        with self._changed:
            self._failure = error
            self._changed.notify_all()

    # ---- the monitor's side ----

    def take(self, timeout_s: float) -> tuple[list[Part], bool, bool] | None:
        """Return all that waits, whether it is a replay, and whether nothing is left; None: the gate is shut.

        Waits at most ``timeout_s`` for something to come. Raises what ended the polling thread.
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
        """Let the polling thread go: no wait of its own lasts any longer."""
        with self._changed:
            self._closed = True
            self._working = False
            self._changed.notify_all()

    def _clear(self) -> None:
        self._parts, self._messages, self._bytes = [], 0, 0
        self._changed.notify_all()
