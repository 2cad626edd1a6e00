"""One process at a time.

Several that start together would otherwise all make, or spoil for each other, what one can make.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO


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


def claimed(path: Path) -> IO[str] | None:
    """Return the file of a lock, created if necessary, which holds it until it is closed; None: another process does.

    Whoever holds it may delete the file: one that was deleted meanwhile is no lock. Without locks of
    files (not POSIX) just go on.

    Raises
    ------
    OSError
        The file cannot be created, or its file system has no locks.
    """
    try:
        import fcntl
    except ImportError:
        return path.open("w")
    while True:
        file = path.open("w")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.close()
            if isinstance(error, BlockingIOError):
                return None
            raise
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        file.close()
