"""The CPU backend of a monitor: it waits for the scoring model for a moment only.

A model that takes longer is left to end on its own thread, and its result is dropped; until then it is given no beats.
So it delays an alarm by ``PATIENCE_S`` at most, once.
"""

from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import SupportsIndex

import numpy as np

from beatwire.backends.cpu import Cpu
from beatwire.backends.network import Network, embed_into
from beatwire.records import F32

PATIENCE_S = 0.4  # beyond that an asystole would be announced more than 0.5 s late
PATIENCE_OF_A_BEAT_S = 1e-4  # a replay has many beats in a tick; a beat takes some microseconds


class PatientCpu(Cpu):
    """The CPU; ``embed`` returns False if the network has not answered in time."""

    def __init__(self, patience_s: float = PATIENCE_S, reason: str = "backend cpu, as asked") -> None:
        super().__init__(reason)
        self._patience_s = patience_s
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="scoring")
        self._running: Future[bool] | None = None

    @property
    def is_stalled(self) -> bool:
        """Return True while the network works on beats for which nobody waits any more."""
        return self._running is not None and not self._running.done()

    def embed(
        self, network: Network, windows: F32, scale: F32, total: SupportsIndex, latents: F32, reconstruction_error: F32
    ) -> bool:
        """Run the network on its thread; without an answer in time nothing is written."""
        if self.is_stalled:
            return False
        if not total.__index__():
            return True
        patience_s = self._patience_s + PATIENCE_OF_A_BEAT_S * total.__index__()
        found = np.empty_like(latents), np.empty_like(reconstruction_error)
        self._running = self._thread.submit(embed_into, network, np.array(windows), np.array(scale), *found)
        if not wait([self._running], patience_s).done:
            return False
        latents[:], reconstruction_error[:] = found
        return self._running.result()
