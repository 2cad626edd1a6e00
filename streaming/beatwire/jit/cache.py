"""The folder that stores machine code between runs.

Its name is a hash of the source text of ``FOLDERS``, of the names of the alert rules, and of the tricks that are
switched off, because Numba detects a change of the calling file only. Folders of other versions are removed after
``UNUSED_S`` without use.
"""

import contextlib
import functools
import hashlib
import os
import shutil
import stat
import tempfile
import time
from pathlib import Path

from beatwire.alerts.rules import RULES
from beatwire.jit.tricks import disabled

PACKAGE = Path(__file__).parents[1]
FOLDERS = ("kernels", "jit", "records")  # packages whose text determines the machine code
# What kernels know of the alert rules: texts and limits may change without a compilation.
_OF_RULES = repr([(rule.key, rule.latches) for rule in RULES]).encode()
UNUSED_S = 30 * 86400.0  # a month: longer than a version is out of use between two starts


def folder_of_numba(version: str) -> str:
    """Return the name of the folder, in that of the cache, for the machine code of a version of Numba."""
    return f"numba-{version}"


def cache_folder() -> Path:
    """Return the folder for the machine code of these kernels, created if necessary.

    It is in ``$XDG_CACHE_HOME``, else in ``~/.cache``, else, where neither is writable, in the temporary folder. Its
    modification time is set to now: it marks the folder as used.

    Raises
    ------
    UserError
        ``BEATWIRE_DISABLE`` has an unknown name.
    """
    texts = [path for folder in FOLDERS for path in sorted((PACKAGE / folder).rglob("*.py"))]
    key = [_OF_RULES, *(path.read_bytes() for path in texts)] + [name.encode() for name in sorted(disabled())]
    digest = hashlib.sha256(b"".join(key)).hexdigest()[:16]
    caches, home = os.environ.get("XDG_CACHE_HOME"), os.environ.get("HOME")
    parents = [Path(caches)] if caches else []
    parents += [Path(home) / ".cache"] if home else []
    for parent in parents:
        folder = parent / "beatwire" / "kernels" / digest
        if _mark_used(folder):
            return folder
    folder = _private_folder(tempfile.gettempdir()) / "kernels" / digest
    _mark_used(folder)
    return folder


@functools.cache
def _private_folder(parent: str) -> Path:
    """Return a folder that no other user can write to: machine code in it is executed."""
    folder = Path(parent) / f"beatwire-{os.getuid()}"
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700)
    found = folder.lstat() if folder.is_dir() else None
    if found is None or not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        return Path(tempfile.mkdtemp(prefix="beatwire-", dir=parent))
    return folder


def _mark_used(folder: Path) -> bool:
    """Set the modification time of a folder, created if necessary; return True if it is writable."""
    try:
        is_new = not folder.is_dir()
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
    except OSError:
        return False
    if is_new:
        _remove_unused(folder.parent)
    return os.access(folder, os.W_OK)


def _remove_unused(kernels: Path) -> None:
    """Remove the folders that have not been used for ``UNUSED_S``.

    A process that still runs with such a folder loses nothing: Numba creates a missing folder again. Each folder is
    renamed first, so that another process finds either all of it or nothing.
    """
    for folder in kernels.iterdir():
        with contextlib.suppress(OSError):
            if time.time() - folder.stat().st_mtime > UNUSED_S:
                renamed = folder.rename(kernels / f"removed-{os.getpid()}-{folder.name}")
                shutil.rmtree(renamed, ignore_errors=True)
