"""A stretch of a file, or many of an array, into the memory of a GPU through pinned memory.

One thread copies at 4 GB/s; a GPU takes 55. A file is read by several threads, each with pinned memory of its own.
Stretches of an array are copied by all cores in machine code, call by call: sixteen threads that ask for the
interpreter wait for whoever has it, and 150 MB took 12 ms beside a busy one in place of 6.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from threading import Lock
from typing import Any, NamedTuple

import numba
import numpy as np

from streaming.kernels import cpu
from streaming.records import I16, I64

_SLOT = 1 << 22  # bytes of a file at a time
_STRETCHES = 1 << 25  # bytes of stretches at a time
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

    def half(self, turn: int) -> Any:
        """Return the half of a turn, when what was sent of it is there."""
        self.sent[turn % 2].synchronize()
        return self.halves[turn % 2]

    def send(self, turn: int, to: int, nbytes: int) -> None:
        """Begin to copy the first bytes of the half of a turn to the device."""
        import cupy

        runtime, host = cupy.cuda.runtime, self.halves[turn % 2].ctypes.data
        runtime.memcpyAsync(to, host, nbytes, runtime.memcpyHostToDevice, self.stream.ptr)
        self.sent[turn % 2].record(self.stream)


def _threads() -> int:
    return min(_MOST_THREADS, os.cpu_count() or 1)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_threads(), "beatwire-upload")


def _slot(nbytes: int) -> Slot:
    """Make a slot with halves of a size."""
    import cupy

    memory = np.frombuffer(cupy.cuda.alloc_pinned_memory(2 * nbytes), np.uint8, 2 * nbytes)
    events = cupy.cuda.Event(disable_timing=True), cupy.cuda.Event(disable_timing=True)
    return Slot((memory[:nbytes], memory[nbytes:]), cupy.cuda.Stream(non_blocking=True), events)


@cache
def _slots() -> SimpleQueue[Slot]:
    """Return as many slots for a file as there are threads; who takes one puts it back."""
    free: SimpleQueue[Slot] = SimpleQueue()
    for _ in range(_threads()):
        free.put(_slot(_SLOT))
    return free


_of_stretches = cache(_slot)


def upload(path: Path, first: int, stop: int) -> Span:
    """Return bytes ``[first, stop)`` of a file on the current device."""
    import cupy

    there = cupy.empty(stop - first, cupy.uint8)
    cupy.cuda.get_current_stream().synchronize()  # what had this memory before is done with it
    device, free, pieces = cupy.cuda.Device(), _slots(), iter(range(first, stop, _SLOT))

    def bring(_: int) -> None:
        slot = free.get()
        try:
            with device:
                for turn, at in enumerate(pieces):  # whoever is done takes the next one
                    n = _read(file, slot.half(turn), at, min(_SLOT, stop - at))
                    slot.send(turn, there.data.ptr + at - first, n)
                slot.stream.synchronize()
        finally:
            free.put(slot)

    file = os.open(path, os.O_RDONLY)
    try:
        list(_pool().map(bring, range(_threads())))
    finally:
        os.close(file)
    return Span(there.data.ptr, there.size, there)


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
    import cupy

    leads, width = len(samples), int((stop - start).max())
    each = 2 * leads * width
    nbytes = max(_STRETCHES, 1 << (each - 1).bit_length())
    at_once = nbytes // each
    with _one_caller:
        numba.set_num_threads(max(1, min(_MOST_THREADS, numba.config.NUMBA_NUM_THREADS) - _OTHERS))
        slot = _of_stretches(nbytes)
        for turn, first in enumerate(range(0, len(start), at_once)):
            n = min(at_once, len(start) - first)
            half = slot.half(turn)
            rows = half[: n * each].view(np.int16).reshape(n, leads, width)
            cpu.take_stretch(n * leads, samples, start[first : first + n], stop[first : first + n], rows)
            slot.send(turn, there.data.ptr + first * each, n * each)
        arrived = cupy.cuda.Event(disable_timing=True)
        arrived.record(slot.stream)
    return width, arrived


def _read(file: int, slot: Any, at: int, n: int) -> int:
    """Read ``n`` bytes into a slot."""
    done = 0
    while done < n:
        came = os.preadv(file, [memoryview(slot)[done:n]], at + done)
        if came == 0:
            raise OSError(f"expected {n} bytes at {at}; the file ends after {done}")
        done += came
    return n
