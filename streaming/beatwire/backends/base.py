"""cpu or gpu: chosen once, said once, never silently something else.

A `Backend` is where the arrays between ring and beats live, and what runs there. Stages ask it for arrays and
kernels and never for its name; the CPU's is ``CPU``, the GPU's is a ``device.Device``.

What a stage may do with either:

- keep arrays made by ``grown`` as its state, and arrays that never change as ``constant`` returns them; host arrays
  among the arguments of a kernel may have more rows there, int64 ones filled with the largest numbers;
- write to the arrays of ``room`` and ``table`` within a tick: the next tick may find them anywhere, with anything
  in them;
- call ``kernels.NAME(n, *arguments)``, host arrays among the arguments included. It runs after those called before
  and, on a device, perhaps not before ``fetch``: nothing is read between but by kernels;
- count rows with ``positions`` and pass the sum on as an ``n``.

Sums are used by ``later`` kernels and ``fetch``, and as ``n`` anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, SupportsIndex

from beatwire.backends.network import Network
from beatwire.kernels.table import Kernels


class Table(NamedTuple):
    """Columns of the same length, without holes: the first ``total`` rows count."""

    key: Hashable
    total: SupportsIndex
    columns: tuple[Any, ...]


class Memory(NamedTuple):
    """Bytes of a pool in use, at most so far, and how often something was allocated."""

    current_bytes: int
    peak_bytes: int
    allocations: int


class Backend(Protocol):
    """Where the arrays live.

    xp         their library: NumPy or CuPy
    kernels    what passes call while they go through the rings
    later      what is called for a pass after it has left them: runs when all passes of the tick have
    block      samples that a team's scratch holds at a time
    long_block the same where a stretch is longer than that, for what goes through it lead by lead
    in_order   items of a kernel run one after the other
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
        """What the backend's pool of memory has given; None: it has none of its own."""

    @property
    def limit_bytes(self) -> int | None:
        """What the pool may give; None: no limit."""

    def begin(self) -> None:
        """Begin a tick: forget what an unfinished one left."""

    def rehearsals(self) -> Iterator[None]:
        """Yield once for each way that kernels are compiled: what runs then need not be compiled later."""

    def next_pass(self) -> None:
        """Begin a pass of the tick; what ``room`` and ``table`` gave for the last one stays as it is."""

    def start(self) -> None:
        """Begin with what was called so far, ``later`` calls too: no pass that was called waits for one to come."""

    def grown(self, old: Any | None, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return zeros of ``shape`` with ``old`` at their beginning."""

    def constant(self, host: Any) -> Any:
        """Return an array to keep that says the same as one of the host."""

    def buffer(self, key: str, shape: tuple[SupportsIndex, ...], dtype: Any) -> Any:
        """Return an array of at least ``shape`` with anything in it."""

    def release_buffers(self) -> None:
        """Give back the memory of all ``room`` and ``table``: larger ones will come."""

    def table(self, key: str, total: SupportsIndex, dtypes: Sequence[Any]) -> Table:
        """Return columns with room for ``total`` rows."""

    def positions(self, key: str, n: SupportsIndex, count: Any, most: int) -> tuple[Any, SupportsIndex]:
        """Return the sums [n + 1] of ``count`` before each row, and of all ``n`` rows; that is at most ``most``."""

    def numbers(self, total: SupportsIndex) -> Any:
        """Return 0, 1, 2, ..., at least ``total`` of them."""

    def embed(
        self, network: Network, windows: Any, scale: Any, total: SupportsIndex, latents: Any, reconstruction_error: Any
    ) -> None:
        """Do what ``network.embed_into`` does, as one of the ``later`` calls."""

    def finish(self, tables: Sequence[Table]) -> Callable[[], list[tuple[Any, ...]]]:
        """End the tick: return what waits for it and returns the columns of tables.

        These are NumPy arrays of exactly their rows. One tick more may ``begin`` and be finished before it is called.
        """

    def fetch(self, tables: Sequence[Table]) -> list[tuple[Any, ...]]:
        """End the tick, wait for it, and return the columns of tables."""
