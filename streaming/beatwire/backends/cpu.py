"""The CPU backend: NumPy arrays, and kernels that have finished when the call returns."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, SupportsIndex

import numpy as np

from beatwire.backends.base import Memory, Table
from beatwire.backends.network import Network, embed_into
from beatwire.jit import cpu
from beatwire.kernels import team
from beatwire.kernels.table import Kernels
from beatwire.records import F32, I64


class Cpu:
    """NumPy arrays and compiled kernels; a call returns when the kernel has finished."""

    name = "cpu"
    xp: Any = np
    kernels: Kernels = cpu.kernels
    later: Kernels = cpu.kernels
    block = long_block = team.BLOCK
    in_order = True
    memory: Memory | None = None
    limit_bytes: int | None = None

    def __init__(self, reason: str = "backend cpu, as asked") -> None:
        self.reason = reason

    def begin(self) -> None:
        """Do nothing: nothing is left of an earlier tick."""

    def rehearsals(self) -> Iterator[None]:
        """Yield once: kernels are compiled in one way."""
        yield

    def next_pass(self) -> None:
        """Do nothing: every array is new."""

    def start(self) -> None:
        """Do nothing: every kernel has run."""

    def grown(self, old: Any | None, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return zeros of ``shape`` with ``old`` at their beginning."""
        new = np.zeros(shape, dtype)
        if old is not None:
            new[: len(old)] = old
        return new

    def constant(self, host: Any) -> Any:
        """Return the array."""
        return host

    def buffer(self, key: str, shape: tuple[SupportsIndex, ...], dtype: Any) -> Any:  # noqa: ARG002
        """Return a new array."""
        return np.empty(shape, dtype)

    def release_buffers(self) -> None:
        """Do nothing: no array is kept."""

    def table(self, key: str, total: SupportsIndex, dtypes: Sequence[Any]) -> Table:
        """Return new columns of exactly ``total`` rows."""
        return Table(key, total, tuple(np.empty(total, dtype) for dtype in dtypes))

    def positions(self, key: str, n: SupportsIndex, count: I64, most: int) -> tuple[I64, int]:  # noqa: ARG002
        """Return the sums of ``count`` before each row, and the total."""
        first = np.zeros(n.__index__() + 1, np.int64)
        np.add.accumulate(count, out=first[1:])
        return first, int(first[-1])

    def numbers(self, total: SupportsIndex) -> I64:
        """Return 0, 1, 2, ..."""
        return np.arange(total.__index__())

    def embed(
        self,
        network: Network,
        windows: F32,
        scale: F32,
        total: SupportsIndex,  # noqa: ARG002
        latents: F32,
        reconstruction_error: F32,
    ) -> bool:
        """Run the network."""
        return embed_into(network, windows, scale, latents, reconstruction_error)

    def finish(self, tables: Sequence[Table]) -> Callable[[], list[tuple[Any, ...]]]:
        """Return a function that returns the columns."""
        return lambda: self.fetch(tables)

    def fetch(self, tables: Sequence[Table]) -> list[tuple[Any, ...]]:
        """Return the columns."""
        return [table.columns for table in tables]


CPU = Cpu()
