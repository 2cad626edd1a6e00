"""Copy a stretch of a file, or many stretches of an array, to the memory of a GPU through pinned memory.

One core copies 4 GB/s; a GPU receives 55 GB/s. All cores fill one half of the pinned memory while the other half is
copied to the GPU. They do so in machine code: sixteen threads of Python wait for its lock, and 150 MB took 12 ms beside
a busy thread instead of 6 ms.
"""

import os
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numba
import numpy as np

from beatwire.jit import cpu
from beatwire.kernels.intake.files import PIECE
from beatwire.records import I16, I64, U8

_HALF = 1 << 25  # bytes of a half
_FILE_PART = 1 << 24  # bytes of a file in a half: nothing runs beside reading the first part and copying the last
_MOST_THREADS = 16
_SPARED_CORES = 2  # for the thread that records launches and the one that waits
_one_caller = Lock()  # a parallel kernel of Numba must have one caller at a time


class Span(NamedTuple):
    """Memory of the device, as cuDF takes it: address and bytes; ``array`` owns it."""

    ptr: int
    size: int
    array: Any


class PinnedMemory(NamedTuple):
    """Two halves of pinned memory, a stream for their copies, and an event after the last copy of each."""

    halves: tuple[Any, Any]
    stream: Any
    copied: tuple[Any, Any]

    def copy(self, target: int, parts: Iterable[tuple[int, int]], fill: Callable[[U8, int], None]) -> Any:
        """Fill the halves in turn, and begin to copy each to the device when it is full.

        Parameters
        ----------
        target
            An address of the device.
        parts
            For each filling: its place, in bytes from ``target``, and its number of bytes.
        fill
            Called with the memory to fill and its place.

        Returns
        -------
        arrived
            An event after the last copy.
        """
        import cupy

        runtime = cupy.cuda.runtime
        with _one_caller:
            numba.set_num_threads(max(1, min(_MOST_THREADS, numba.config.NUMBA_NUM_THREADS) - _SPARED_CORES))
            for turn, (first, nbytes) in enumerate(parts):
                half, copied = self.halves[turn % 2][:nbytes], self.copied[turn % 2]
                copied.synchronize()
                fill(half, first)
                address, to_device = half.ctypes.data, runtime.memcpyHostToDevice
                runtime.memcpyAsync(target + first, address, nbytes, to_device, self.stream.ptr)
                copied.record(self.stream)
            arrived = cupy.cuda.Event(disable_timing=True)
            arrived.record(self.stream)
        return arrived


@cache
def _pinned(nbytes: int) -> PinnedMemory:
    """Allocate halves of a size."""
    import cupy

    memory = np.frombuffer(cupy.cuda.alloc_pinned_memory(2 * nbytes), np.uint8, 2 * nbytes)
    events = cupy.cuda.Event(disable_timing=True), cupy.cuda.Event(disable_timing=True)
    return PinnedMemory((memory[:nbytes], memory[nbytes:]), cupy.cuda.Stream(non_blocking=True), events)


def upload(path: Path, first: int, stop: int) -> Span:
    """Return bytes ``[first, stop)`` of a file on the current device.

    Raises
    ------
    OSError
        The file cannot be read, or is shorter.
    """
    import cupy

    size = stop - first
    target = cupy.empty(size, cupy.uint8)
    cupy.cuda.get_current_stream().synchronize()  # kernels that used this memory before have ended
    parts = ((at, min(_FILE_PART, size - at)) for at in range(0, size, _FILE_PART))
    pinned = _pinned(_HALF)
    try:
        with path.open("rb") as file:
            pinned.copy(target.data.ptr, parts, lambda half, at: read(file.fileno(), first + at, half))
    finally:
        pinned.stream.synchronize()  # a copy must not write to memory that has been freed
    return Span(target.data.ptr, size, target)


def upload_stretches(samples: I16, start: I64, stop: I64, target: Any) -> tuple[int, Any]:
    """Begin to copy samples ``[start[k], stop[k])`` of all leads of a host array to ``target``, one after the other.

    Parameters
    ----------
    samples : int16 [leads, n]
    start, stop : int64 [k]
    target : int16 of the current device, flat
        Stretch ``k``, lead ``l`` begins at ``(k leads + l) width``.

    Returns
    -------
    width, arrived
        The length of the longest stretch, and an event after the last copy. ``samples`` may change from now on.
    """
    leads, width = len(samples), int((stop - start).max())
    each = 2 * leads * width
    nbytes = max(_HALF, 1 << (each - 1).bit_length())
    at_once = nbytes // each

    def fill(half: U8, at: int) -> None:
        stretches = slice(at // each, (at + len(half)) // each)
        rows = half.view(np.int16).reshape(-1, leads, width)
        cpu.kernels.take_stretch(len(rows) * leads, samples, start[stretches], stop[stretches], rows)

    parts = ((k * each, min(at_once, len(start) - k) * each) for k in range(0, len(start), at_once))
    return width, _pinned(nbytes).copy(target.data.ptr, parts, fill)


def read(file: int, at: int, out: U8) -> None:
    """Fill ``out`` with the bytes of a file (its descriptor) that begin at ``at``, by several threads.

    Raises
    ------
    OSError
        The file cannot be read, or is shorter.
    """
    count = np.zeros(-(-len(out) // PIECE), np.int64)
    cpu.kernels.read_piece(len(count), file, at, out, count)
    if count.sum() == len(out):
        return
    done = 0
    while done < len(out):  # rare: a signal interrupted a read, or the system raises its error here
        more = os.preadv(file, [out[done:].data], at + done)
        if more == 0:
            raise OSError(f"expected {len(out)} bytes at {at}; the file ends after {done}")
        done += more
