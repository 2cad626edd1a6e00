"""The buffer between the polling thread and the monitor: what has been polled and not yet taken.

In: parts, at most one a poll, and what each poll has found out (`Reading`). Out: the waiting parts of one kind (replay
or live), as many as a tick takes. State: the waiting parts, their messages and bytes, the last reading, how many
messages a tick takes, and whether the buffer is open. The buffer holds about one full tick; the polling thread waits
while it is full.

While the assignment changes the buffer is closed to the monitor: waiting parts are discarded (they will be polled
again), and `take` returns None. The buffer is *idle* when the monitor has finished the parts that it took last; the
next call of `take` is the sign of that.
"""

import threading
from typing import NamedTuple

from beatwire.kafka.consuming.batch import Part

# A full tick: enough messages that the fixed costs of a tick do not matter, few enough to bound its memory.
TICK_MESSAGES = 49_152
TICK_BYTES = 32 << 20
# A tick that takes longer is followed by one with fewer messages: of few streams that restart often each message may
# take milliseconds, and who probes whether the loop turns would end a monitor that is behind, again and again.
TICK_S = 1.0
FEWEST_MESSAGES = 256
# Polls end every 0.1 s, and later beside a graph that takes all of the processor. If this process has stood still for
# longer, a poll says nothing of what has come since.
RECENT_S = 1.0


class Reading(NamedTuple):
    """What a poll has found out of the log.

    caught_up  the parts up to this poll contain every message at the broker, except in `held`
    held       partitions that wait for the schema registry, or of which nothing is received
    replaying  some partition has not been polled up to its commit
    at_s       when the poll ended, monotonic clock
    """

    caught_up: bool = False
    held: frozenset[int] = frozenset()
    replaying: bool = False
    at_s: float = 0.0


class Taken(NamedTuple):
    """The parts taken at once, perhaps none; whether they are of a replay; and what is known of the log after them."""

    parts: list[Part]
    replay: bool
    reading: Reading


class HandOver:
    """Passes parts from one thread to another.

    Attributes
    ----------
    most : int
        Messages of a tick, at most, unless the first part has more.
    """

    def __init__(self) -> None:
        self.most = TICK_MESSAGES
        self._changed = threading.Condition()
        self._parts: list[tuple[bool, Part]] = []  # (belongs to a replay, part)
        self._messages = 0
        self._bytes = 0
        self._reading = Reading()
        self._open = False
        self._working = False
        self._closed = False
        self._failure: BaseException | None = None

    # ---- called by the polling thread ----

    def put(self, part: Part | None, reading: Reading, *, replay: bool) -> None:
        """Add the part of one poll, if any, and what is known after it; a suspended buffer discards both."""
        with self._changed:
            if self._open:
                self._reading = reading
                if part is not None:
                    self._add(part, replay=replay)

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

    def resume(self, *, replaying: bool) -> None:
        """Pass parts to the monitor again, those of a replay first if there is one."""
        with self._changed:
            self._open, self._reading = True, Reading(replaying=replaying)
            self._changed.notify_all()

    def fail(self, error: BaseException) -> None:
        """Raise `error` in the monitor's next call of `take`."""
        with self._changed:
            self._failure = error
            self._changed.notify_all()

    # ---- called by the monitor ----

    def take(self, timeout_s: float) -> Taken | None:
        """Return the first waiting parts of one kind; wait at most `timeout_s` seconds for the first.

        Returns
        -------
        Taken or None
            None while the buffer is suspended.

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
            parts, size = list[Part](), 0
            for kind, part in self._parts:
                size += len(part.messages)
                if parts and (kind is not replay or size > self.most):
                    break
                parts.append(part)
            rest = self._parts[len(parts) :]
            self._clear()
            for kind, part in rest:
                self._add(part, replay=kind)
            self._working = True
            caught_up = self._reading.caught_up and not replay and not rest
            return Taken(parts, replay, self._reading._replace(caught_up=caught_up))

    def took(self, messages: int, seconds: float) -> None:
        """Set how many messages the next ticks have at most, so that one takes about `TICK_S`."""
        if seconds > TICK_S:
            self.most = max(FEWEST_MESSAGES, round(messages * TICK_S / seconds))
        elif 2 * messages > self.most:
            self.most = min(TICK_MESSAGES, 2 * self.most)

    def close(self) -> None:
        """End every present and future wait of the polling thread."""
        with self._changed:
            self._closed = True
            self._working = False
            self._changed.notify_all()

    def _add(self, part: Part, *, replay: bool) -> None:
        self._parts.append((replay, part))
        self._messages += len(part.messages)
        self._bytes += len(part.payload)
        self._changed.notify_all()

    def _clear(self) -> None:
        self._parts, self._messages, self._bytes = [], 0, 0
        self._changed.notify_all()
