"""An NVIDIA card by CuPy: arrays, copies between pinned and device memory, launches, and CUDA graphs.

In:    arrays of the host, kernels and their arguments
Out:   arrays of the device
State: one memory pool (``pool``), two streams, networks, graphs of launch lists
"""

import gc
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from beatwire.backends.base import Memory
from beatwire.backends.cuda.answers import wait_for
from beatwire.backends.cuda.pool import imported, make_pool
from beatwire.backends.cuda.protocols import Grid
from beatwire.backends.network import Network, WindowScorer
from beatwire.errors import FullMemoryError, UserError
from beatwire.jit.cuda import vae
from beatwire.records import U8

MOST_GRAPHS = 64  # of launch lists, the most recent ones
RUNS_BEFORE_GRAPH = 2  # the first run compiles and allocates, which a graph cannot
MOST_VIEWS = 4096  # arrays that Numba has views of
WEIGHTS = (
    "encode", "encode_bias", "latent", "latent_bias", "decode", "decode_bias", "output", "output_bias"
)  # fmt: skip
BLOCKS_EACH = 16  # blocks of a multiprocessor
COPY_THREADS, COPY_BLOCKS = 256, 16  # for each segment
COPY_SOURCE = """
extern "C" __global__ void copy_to_host(const long long* segments) {
    const long long* s = segments + 4 * blockIdx.y;
    if (s[2] == 1LL << 62) return;
    const uint4* from = (const uint4*) s[0];
    uint4* to = (uint4*) s[1];
    const long long n = (*(const long long*) s[3] * s[2] + 15) / 16;
    for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) to[i] = from[i];
}
"""  # staging.Segments


@dataclass(slots=True)
class CachedList:
    """How often a launch list has been run, and its graph once it has one."""

    runs: int = 0
    graph: Any = None


class CudaCard:
    """A card.

    Parameters
    ----------
    limit_bytes
        Memory of this card for beatwire; None: nine tenths of it.
    sharing
        Processes that share the card, and these bytes, equally.
    managed
        Memory that moves between host and card, for a card that other processes use as well.
    graphs
        Replay launch lists as CUDA graphs.
    nvtx
        Name each kernel for a profiler; this excludes graphs.

    Raises
    ------
    UserError
        A library is missing, there is no card, or the share of ``limit_bytes`` exceeds the free memory.
    """

    def __init__(
        self,
        limit_bytes: int | None = None,
        *,
        sharing: int = 1,
        managed: bool = False,
        graphs: bool = True,
        nvtx: bool = False,
    ) -> None:
        self.xp = imported("cupy")
        self.limit_bytes, self._resource = make_pool(self.xp, limit_bytes, sharing, managed)
        self._cuda = imported("numba.cuda")
        properties = self.xp.cuda.runtime.getDeviceProperties(self.xp.cuda.runtime.getDevice())
        imported("numba.cuda.dispatcher").config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # a ward of one bed needs one block
        self.name = properties["name"].decode()
        self.blocks = BLOCKS_EACH * int(properties["multiProcessorCount"])
        self.stream, self._copy_stream = self.xp.cuda.Stream(), self.xp.cuda.Stream()
        self._numba_stream = self._cuda.external_stream(self.stream.ptr)
        self._copied = self.xp.cuda.Event(disable_timing=True)
        self._copy_to_host = self.xp.RawKernel(COPY_SOURCE, "copy_to_host")
        self._networks: list[tuple[Any, tuple[Any, ...]]] = []
        self._views: dict[Hashable, Any] = {}
        self._lists: OrderedDict[Hashable, CachedList] = OrderedDict()
        self._use_graphs, self._nvtx = graphs and not nvtx, nvtx

    @property
    def memory(self) -> Memory:
        """The use of the memory pool."""
        counts = self._resource.allocation_counts
        return Memory(int(counts.current_bytes), int(counts.peak_bytes), int(counts.total_count))

    @property
    def free_bytes(self) -> int:
        """The card's memory that no process uses."""
        return int(self.xp.cuda.runtime.memGetInfo()[0])

    @property
    def graph_count(self) -> int:
        """The number of launch lists that have a graph."""
        return sum(one.graph is not None for one in self._lists.values())

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return an uninitialised array of the device; views and graphs of older arrays are dropped.

        It waits for the stream: the new array may have memory that was freed while kernels used it, and copies to the
        device run on another stream.

        Raises
        ------
        FullMemoryError
            The pool is full.
        """
        self.wait()
        self._views.clear()
        self._lists.clear()
        try:
            return self._allocate(shape, dtype)
        except MemoryError:
            nbytes = int(np.prod(shape, dtype=np.float64)) * np.dtype(dtype).itemsize
            raise FullMemoryError(
                f"gpu: expected {nbytes / 2**20:.0f} MiB more of the card's memory; "
                f"{self.memory.current_bytes / 2**20:.0f} MiB are in use and the pool is full (--gpu-memory)"
            ) from None

    def _allocate(self, shape: tuple[int, ...], dtype: Any) -> Any:
        try:
            return self.xp.empty(shape, dtype)
        except MemoryError:
            gc.collect()  # an unused pipeline refers to itself: this frees its arrays
            return self.xp.empty(shape, dtype)

    def constant(self, host: Any) -> Any:
        """Return a copy of a host array on the device."""
        copy = self.empty(host.shape, host.dtype)
        copy.set(np.ascontiguousarray(host))
        return copy

    def pinned(self, nbytes: int) -> U8:
        """Return page-locked host memory."""
        return np.frombuffer(self.xp.cuda.alloc_pinned_memory(nbytes), np.uint8, nbytes)

    def copy_to_device(self, device: Any, host: U8, first: int, stop: int) -> None:
        """Begin to copy bytes [first, stop) to the device, on a stream for copies."""
        runtime = self.xp.cuda.runtime
        target, source = device.data.ptr + first, host.ctypes.data + first
        runtime.memcpyAsync(target, source, stop - first, runtime.memcpyHostToDevice, self._copy_stream.ptr)

    def load_network(self, weights: Network) -> int:
        """Copy the weights of a network to the device; return its number for ``embed``.

        Raises
        ------
        UserError
            The number of hidden units is no multiple of four.
        """
        hidden = len(weights.encode_bias)
        if hidden % 4:
            raise UserError(f"gpu: expected a model with a multiple of 4 hidden units; got {hidden}")
        arrays = tuple(self.constant(getattr(weights, name)) for name in WEIGHTS)
        source = f"#define HIDDEN {hidden}\n{vae.SOURCE}"
        half = np.float32(0.5 / weights.variance)
        self._networks.append((self.xp.RawKernel(source, "embed"), (*arrays, half)))
        return len(self._networks) - 1

    def embed(self, network: int, most: int, sizes: Any, cell: int, *arrays: Any) -> None:
        """Launch a network; see ``jit.cuda.vae``."""
        kernel, weights = self._networks[network]
        windows, scale, latents, reconstruction_error = arrays
        blocks = min(-(-most // (vae.WARPS * vae.WINDOWS)), self.blocks)
        arguments = (sizes[cell : cell + 1], windows, scale, *weights, latents, reconstruction_error)
        with self.stream:
            kernel((blocks,), (32 * vae.WARPS,), arguments)

    def score(self, scorer: WindowScorer, windows: Any, scale: Any, out: Any, count: Any) -> None:
        """Run the scorer of the user on the stream of the kernels; torch shares the arrays."""
        torch = imported("torch")
        with self.stream, torch.cuda.stream(torch.cuda.ExternalStream(self.stream.ptr)):
            scorer.score_into(windows, scale, out, count)

    def copy_to_host(self, segments: Any) -> None:
        """Launch the kernel that writes segments to pinned memory; see ``staging.Segments``."""
        with self.stream:
            self._copy_to_host((COPY_BLOCKS, len(segments)), (COPY_THREADS,), (segments,))

    def record_event(self) -> Any:
        """Return an event after all work that has been launched."""
        event = self.xp.cuda.Event(disable_timing=True)
        event.record(self.stream)
        return event

    def wait(self, event: Any = None) -> None:
        """Wait for an event; None: for the stream.

        Raises
        ------
        LostCardError
            The card does not answer.
        """
        event = self.record_event() if event is None else event
        wait_for(lambda: int(self.xp.cuda.runtime.eventQuery(event.ptr)))
        event.synchronize()  # raises what has failed

    def address(self, array: Any) -> int:
        """Return the address of an array."""
        return int(array.data.ptr)

    def failure(self, error: Exception) -> str | None:
        """Return one line on what happened to the card; None for an error of another kind."""
        library = type(error).__module__.partition(".")[0]
        from_card = library in ("cupy", "cupy_backends", "numba", "numba_cuda") or "CUDA" in str(error)
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0]}" if from_card else None

    def launch(self, name: str, kernel: Any, grid: Grid, arguments: tuple[Any, ...]) -> None:
        """Launch a kernel."""
        blocks, threads, shared = grid
        if self._nvtx:
            self.xp.cuda.nvtx.RangePush(name)
        kernel[blocks, threads, self._numba_stream, shared](*map(self._for_numba, arguments))
        if self._nvtx:
            self.xp.cuda.nvtx.RangePop()

    def _for_numba(self, argument: Any) -> Any:
        """Return an argument as Numba takes it: arrays as views, which are kept."""
        if isinstance(argument, tuple):
            return tuple(map(self._for_numba, argument))
        if isinstance(argument, int | float):
            return argument
        key = argument.data.ptr, argument.shape, argument.dtype
        view = self._views.get(key)
        if view is None:
            if len(self._views) > MOST_VIEWS:
                self._views.clear()
            view = self._views[key] = self._cuda.as_cuda_array(argument, sync=False)
        return view

    def run(self, key: Hashable, launch_all: Callable[[], None]) -> None:
        """Run a launch list after all copies to the device: twice by its launches, then as a graph."""
        self._copied.record(self._copy_stream)
        self.stream.wait_event(self._copied)
        cached = self._lists.setdefault(key, CachedList())
        self._lists.move_to_end(key)
        if len(self._lists) > MOST_GRAPHS:
            self._lists.popitem(last=False)
        if cached.graph is None and (not self._use_graphs or cached.runs < RUNS_BEFORE_GRAPH):
            cached.runs += 1
            launch_all()
            return
        if cached.graph is None:
            self.stream.begin_capture()
            try:
                launch_all()
            finally:
                cached.graph = self.stream.end_capture()
        cached.graph.launch(self.stream)


def missing() -> str | None:
    """Return why no card can be used; None if one can."""
    try:
        cupy = imported("cupy")
        count = int(cupy.cuda.runtime.getDeviceCount())
        driver, runtime = cupy.cuda.runtime.driverGetVersion(), cupy.cuda.runtime.runtimeGetVersion()
    except UserError as error:
        return str(error)
    except Exception as error:  # a driver that does not fit raises errors of many types
        return str(error).splitlines()[0]
    if not count:
        return "no CUDA device"
    if driver // 1000 < runtime // 1000:
        return f"the driver is for CUDA {driver // 1000}, the libraries for CUDA {runtime // 1000}"
    return None
