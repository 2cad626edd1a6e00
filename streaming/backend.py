"""cpu or gpu: chosen once, said once, never silently something else.

A `Backend` is where the arrays between ring and beats live, and what runs there. Stages ask it for arrays and
kernels and never for its name; the CPU's is ``CPU``, the GPU's is a ``device.Device``.

What a stage may do with either:

- keep arrays made by ``grown`` as its state;
- write to the arrays of ``room`` and ``table`` within a tick: the next tick may find them anywhere, with anything
  in them;
- call ``kernels.NAME(n, *arguments)``, host arrays among the arguments included. It runs after those called before
  and, on a device, perhaps not before ``fetch``: nothing is read between but by kernels;
- count rows with ``positions`` and pass the sum on as an ``n``.
"""

from __future__ import annotations

import importlib
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, Protocol, SupportsIndex

import numpy as np

from streaming.errors import UserError
from streaming.kernels import cpu, cpu_score, team
from streaming.records import I64


class Table(NamedTuple):
    """Columns of the same length, without holes: the first ``total`` rows count."""

    key: Hashable
    total: SupportsIndex
    columns: tuple[Any, ...]


class Backend(Protocol):
    """Where the arrays live. ``block``: samples that a team's scratch holds at a time; ``xp``: the array library.

    ``in_order``: items of a kernel run one after the other.
    """

    name: str
    reason: str
    xp: Any
    kernels: Any
    block: int
    in_order: bool

    def begin(self) -> None:
        """Begin a tick: forget what an unfinished one left."""

    def next_pass(self) -> None:
        """Begin a pass of the tick; what ``room`` and ``table`` gave for the last one stays as it is."""

    def grown(self, old: Any | None, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return zeros of ``shape`` with ``old`` at their beginning."""

    def room(self, key: str, shape: tuple[SupportsIndex, ...], dtype: Any) -> Any:
        """Return an array of at least ``shape`` with anything in it."""

    def table(self, key: str, total: SupportsIndex, dtypes: Sequence[Any]) -> Table:
        """Return columns with room for ``total`` rows."""

    def positions(self, key: str, n: int, count: Any, most: int) -> tuple[Any, SupportsIndex]:
        """Return the sums of ``count`` before each row, and of all ``n`` rows; that is at most ``most``."""

    def fetch(self, tables: Sequence[Table]) -> list[tuple[Any, ...]]:
        """End the tick: return the columns of tables, exactly their rows, as NumPy arrays."""


class CpuKernels:
    """The kernels compiled for the CPU, wherever they stand."""

    modules = (cpu, cpu_score)

    def __getattr__(self, name: str) -> Any:
        for module in self.modules:
            found = getattr(module, name, None)
            if found is not None:
                return found
        raise AttributeError(name)


class Cpu:
    """NumPy and machine code: what is called has run when the call returns."""

    name = "cpu"
    xp: Any = np
    kernels: Any = CpuKernels()
    block = team.BLOCK
    in_order = True

    def __init__(self, reason: str = "backend cpu, as asked") -> None:
        self.reason = reason

    def begin(self) -> None:
        """Nothing is left of a tick."""

    def next_pass(self) -> None:
        """Every array is new."""

    def grown(self, old: Any | None, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return zeros of ``shape`` with ``old`` at their beginning."""
        new = np.zeros(shape, dtype)
        if old is not None:
            new[: len(old)] = old
        return new

    def room(self, key: str, shape: tuple[SupportsIndex, ...], dtype: Any) -> Any:  # noqa: ARG002
        """Return a new array."""
        return np.empty(shape, dtype)

    def table(self, key: str, total: SupportsIndex, dtypes: Sequence[Any]) -> Table:
        """Return new columns of exactly ``total`` rows."""
        return Table(key, total, tuple(np.empty(total, dtype) for dtype in dtypes))

    def positions(self, key: str, n: int, count: I64, most: int) -> tuple[I64, int]:  # noqa: ARG002
        """Return the sums of ``count`` before each row, and of all."""
        sums = np.cumsum(count)
        return sums - count, int(sums[-1]) if n else 0

    def fetch(self, tables: Sequence[Table]) -> list[tuple[Any, ...]]:
        """Return the columns as they are."""
        return [table.columns for table in tables]


CPU = Cpu()


def missing_gpu() -> str | None:
    """Return why there is no usable GPU; None when there is one."""
    try:
        cupy = importlib.import_module("cupy")
    except ImportError as error:
        return f"{error} (pip install 'beatwire[gpu]')"
    try:
        found = int(cupy.cuda.runtime.getDeviceCount())
    except Exception as error:
        return str(error).splitlines()[0]
    return None if found else "no CUDA device"


def choose(kind: str) -> Backend:
    """Return the backend for ``auto``, ``cpu`` or ``gpu``.

    Raises
    ------
    UserError
        gpu was asked for and cannot be had.
    """
    if kind == "gpu":
        why = missing_gpu() or "the graph's GPU kernels are not part of this version"
        raise UserError(f"--backend gpu: expected a usable GPU; got: {why}. Use --backend cpu or auto")
    if kind == "auto":
        why = missing_gpu() or "a GPU is there, but this version's graph runs on the CPU"
        return Cpu(f"backend cpu: {why}")
    return CPU
