"""Admin clients, which are closed before Python ends, and given up in a thread that is not their own.

In: librdkafka settings. Out: clients. State: those that are open.

librdkafka calls Python in a thread of its own when a request of an admin client ends, answered or not. After Python has
ended, that is a segmentation fault: a command that has done its work exits with 139. No request is in flight any more
where its client is closed; consumers and producers call Python in the threads that use them alone.

That thread may also collect garbage. librdkafka aborts the process where it destroys its own client.
"""

import atexit
import contextlib
import functools
import threading
import time
import weakref
from collections.abc import Mapping
from queue import SimpleQueue
from typing import Any, cast

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from beatwire.signals import deferred

# A client is closed when its last call returns. A call beside which requests are in flight ends in this time; one that
# takes longer has none beside it, and none after it.
_CLOSING_S = 3.0

_OPEN: "weakref.WeakSet[AdminClient]" = weakref.WeakSet()
_ENDING = threading.Event()
_LOCK = threading.Lock()  # of both
_GIVEN_UP: "SimpleQueue[AdminClient]" = SimpleQueue()


class _Held:
    """An admin client; when nobody has this any more, another thread gives the client up."""

    def __init__(self, client: AdminClient) -> None:
        self._last = weakref.finalize(self, _GIVEN_UP.put, client)  # which alone has the client
        self._last.atexit = False

    def __getattr__(self, name: str) -> Any:
        alive = self._last.peek()
        if alive is None:
            raise AttributeError(name)
        return getattr(alive[2][0], name)


@functools.cache
def _give_up() -> None:
    """Start the thread in which clients end that nobody has any more."""

    def drop() -> None:
        while True:
            _GIVEN_UP.get()

    threading.Thread(target=drop, name="admin-clients", daemon=True).start()


def new_admin(settings: Mapping[str, Any]) -> AdminClient:
    """Return a new client; raise what librdkafka raises about its settings, and RuntimeError if Python ends."""
    client = AdminClient(dict(settings))
    with _LOCK:
        if _ENDING.is_set():
            raise RuntimeError("kafka: expected no new client; Python ends")
        _OPEN.add(client)
        _give_up()
    return cast("AdminClient", _Held(client))


@atexit.register
def _close_all() -> None:
    """Close every client, also while other threads use it: their calls fail. Ctrl-C does not interrupt that."""
    with contextlib.suppress(KeyboardInterrupt, SystemExit), deferred():
        threading.excepthook = _unless_closed
        with _LOCK:
            _ENDING.set()
            threads = [
                threading.Thread(target=client.__exit__, args=(None, None, None), daemon=True) for client in _OPEN
            ]
        until_s = time.monotonic() + _CLOSING_S
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.0, until_s - time.monotonic()))


def _unless_closed(failed: threading.ExceptHookArgs) -> None:
    """Print what a thread raises, but not that its client is closed."""
    if not issubclass(failed.exc_type, (KafkaException, RuntimeError)):
        threading.__excepthook__(failed)
