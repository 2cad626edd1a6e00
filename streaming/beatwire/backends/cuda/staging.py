"""What goes up and comes down in a tick: host arrays put into one pinned buffer, and tables of results.

What was put goes up while the host goes on, a large stretch as soon as it is there: when the last of a tick is put,
the rest has arrived. What comes down is written to pinned memory by a kernel of the device, which knows how many rows
there are: no copy is asked for, and no number before it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from beatwire.backends.cuda.launch_list import rounded
from beatwire.errors import FatalError
from beatwire.records import I64, U8

CELLS = 1 << 15
LAST = 1 << 62
ALIGNED = 256
MOST_KEPT = 4096  # views that are remembered
STRETCH = 1 << 20  # bytes that are worth a copy of their own


class Memories(Protocol):
    """What staging needs of a card."""

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return an array on the device with anything in it."""

    def pinned(self, nbytes: int) -> U8:
        """Return host memory that the device can read and write on its own."""

    def up(self, device: Any, host: U8, first: int, stop: int) -> None:
        """Begin to copy bytes [first, stop) of both to the device, aside of what runs there."""

    def address(self, array: Any) -> int:
        """Return where an array stands."""


@dataclass(slots=True)
class Buffer:
    """Memory of the host and of the device of the same size; ``used`` so far in this tick, ``sent`` of it."""

    host: U8
    device: Any
    used: int = 0
    sent: int = 0


class Staging:
    """The host's arrays of a tick, on their way to the device; the numbers of items stand before them.

    A tick that is larger than any before gets a buffer more; the next one has one that holds all of it.
    ``sent``: in how many shards a tick went up.
    """

    def __init__(self, card: Memories) -> None:
        self._card = card
        self._buffers: list[Buffer] = []
        self._put: dict[int, tuple[Any, Any]] = {}
        self._views: dict[Hashable, Any] = {}
        self._lowest = CELLS
        self.begin()

    def begin(self) -> None:
        """Begin a tick."""
        self._put.clear()
        self._lowest = CELLS
        self.sent = 0
        if len(self._buffers) != 1:  # the last tick was larger than any before, or this is the first
            size = rounded(2 * sum(len(b.host) for b in self._buffers))
            self._views.clear()
            self._buffers = [self._buffer(max(size, 1 << 20))]
        self._buffers[0].used = self._buffers[0].sent = 8 * CELLS
        self.sizes = self._view(0, 0, (CELLS,), np.dtype(np.int64))

    def number(self, n: int) -> int:
        """Put a number of items into ``sizes``, from the last cell down; returns its cell.

        Raises
        ------
        FatalError
            There is no cell left.
        """
        if not self._lowest:
            raise FatalError(f"gpu: expected at most {CELLS} kernels in a tick; got more")
        self._lowest -= 1
        at = 8 * self._lowest
        self._buffers[0].host[at : at + 8].view(np.int64)[0] = n
        return self._lowest

    def put(self, host: Any) -> Any:
        """Put an array into the buffer, once a tick; returns where it will be on the device."""
        known = self._put.get(id(host))
        if known is not None:
            return known[1]
        rows = rounded(len(host))
        width = host.itemsize * math.prod(host.shape[1:])
        nbytes = padded(rows * width)
        number = len(self._buffers) - 1
        if self._buffers[number].used + nbytes > len(self._buffers[number].host):
            self._buffers.append(self._buffer(max(2 * len(self._buffers[number].host), nbytes)))
            number += 1
        buffer = self._buffers[number]
        at, buffer.used = buffer.used, buffer.used + nbytes
        there = buffer.host[at : at + rows * width].view(host.dtype).reshape(rows, *host.shape[1:])
        np.copyto(there[: len(host)], host)
        if host.dtype == np.int64:
            there[len(host) :] = LAST  # what is searched by lane ends there
        if buffer.used - buffer.sent >= STRETCH:
            self._send(buffer, buffer.sent)
        view = self._view(number, at, there.shape, host.dtype)
        self._put[id(host)] = host, view
        return view

    def send(self) -> None:
        """Send what is left, and the numbers of items."""
        first = self._buffers[0]
        if first.sent > 8 * CELLS:
            self._card.up(first.device, first.host, 8 * self._lowest, 8 * CELLS)
            self.sent += 1
        else:
            self._send(first, 8 * self._lowest)
        for buffer in self._buffers:
            if buffer.used > buffer.sent:
                self._send(buffer, buffer.sent)

    def _send(self, buffer: Buffer, begin: int) -> None:
        self._card.up(buffer.device, buffer.host, begin, buffer.used)
        buffer.sent = buffer.used
        self.sent += 1

    def _buffer(self, nbytes: int) -> Buffer:
        return Buffer(self._card.pinned(nbytes), self._card.empty((nbytes,), np.uint8))

    def _view(self, number: int, at: int, shape: tuple[int, ...], dtype: Any) -> Any:
        key = number, at, shape, dtype
        kept = self._views.get(key)
        if kept is None:
            if len(self._views) > MOST_KEPT:
                self._views.clear()
            nbytes = math.prod(shape) * dtype.itemsize
            kept = self._buffers[number].device[at : at + nbytes].view(dtype).reshape(shape)
            self._views[key] = kept
        return kept


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table with room for ``most`` rows."""

    most: int
    dtypes: tuple[Any, ...]
    columns: tuple[Any, ...]

    @staticmethod
    def of(empty: Callable[..., Any], most: int, dtypes: tuple[Any, ...]) -> Columns:
        """Make columns of ``most`` rows; each has memory up to whole lines of the device's."""
        sizes = [most * dtype.itemsize for dtype in dtypes]
        ends = np.cumsum([padded(size) for size in sizes]).tolist()
        whole = empty((ends[-1],), np.uint8)
        firsts = [0, *ends[:-1]]
        columns = tuple(
            whole[at : at + size].view(dtype.base).reshape(most, *dtype.shape)
            for at, size, dtype in zip(firsts, sizes, dtypes, strict=True)
        )
        return Columns(most, dtypes, columns)


def padded(nbytes: int) -> int:
    """Return a number of bytes up to whole lines of the device's memory."""
    return -(-nbytes // ALIGNED) * ALIGNED


class Segments:
    """What a tick brings down: rows of columns, each to a place of its own in pinned memory.

    A segment is int64 [4]: from and to where, addresses; bytes of a row (``LAST``: no segment); where the number of
    rows stands, an address.
    """

    def __init__(self, card: Memories) -> None:
        self._card = card
        self._host = card.pinned(1 << 16)
        self._rows: list[tuple[Any, int, int, int]] = []
        self._used = 0

    def __len__(self) -> int:
        """Count them."""
        return len(self._rows)

    def begin(self) -> None:
        """Begin a tick."""
        self._rows.clear()
        self._used = 0

    def add(self, column: Any, row_bytes: int, most: int, number: int) -> int:
        """Bring as many rows of ``column`` as stands at an address, at most ``most``; returns where they will be."""
        at, self._used = self._used, self._used + padded(most * row_bytes)
        self._rows.append((column, at, row_bytes, number))
        return at

    def table(self) -> I64:
        """Return the segments; there is room for them then."""
        if self._used > len(self._host):
            self._host = self._card.pinned(rounded(2 * self._used))
        base = self._host.ctypes.data
        rows = [(self._card.address(column), base + at, size, number) for column, at, size, number in self._rows]
        return np.array(rows, np.int64).reshape(-1, 4)

    def rows(self, at: int, n: int, dtype: Any) -> Any:
        """Return ``n`` rows that came, a copy."""
        there = self._host[at : at + n * dtype.itemsize]
        return there.view(dtype.base).reshape(n, *dtype.shape).copy()
