"""What a backend is: where the arrays between ring and gather are, and what runs kernels on them.

Stages get arrays and kernels from a ``Backend`` and do not depend on which one it is: ``backends.cpu.CPU``, or a
``backends.cuda.backend.CudaBackend``. ``backends.choose`` selects one, once and with a message, and never falls back
silently.

What a stage may do with either:

- keep arrays made by ``grown`` as its state, and arrays that never change as ``constant`` returns them. Host arrays
  among the arguments of a kernel may have more rows on a device, int64 rows filled with the largest numbers;
- write to the arrays of ``buffer`` and ``table`` within a tick: in the next tick they may be at any address, with any
  content;
- call ``kernels.NAME(n, *arguments)`` with host arrays among the arguments. The kernel runs after those called before
  it and, on a device, perhaps not before ``fetch``: between them only kernels read the results;
- count rows with ``positions`` and pass the total on as an ``n``. Totals are used by ``later`` kernels and ``fetch``,
  and as ``n`` anywhere.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, SupportsIndex

from beatwire.backends.network import Network
from beatwire.kernels.table import Kernels


class Table(NamedTuple):
    """Columns of the same length; their first ``total`` rows are set."""

    key: Hashable
    total: SupportsIndex
    columns: tuple[Any, ...]


class Memory(NamedTuple):
    """Memory of a pool: bytes in use, the most so far, and the number of allocations."""

    current_bytes: int
    peak_bytes: int
    allocations: int


class Backend(Protocol):
    """Where arrays are and kernels run.

    name, reason  what it is, and why it was chosen, for people
    xp            the array library: NumPy or CuPy
    kernels       kernels of a pass while it goes through the rings
    later         the same kernels, run after all passes of the tick have left the rings
    block         samples that the scratch of a team holds
    long_block    the same for stretches longer than that, of several leads
    in_order      items of a kernel run one after the other
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
        """Return the memory of the backend's pool; None: it has none of its own."""

    @property
    def limit_bytes(self) -> int | None:
        """Return the bytes that the pool may have; None: no limit."""

    def begin(self) -> None:
        """Begin a tick; drop calls of an unfinished one."""

    def rehearsals(self) -> Iterator[None]:
        """Yield once for each way in which kernels are compiled: kernels that run meanwhile are compiled for it."""

    def next_pass(self) -> None:
        """Begin a pass of the tick; arrays of ``buffer`` and ``table`` of the passes before stay as they are."""

    def start(self) -> None:
        """Run the calls made so far, ``later`` calls included, without waiting for them."""

    def grown(self, old: Any | None, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return zeros of ``shape`` whose first rows are those of ``old``."""

    def constant(self, host: Any) -> Any:
        """Return an array to keep, equal to one of the host."""

    def buffer(self, key: str, shape: tuple[SupportsIndex, ...], dtype: Any) -> Any:
        """Return an array of at least ``shape`` with any content."""

    def release_buffers(self) -> None:
        """Free the memory of all ``buffer`` and ``table``, before larger ones are allocated."""

    def table(self, key: str, total: SupportsIndex, dtypes: Sequence[Any]) -> Table:
        """Return columns with room for ``total`` rows."""

    def positions(self, key: str, n: SupportsIndex, count: Any, most: int) -> tuple[Any, SupportsIndex]:
        """Return the sums [n + 1] of ``count`` before each row, and the total, which is at most ``most``."""

    def numbers(self, total: SupportsIndex) -> Any:
        """Return 0, 1, 2, ..., at least ``total`` of them."""

    def embed(
        self, network: Network, windows: Any, scale: Any, total: SupportsIndex, latents: Any, reconstruction_error: Any
    ) -> bool:
        """Do what ``network.embed_into`` does, as one of the ``later`` calls; False if the network was too slow."""

    def finish(self, tables: Sequence[Table]) -> Callable[[], list[tuple[Any, ...]]]:
        """End the tick; return a function that waits for it and returns the columns of tables.

        The columns are NumPy arrays of exactly their rows. One more tick may begin and be finished before the function
        is called.
        """

    def fetch(self, tables: Sequence[Table]) -> list[tuple[Any, ...]]:
        """End the tick, wait for it, and return the columns of tables."""
