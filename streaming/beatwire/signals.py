"""SIGINT and SIGTERM: an event for what runs until it is stopped, else the end of the process.

State: whether one has come. Python runs a handler in the main thread, wherever that is. A library that calls Python
may drop what the handler raises; `stop_on_signals` then finds that the process was to end.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

INTERRUPTED, TERMINATED = 128 + signal.SIGINT, 128 + signal.SIGTERM  # exit codes

_ASKED = threading.Event()


def end_on_signals() -> None:
    """Let SIGINT and SIGTERM raise KeyboardInterrupt and SystemExit in the main thread: what was begun is cleaned up.

    Linux does not deliver a signal without a handler to the first process of a container. A signal that is ignored, as
    SIGINT of a command in the background of a script, stays so.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _end)


def _end(number: int, _frame: FrameType | None) -> None:
    _ASKED.set()
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


@contextlib.contextmanager
def stop_on_signals() -> Iterator[threading.Event]:
    """Yield an event that SIGINT and SIGTERM set; restore the previous handlers at the end.

    Only for the main thread, as Python's signal handlers are.
    """
    stop = threading.Event()
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    if _ASKED.is_set():
        stop.set()
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


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
