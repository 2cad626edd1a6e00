"""Whole ticks in several workers at a time, as ``monitor --workers`` has them: the slowest of them counts.

Each is a process with an equal part of the streams and of the cores; all share one GPU, or have none. They begin a tick
together.
"""

import time
from multiprocessing import get_context
from typing import Any

import numpy as np

from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.bench.card.gpu_ticks import WARM
from beatwire.bench.graph import ticks_for
from beatwire.bench.result import Log, Result
from beatwire.jit.threads import cores, using
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.records import F64
from beatwire.service.process_tuning import keep_freed_memory

WORKERS = 8  # of two cores each, where there are 16
TICKS = WARM + 20
WITHIN_S = 300.0  # for all ticks of a worker


def measure(log: Log, streams: int, one_ms: float) -> Result:
    """Compare a tick of several workers that share a GPU with that of one, ``one_ms``."""
    on_gpu_ms = ticks_ms(streams, WORKERS, on_gpu=True)[WARM:]
    without_ms = ticks_ms(streams, WORKERS, on_gpu=False)[WARM:]
    log(f"gpu: {streams:,} streams in {WORKERS} workers without the GPU: {np.median(without_ms):.1f} ms")
    name = f"gpu, {streams:,} streams in {WORKERS} workers, whole tick"
    return Result(name, float(np.median(on_gpu_ms)), "ms", "one worker", one_ms)


def ticks_ms(streams: int, workers: int, *, on_gpu: bool, ticks: int = TICKS) -> F64:
    """Return for each tick the milliseconds from its beginning until all workers are done."""
    context = get_context("spawn")
    together, done = context.Barrier(workers), context.SimpleQueue()
    given = streams // workers, ticks, max(1, cores() // workers), workers if on_gpu else 0
    processes = [context.Process(target=_work, args=(*given, together, done), daemon=True) for _ in range(workers)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(WITHIN_S)
        if process.exitcode != 0:
            raise RuntimeError(f"bench: expected a worker to end within {WITHIN_S:g} s; exit code {process.exitcode}")
    times_s = np.array([done.get() for _ in processes])
    taken_ms: F64 = 1000 * (times_s[:, :, 1].max(axis=0) - times_s[:, :, 0].min(axis=0))
    return taken_ms


def _work(streams: int, count: int, threads: int, sharing: int, together: Any, done: Any) -> None:
    """Run ticks when all workers are ready for them; ``sharing``: processes that share the GPU, 0: there is none."""
    backend: Backend = CPU
    if sharing:
        from beatwire.backends.cuda.backend import CudaBackend
        from beatwire.backends.cuda.card import CudaCard

        backend = CudaBackend(CudaCard(sharing=sharing), "bench")
    keep_freed_memory()
    pipeline, times_s = Pipeline(Settings(), backend), []
    with using(threads):
        for tick in ticks_for(streams, ticks=count, per_tick=1):
            together.wait(WITHIN_S)
            begin = time.monotonic()
            pipeline.emit(tick)
            times_s.append((begin, time.monotonic()))
    done.put(times_s)
