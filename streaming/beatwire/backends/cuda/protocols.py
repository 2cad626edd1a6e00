"""What a CUDA backend needs of a card: launches, copies, memory. ``card.CudaCard`` has it, and the tests' simulation.

Arrays of a card behave like NumPy's and are not ``np.ndarray`` themselves.
"""

from collections.abc import Callable, Hashable
from typing import Any, Protocol

from beatwire.backends.base import Memory
from beatwire.backends.network import Network, WindowScorer
from beatwire.records import U8

Grid = tuple[tuple[int, int], int, int]  # blocks on two axes, threads of a block, bytes of its shared memory


class LaunchCard(Protocol):
    """What launch lists need.

    blocks   the largest number of blocks that a kernel is launched with
    """

    blocks: int

    def address(self, array: Any) -> int:
        """Return the address of an array."""

    def launch(self, name: str, kernel: Any, grid: Grid, arguments: tuple[Any, ...]) -> None:
        """Launch a kernel; tuples among the arguments contain arrays as well."""

    def run(self, key: Hashable, launch_all: Callable[[], None]) -> None:
        """Run ``launch_all`` after all copies to the device; with an equal ``key`` it launches the same."""

    def embed(self, network: int, most: int, sizes: Any, cell: int, *arrays: Any) -> None:
        """Launch a network by its number, for ``sizes[cell]`` windows (at most ``most``)."""

    def copy_to_host(self, segments: Any) -> None:
        """Launch a kernel that copies memory to the host: int64 [n, 4], see ``staging.Segments``."""


class CopyCard(Protocol):
    """What staging needs."""

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return an uninitialised array of the device."""

    def pinned(self, nbytes: int) -> U8:
        """Return host memory that the device can read and write."""

    def copy_to_device(self, device: Any, host: U8, first: int, stop: int) -> None:
        """Begin to copy bytes [first, stop) of ``host`` to the same place of ``device``, beside running kernels."""

    def address(self, array: Any) -> int:
        """Return the address of an array."""


class Card(LaunchCard, CopyCard, Protocol):
    """What the backend needs.

    xp            the library of the device's arrays
    limit_bytes   the limit of its memory pool
    """

    xp: Any
    limit_bytes: int

    def constant(self, host: Any) -> Any:
        """Return a copy of a host array on the device."""

    def load_network(self, weights: Network) -> int:
        """Copy the weights of a network to the device; return its number for ``embed``."""

    def score(self, scorer: WindowScorer, windows: Any, scale: Any, out: Any, count: Any) -> None:
        """Run the scorer of the user, after all work that has been launched."""

    def record_event(self) -> Any:
        """Return an event after all work that has been launched."""

    def wait(self, event: Any = None) -> None:
        """Wait for an event; None: for all work."""

    def failure(self, error: Exception) -> str | None:
        """Return one line on what happened to the device; None for an error of another kind."""

    @property
    def memory(self) -> Memory:
        """The use of the memory pool."""
