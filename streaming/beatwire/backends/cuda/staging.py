"""Staging: host arrays of a tick in one pinned buffer on their way to the device, and segments on the way back.

In:    host arrays and numbers of items; columns of tables
Out:   arrays of the device with the same contents; host arrays of results
State: pinned buffers, and the views of them

A long stretch is copied as soon as it is staged: when the last array of a tick is staged, the others have arrived.
Results are written to pinned memory by a kernel of the device, which has the number of rows: the host needs no number
before the copy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from beatwire.backends.cuda.launch_list import rounded
from beatwire.backends.cuda.protocols import CopyCard
from beatwire.errors import FatalError
from beatwire.jit.copies import copied, copy_into
from beatwire.records import I64, U8

CELLS = 1 << 15  # numbers of items in a tick: one for each launch
BEYOND = 1 << 62  # larger than any sample index, lane or number of bytes: fills rows that have no contents
ALIGNED = 256  # bytes of a line of the device's memory
MOST_VIEWS = 4096  # views that are kept
STRETCH = 1 << 20  # bytes from which on a copy of their own is faster


@dataclass(slots=True)
class StagingBuffer:
    """Memory of the host and of the device, of the same size.

    used     bytes with contents in this tick
    copied   bytes of these whose copy has begun
    """

    host: U8
    device: Any
    used: int = 0
    copied: int = 0


class Staging:
    """The host arrays of a tick; the numbers of items (``sizes``) stand before them.

    A tick that is larger than all before gets a further buffer; the next tick has one that contains both.
    ``copies`` is the number of copies of the tick.
    """

    def __init__(self, card: CopyCard) -> None:
        self._card = card
        self._buffers: list[StagingBuffer] = []
        self._staged: dict[int, tuple[Any, Any]] = {}
        self._views: dict[Hashable, Any] = {}
        self._lowest_cell = CELLS
        self.begin()

    def begin(self) -> None:
        """Begin a tick."""
        self._staged.clear()
        self._lowest_cell = CELLS
        self.copies = 0
        if len(self._buffers) != 1:  # the first tick, or the last one was larger than all before
            size = rounded(2 * sum(len(b.host) for b in self._buffers))
            self._views.clear()
            self._buffers = [self._new_buffer(max(size, 1 << 20))]
        self._buffers[0].used = self._buffers[0].copied = 8 * CELLS
        self.sizes = self._view(0, 0, (CELLS,), np.dtype(np.int64))

    def stage_number(self, n: int) -> int:
        """Write a number of items to ``sizes``, from the last cell downwards; return its cell.

        Raises
        ------
        FatalError
            All cells are in use.
        """
        if not self._lowest_cell:
            raise FatalError(f"gpu: expected at most {CELLS} launches in a tick; got more")
        self._lowest_cell -= 1
        at = 8 * self._lowest_cell
        self._buffers[0].host[at : at + 8].view(np.int64)[0] = n
        return self._lowest_cell

    def stage(self, host: Any) -> Any:
        """Copy an array to the buffer, once a tick; return the array of the device that will have its contents."""
        staged = self._staged.get(id(host))
        if staged is not None:
            return staged[1]
        rows = rounded(len(host))
        row_bytes = host.itemsize * math.prod(host.shape[1:])
        nbytes = padded(rows * row_bytes)
        number = len(self._buffers) - 1
        if self._buffers[number].used + nbytes > len(self._buffers[number].host):
            self._buffers.append(self._new_buffer(max(2 * len(self._buffers[number].host), nbytes)))
            number += 1
        buffer = self._buffers[number]
        at, buffer.used = buffer.used, buffer.used + nbytes
        target = buffer.host[at : at + rows * row_bytes].view(host.dtype).reshape(rows, *host.shape[1:])
        copy_into(target[: len(host)], host)
        if host.dtype == np.int64:
            target[len(host) :] = BEYOND  # a search in sorted rows ends there
        if buffer.used - buffer.copied >= STRETCH:
            self._copy(buffer, buffer.copied)
        view = self._view(number, at, target.shape, host.dtype)
        self._staged[id(host)] = host, view
        return view

    def copy_rest(self) -> None:
        """Begin to copy what has not been copied, and the numbers of items."""
        first = self._buffers[0]
        if first.copied > 8 * CELLS:
            self._card.copy_to_device(first.device, first.host, 8 * self._lowest_cell, 8 * CELLS)
            self.copies += 1
        else:
            self._copy(first, 8 * self._lowest_cell)
        for buffer in self._buffers:
            if buffer.used > buffer.copied:
                self._copy(buffer, buffer.copied)

    def _copy(self, buffer: StagingBuffer, first: int) -> None:
        self._card.copy_to_device(buffer.device, buffer.host, first, buffer.used)
        buffer.copied = buffer.used
        self.copies += 1

    def _new_buffer(self, nbytes: int) -> StagingBuffer:
        return StagingBuffer(self._card.pinned(nbytes), self._card.empty((nbytes,), np.uint8))

    def _view(self, number: int, at: int, shape: tuple[int, ...], dtype: Any) -> Any:
        key = number, at, shape, dtype
        view = self._views.get(key)
        if view is None:
            if len(self._views) > MOST_VIEWS:
                self._views.clear()
            nbytes = math.prod(shape) * dtype.itemsize
            view = self._buffers[number].device[at : at + nbytes].view(dtype).reshape(shape)
            self._views[key] = view
        return view


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table of at most ``most`` rows."""

    most: int
    dtypes: tuple[Any, ...]
    columns: tuple[Any, ...]

    @staticmethod
    def of(empty: Callable[..., Any], most: int, dtypes: tuple[Any, ...]) -> Columns:
        """Allocate columns of ``most`` rows; each occupies whole lines of the device's memory."""
        sizes = [most * dtype.itemsize for dtype in dtypes]
        ends = np.cumsum([padded(size) for size in sizes]).tolist()
        memory = empty((ends[-1],), np.uint8)
        firsts = [0, *ends[:-1]]
        columns = tuple(
            memory[at : at + size].view(dtype.base).reshape(most, *dtype.shape)
            for at, size, dtype in zip(firsts, sizes, dtypes, strict=True)
        )
        return Columns(most, dtypes, columns)


def padded(nbytes: int) -> int:
    """Return a number of bytes, rounded up to whole lines of the device's memory."""
    return -(-nbytes // ALIGNED) * ALIGNED


class Segments:
    """The rows of columns that a tick copies to the host, each column to its own place in pinned memory.

    A segment is int64 [4]: source and target address; bytes of a row (``BEYOND``: no segment); the address of the
    number of rows.
    """

    def __init__(self, card: CopyCard) -> None:
        self._card = card
        self._host = card.pinned(1 << 16)
        self._segments: list[tuple[Any, int, int, int]] = []
        self._used = 0

    def __len__(self) -> int:
        """Return the number of segments."""
        return len(self._segments)

    def begin(self) -> None:
        """Begin a tick."""
        self._segments.clear()
        self._used = 0

    def add(self, column: Any, row_bytes: int, most: int, number: int) -> int:
        """Add at most ``most`` rows of ``column``; their number is at address ``number``. Return their place."""
        at, self._used = self._used, self._used + padded(most * row_bytes)
        self._segments.append((column, at, row_bytes, number))
        return at

    def table(self) -> I64:
        """Return the segments, int64 [n, 4]; the pinned memory is large enough for their rows."""
        if self._used > len(self._host):
            self._host = self._card.pinned(rounded(2 * self._used))
        base = self._host.ctypes.data
        rows = [(self._card.address(column), base + at, size, number) for column, at, size, number in self._segments]
        return np.array(rows, np.int64).reshape(-1, 4)

    def rows(self, at: int, n: int, dtype: Any) -> Any:
        """Return a copy of the first ``n`` rows at a place."""
        source = self._host[at : at + n * dtype.itemsize]
        return copied(source.view(dtype.base).reshape(n, *dtype.shape))
