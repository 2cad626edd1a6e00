"""A simulated card: NumPy arrays in place of the device's, Numba's simulator for its kernels."""

import ctypes
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any

import numpy as np
from beatwire.backends.base import Memory
from beatwire.backends.cuda.protocols import Grid
from beatwire.backends.cuda.staging import BEYOND
from beatwire.backends.network import Network, embed_into
from beatwire.kernels.scores.history import LATENTS


class OnDevice(np.ndarray):
    """An array of the simulated device; the backend stages arrays of the host only."""


class SimulatedCard:
    """Does what a card does; each call has been carried out when it returns."""

    xp: Any = np
    blocks = 3
    limit_bytes = 1 << 40

    def __init__(self) -> None:
        self.allocated = 0
        self.keys: list[Hashable] = []
        self.networks: list[Network] = []

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        self.allocated += 1
        new = np.empty(shape, dtype)
        new.view(np.uint8).reshape(-1)[:] = 0xA5  # a pattern that reveals memory that no kernel has written
        return new.view(OnDevice)

    def constant(self, host: np.ndarray) -> Any:
        return host.copy().view(OnDevice)

    def pinned(self, nbytes: int) -> np.ndarray:
        return np.full(nbytes, 0x5A, np.uint8)

    def copy_to_device(self, device: Any, host: np.ndarray, first: int, stop: int) -> None:
        device[first:stop] = host[first:stop]

    def load_network(self, weights: Network) -> int:
        self.networks.append(replace(weights, scorer=None))
        return len(self.networks) - 1

    def embed(self, network: int, most: int, sizes: Any, cell: int, *arrays: Any) -> None:
        windows, scale, latents, reconstruction_error = (np.asarray(a)[: int(sizes[cell])] for a in arrays)
        embed_into(self.networks[network], windows, scale, latents, reconstruction_error)

    def score(self, scorer: Any, windows: Any, scale: Any, out: Any, count: Any) -> None:
        n = int(count[0])
        scorer.score_into(*(np.asarray(array)[:n] for array in (windows, scale, out)))

    def copy_to_host(self, segments: Any) -> None:
        for source, target, size, number in np.asarray(segments).tolist():
            if size < BEYOND:
                ctypes.memmove(target, source, size * ctypes.c_int64.from_address(number).value)

    def record_event(self) -> Any:
        return None

    def wait(self, event: Any = None) -> None:
        pass

    def address(self, array: Any) -> int:
        return int(array.__array_interface__["data"][0])

    def failure(self, error: Exception) -> str | None:
        return str(error) if "card" in str(error) else None

    @property
    def memory(self) -> Memory:
        return Memory(0, 0, self.allocated)

    def launch(self, name: str, kernel: Any, grid: Grid, arguments: tuple[Any, ...]) -> None:
        kernel[grid[:2]](*arguments)

    def run(self, key: Hashable, launch_all: Callable[[], None]) -> None:
        self.keys.append(key)
        launch_all()


def embedded(device: Any, network: Network, windows: np.ndarray, scale: np.ndarray) -> Any:
    """Latents and reconstruction error of windows by a device that counts the windows itself."""
    n = len(scale)
    device.next_pass()
    _, total = device.positions("test of embed", n, device.constant(np.ones(n, np.int64)), n + 3)
    latents = np.dtype((np.float32, LATENTS))
    table = device.table("test of embed", total, (latents, np.float32))
    device.embed(network, device.constant(windows), device.constant(scale), total, *table.columns)
    return device.fetch([table])[0]
