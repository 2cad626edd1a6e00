"""A CUDA card that measures the GPU time of a tick, of each of its kernels, and the bytes uploaded."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from beatwire.backends.cuda.card import CudaCard
from beatwire.backends.cuda.protocols import Grid
from beatwire.records import U8

HOLD_NS = 20_000_000  # longer than the host takes to launch the kernels of a tick
HOLD = """
extern "C" __global__ void hold(long long ns) {
    long long begin, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
    do { asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now)); } while (now - begin < ns);
}
"""


class TimedCard(CudaCard):
    """A card that measures with CUDA events; see :class:`CudaCard` for its methods.

    The GPU time of a tick begins when the host has enqueued its last upload and ends when the results are in host
    memory. Uploads enqueued before may still be running when it begins.

    by_kernel  while True, each kernel is timed. The stream is held until all kernels of a tick are launched, so that
               the time between launches is not counted
    up_bytes   bytes uploaded
    """

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self._begin, self._end = self.xp.cuda.Event(), self.xp.cuda.Event()
        self.up_bytes = 0
        self.by_kernel = False
        self._hold = self.xp.RawKernel(HOLD, "hold")
        self.timed: list[tuple[str, Any, Any]] = []

    def copy_to_device(self, device: Any, host: U8, first: int, stop: int) -> None:
        """Copy to the device and count the bytes."""
        self.up_bytes += stop - first
        super().copy_to_device(device, host, first, stop)

    def run(self, key: Hashable, launch_all: Callable[[], None]) -> None:
        """Run the launches of a tick; its GPU time begins."""
        if self.by_kernel:
            key = object()  # a key that does not return, so that the launches are not captured as a graph
            with self.stream:
                self._hold((1,), (1,), (np.int64(HOLD_NS),))
        self._begin.record(self.stream)
        super().run(key, launch_all)

    def record_event(self) -> Any:
        """Return an event after all work enqueued so far; the GPU time of the tick ends."""
        self._end.record(self.stream)
        return super().record_event()

    def embed(self, network: int, most: int, sizes: Any, cell: int, *arrays: Any) -> None:
        """Run the network, timed."""
        with KernelTimer(self, "embed"):
            super().embed(network, most, sizes, cell, *arrays)

    def copy_to_host(self, segments: Any) -> None:
        """Copy to the host, timed."""
        with KernelTimer(self, "copy to host"):
            super().copy_to_host(segments)

    def launch(self, name: str, kernel: Any, grid: Grid, arguments: tuple[Any, ...]) -> None:
        """Launch a kernel, timed."""
        with KernelTimer(self, name):
            super().launch(name, kernel, grid, arguments)

    def tick_ms(self) -> float:
        """Return the GPU time of the last tick in milliseconds."""
        return float(self.xp.cuda.get_elapsed_time(self._begin, self._end))

    def kernel_times_us(self) -> dict[str, float]:
        """Return the microseconds of each kernel since the last call."""
        times_us: dict[str, float] = {}
        for name, begin, end in self.timed:
            times_us[name] = times_us.get(name, 0.0) + 1000 * self.xp.cuda.get_elapsed_time(begin, end)
        self.timed.clear()
        return times_us


@dataclass(slots=True)
class KernelTimer:
    """A context that records events before and after its block, if the card times kernels."""

    card: TimedCard
    name: str
    begin: Any = field(default=None)

    def __enter__(self) -> None:
        """Record the first event."""
        if self.card.by_kernel:
            self.begin = self.card.xp.cuda.Event()
            self.begin.record(self.card.stream)

    def __exit__(self, *_: object) -> None:
        """Record the second event and store both."""
        if self.card.by_kernel:
            end = self.card.xp.cuda.Event()
            end.record(self.card.stream)
            self.card.timed.append((self.name, self.begin, end))
