"""An NVIDIA card: one memory pool under CuPy, Numba and torch, one stream, pinned copies, graphs.

Order matters: RMM's resource first, then torch's allocator before torch touches the card, then everything else. Arrays
are allocated by CuPy only; Numba launches on them without a copy.
"""

from __future__ import annotations

import gc
import importlib.util
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from beatwire.backends.base import Memory
from beatwire.backends.network import Network
from beatwire.errors import FatalError, UserError
from beatwire.jit.cuda import vae
from beatwire.records import U8

GRAPHS = 64
VIEWS = 4096
WEIGHTS = (
    "encode", "encode_bias", "latent", "latent_bias", "decode", "decode_bias", "output", "output_bias"
)  # fmt: skip
BLOCKS_EACH = 16  # blocks of a multiprocessor
THREADS, BRING_BLOCKS = 256, 16
BRING = """
extern "C" __global__ void bring(const long long* segments) {
    const long long* s = segments + 4 * blockIdx.y;
    if (s[2] == 1LL << 62) return;
    const uint4* from = (const uint4*) s[0];
    uint4* to = (uint4*) s[1];
    const long long n = (*(const long long*) s[3] * s[2] + 15) / 16;
    for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) to[i] = from[i];
}
"""


@dataclass(slots=True)
class Kept:
    """How often a tape was run; its graph, once it has one."""

    runs: int = 0
    graph: Any = None


class CudaCard:
    """A card through CuPy.

    Parameters
    ----------
    limit_bytes
        What the pool may take; None: whatever is free.
    managed
        Memory that moves between host and card, for a card that others use as well.
    graphs
        Keep tapes that come again as graphs.
    nvtx
        Name every kernel for a profiler; no graphs then.

    Raises
    ------
    UserError
        There is no such library, no card, or not so much memory.
    """

    def __init__(
        self, limit_bytes: int | None = None, *, managed: bool = False, graphs: bool = True, nvtx: bool = False
    ) -> None:
        self.xp = _imported("cupy")
        self.limit_bytes, self._resource = _pool(self.xp, limit_bytes, managed)
        self._cuda = _imported("numba.cuda")
        properties = self.xp.cuda.runtime.getDeviceProperties(self.xp.cuda.runtime.getDevice())
        _imported("numba.cuda.dispatcher").config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # a ward of one bed is no mistake
        self.name = properties["name"].decode()
        self.blocks = BLOCKS_EACH * int(properties["multiProcessorCount"])
        self.stream, self._aside = self.xp.cuda.Stream(), self.xp.cuda.Stream()
        self._numba_stream = self._cuda.external_stream(self.stream.ptr)
        self._arrived = self.xp.cuda.Event(disable_timing=True)
        self._bring = self.xp.RawKernel(BRING, "bring")
        self._networks: list[tuple[Any, tuple[Any, ...]]] = []
        self._views: dict[Hashable, Any] = {}
        self._kept: OrderedDict[Hashable, Kept] = OrderedDict()
        self._graphs, self._nvtx = graphs and not nvtx, nvtx

    @property
    def memory(self) -> Memory:
        """What the pool has given."""
        counts = self._resource.allocation_counts
        return Memory(int(counts.current_bytes), int(counts.peak_bytes), int(counts.total_count))

    @property
    def graphs_kept(self) -> int:
        """How many tapes are graphs."""
        return sum(kept.graph is not None for kept in self._kept.values())

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return an array on the card with anything in it; what was known of older ones is forgotten.

        What the stream was asked for is done by then: memory that was given back in the meantime comes again here, and
        what goes up goes aside.
        """
        self.stream.synchronize()
        self._views.clear()
        self._kept.clear()
        try:
            return self._given(shape, dtype)
        except MemoryError:
            wanted = int(np.prod(shape, dtype=np.float64)) * np.dtype(dtype).itemsize
            raise FatalError(
                f"gpu: expected {wanted / 2**20:.0f} MiB more of the card's memory; "
                f"{self.memory.current_bytes / 2**20:.0f} MiB are in use and the pool is full (--gpu-memory)"
            ) from None

    def _given(self, shape: tuple[int, ...], dtype: Any) -> Any:
        try:
            return self.xp.empty(shape, dtype)
        except MemoryError:
            gc.collect()  # a graph that is not needed any more refers to itself: its arrays go now
            return self.xp.empty(shape, dtype)

    def constant(self, host: Any) -> Any:
        """Return a copy of a host array on the card."""
        there = self.empty(host.shape, host.dtype)
        there.set(np.ascontiguousarray(host))
        return there

    def pinned(self, nbytes: int) -> U8:
        """Return page-locked host memory."""
        return np.frombuffer(self.xp.cuda.alloc_pinned_memory(nbytes), np.uint8, nbytes)

    def up(self, device: Any, host: U8, first: int, stop: int) -> None:
        """Begin to copy bytes [first, stop) of both to the card, on a stream of their own."""
        runtime = self.xp.cuda.runtime
        there, here = device.data.ptr + first, host.ctypes.data + first
        runtime.memcpyAsync(there, here, stop - first, runtime.memcpyHostToDevice, self._aside.ptr)

    def network(self, weights: Network) -> int:
        """Put the weights of a network on the card; returns its number."""
        hidden = len(weights.encode_bias)
        if hidden % 4:
            raise UserError(f"gpu: expected a model with a multiple of 4 hidden units; got {hidden}")
        there = tuple(self.constant(getattr(weights, name)) for name in WEIGHTS)
        source = f"#define HIDDEN {hidden}\n{vae.SOURCE}"
        half = np.float32(0.5 / weights.variance)
        self._networks.append((self.xp.RawKernel(source, "embed"), (*there, half)))
        return len(self._networks) - 1

    def embed(self, network: int, most: int, sizes: Any, cell: int, *arrays: Any) -> None:
        """Start a network; see ``jit.cuda.vae``."""
        kernel, weights = self._networks[network]
        windows, scale, latents, reconstruction_error = arrays
        blocks = min(-(-most // (vae.WARPS * vae.TOGETHER)), self.blocks)
        given = (sizes[cell : cell + 1], windows, scale, *weights, latents, reconstruction_error)
        with self.stream:
            kernel((blocks,), (32 * vae.WARPS,), given)

    def bring(self, segments: Any) -> None:
        """Start copying segments to pinned memory, which the card writes itself; see ``staging.Segments``."""
        with self.stream:
            self._bring((BRING_BLOCKS, len(segments)), (THREADS,), (segments,))

    def reached(self) -> Any:
        """Return a mark behind what the stream was asked for."""
        mark = self.xp.cuda.Event(disable_timing=True)
        mark.record(self.stream)
        return mark

    def wait(self, mark: Any = None) -> None:
        """Wait for the stream, or for what is before a mark."""
        (self.stream if mark is None else mark).synchronize()

    def address(self, array: Any) -> int:
        """Return where an array stands."""
        return int(array.data.ptr)

    def failure(self, error: Exception) -> str | None:
        """Return what happened to the card, one line; None when the error says nothing of it."""
        library = type(error).__module__.partition(".")[0]
        of_card = library in ("cupy", "cupy_backends", "numba", "numba_cuda") or "CUDA" in str(error)
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0]}" if of_card else None

    def launch(
        self, name: str, kernel: Any, grid: tuple[tuple[int, int], int, int], arguments: tuple[Any, ...]
    ) -> None:
        """Start a kernel."""
        blocks, threads, shared = grid
        if self._nvtx:
            self.xp.cuda.nvtx.RangePush(name)
        kernel[blocks, threads, self._numba_stream, shared](*map(self._seen, arguments))
        if self._nvtx:
            self.xp.cuda.nvtx.RangePop()

    def _seen(self, argument: Any) -> Any:
        """Return an argument as Numba takes it; views of arrays are kept."""
        if isinstance(argument, tuple):
            return tuple(map(self._seen, argument))
        if isinstance(argument, int | float):
            return argument
        key = argument.data.ptr, argument.shape, argument.dtype
        kept = self._views.get(key)
        if kept is None:
            if len(self._views) > VIEWS:
                self._views.clear()
            kept = self._views[key] = self._cuda.as_cuda_array(argument, sync=False)
        return kept

    def run(self, key: Hashable, tape: Callable[[], None]) -> None:
        """Run a tape after all that goes up: twice as it is, then as a graph."""
        self._arrived.record(self._aside)
        self.stream.wait_event(self._arrived)
        kept = self._kept.setdefault(key, Kept())
        self._kept.move_to_end(key)
        if len(self._kept) > GRAPHS:
            self._kept.popitem(last=False)
        if kept.graph is None and (not self._graphs or kept.runs < 2):  # the first run compiles and allocates
            kept.runs += 1
            tape()
            return
        if kept.graph is None:
            self.stream.begin_capture()
            try:
                tape()
            finally:
                kept.graph = self.stream.end_capture()
        kept.graph.launch(self.stream)


def missing() -> str | None:
    """Return why there is no usable card; None when there is one."""
    try:
        cupy = _imported("cupy")
        found = int(cupy.cuda.runtime.getDeviceCount())
        driver, runtime = cupy.cuda.runtime.driverGetVersion(), cupy.cuda.runtime.runtimeGetVersion()
    except UserError as error:
        return str(error)
    except Exception as error:  # whatever a driver that does not fit says
        return str(error).splitlines()[0]
    if not found:
        return "no CUDA device"
    if driver // 1000 < runtime // 1000:
        return f"the driver is for CUDA {driver // 1000}, the libraries for CUDA {runtime // 1000}"
    return None


def _imported(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UserError(f"{error} (pip install 'beatwire[gpu]')") from None


def _pool(cupy: Any, limit_bytes: int | None, managed: bool) -> tuple[int, Any]:
    """Put one pool under everything that allocates; returns its limit and what counts."""
    rmm = _imported("rmm")
    rmm.set_logging_level(rmm.level_enum.off)  # a pool that is full is told by whoever asked
    below = rmm.mr.ManagedMemoryResource() if managed else rmm.mr.CudaMemoryResource()
    free = int(cupy.cuda.runtime.memGetInfo()[0])
    most = int(0.9 * free) if limit_bytes is None else limit_bytes
    if most > free:
        raise UserError(
            f"--gpu-memory: expected at most the {free / 2**30:.1f} GiB that are free; got {most / 2**30:.1f}"
        )
    first = min(most, 1 << 30) // 256 * 256
    pool = rmm.mr.PoolMemoryResource(below, initial_pool_size=first, maximum_pool_size=most // 256 * 256)
    counted = rmm.mr.StatisticsResourceAdaptor(pool)
    rmm.mr.set_current_device_resource(counted)
    if importlib.util.find_spec("torch") is not None:  # torch is optional; beside others it takes from the same pool
        torch, of_torch = _imported("torch"), _imported("rmm.allocators.torch")
        torch.cuda.memory.change_current_allocator(of_torch.rmm_torch_allocator)
    cupy.cuda.set_allocator(_imported("rmm.allocators.cupy").rmm_cupy_allocator)
    return most, counted
