"""Where compiled machine code is stored between runs.

The folder is named by a hash of the source text of ``FOLDERS``, because Numba detects a change of the calling file
only. Folders of other versions are removed after ``KEPT_S`` without use.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import shutil
import stat
import tempfile
import time
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
FOLDERS = ("kernels", "jit", "records")  # their text decides what is compiled
KEPT_S = 30 * 86400.0


def cache_folder() -> Path:
    """Return the folder for the machine code of exactly these kernels; make it where caches are, if that may be.

    Its time becomes now, so that whoever makes a folder of another text knows which are in use.
    """
    texts = [path for folder in FOLDERS for path in sorted((PACKAGE / folder).rglob("*.py"))]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in texts)).hexdigest()[:16]
    caches, home = os.environ.get("XDG_CACHE_HOME"), os.environ.get("HOME")
    places = [Path(caches)] if caches else []
    places += [Path(home) / ".cache"] if home else []
    for place in places:
        folder = place / "beatwire" / "kernels" / digest
        if _made(folder):
            return folder
    folder = _temporary(tempfile.gettempdir()) / "kernels" / digest
    _made(folder)
    return folder


@functools.cache
def _temporary(where: str) -> Path:
    """Return a folder that nobody else can write to: what lies there is run."""
    folder = Path(where) / f"beatwire-{os.getuid()}"
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700)
    there = folder.lstat() if folder.is_dir() else None
    if there is None or not stat.S_ISDIR(there.st_mode) or there.st_uid != os.getuid() or there.st_mode & 0o022:
        return Path(tempfile.mkdtemp(prefix="beatwire-", dir=where))
    return folder


def _made(folder: Path) -> bool:
    """Make a folder, or mark it as used; tell whether it may be written to."""
    try:
        is_new = not folder.is_dir()
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
    except OSError:
        return False
    if is_new:
        _forget_unused(folder.parent)
    return os.access(folder, os.W_OK)


def _forget_unused(kernels: Path) -> None:
    """Remove folders whose time is more than KEPT_S ago.

    A process that has run for longer loses nothing: Numba makes a folder that is missing again. Each folder is moved
    away first, so that one who comes for it now finds all of it or none.
    """
    for folder in kernels.iterdir():
        with contextlib.suppress(OSError):
            if time.time() - folder.stat().st_mtime > KEPT_S:
                gone = folder.rename(kernels / f"gone-{os.getpid()}-{folder.name}")
                shutil.rmtree(gone, ignore_errors=True)
