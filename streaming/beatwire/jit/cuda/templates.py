"""What kernels are made of on a device: items in a loop, scratch for each team; ``gpu.launcher`` puts the body in.

How many items there are is read on the device, from ``sizes[cell]``. They come as ``_item`` says of an ``order``.
"""

from __future__ import annotations

import warnings
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from numba import cuda

_todo: Any = None  # the body, and the threads of its team
_item: Any = None  # one of the next two
_WIDTH = 1


def itself(order: int, k: int) -> int:  # noqa: ARG001
    """Return which item comes in place ``k``: there is no order."""
    return k


def listed(order: Any, k: int) -> int:
    """Return which item comes in place ``k``."""
    return order[k]  # type: ignore[no-any-return]


def without_scratch(sizes: Any, cell: int, order: Any, before: Any) -> None:
    """Do items with no scratch."""
    for k in range(cuda.grid(1) // _WIDTH, sizes[cell], cuda.gridsize(1) // _WIDTH):
        _todo(_item(order, k), *before)


def with_scratch(sizes: Any, cell: int, order: Any, before: Any, work: Any, after: Any) -> None:
    """Do items with a scratch array."""
    mine = (cuda.grid(1) + cuda.blockIdx.y * cuda.gridsize(1)) // _WIDTH
    for k in range(cuda.grid(1) // _WIDTH, sizes[cell], cuda.gridsize(1) // _WIDTH):
        _todo(_item(order, k), *before, work[mine], *after)


def with_shared(sizes: Any, cell: int, order: Any, before: Any, rows: int, columns: int, after: Any) -> None:
    """Do items with a scratch array, int32, in shared memory."""
    whole = cuda.shared.array(0, "int32")
    first = cuda.threadIdx.x // _WIDTH * rows * columns
    work = whole[first : first + rows * columns].reshape(rows, columns)
    for k in range(cuda.grid(1) // _WIDTH, sizes[cell], cuda.gridsize(1) // _WIDTH):
        _todo(_item(order, k), *before, work, *after)


def with_three(sizes: Any, cell: int, order: Any, before: Any, line: Any, scratch: Any, out: Any, after: Any) -> None:
    """Do items with three scratch arrays."""
    mine = cuda.grid(1) // _WIDTH
    for k in range(mine, sizes[cell], cuda.gridsize(1) // _WIDTH):
        _todo(_item(order, k), *before, line[mine], scratch[mine], out[mine], *after)


def with_shared_three(
    sizes: Any, cell: int, order: Any, before: Any, of_line: int, of_scratch: int, of_out: int, after: Any
) -> None:
    """Do items with three scratch arrays of one row in shared memory: int32, float64, float32."""
    integers, floats = cuda.shared.array(0, "int32"), cuda.shared.array(0, "float32")  # the same memory
    doubles = cuda.shared.array(0, "float64")
    each = of_scratch + (of_line + of_out + 1) // 2  # of a team, in float64
    first = cuda.threadIdx.x // _WIDTH * each
    scratch = doubles[first : first + of_scratch].reshape(1, of_scratch)
    at = 2 * (first + of_scratch)
    line = integers[at : at + of_line].reshape(1, of_line)
    out = floats[at + of_line : at + of_line + of_out].reshape(1, of_out)
    for k in range(cuda.grid(1) // _WIDTH, sizes[cell], cuda.gridsize(1) // _WIDTH):
        _todo(_item(order, k), *before, line, scratch, out, *after)
