"""The board of a job that threads share: machine code takes items from it and waits at it, without Python's lock.

A board is int64 [COLUMNS]: numbers that threads write lie a cache line apart. ``announce`` tells the helpers that wait
at the board that the caller has left Python's lock; ``take`` gives a thread its next items; ``end`` counts the threads
that have none left.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

LINE = 8  # int64 of a cache line
ANNOUNCED, TAKEN, ENDED = 0, LINE, 2 * LINE
COLUMNS = 3 * LINE
_OF_BOARD = types.Array(types.int64, 1, "C")


def new_board() -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return a board without a job."""
    return np.zeros(COLUMNS, np.int64)


def _place(context: Any, builder: Any, board: Any, column: Any) -> Any:
    return builder.gep(make_array(_OF_BOARD)(context, builder, board).data, [column])


@intrinsic  # type: ignore[untyped-decorator]
def add(_: Any, board: Any, column: Any, value: Any) -> Any:  # noqa: ARG001
    """Add to a number of the board and return what it was before, as one step that all threads see."""

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, arguments[0], arguments[1])
        return builder.atomic_rmw("add", place, arguments[2], "seq_cst")

    return types.int64(_OF_BOARD, types.int64, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def read(_: Any, board: Any, column: Any) -> Any:  # noqa: ARG001
    """Return a number of the board as other threads have left it."""

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(_place(context, builder, arguments[0], arguments[1]), "seq_cst", 8)

    return types.int64(_OF_BOARD, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def rest(_: Any) -> Any:
    """Let the other thread of a core go on for a moment, where the processor has an instruction for it."""

    def generate(_context: Any, builder: Any, _signature: Any, _arguments: Any) -> Any:
        if "x86" in builder.module.triple:
            nothing = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, nothing, "llvm.x86.sse2.pause"), [])
        return ir.Constant(ir.IntType(64), 0)

    return types.int64(), generate


def _changed(board, column, known, turns):  # type: ignore[no-untyped-def]
    found = read(board, column)
    while found == known and turns > 0:
        rest()
        turns -= 1
        found = read(board, column)
    return found


def _reached(board, column, least, turns):  # type: ignore[no-untyped-def]
    found = read(board, column)
    while found < least and turns > 0:
        rest()
        turns -= 1
        found = read(board, column)
    return found


class Waits(NamedTuple):
    """Functions ``(board, column, number, turns)`` that wait at a board for so many turns at most.

    changed  until a number of it is not this one any more
    reached  until it is this one or more

    Each returns the number of the board.
    """

    changed: Callable[..., int]
    reached: Callable[..., int]


@functools.cache
def waits() -> Waits:
    """Compile the functions that wait."""
    kind = types.int64(_OF_BOARD, types.int64, types.int64, types.int64)
    return Waits(*(numba.njit(kind, nogil=True, _nrt=False)(one) for one in (_changed, _reached)))


def enter(n, size, board):  # type: ignore[no-untyped-def]
    """Return the first items of a thread: all if ``size`` is 0, so many if it is the caller's, -size of a helper's."""
    if size == 0:
        return 0, n
    if size > 0:
        add(board, ANNOUNCED, 1)
    return take(n, size, board)  # type: ignore[no-untyped-call]


def take(n, size, board):  # type: ignore[no-untyped-def]
    """Return the next items of a thread; none: it has ended."""
    if size == 0:
        return n, n
    begin = add(board, TAKEN, abs(size))
    if begin >= n:
        add(board, ENDED, 1)
        return n, n
    return begin, min(n, begin + abs(size))
