"""The board of a job that threads share: machine code offers it and takes its items, without Python's lock.

A board is int64 [COLUMNS]: numbers that threads write lie a cache line apart. A job is open while ``JOB`` is odd. The
caller writes the line ``ENTRY``, opens the job, takes items itself, and closes the job. A helper counts itself in
``HELPING`` and then looks whether the job is still open: so nobody works on a job whose caller has seen none at work
after it was closed.
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
JOB, HELPING, TAKEN, FAILED = range(0, 4 * LINE, LINE)
ENTRY = 4 * LINE  # address of the machine code of the job
PLACE = ENTRY + 1  # address of its arguments
HELPERS = ENTRY + 2  # helpers with a higher number pass it over
ROOM = ENTRY + 3  # address of memory for arguments and scratch, see ``jit.sharing``
COLUMNS = 5 * LINE
_OF_BOARD = types.Array(types.int64, 1, "C")
_OF_ENTRY = ir.FunctionType(ir.IntType(32), [ir.IntType(64), ir.IntType(64)])


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


@intrinsic  # type: ignore[untyped-decorator]
def run_entry(_: Any, entry: Any, number: Any, place: Any) -> Any:  # noqa: ARG001
    """Run the machine code at an address for thread ``number``, 0 is the caller; return 0, or 1 if it has failed."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        code = builder.inttoptr(arguments[0], _OF_ENTRY.as_pointer())
        return builder.zext(builder.call(code, arguments[1:]), ir.IntType(64))

    return types.int64(types.int64, types.int64, types.int64), generate


def open_job(board, entry, place):  # type: ignore[no-untyped-def]
    """Offer a job to the helpers."""
    board[ENTRY] = entry
    board[PLACE] = place
    add(board, JOB, 1)


def close_job(board):  # type: ignore[no-untyped-def]
    """Offer it no more; those that have begun still work."""
    add(board, JOB, 1)


def take(n, size, board):  # type: ignore[no-untyped-def]
    """Return the next items of a thread; none: it has ended."""
    if size == 0:
        return n, n
    begin = add(board, TAKEN, size)
    return min(n, begin), min(n, begin + size)


def _serve(board, number, turns):  # type: ignore[no-untyped-def]
    done, left = 0, turns
    while left > 0:
        job = read(board, JOB)
        if job % 2 == 0 or job == done:
            rest()
            left -= 1
            continue
        add(board, HELPING, 1)
        if read(board, JOB) == job and number <= board[HELPERS]:
            add(board, FAILED, run_entry(board[ENTRY], number, board[PLACE]))
        add(board, HELPING, -1)
        done, left = job, turns


def _wait(board, turns):  # type: ignore[no-untyped-def]
    while turns > 0 and read(board, HELPING) > 0:
        rest()
        turns -= 1
    return read(board, HELPING) == 0


class Waits(NamedTuple):
    """Functions that wait at a board.

    serve  ``(board, number, turns)``: work as a helper until there was no job for so many turns
    wait   ``(board, turns)``: return True when no helper is at work, False after so many turns
    """

    serve: Callable[..., None]
    wait: Callable[..., bool]


@functools.cache
def waits() -> Waits:
    """Compile the functions that wait."""
    board, number = _OF_BOARD, types.int64
    serve = numba.njit(types.void(board, number, number), nogil=True, _nrt=False)(_serve)
    wait = numba.njit(types.boolean(board, number), nogil=True, _nrt=False)(_wait)
    return Waits(serve, wait)
