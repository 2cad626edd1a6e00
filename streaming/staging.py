"""What goes up and comes down in a tick: host arrays put into one pinned buffer, and tables of results.

Columns of a table are lines of one array for each size of their numbers, so that few copies bring them down.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from streaming.records import U8
from streaming.tape import rounded

CELLS = 4096
LAST = 1 << 62
ALIGNED = 256
MOST_KEPT = 4096  # views that are remembered


class Memories(Protocol):
    """What staging needs of a card."""

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return an array on the device with anything in it."""

    def pinned(self, nbytes: int) -> U8:
        """Return host memory that the device can read and write on its own."""

    def up(self, device: Any, host: U8, nbytes: int) -> None:
        """Copy bytes to the device."""


@dataclass(slots=True)
class Buffer:
    """Memory of the host and of the device of the same size; ``used`` so far in this tick."""

    host: U8
    device: Any
    used: int = 0


class Staging:
    """The host's arrays of a tick, on their way to the device; the numbers of items stand at the beginning.

    A tick that is larger than any before gets a buffer more; the next one has one that holds all of it.
    """

    def __init__(self, card: Memories) -> None:
        self._card = card
        self._buffers: list[Buffer] = []
        self._put: dict[int, tuple[Any, Any]] = {}
        self._views: dict[Hashable, Any] = {}
        self._sizes_used = 0
        self.begin()

    def begin(self) -> None:
        """Begin a tick."""
        self._put.clear()
        self._sizes_used = 0
        if len(self._buffers) != 1:  # the last tick was larger than any before, or this is the first
            size = rounded(2 * sum(len(b.host) for b in self._buffers))
            self._views.clear()
            self._buffers = [self._buffer(max(size, 1 << 20))]
        self._buffers[0].used = 8 * CELLS
        self.sizes = self._view(0, 0, (CELLS,), np.dtype(np.int64))

    def number(self, n: int) -> int:
        """Put a number of items into ``sizes``; returns its cell."""
        cell, self._sizes_used = self._sizes_used, self._sizes_used + 1
        self._buffers[0].host[8 * cell : 8 * cell + 8].view(np.int64)[0] = n
        return cell

    def put(self, host: Any) -> Any:
        """Put an array into the buffer, once a tick; returns where it will be on the device."""
        known = self._put.get(id(host))
        if known is not None:
            return known[1]
        rows = rounded(len(host))
        width = host.itemsize * int(np.prod(host.shape[1:], dtype=np.int64))
        nbytes = -(-rows * width // ALIGNED) * ALIGNED
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
        view = self._view(number, at, there.shape, host.dtype)
        self._put[id(host)] = host, view
        return view

    def send(self) -> int:
        """Copy what was put to the device; returns in how many pieces."""
        for buffer in self._buffers:
            self._card.up(buffer.device, buffer.host, buffer.used)
        return len(self._buffers)

    def _buffer(self, nbytes: int) -> Buffer:
        return Buffer(self._card.pinned(nbytes), self._card.empty((nbytes,), np.uint8))

    def _view(self, number: int, at: int, shape: tuple[int, ...], dtype: Any) -> Any:
        key = number, at, shape, dtype
        kept = self._views.get(key)
        if kept is None:
            if len(self._views) > MOST_KEPT:
                self._views.clear()
            nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
            kept = self._buffers[number].device[at : at + nbytes].view(dtype).reshape(shape)
            self._views[key] = kept
        return kept


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table: bytes [lines, most x size] for every size of a row, and views of those."""

    most: int
    dtypes: tuple[Any, ...]
    lines: dict[int, Any]
    columns: tuple[Any, ...]

    @staticmethod
    def of(empty: Callable[..., Any], most: int, dtypes: tuple[Any, ...]) -> Columns:
        """Make columns of ``most`` rows."""
        sizes = sorted({dtype.itemsize for dtype in dtypes}, reverse=True)
        lines = {
            size: empty((sum(dtype.itemsize == size for dtype in dtypes), most * size), np.uint8) for size in sizes
        }
        unused = {size: iter(of) for size, of in lines.items()}
        columns = tuple(next(unused[dtype.itemsize]).view(dtype.base).reshape(most, *dtype.shape) for dtype in dtypes)
        return Columns(most, dtypes, lines, columns)

    def parted(self, parts: list[U8], n: int) -> tuple[Any, ...]:
        """Return the first ``n`` rows of every column from what was copied of the lines; copies."""
        unused = {size: iter(part) for size, part in zip(self.lines, parts, strict=False)}
        return tuple(
            next(unused[dtype.itemsize]).view(dtype.base).reshape(n, *dtype.shape).copy()
            if n
            else np.empty((0, *dtype.shape), dtype.base)
            for dtype in self.dtypes
        )
