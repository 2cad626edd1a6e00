"""Sums over rows before each row, and the rows that have something to do first: two kernels each, on a device.

How many rows there are is read on the device, from ``sizes[cell]``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from numba.core import config

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from numba import cuda

SCANNED = 8 if config.ENABLE_CUDASIM else 256  # rows that a block counts; a power of two
_jit: Callable[..., Any] = cuda.jit
_device_jit: Callable[..., Any] = cuda.jit(device=True)


@_device_jit
def add_up(shared: Any, j: int) -> None:
    """Put the sum of ``shared[:SCANNED]`` at its beginning; the block's threads ``j`` do this together."""
    step = SCANNED // 2
    while step > 0:
        if j < step:
            shared[j] += shared[j + step]
        cuda.syncthreads()
        step //= 2


@_device_jit
def tell_sum(shared: Any, j: int, sums: Any) -> None:
    """Write the sum of ``shared[:SCANNED]`` to the block's place in ``sums``.

    To be called after a barrier only: the compiler draws a call into the branches of a choice before it, and threads
    that wait at a barrier in different places wait for ever.
    """
    add_up(shared, j)
    if j == 0:
        sums[cuda.blockIdx.x] = shared[0]


@_device_jit
def add_before(shared: Any, j: int) -> None:
    """Add to each of ``shared[:SCANNED]`` those before it; the block's threads ``j`` do this together."""
    step = 1
    while step < SCANNED:
        carried = shared[j - step] if j >= step else 0
        cuda.syncthreads()
        shared[j] += carried
        cuda.syncthreads()
        step *= 2


@_jit
def sum_rows(sizes: Any, cell: int, count: Any, sums: Any) -> None:
    """Sum ``count`` over the rows of each block."""
    shared = cuda.shared.array(SCANNED, "int64")
    i, j = cuda.grid(1), cuda.threadIdx.x
    shared[j] = count[i] if i < sizes[cell] else 0
    cuda.syncthreads()
    tell_sum(shared, j, sums)


@_jit
def place_rows(sizes: Any, cell: int, count: Any, sums: Any, first: Any, cells: Any, into: int) -> None:
    """Write the sums [n + 1] of ``count`` before each row, of all also to ``cells[into]``; after ``sum_rows``."""
    shared = cuda.shared.array(SCANNED, "int64")
    i, j, n = cuda.grid(1), cuda.threadIdx.x, sizes[cell]
    part = 0
    for k in range(j, cuda.blockIdx.x, SCANNED):
        part += sums[k]
    shared[j] = part
    cuda.syncthreads()
    add_up(shared, j)
    before = shared[0]
    cuda.syncthreads()
    own = count[i] if i < n else 0
    shared[j] = own
    cuda.syncthreads()
    add_before(shared, j)
    if i < n:
        first[i] = before + shared[j] - own
    if i == n - 1 or (n == 0 and i == 0):
        first[n] = before + shared[j]
        cells[into] = before + shared[j]


@_device_jit
def is_busy(count: Any, summed: int, i: int) -> int:
    """Tell whether row ``i`` counts anything; ``summed``: ``count`` [n + 1] are sums of the rows before."""
    if summed:
        return 1 if count[i + 1] > count[i] else 0
    return 1 if count[i] > 0 else 0


@_jit
def sum_busy(sizes: Any, cell: int, count: Any, summed: int, sums: Any) -> None:
    """Count the busy rows of each block."""
    shared = cuda.shared.array(SCANNED, "int64")
    i, j = cuda.grid(1), cuda.threadIdx.x
    shared[j] = is_busy(count, summed, i) if i < sizes[cell] else 0
    cuda.syncthreads()
    tell_sum(shared, j, sums)


@_jit
def place_busy(sizes: Any, cell: int, count: Any, summed: int, sums: Any, order: Any) -> None:
    """Write all rows to ``order``, the busy ones first; after ``sum_busy``."""
    shared = cuda.shared.array(SCANNED, "int64")
    i, j, n = cuda.grid(1), cuda.threadIdx.x, sizes[cell]
    part = whole = 0
    for k in range(j, cuda.gridDim.x, SCANNED):
        whole += sums[k]
        if k < cuda.blockIdx.x:
            part += sums[k]
    shared[j] = whole
    cuda.syncthreads()
    add_up(shared, j)
    busy = shared[0]
    cuda.syncthreads()
    shared[j] = part
    cuda.syncthreads()
    add_up(shared, j)
    before = shared[0]
    cuda.syncthreads()
    own = is_busy(count, summed, i) if i < n else 0
    shared[j] = own
    cuda.syncthreads()
    add_before(shared, j)
    if i < n:
        before += shared[j] - own
        order[before if own else busy + i - before] = i


SCANS = {"sum_rows": sum_rows, "place_rows": place_rows, "sum_busy": sum_busy, "place_busy": place_busy}
