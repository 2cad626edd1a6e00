"""A card that is none: NumPy's arrays for the device's, Numba's simulator for its kernels."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import torch

from streaming.backend import Memory
from streaming.network import Network, on_torch


class OnDevice(np.ndarray):
    """An array of the simulated device; a host array given to a kernel would be uploaded."""


class SimulatedCard:
    """Does what a card does, at once."""

    xp: Any = np
    blocks = 3
    limit_bytes = 1 << 40

    def __init__(self) -> None:
        self.allocated = 0
        self.ran: list[Hashable] = []

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        self.allocated += 1
        new = np.empty(shape, dtype)
        new.view(np.uint8).reshape(-1)[:] = 0xA5  # what nobody wrote shows
        return new.view(OnDevice)

    def constant(self, host: np.ndarray) -> Any:
        return host.copy().view(OnDevice)

    def network(self, weights: Network) -> Callable[..., None]:
        return on_torch(weights, lambda array: torch.from_numpy(np.asarray(array)))

    def pinned(self, nbytes: int) -> np.ndarray:
        return np.full(nbytes, 0x5A, np.uint8)

    def up(self, device: Any, host: np.ndarray, nbytes: int) -> None:
        device[:nbytes] = host[:nbytes]

    def down(self, host: np.ndarray, device: Any, width: int, *, aside: bool = False) -> None:
        size = device.shape[0] * width
        host[:size] = np.ascontiguousarray(np.asarray(device)[:, :width]).reshape(-1)

    def wait(self) -> None:
        pass

    def address(self, array: Any) -> int:
        return int(array.__array_interface__["data"][0])

    def failure(self, error: Exception) -> str | None:
        return str(error) if "card" in str(error) else None

    @property
    def memory(self) -> Memory:
        return Memory(0, 0, self.allocated)

    def launch(self, name: str, kernel: Any, grid: tuple[int, int, int], arguments: tuple[Any, ...]) -> None:
        kernel[grid[:2]](*arguments)

    def run(self, key: Hashable, tape: Callable[[], None]) -> None:
        self.ran.append(key)
        tape()
