"""A stretch of a file, or many of an array, into the memory of a GPU through pinned memory.

One core copies at 4 GB/s; a GPU takes 55. All cores fill one half of pinned memory, in machine code, while the other
half travels: sixteen threads that ask for the interpreter wait for whoever has it, and 150 MB took 12 ms beside a busy
one in place of 6.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numba
import numpy as np

from beatwire.jit import cpu
from beatwire.kernels.files import PIECE
from beatwire.records import I16, I64, U8

_HALF = 1 << 25  # bytes of stretches at a time
_OF_A_FILE = 1 << 24  # bytes of a file at a time: the first and the last of them nothing else goes on beside
_MOST_THREADS = 16
_OTHERS = 2  # cores that are left to who writes passes down and who waits
_one_caller = Lock()


class Span(NamedTuple):
    """Memory of the device, as cuDF takes it; ``array`` keeps it."""

    ptr: int
    size: int
    array: Any


class Slot(NamedTuple):
    """Two halves of pinned memory, a stream to send them on, and an event behind what was sent of each."""

    halves: tuple[Any, Any]
    stream: Any
    sent: tuple[Any, Any]

    def send(self, to: int, parts: Iterable[tuple[int, int]], fill: Callable[[U8, int], None]) -> Any:
        """Fill halves by turns, and begin to copy each to the device when it is full.

        Parameters
        ----------
        to
            An address of the device.
        parts
            Of each half: where its bytes belong, counted from there, and how many they are.
        fill
            Called with what to fill and where that belongs.

        Returns
        -------
        arrived
            An event behind the last of them.
        """
        import cupy

        runtime = cupy.cuda.runtime
        with _one_caller:
            numba.set_num_threads(max(1, min(_MOST_THREADS, numba.config.NUMBA_NUM_THREADS) - _OTHERS))
            for turn, (first, nbytes) in enumerate(parts):
                half, sent = self.halves[turn % 2][:nbytes], self.sent[turn % 2]
                sent.synchronize()
                fill(half, first)
                runtime.memcpyAsync(to + first, half.ctypes.data, nbytes, runtime.memcpyHostToDevice, self.stream.ptr)
                sent.record(self.stream)
            arrived = cupy.cuda.Event(disable_timing=True)
            arrived.record(self.stream)
        return arrived


@cache
def _slot(nbytes: int) -> Slot:
    """Make a slot with halves of a size."""
    import cupy

    memory = np.frombuffer(cupy.cuda.alloc_pinned_memory(2 * nbytes), np.uint8, 2 * nbytes)
    events = cupy.cuda.Event(disable_timing=True), cupy.cuda.Event(disable_timing=True)
    return Slot((memory[:nbytes], memory[nbytes:]), cupy.cuda.Stream(non_blocking=True), events)


def upload(path: Path, first: int, stop: int) -> Span:
    """Return bytes ``[first, stop)`` of a file on the current device.

    Raises
    ------
    OSError
        The file cannot be read, or ends before.
    """
    import cupy

    size = stop - first
    there = cupy.empty(size, cupy.uint8)
    cupy.cuda.get_current_stream().synchronize()  # what had this memory before is done with it
    parts = ((at, min(_OF_A_FILE, size - at)) for at in range(0, size, _OF_A_FILE))
    slot = _slot(_HALF)
    try:
        with path.open("rb") as file:
            slot.send(there.data.ptr, parts, lambda half, at: read(file.fileno(), first + at, half))
    finally:
        slot.stream.synchronize()  # what is on its way must not come into memory that was given back
    return Span(there.data.ptr, size, there)


def upload_stretches(samples: I16, start: I64, stop: I64, there: Any) -> tuple[int, Any]:
    """Begin to copy samples ``[start[k], stop[k])`` of all leads of a host array to ``there``, one after the other.

    Parameters
    ----------
    samples : int16 [leads, n]
    start, stop : int64 [k]
    there : int16 of the current device, flat
        Stretch ``k``, lead ``l`` begins at ``(k leads + l) width``.

    Returns
    -------
    width, arrived
        That of the longest stretch, and an event behind the last of them; the host array is not needed any more.
    """
    leads, width = len(samples), int((stop - start).max())
    each = 2 * leads * width
    nbytes = max(_HALF, 1 << (each - 1).bit_length())
    at_once = nbytes // each

    def fill(half: U8, at: int) -> None:
        few = slice(at // each, (at + len(half)) // each)
        rows = half.view(np.int16).reshape(-1, leads, width)
        cpu.kernels.take_stretch(len(rows) * leads, samples, start[few], stop[few], rows)

    parts = ((k * each, min(at_once, len(start) - k) * each) for k in range(0, len(start), at_once))
    return width, _slot(nbytes).send(there.data.ptr, parts, fill)


def read(file: int, at: int, out: U8) -> None:
    """Read bytes of a file from ``at`` on, as many as there is room for, by several threads.

    Raises
    ------
    OSError
        They cannot be read, or the file ends before.
    """
    came = np.zeros(-(-len(out) // PIECE), np.int64)
    cpu.kernels.read_piece(len(came), file, at, out, came)
    if came.sum() == len(out):
        return
    done = 0
    while done < len(out):  # rare: a signal came, or what is wrong says the system here
        more = os.preadv(file, [out[done:].data], at + done)
        if more == 0:
            raise OSError(f"expected {len(out)} bytes at {at}; the file ends after {done}")
        done += more
