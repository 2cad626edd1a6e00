"""Templates of kernels on a device: a loop over items, scratch for each team. ``launchers.launcher`` adds the body.

The number of items is read on the device, from ``sizes[cell]``; ``_item`` maps the loop's index to an item.
"""

import warnings
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from numba import cuda

_body: Any = None
_item: Any = None  # ``itself`` or ``listed``
_WIDTH = 1  # threads of a team


def itself(order: int, k: int) -> int:  # noqa: ARG001
    """Return the item at index ``k`` without an order."""
    return k


def listed(order: Any, k: int) -> int:
    """Return the item at index ``k`` of an order."""
    return order[k]  # type: ignore[no-any-return]


def without_scratch(sizes: Any, cell: int, order: Any, before: Any) -> None:
    """Run items without scratch."""
    for k in range(cuda.grid(1) // _WIDTH, sizes[cell], cuda.gridsize(1) // _WIDTH):
        _body(_item(order, k), *before)


def with_scratch(sizes: Any, cell: int, order: Any, before: Any, work: Any, after: Any) -> None:
    """Run items with a scratch array."""
    team = (cuda.grid(1) + cuda.blockIdx.y * cuda.gridsize(1)) // _WIDTH
    for k in range(cuda.grid(1) // _WIDTH, sizes[cell], cuda.gridsize(1) // _WIDTH):
        _body(_item(order, k), *before, work[team], *after)


def with_shared(sizes: Any, cell: int, order: Any, before: Any, rows: int, columns: int, after: Any) -> None:
    """Run items with an int32 scratch array in shared memory."""
    memory = cuda.shared.array(0, "int32")
    first = cuda.threadIdx.x // _WIDTH * rows * columns
    work = memory[first : first + rows * columns].reshape(rows, columns)
    for k in range(cuda.grid(1) // _WIDTH, sizes[cell], cuda.gridsize(1) // _WIDTH):
        _body(_item(order, k), *before, work, *after)


def with_three(sizes: Any, cell: int, order: Any, before: Any, line: Any, scratch: Any, out: Any, after: Any) -> None:
    """Run items with three scratch arrays."""
    team = cuda.grid(1) // _WIDTH
    for k in range(team, sizes[cell], cuda.gridsize(1) // _WIDTH):
        _body(_item(order, k), *before, line[team], scratch[team], out[team], *after)


def with_shared_three(
    sizes: Any, cell: int, order: Any, before: Any, of_line: int, of_scratch: int, of_out: int, after: Any
) -> None:
    """Run items with three scratch arrays of one row in shared memory: int32, float64, float32."""
    integers, floats = cuda.shared.array(0, "int32"), cuda.shared.array(0, "float32")  # the same memory
    doubles = cuda.shared.array(0, "float64")
    each = of_scratch + (of_line + of_out + 1) // 2  # of a team, in float64
    first = cuda.threadIdx.x // _WIDTH * each
    scratch = doubles[first : first + of_scratch].reshape(1, of_scratch)
    at = 2 * (first + of_scratch)
    line = integers[at : at + of_line].reshape(1, of_line)
    out = floats[at + of_line : at + of_line + of_out].reshape(1, of_out)
    for k in range(cuda.grid(1) // _WIDTH, sizes[cell], cuda.gridsize(1) // _WIDTH):
        _body(_item(order, k), *before, line, scratch, out, *after)
