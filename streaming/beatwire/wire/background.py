"""Import a module in a background thread: for modules that take a second, while ticks go on without them."""

from __future__ import annotations

import contextlib
from functools import cache
from importlib import import_module
from threading import Thread


@cache
def import_in_background(name: str) -> Thread:
    """Start a thread that imports a module, once a name; return the thread."""

    def work() -> None:
        with contextlib.suppress(ImportError):  # without cuDF, pyarrow parses the tables
            import_module(name)

    thread = Thread(target=work, daemon=True)
    thread.start()
    return thread
