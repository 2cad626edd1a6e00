"""Files that commands write: checked before the work, complete or not there.

In:  the path that a user gave, the files that are read, the content
Out: the file. State: none

A file is written beside its target, stored by the disk and then moved there, so an error, a full disk, an interrupt or
a power cut leaves an older file as it was. What is no regular file (``/dev/stdout``, a pipe) is written to directly,
and a link keeps pointing where it points.
"""

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from beatwire.errors import UserError

_NO_FSYNC = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP}  # of file systems that cannot


def check_output(
    option: str, path: str | Path, *, sources: Iterable[str | Path] = (), endings: tuple[str, ...] = ()
) -> Path:
    """Return the path of a file to write, with ``~`` expanded, if it can be written: before the work, not after it.

    Parameters
    ----------
    option
        What an error message begins with.
    path
        The file.
    sources
        Files that the command reads, and folders of such files.
    endings
        Of which the name must have one; empty: any.

    Raises
    ------
    UserError
        It is a source, by any name or link; it has another ending, is a folder, or its folder does not exist or cannot
        be written to.
    """
    path = Path(path).expanduser()
    try:
        if path.is_dir():
            raise UserError(f"{option}: expected a file in an existing folder; got the folder {str(path)!r}")
        if endings and not path.name.lower().endswith(endings):
            raise UserError(f"{option}: expected a file that ends in {' or '.join(endings)}; got {path.name!r}")
        if not path.parent.is_dir():
            raise UserError(f"{option}: expected a file in an existing folder; there is no folder {str(path.parent)!r}")
        _check_sources(option, path, sources)
        target = Path(os.path.realpath(path))
        if _is_special(target):
            return path
        if target.exists() and not os.access(target, os.W_OK):
            raise PermissionError(None, "no permission to write")
        with tempfile.TemporaryFile(dir=target.parent, prefix=".beatwire-"):
            pass
    except (OSError, ValueError) as error:  # ValueError: a null character
        raise UserError(f"{option}: expected a file that can be written; got {str(path)!r}: {_why(error)}") from None
    return path


def write_output(option: str, path: str | Path, content: bytes | str) -> Path:
    """Write a file, text in UTF-8; return its path, with ``~`` expanded.

    Raises
    ------
    UserError
        The file cannot be written; the message begins with `option`. A file that was there is as it was.
    """
    path = Path(path).expanduser()
    content = content.encode() if isinstance(content, str) else content
    target = Path(os.path.realpath(path))
    try:
        if _is_special(target):
            target.write_bytes(content)
            return path
        with _beside(target) as part:
            _store(part, content)
            part.replace(target)
    except (OSError, ValueError) as error:
        raise UserError(f"{option}: expected to write {path}; got: {_why(error)}") from None
    return path


def _store(path: Path, content: bytes) -> None:
    """Write a file and let the disk store it: a name may otherwise be there after a power cut, and the content not."""
    path.write_bytes(content)
    with path.open("r+b") as file:
        try:
            os.fsync(file.fileno())
        except OSError as error:
            if error.errno not in _NO_FSYNC:
                raise


@contextlib.contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """Yield a new file beside a target, with the rights of the target or of any new file; remove it if it is left."""
    number, name = tempfile.mkstemp(dir=target.parent, prefix=".beatwire-", suffix=".part")
    os.close(number)
    part = Path(name)
    try:
        part.chmod(stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666 & ~_umask())
        yield part
    finally:
        part.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _is_special(path: Path) -> bool:
    """Return True if a path exists and is neither a file nor a folder: a device, a pipe, a socket."""
    return path.exists() and not path.is_file() and not path.is_dir()


def is_same(one: str | Path, other: str | Path) -> bool:
    """Return True if two paths name one file: by links, hard links or another spelling; it need not exist."""
    one, other = Path(one).expanduser(), Path(other).expanduser()
    if one.exists() and other.exists():
        return one.samefile(other)
    return os.path.realpath(one) == os.path.realpath(other)


def _check_sources(option: str, path: Path, sources: Iterable[str | Path]) -> None:
    for source in map(Path, sources):
        for file in _files(source) if source.is_dir() and path.exists() else [source]:
            if is_same(path, file):
                raise UserError(f"{option}: expected another file than those that are read; got {str(path)!r}")


def _files(folder: Path) -> Iterator[Path]:
    for where, _, names in os.walk(folder):
        yield from (Path(where) / name for name in names)


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
