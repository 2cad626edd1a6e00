"""Messages that wait for the broker in files of a folder, which outlive this process.

In and out: messages, first in, first out. Several threads put, one takes.

A file of a spool is a row of ``entries``. It is deleted when the broker has acknowledged all that is in it; one with a
damage before its last entry is kept under another name. After ``_MOST_TAKEN`` files nothing is to be taken before the
broker has acknowledged them: so a process that is killed leaves few messages to be sent again. Once a second, and at
the end of a file, it is synchronised with the disk: while messages come, a power cut takes those of the last second.
"""

import os
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from beatwire.errors import FatalError, UserError
from beatwire.locks import claimed

from beatwire_producers.devices.chunks import Message
from beatwire_producers.devices.entries import entries_of, entry_of

_FILE_BYTES = 4 << 20
_MOST_TAKEN = 4
_SYNC_S = 1.0  # takes 1-20 ms, in which nothing is put or taken
_ENDING, _DAMAGED = ".spool", ".damaged"


def has_left(folder: Path) -> bool:
    """Return whether a feed has left files in a folder: one that was killed has, and one whose broker was away."""
    return any(folder.glob(f"*{_ENDING}"))


class Spool:
    """Messages in the files of a folder. Those of a process that ended before they were sent come first.

    Parameters
    ----------
    folder
        Created if necessary; of one process at a time.

    Attributes
    ----------
    left : int
        Messages that an earlier process has left.
    lost : int
        Places at which they were damaged: at least so many are lost.

    loss : str
        Says so.

    Raises
    ------
    UserError
        The folder cannot be written, or another process uses it.
    FatalError
        What an earlier process has left cannot be read.
    """

    loss = f"files of the spool are damaged; messages are lost (what is left of them is kept as *{_DAMAGED})"

    def __init__(self, folder: Path) -> None:
        self.lost = 0
        self._changed = threading.Condition()
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = claimed(folder / "lock")
        except OSError as error:
            raise UserError(f"--spool {folder}: expected a folder that can be written; got {error.strerror}") from error
        if lock is None:
            raise UserError(f"--spool {folder}: expected a folder of one process; another one uses it")
        self._lock = lock
        self._files = sorted(folder.glob(f"*{_ENDING}"))
        self._damaged = set[Path]()
        self.left = 0
        try:
            with self._said("read"):
                for path in self._files:  # one at a time: those of days are more than memory has room for
                    self._count(path)
        except FatalError:
            self._lock.close()
            raise
        self._waiting = self.left
        self._taken: list[Path] = []  # files that were taken whole
        kept = folder.glob(f"*{_DAMAGED}")  # no later file takes the name of one
        self._number = max((int(path.stem) for path in (*self._files, *kept) if path.stem.isdecimal()), default=0)
        self._written: BinaryIO | None = None  # the last of `_files`, while it grows
        self._read_from = 0  # byte of the first of `_files`
        self._read: deque[tuple[Message, int]] = deque()  # of it, not taken yet, each with the byte after it
        self._synced_s = 0.0

    def put(self, messages: Sequence[Message]) -> None:
        """Add messages.

        Raises
        ------
        FatalError
            They cannot be written.
        """
        with self._changed, self._said("written"):
            if self._written is None:
                self._number += 1
                self._files.append(self._folder / f"{self._number:012}{_ENDING}")
                self._written = self._files[-1].open("wb")
                self._synced_s = 0.0
            self._written.write(b"".join(map(entry_of, messages)))
            self._written.flush()
            self._waiting += len(messages)
            self._changed.notify()
            if self._written.tell() > _FILE_BYTES:
                self._end_file()
            elif time.monotonic() - self._synced_s > _SYNC_S:
                self._sync(self._written)

    @property
    def has_taken_enough(self) -> bool:
        """Return whether the broker has to acknowledge what was taken before more is."""
        return len(self._taken) >= _MOST_TAKEN

    def take(self, most: int, timeout_s: float) -> list[Message]:
        """Return the next messages; wait for the first of them.

        Raises
        ------
        FatalError
            They cannot be read.
        """
        with self._changed, self._said("read"):
            if not self._waiting:
                self._changed.wait(timeout_s)
            taken: list[Message] = []
            while self._files and len(taken) < most:
                if not self._read and not self._read_on():
                    if self._written is not None and len(self._files) == 1:  # it grows
                        self._read_from = self._files[0].stat().st_size
                        break
                    self._taken.append(self._files.pop(0))
                    self._read_from = 0
                while self._read and len(taken) < most:
                    message, self._read_from = self._read.popleft()
                    taken.append(message)
            self._waiting = max(0, self._waiting - len(taken))  # a disk that is full takes a part of what is put
            return taken

    def _count(self, path: Path) -> None:
        """Count what an earlier process has left in a file."""
        entries, damages = entries_of(path.read_bytes())
        self.left += len(entries)
        self.lost += damages
        if damages:
            self._damaged.add(path)

    def _read_on(self) -> bool:
        """Read what the first file has beyond what was taken, once; return False if there is nothing."""
        with self._files[0].open("rb") as file:
            file.seek(self._read_from)
            self._read.extend((message, self._read_from + stop) for message, stop in entries_of(file.read())[0])
        return bool(self._read)

    def all_acknowledged(self) -> None:
        """Delete the files of which everything was taken.

        Raises
        ------
        FatalError
            They cannot be deleted.
        """
        with self._changed, self._said("written"):
            if not self._waiting and self._written is not None and self._read_from > _FILE_BYTES // 16:
                self._end_file(keep=False)
                self._taken.append(self._files.pop(0))
                self._read_from = 0
            self._delete(self._taken)
            self._taken.clear()

    def __len__(self) -> int:
        return self._waiting

    def close(self) -> None:
        """Close the files; what the broker has not acknowledged stays."""
        with self._changed:
            if not self._waiting and not self._taken and len(self._files) <= 1 and self._is_acknowledged:
                self._delete(self._files)
            try:
                with self._said("written"):
                    self._end_file()
            finally:
                if not any(self._folder.glob(f"*{_ENDING}")):
                    with suppress(OSError):  # before it is free: another process may take it at once
                        (self._folder / "lock").unlink()
                self._lock.close()

    _is_acknowledged = False

    def finish(self) -> None:
        """Note that the broker has acknowledged everything: `close` leaves nothing."""
        self.all_acknowledged()
        self._is_acknowledged = True

    @contextmanager
    def _said(self, what: str) -> Iterator[None]:
        """Raise an error of the disk as a FatalError of one line."""
        try:
            yield
        except OSError as error:
            raise FatalError(f"--spool {self._folder}: cannot be {what}: {error.strerror}") from error

    def _delete(self, paths: Sequence[Path]) -> None:
        for path in paths:
            if path in self._damaged:
                path.rename(path.with_suffix(_DAMAGED))
            else:
                path.unlink(missing_ok=True)

    def _end_file(self, *, keep: bool = True) -> None:
        if self._written is not None:
            written, self._written = self._written, None
            try:
                if keep:
                    self._sync(written)
            finally:
                written.close()

    def _sync(self, written: BinaryIO) -> None:
        """Let the disk store a file and its name."""
        written.flush()
        os.fsync(written.fileno())
        if not self._synced_s and os.name == "posix":
            folder = os.open(self._folder, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        self._synced_s = time.monotonic()
