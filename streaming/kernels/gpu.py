"""The bodies compiled for CUDA: a launcher each, of the same name as on the CPU.

``compiled`` turns a body and the bodies it calls into device functions, as ``cpu.compiled`` does, with the
instructions of a team (``kernels.team``) of ``width`` threads put in. ``launcher`` is the kernel: one team an item,
items in a loop, so that any grid does any number of items, each team with scratch of its own.

How many items there are is read on the device, from ``sizes[cell]``: kernels that follow each other need no answer
from the host in between.

Under ``NUMBA_ENABLE_CUDASIM=1`` the same runs in Numba's simulator, a team a block.
"""

from __future__ import annotations

import functools
import types
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba.core import config

from streaming.kernels import accept, beats, flutter, fuse, history, nms, ricker, ring, team, windows

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from numba import cuda

SIMULATED = bool(config.ENABLE_CUDASIM)
BLOCK = 128  # samples worked on at a time
THREADS = 128
MANY = 20_000
SHARED_BYTES = 0 if SIMULATED else 48 << 10  # of a block
SCANNED = 8 if SIMULATED else 256  # rows that a block counts; a power of two
INLINED = {} if SIMULATED else {"forceinline": True}  # to pass an array is seven words on a stack
_jit: Callable[..., Any] = cuda.jit


class Plan(NamedTuple):
    """A body, the threads of its team, and where its scratch arguments stand: from ``first`` up to ``stop``.

    Few items want ``wide`` teams, which are done sooner; from ``MANY`` on the card is full and ``narrow`` ones do more.
    ``registers`` is how many a thread of these may have, where more threads at a time gain more than they lose.
    """

    body: Any
    wide: int
    narrow: int
    first: int
    stop: int
    registers: int | None = None


def plan(body: Any, wide: int, narrow: int, *scratch: str, registers: int | None = None) -> Plan:
    """Find the scratch arguments of a body."""
    names = body.__code__.co_varnames[1 : body.__code__.co_argcount]
    first = names.index(scratch[0]) if scratch else len(names)
    return Plan(body, wide, narrow, first, first + len(scratch), registers)


PLANS = {
    "begin_lane": plan(ring.begin_lane, 1, 1),
    "write_samples": plan(ring.write_samples, 16, 8),
    "write_in_turn": plan(ring.write_in_turn, 8, 8),
    "respond": plan(ricker.respond, 16, 8, "work", registers=64),
    "respond_leads": plan(fuse.respond_leads, 16, 8, "work", registers=64),
    "level_peaks": plan(fuse.level_peaks, 1, 1),
    "suppress": plan(nms.suppress, 32, 4, "work"),
    "judge": plan(accept.judge, 16, 4, "line", "scratch", "out", registers=64),
    "accept": plan(beats.accept, 16, 4, "work"),
    "remember_quiet": plan(beats.remember_quiet, 1, 1),
    "list_beats": plan(beats.list_beats, 1, 1),
    "list_blocks": plan(beats.list_blocks, 1, 1),
    "find_waves": plan(flutter.find_waves, 16, 4, "work"),
    "cut_window": plan(windows.cut_window, 16, 4, "work"),
    "place_in_time": plan(history.place_in_time, 1, 1),
    "in_usual_size": plan(history.in_usual_size, 1, 1),
    "is_known": plan(history.is_known, 1, 1),
    "in_terms": plan(history.in_terms, 1, 1),
    "recall_size": plan(history.recall_size, 16, 4),
    "recall_beats": plan(history.recall_beats, 16, 8),
}


def threads(width: int) -> int:
    """Return the threads of a block."""
    if not SIMULATED:
        return THREADS
    return width if width > 1 else 10


def teams(blocks: int, width: int) -> int:
    """Return how many teams so many blocks have."""
    return blocks * threads(width) // width


@functools.cache
def team_functions(width: int) -> dict[str, Any]:
    """Return what stands for the functions of ``kernels.team`` in teams of ``width`` threads."""
    if width == 1:
        alone = team.member, team.wait, team.most, team.fewest, team.added, team.narrow
        return {f.__name__: _jit(f, device=True) for f in alone}
    return _simulated_team(width) if SIMULATED else _warp_team(width)


def _warp_team(width: int) -> dict[str, Any]:
    """Return them for a part of a warp: 2, 4, 8, 16 or 32 threads."""
    rest, every, half = width - 1, (1 << width) - 1, width // 2

    def member():  # type: ignore[no-untyped-def]
        return cuda.threadIdx.x & rest

    @_jit(device=True)
    def mates():  # type: ignore[no-untyped-def]
        return every << (cuda.laneid & ~rest)

    def wait():  # type: ignore[no-untyped-def]
        cuda.syncwarp(mates())

    def most(value):  # type: ignore[no-untyped-def]
        step = half
        while step > 0:
            value = max(value, cuda.shfl_xor_sync(mates(), value, step))
            step //= 2
        cuda.syncwarp(mates())
        return value

    def fewest(value):  # type: ignore[no-untyped-def]
        step = half
        while step > 0:
            value = min(value, cuda.shfl_xor_sync(mates(), value, step))
            step //= 2
        cuda.syncwarp(mates())
        return value

    def added(value):  # type: ignore[no-untyped-def]
        step = half
        while step > 0:
            value += cuda.shfl_xor_sync(mates(), value, step)
            step //= 2
        cuda.syncwarp(mates())
        return value

    def narrow(value):  # type: ignore[no-untyped-def]
        return np.int32(value)

    return {f.__name__: _jit(f, device=True) for f in (member, wait, most, fewest, added, narrow)}


def _simulated_team(width: int) -> dict[str, Any]:
    """Return them for a whole block of the simulator, which knows no warps."""

    def gathered(value: Any) -> list[Any]:
        integers = cuda.shared.array(width, "int64")  # the simulator knows them by the line they stand on
        floats = cuda.shared.array(width, "float64")
        shared = floats if isinstance(value, float | np.floating) else integers
        cuda.syncthreads()
        shared[cuda.threadIdx.x] = value
        cuda.syncthreads()
        return [shared[k].item() for k in range(width)]

    def member() -> int:
        return int(cuda.threadIdx.x)

    def wait() -> None:
        cuda.syncthreads()

    def most(value: Any) -> Any:
        return max(gathered(value))

    def fewest(value: Any) -> Any:
        return min(gathered(value))

    def added(value: Any) -> Any:
        return sum(gathered(value))

    return {f.__name__: _jit(f, device=True) for f in (member, wait, most, fewest, added, team.narrow)}


@functools.cache
def compiled(body: Any, width: int) -> Any:
    """Turn a body and every body it calls into device functions for teams of ``width`` threads."""
    if body.__module__ == team.__name__:
        return team_functions(width)[body.__name__]
    scope = dict(body.__globals__)
    for name in body.__code__.co_names:
        callee = scope.get(name)
        if name in ("WIDTH", "BLOCK"):
            scope[name] = {"WIDTH": width, "BLOCK": BLOCK}[name]
        elif isinstance(callee, types.FunctionType) and callee.__module__.startswith("streaming.kernels"):
            scope[name] = compiled(callee, width)
    copy = types.FunctionType(body.__code__, scope, body.__name__, body.__defaults__)
    copy.__module__ = body.__module__
    copy.__qualname__ = body.__qualname__
    return _jit(copy, device=True, **INLINED)


@functools.cache
def launcher(name: str, width: int, shared: bool) -> Callable[..., Any]:
    """Return the kernel of a body: ``launcher(sizes, cell, before, *scratch, after)``.

    ``before`` and ``after`` are the body's arguments around its scratch, as tuples; the first axis of scratch are the
    teams of the grid. Where it is ``shared``, one scratch argument stands in the memory of the multiprocessor, and in
    its place the shape is given.
    """
    one = PLANS[name]
    kinds = {0: _without_scratch, 1: _with_shared if shared else _with_scratch, 3: _with_three}
    launch = kinds[one.stop - one.first](compiled(one.body, width), width)
    launch.__name__ = launch.__qualname__ = name
    few = one.registers if width == one.narrow and not SIMULATED else None
    return _jit(launch, max_registers=few) if few else _jit(launch)  # type: ignore[no-any-return]


def _without_scratch(todo: Any, width: int) -> Any:
    def launch(sizes: Any, cell: int, before: Any) -> None:
        for i in range(cuda.grid(1) // width, sizes[cell], cuda.gridsize(1) // width):
            todo(i, *before)

    return launch


def _with_scratch(todo: Any, width: int) -> Any:
    def launch(sizes: Any, cell: int, before: Any, work: Any, after: Any) -> None:
        mine = cuda.grid(1) // width
        for i in range(mine, sizes[cell], cuda.gridsize(1) // width):
            todo(i, *before, work[mine], *after)

    return launch


def _with_shared(todo: Any, width: int) -> Any:
    def launch(sizes: Any, cell: int, before: Any, rows: int, columns: int, after: Any) -> None:
        whole = cuda.shared.array(0, "int32")
        first = cuda.threadIdx.x // width * rows * columns
        work = whole[first : first + rows * columns].reshape(rows, columns)
        for i in range(cuda.grid(1) // width, sizes[cell], cuda.gridsize(1) // width):
            todo(i, *before, work, *after)

    return launch


def _with_three(todo: Any, width: int) -> Any:
    def launch(sizes: Any, cell: int, before: Any, work: Any, scratch: Any, out: Any, after: Any) -> None:
        mine = cuda.grid(1) // width
        for i in range(mine, sizes[cell], cuda.gridsize(1) // width):
            todo(i, *before, work[mine], scratch[mine], out[mine], *after)

    return launch


@_jit
def sum_rows(sizes: Any, cell: int, count: Any, sums: Any) -> None:
    """Sum ``count`` over the rows of each block."""
    shared = cuda.shared.array(SCANNED, "int64")
    i, j = cuda.grid(1), cuda.threadIdx.x
    shared[j] = count[i] if i < sizes[cell] else 0
    cuda.syncthreads()
    step = SCANNED // 2
    while step > 0:
        if j < step:
            shared[j] += shared[j + step]
        cuda.syncthreads()
        step //= 2
    if j == 0:
        sums[cuda.blockIdx.x] = shared[0]


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
    step = SCANNED // 2
    while step > 0:
        if j < step:
            shared[j] += shared[j + step]
        cuda.syncthreads()
        step //= 2
    before = shared[0]
    cuda.syncthreads()
    own = count[i] if i < n else 0
    shared[j] = own
    cuda.syncthreads()
    step = 1
    while step < SCANNED:
        carried = shared[j - step] if j >= step else 0
        cuda.syncthreads()
        shared[j] += carried
        cuda.syncthreads()
        step *= 2
    if i < n:
        first[i] = before + shared[j] - own
    if i == n - 1:
        first[n] = before + shared[j]
        cells[into] = before + shared[j]


SCANS = {"sum_rows": sum_rows, "place_rows": place_rows}
