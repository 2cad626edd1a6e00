"""From the outbox to the broker, and what is said of a broker that goes away.

In: messages in an outbox. Out: messages at the broker, in order per stream, each at least once. State: since when the
broker has been away, and what was said of it.
"""

import time
from collections.abc import Callable

from beatwire.errors import FatalError
from beatwire.kafka.publishing.live_sender import LiveSender
from beatwire.wire import names

from beatwire_producers.devices.outbox import Outbox
from beatwire_producers.devices.spool import Spool

_MOST_IN_FLIGHT = 5_000  # messages with the client; the others wait in the outbox
_MOST_AT_ONCE = 500
_GATHER_S = 0.02  # between two rounds, so that one takes the messages of many streams
_MANY_WAIT = 10_000  # messages, although the broker answers: it takes fewer than come
_AWAY_S = 5.0  # without an acknowledgement: the broker is said to be away
_AGAIN_S = 60.0  # between two lines about that
_FLUSH_S = 10.0  # without an acknowledgement, when the user has ended the feed


class Sending:
    """Sends the messages of an outbox.

    Parameters
    ----------
    sender
        Waits for its broker for as long as it takes.
    outbox
        Where messages wait.
    say
        Called with each line for the screen.
    """

    def __init__(self, sender: LiveSender, outbox: Outbox, say: Callable[[str], None]) -> None:
        self._sender, self._outbox, self._say = sender, outbox, say
        self._lost = 0
        self._away_since_s: float | None = None
        self._said_s = self._slow_said_s = 0.0
        self._next_s = 0.0  # when the next round begins

    def send(self, wait_s: float) -> int:
        """Send what waits, as much as the client may hold; return how many messages the broker does not have.

        Raises
        ------
        UserError, FatalError
            As of `LiveSender.check`.
        """
        if self._sender.unacknowledged() < _MOST_IN_FLIGHT and not self._outbox.has_taken_enough:
            time.sleep(min(max(0.0, self._next_s - time.monotonic()), wait_s))
            messages = self._outbox.take(_MOST_AT_ONCE, wait_s)
            self._next_s = time.monotonic() + (_GATHER_S if len(messages) < _MOST_AT_ONCE else 0.0)
            if messages:
                keys, values = [m.key for m in messages], [m.value for m in messages]
                self._sender.send_with_headers(names.SAMPLES, keys, values, [m.headers for m in messages])
        else:
            time.sleep(wait_s)
        self._sender.check()
        if not self._sender.unacknowledged():
            self._outbox.all_acknowledged()
        self._watch_broker()
        return self._waiting()

    def finish(self, is_over: Callable[[], bool]) -> None:
        """Send everything; once ``is_over``, what the broker does not take stays in the spool.

        Raises
        ------
        FatalError
            There is no spool.
        """
        while left := self._waiting():
            if is_over() and self._sender.silent_s() > _FLUSH_S:
                if isinstance(self._outbox, Spool):
                    self._say(f"broker: no answer; {left:,} messages stay on disk and are sent by the next feed")
                    return
                raise FatalError(f"feed: expected {self._sender.cluster} to acknowledge every message; {left} are lost")
            self.send(0.05)
        if isinstance(self._outbox, Spool):
            self._outbox.finish()

    def _waiting(self) -> int:
        return len(self._outbox) + self._sender.unacknowledged()

    def _watch_broker(self) -> None:
        """Say that the broker has gone, that it answers again, or that messages are lost."""
        now_s, silent_s = time.monotonic(), self._sender.silent_s()
        if silent_s > _AWAY_S:
            where = "on disk" if isinstance(self._outbox, Spool) else "in memory"
            if self._away_since_s is None:
                self._away_since_s = now_s - silent_s
            if now_s - self._said_s > _AGAIN_S:
                self._said_s = now_s
                self._say(f"broker: no answer for {silent_s:.0f} s; {self._waiting():,} messages wait {where}")
        elif self._away_since_s is not None:
            away_s = now_s - self._away_since_s
            self._say(f"broker: answers again after {away_s:.0f} s; {self._waiting():,} messages to send")
            self._away_since_s, self._said_s = None, 0.0
            self._slow_said_s = now_s
        elif (waiting := self._waiting()) > _MANY_WAIT and now_s - self._slow_said_s > _AGAIN_S:
            self._slow_said_s = now_s
            self._say(f"broker: takes fewer messages than come; {waiting:,} wait")
        if self._outbox.lost > self._lost:
            if not self._lost:
                self._say(f"broker: {self._outbox.loss}")
            self._lost = self._outbox.lost
