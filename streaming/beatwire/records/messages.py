"""Keys and values of the messages of a tick: bytes are made, or found, when who sends the messages takes them.

So no Python object is made for a message before that, and at no time are there bytes of all of them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from beatwire.records.arrays import I64, U8

_AT_A_TIME = 1024  # that are made together: they stay in the cache until they are taken


class MadeWhenTaken(Sequence[bytes]):
    """A sequence of bytes, equal to any other sequence of the same."""

    @abstractmethod
    def some(self, first: int, stop: int) -> list[bytes]:
        """Return those from number ``first`` to before ``stop``."""

    def __iter__(self) -> Iterator[bytes]:
        """Yield them in order."""
        for first in range(0, len(self), _AT_A_TIME):
            yield from self.some(first, min(first + _AT_A_TIME, len(self)))

    @overload
    def __getitem__(self, index: int) -> bytes: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[bytes]: ...

    def __getitem__(self, index: int | slice) -> bytes | Sequence[bytes]:
        """Return one, or several as a list."""
        numbers = range(len(self))[index]
        if isinstance(numbers, range):
            return [self[number] for number in numbers]
        return self.some(numbers, numbers + 1)[0]

    def __eq__(self, other: object) -> bool:
        """Return True if the other sequence has the same in the same order."""
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(one == two for one, two in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]


class Slices(MadeWhenTaken):
    """Parts of a buffer: number ``i`` is ``buffer[i * width : end[i]]``.

    Parameters
    ----------
    buffer : uint8 [n * width]
        Nobody writes to it any more.
    end : int64 [n]
        Where each ends.
    width
        Bytes from the beginning of one to that of the next.

    Examples
    --------
    >>> list(Slices(np.frombuffer(b"a--bc-", np.uint8), np.array([1, 5]), 3))
    [b'a', b'bc']
    """

    def __init__(self, buffer: U8, end: I64, width: int) -> None:
        self._buffer, self._end, self._width = buffer, end, width

    def __len__(self) -> int:
        """Return their number."""
        return len(self._end)

    def some(self, first: int, stop: int) -> list[bytes]:
        """Return those from number ``first`` to before ``stop``."""
        width, begin = self._width, first * self._width
        joined = self._buffer[begin : stop * width].tobytes()
        ends = (self._end[first:stop] - begin).tolist()
        return [joined[at * width : end] for at, end in enumerate(ends)]


class Taken(MadeWhenTaken):
    """Elements of an array: number ``i`` is ``objects[at[i]]``.

    Parameters
    ----------
    objects : object [m]
        Of bytes. Nobody changes those that are taken.
    at : int64 [n]

    Examples
    --------
    >>> list(Taken(np.array([b"bed-1", b"bed-2"], np.object_), np.array([1, 1, 0])))
    [b'bed-2', b'bed-2', b'bed-1']
    """

    def __init__(self, objects: NDArray[np.object_], at: I64) -> None:
        self._objects, self._at = objects, at

    def __len__(self) -> int:
        """Return their number."""
        return len(self._at)

    def some(self, first: int, stop: int) -> list[bytes]:
        """Return those from number ``first`` to before ``stop``."""
        taken: list[bytes] = self._objects[self._at[first:stop]].tolist()
        return taken
