"""One process at a time.

Several that start together would otherwise all make, or spoil for each other, what one can make.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file, created if necessary; without locks of files (not POSIX, some networks) just go on."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with contextlib.ExitStack() as opened:
        with contextlib.suppress(OSError):
            file = opened.enter_context(path.open("w"))
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
