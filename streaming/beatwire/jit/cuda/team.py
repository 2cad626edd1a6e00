"""The functions of ``kernels.team`` on a device: instructions of a warp or a block, or those of the simulator."""

import functools
import importlib
import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import config

from beatwire.kernels import team

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from numba import cuda

SIMULATED = bool(config.ENABLE_CUDASIM)
THREADS = 128  # of a block
WARP = 0xFFFFFFFF
jit: Callable[..., Any] = cuda.jit


@functools.cache
def team_functions(width: int) -> dict[str, Any]:
    """Return the functions of ``kernels.team`` for teams of ``width`` threads, by name."""
    if width == 1:
        bodies = team.member, team.part, team.parts, team.wait, team.most, team.fewest, team.added, team.narrow
        return {f.__name__: jit(f, device=True) for f in bodies}
    if SIMULATED:
        return _simulated_team(width)
    return _block_team(width) if width > 32 else _warp_team(width)


def part():  # type: ignore[no-untyped-def]
    """Return ``team.part``."""
    return cuda.blockIdx.y


def parts():  # type: ignore[no-untyped-def]
    """Return ``team.parts``."""
    return cuda.gridDim.y


def narrow(value):  # type: ignore[no-untyped-def]
    """Return ``team.narrow``."""
    return np.int32(value)


def _warp_team(width: int) -> dict[str, Any]:
    """Return the functions for a part of a warp: 2, 4, 8, 16 or 32 threads."""
    rest, every, half = width - 1, (1 << width) - 1, width // 2

    def member():  # type: ignore[no-untyped-def]
        return cuda.threadIdx.x & rest

    @jit(device=True)
    def mates():  # type: ignore[no-untyped-def]
        return every << (cuda.laneid & ~rest)

    def wait():  # type: ignore[no-untyped-def]
        cuda.syncwarp(mates())

    def reduction(combine: Callable[..., Any]) -> Callable[..., Any]:
        def reduce(value):  # type: ignore[no-untyped-def]
            step = half
            while step > 0:
                value = combine(value, cuda.shfl_xor_sync(mates(), value, step))
                step //= 2
            cuda.syncwarp(mates())
            return value

        return reduce

    own = {"member": member, "wait": wait} | {name: reduction(combine) for name, combine in _REDUCTIONS.items()}
    return {name: jit(f, device=True) for name, f in (_COMMON | own).items()}


def _block_team(width: int) -> dict[str, Any]:
    """Return the functions for a whole block of 64, 128, ... threads. Reductions are of integers only.

    All are inlined: the compiler does not see a barrier in a function. It may move the call of one into both branches
    before it, and threads that wait at different barriers never go on.
    """
    warps = width // 32

    def member():  # type: ignore[no-untyped-def]
        return cuda.threadIdx.x

    def wait():  # type: ignore[no-untyped-def]
        cuda.syncthreads()

    def reduction(combine: Callable[..., Any]) -> Callable[..., Any]:
        def reduce(value):  # type: ignore[no-untyped-def]
            of_warps = cuda.shared.array(warps, "int64")
            step = 16
            while step > 0:
                value = combine(value, cuda.shfl_xor_sync(WARP, value, step))
                step //= 2
            of_warps[cuda.threadIdx.x >> 5] = value
            cuda.syncthreads()
            value = of_warps[0]
            for k in range(1, warps):
                value = combine(value, of_warps[k])
            cuda.syncthreads()
            return value

        return reduce

    own = {"member": member, "wait": wait} | {name: reduction(combine) for name, combine in _REDUCTIONS.items()}
    return {name: jit(f, device=True, forceinline=True) for name, f in (_COMMON | own).items()}


_REDUCTIONS: dict[str, Callable[..., Any]] = {"most": max, "fewest": min, "added": operator.add}
_COMMON = {"part": part, "parts": parts, "narrow": narrow}  # to warps and blocks


def _simulated_team(width: int) -> dict[str, Any]:
    """Return the functions for a whole block of the simulator, which has no warps.

    While a device function runs, the simulator replaces ``cuda`` in its module, and restores it as soon as the first
    thread returns, for the other threads as well. So these functions get the simulator's module themselves.
    """
    context = importlib.import_module("numba.cuda.simulator.kernel")._get_kernel_context  # noqa: SLF001

    def values_of_all(value: Any) -> list[Any]:
        block = context()
        integers = block.shared.array(width, "int64")  # the simulator identifies shared arrays by line
        floats = block.shared.array(width, "float64")
        shared = floats if isinstance(value, float | np.floating) else integers
        block.syncthreads()
        shared[block.threadIdx.x] = value
        block.syncthreads()
        return [shared[k].item() for k in range(width)]

    def member() -> int:
        return int(context().threadIdx.x)

    def part() -> int:
        return int(context().blockIdx.y)

    def parts() -> int:
        return int(context().gridDim.y)

    def wait() -> None:
        context().syncthreads()

    def most(value: Any) -> Any:
        return max(values_of_all(value))

    def fewest(value: Any) -> Any:
        return min(values_of_all(value))

    def added(value: Any) -> Any:
        return sum(values_of_all(value))

    def narrow(value: Any) -> Any:
        return (int(value) + (1 << 31)) % (1 << 32) - (1 << 31)  # wraps round, as on the card

    return {f.__name__: jit(f, device=True) for f in (member, part, parts, wait, most, fewest, added, narrow)}
