"""Prefix sums over rows, and an order in which rows with work come first: two kernels for each, on a device.

The number of rows is read on the device, from ``sizes[cell]``. The first kernel writes a sum for each block, the second
the results.
"""

import warnings
from collections.abc import Callable
from typing import Any

from numba.core import config

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from numba import cuda

SCANNED = 8 if config.ENABLE_CUDASIM else 256  # rows of a block; a power of two
_jit: Callable[..., Any] = cuda.jit
_device_jit: Callable[..., Any] = cuda.jit(device=True)


@_device_jit
def add_up(shared: Any, j: int) -> None:
    """Write the sum of ``shared[:SCANNED]`` to ``shared[0]``; all threads ``j`` of the block call this."""
    step = SCANNED // 2
    while step > 0:
        if j < step:
            shared[j] += shared[j + step]
        cuda.syncthreads()
        step //= 2


@_device_jit
def write_sum(shared: Any, j: int, sums: Any) -> None:
    """Write the sum of ``shared[:SCANNED]`` to the block's element of ``sums``.

    Call it after a barrier only: the compiler moves a call into the branches before it, and threads that wait at
    different barriers never go on.
    """
    add_up(shared, j)
    if j == 0:
        sums[cuda.blockIdx.x] = shared[0]


@_device_jit
def add_before(shared: Any, j: int) -> None:
    """Add to each of ``shared[:SCANNED]`` those before it; all threads ``j`` of the block call this."""
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
    write_sum(shared, j, sums)


@_jit
def place_rows(sizes: Any, cell: int, count: Any, sums: Any, first: Any, cells: Any, into: int) -> None:
    """Write the sums [n + 1] of ``count`` before each row, that of all to ``cells[into]`` too; after ``sum_rows``."""
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
    """Return 1 if row ``i`` has work, else 0; with ``summed``, ``count`` [n + 1] has the sums before each row."""
    if summed:
        return 1 if count[i + 1] > count[i] else 0
    return 1 if count[i] > 0 else 0


@_jit
def sum_busy(sizes: Any, cell: int, count: Any, summed: int, sums: Any) -> None:
    """Count the rows with work of each block."""
    shared = cuda.shared.array(SCANNED, "int64")
    i, j = cuda.grid(1), cuda.threadIdx.x
    shared[j] = is_busy(count, summed, i) if i < sizes[cell] else 0
    cuda.syncthreads()
    write_sum(shared, j, sums)


@_jit
def place_busy(sizes: Any, cell: int, count: Any, summed: int, sums: Any, order: Any) -> None:
    """Write all rows to ``order``, those with work first; after ``sum_busy``."""
    shared = cuda.shared.array(SCANNED, "int64")
    i, j, n = cuda.grid(1), cuda.threadIdx.x, sizes[cell]
    part = total = 0
    for k in range(j, cuda.gridDim.x, SCANNED):
        total += sums[k]
        if k < cuda.blockIdx.x:
            part += sums[k]
    shared[j] = total
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
