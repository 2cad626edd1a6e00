"""SIGINT and SIGTERM: an event for what runs until it is stopped, else the end of the process.

State: whether one has come. Python runs a handler in the main thread, wherever that is. A library that calls Python
may drop what the handler raises; `stop_on_signals` then finds that the process was to end.
"""

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

INTERRUPTED, TERMINATED = 128 + signal.SIGINT, 128 + signal.SIGTERM  # exit codes

_ASKED: list[int] = []  # signals that were to end the process


def end_on_signals() -> None:
    """Let SIGINT and SIGTERM raise KeyboardInterrupt and SystemExit in the main thread: what was begun is cleaned up.

    Linux does not deliver a signal without a handler to the first process of a container. A signal that is ignored, as
    SIGINT of a command in the background of a script, stays so.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _end)


def _end(number: int, _frame: FrameType | None) -> None:
    _ASKED.append(number)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


def code_if_ended() -> int:
    """Return the exit code of a process that a signal was to end, 0 if none was: a library may fail by it."""
    return 128 + _ASKED[0] if _ASKED else 0


@contextlib.contextmanager
def deferred() -> Iterator[None]:
    """Call what handles SIGINT and SIGTERM at the end, and not inside a callback, where what it raises is lost.

    Of several signals each is handled, in order.
    """
    handlers: dict[int, Callable[[int, FrameType | None], Any]] = {
        number: handler for number in (signal.SIGINT, signal.SIGTERM) if callable(handler := signal.getsignal(number))
    }
    if threading.current_thread() is not threading.main_thread() or not handlers:
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    for number in handlers:
        signal.signal(number, lambda *signalled: came.append(signalled))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        with contextlib.ExitStack() as calls:  # all of them, also if one raises; in reverse order
            for signalled in reversed(came):
                calls.callback(handlers[signalled[0]], *signalled)


class Stop(threading.Event):
    """An event that a signal sets; ``code`` is the exit code that it asks for, 0 if none has come."""

    code = 0

    def end(self, number: int, _frame: FrameType | None = None) -> None:
        """Set the event, as the handler of a signal."""
        self.code = 128 + number
        self.set()


@contextlib.contextmanager
def stop_on_signals() -> Iterator[Stop]:
    """Yield an event that SIGINT and SIGTERM set; restore the previous handlers at the end.

    A signal that is ignored stays so, see `end_on_signals`. Only for the main thread, as Python's signal handlers are.
    """
    stop = Stop()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    before = {number: handler for number, handler in before.items() if handler != signal.SIG_IGN}
    for number in before:
        signal.signal(number, stop.end)
    if _ASKED:
        stop.end(_ASKED[0])
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def stop_after(seconds: float | None, stop: threading.Event) -> Iterator[None]:
    """Set an event after some seconds, unless the block has ended before; None: never."""
    if seconds is None:
        yield
        return
    timer = threading.Timer(seconds, stop.set)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def stop_with_parent(stop: Callable[[], None] | None = None) -> None:
    """Call `stop` in a thread when standard input ends, as it does when the parent process ends.

    Parameters
    ----------
    stop
        None: what SIGTERM does in the main thread.
    """

    def watch() -> None:
        # Not through `sys.stdin`: an interpreter that ends while a thread holds its lock aborts.
        while os.read(0, 4096):
            pass
        (stop or _terminate)()

    threading.Thread(target=watch, name="parent", daemon=True).start()


def _terminate() -> None:
    main = threading.main_thread().ident
    if main is not None:
        signal.pthread_kill(main, signal.SIGTERM)
