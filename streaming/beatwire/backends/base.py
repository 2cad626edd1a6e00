"""The protocol of backends: arrays between ring and beats, and the kernels that run on them.

Stages use arrays and kernels of a `Backend` and never its name. There are two: ``cpu.CPU`` and
``cuda.backend.CudaBackend``; ``choose`` selects one at the start.

A stage may

- keep arrays of ``grown`` as its state, and arrays of ``constant``, which never change;
- write to arrays of ``buffer`` and ``table`` within a tick. In the next tick they have any address and any contents;
- call ``kernels.NAME(n, *arguments)``, with arrays of the host among the arguments. On a device these may have more
  rows, filled with the largest numbers if they are int64. The kernel runs after those called before; on a device perhaps
  not before ``fetch``, so that only kernels may read its results until then;
- count rows with ``positions`` and pass the sum as the ``n`` of a kernel, to ``later`` kernels, or to ``fetch``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, SupportsIndex

from beatwire.backends.network import Network
from beatwire.kernels.table import Kernels


class Table(NamedTuple):
    """Columns of the same length; the first ``total`` rows are valid."""

    key: Hashable
    total: SupportsIndex
    columns: tuple[Any, ...]


class Memory(NamedTuple):
    """Use of a memory pool: bytes now, the largest number so far, and the number of allocations."""

    current_bytes: int
    peak_bytes: int
    allocations: int


class Backend(Protocol):
    """Arrays and kernels.

    name         "cpu" or "gpu"
    reason       one line on why this backend was chosen
    xp           the library of its arrays: NumPy or CuPy
    kernels      kernels of a pass that read or write the rings
    later        kernels of a pass that do not: they run after those of all passes of the tick
    block        samples that the scratch of a team holds at a time
    long_block   the same for kernels that process a long stretch lead by lead
    in_order     items of a kernel run one after the other
    """

    name: str
    reason: str
    xp: Any
    kernels: Kernels
    later: Kernels
    block: int
    long_block: int
    in_order: bool

    @property
    def memory(self) -> Memory | None:
        """The use of the memory pool; None: the backend has no pool."""

    @property
    def limit_bytes(self) -> int | None:
        """The limit of the memory pool in bytes; None: no limit."""

    def begin(self) -> None:
        """Begin a tick; drop the calls of one that has not been finished."""

    def rehearsals(self) -> Iterator[None]:
        """Yield once for each variant of the kernels: the caller then runs all of them, so that they are compiled."""

    def next_pass(self) -> None:
        """Begin a pass of the tick; arrays of ``buffer`` and ``table`` of the pass before keep their contents."""

    def start(self) -> None:
        """Start all kernels called so far, ``later`` ones too, without waiting for further passes."""

    def grown(self, old: Any | None, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return zeros of ``shape`` with ``old`` at their beginning."""

    def constant(self, host: Any) -> Any:
        """Return an array with the contents of a host array, for as long as it is kept."""

    def buffer(self, key: str, shape: tuple[SupportsIndex, ...], dtype: Any) -> Any:
        """Return an uninitialised array of at least ``shape``."""

    def release_buffers(self) -> None:
        """Free all arrays of ``buffer`` and ``table``, before larger ones are needed."""

    def table(self, key: str, total: SupportsIndex, dtypes: Sequence[Any]) -> Table:
        """Return columns of at least ``total`` rows."""

    def positions(self, key: str, n: SupportsIndex, count: Any, most: int) -> tuple[Any, SupportsIndex]:
        """Return the sums [n + 1] of ``count`` before each row, and the sum of all ``n`` rows, at most ``most``."""

    def numbers(self, total: SupportsIndex) -> Any:
        """Return 0, 1, 2, ..., at least ``total`` of them."""

    def embed(
        self, network: Network, windows: Any, scale: Any, total: SupportsIndex, latents: Any, reconstruction_error: Any
    ) -> None:
        """Do what ``network.embed_into`` does, as a ``later`` kernel."""

    def finish(self, tables: Sequence[Table]) -> Callable[[], list[tuple[Any, ...]]]:
        """End the tick; return a function that waits for it and returns the columns of tables.

        These are NumPy arrays of exactly their rows. One more tick may be finished before the function is called.
        """

    def fetch(self, tables: Sequence[Table]) -> list[tuple[Any, ...]]:
        """End the tick, wait for it, and return the columns of tables."""
