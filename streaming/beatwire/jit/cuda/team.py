"""What stands for the functions of ``kernels.team`` on a device: instructions of a warp, or the simulator's."""

from __future__ import annotations

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
    """Return what stands for the functions of ``kernels.team`` in teams of ``width`` threads."""
    if width == 1:
        alone = team.member, team.part, team.parts, team.wait, team.most, team.fewest, team.added, team.narrow
        return {f.__name__: jit(f, device=True) for f in alone}
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
    """Return them for a part of a warp: 2, 4, 8, 16 or 32 threads."""
    rest, every, half = width - 1, (1 << width) - 1, width // 2

    def member():  # type: ignore[no-untyped-def]
        return cuda.threadIdx.x & rest

    @jit(device=True)
    def mates():  # type: ignore[no-untyped-def]
        return every << (cuda.laneid & ~rest)

    def wait():  # type: ignore[no-untyped-def]
        cuda.syncwarp(mates())

    def joined(of_two: Callable[..., Any]) -> Callable[..., Any]:
        def join(value):  # type: ignore[no-untyped-def]
            step = half
            while step > 0:
                value = of_two(value, cuda.shfl_xor_sync(mates(), value, step))
                step //= 2
            cuda.syncwarp(mates())
            return value

        return join

    own = {"member": member, "wait": wait} | {name: joined(of_two) for name, of_two in _JOINED.items()}
    return {name: jit(f, device=True) for name, f in (_ALIKE | own).items()}


def _block_team(width: int) -> dict[str, Any]:
    """Return them for a whole block of 64, 128, ... threads. Only integers are put together.

    All are inlined: the compiler knows a barrier, but not a function that holds one, and might draw a call of it into
    both branches of a choice before it, where threads would wait for each other for ever.
    """
    warps = width // 32

    def member():  # type: ignore[no-untyped-def]
        return cuda.threadIdx.x

    def wait():  # type: ignore[no-untyped-def]
        cuda.syncthreads()

    def joined(of_two: Callable[..., Any]) -> Callable[..., Any]:
        def join(value):  # type: ignore[no-untyped-def]
            of_warps = cuda.shared.array(warps, "int64")
            step = 16
            while step > 0:
                value = of_two(value, cuda.shfl_xor_sync(WARP, value, step))
                step //= 2
            of_warps[cuda.threadIdx.x >> 5] = value
            cuda.syncthreads()
            value = of_warps[0]
            for k in range(1, warps):
                value = of_two(value, of_warps[k])
            cuda.syncthreads()
            return value

        return join

    own = {"member": member, "wait": wait} | {name: joined(of_two) for name, of_two in _JOINED.items()}
    return {name: jit(f, device=True, forceinline=True) for name, f in (_ALIKE | own).items()}


_JOINED: dict[str, Callable[..., Any]] = {
    "most": max,
    "fewest": min,
    "added": operator.add,
}  # by what the members' values are put together
_ALIKE = {"part": part, "parts": parts, "narrow": narrow}  # in warps and blocks


def _simulated_team(width: int) -> dict[str, Any]:
    """Return them for a whole block of the simulator, which knows no warps.

    While a device function runs the simulator puts its own module in the place of ``cuda``, and takes it away when the
    first of the threads returns that called it, from the others as well: so they ask for that module themselves.
    """
    within = importlib.import_module("numba.cuda.simulator.kernel")._get_kernel_context  # noqa: SLF001

    def gathered(value: Any) -> list[Any]:
        here = within()
        integers = here.shared.array(width, "int64")  # the simulator knows them by the line they stand on
        floats = here.shared.array(width, "float64")
        shared = floats if isinstance(value, float | np.floating) else integers
        here.syncthreads()
        shared[here.threadIdx.x] = value
        here.syncthreads()
        return [shared[k].item() for k in range(width)]

    def member() -> int:
        return int(within().threadIdx.x)

    def part() -> int:
        return int(within().blockIdx.y)

    def parts() -> int:
        return int(within().gridDim.y)

    def wait() -> None:
        within().syncthreads()

    def most(value: Any) -> Any:
        return max(gathered(value))

    def fewest(value: Any) -> Any:
        return min(gathered(value))

    def added(value: Any) -> Any:
        return sum(gathered(value))

    def narrow(value: Any) -> Any:
        return (int(value) + (1 << 31)) % (1 << 32) - (1 << 31)  # of what nobody looks at no more is left either

    return {f.__name__: jit(f, device=True) for f in (member, part, parts, wait, most, fewest, added, narrow)}
