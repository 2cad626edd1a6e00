"""Memory of a stream, and the cost of a sample from 100 to 20,000 streams, at 250 Hz and one lead on one core."""

import gc
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np

from beatwire.bench.graph import CHUNK, samples_per_second, ticks_for
from beatwire.bench.result import Log, Result
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings

MEMORY_STREAMS = 16_000
LIMIT_KB = 20.0
STREAMS = (100, 1000, 5000, 20_000)
TICK_CHUNKS = 2000  # of a tick, at least one and at most MAX_PER_TICK per stream: ticks of similar size
MAX_PER_TICK = 8
WARM = 6


def state_bytes(pipeline: Pipeline) -> int:
    """Return the bytes of all arrays in the state of the stages, and of the names of the streams."""
    visited: set[int] = set()

    def size(value: Any) -> int:
        if id(value) in visited:
            return 0
        visited.add(id(value))
        if isinstance(value, np.ndarray):
            return value.nbytes if value.base is None else size(value.base)
        if isinstance(value, dict):
            return sum(size(v) for v in value.values())
        if isinstance(value, (list, tuple)):
            return 8 * len(value) + sum(size(v) for v in value)
        if isinstance(value, (str, bytes)):
            return 49 + len(value)  # 49: the header of a str
        if callable(value) or isinstance(value, ModuleType):  # kernels, NumPy itself: not of a stream
            return 0
        names = getattr(type(value), "__slots__", ()) or getattr(value, "__dict__", {})
        return sum(size(getattr(value, name)) for name in names if hasattr(value, name))

    return sum(size(state) for state in pipeline.states) + size(pipeline.marks)


def measure(log: Log) -> Iterator[Result]:
    """Compare the bytes of a stream with the limit, and the cost of a sample with that at 1,000 streams."""
    pipeline = Pipeline(Settings())
    for tick in ticks_for(MEMORY_STREAMS, ticks=4, per_tick=1):
        pipeline.emit(tick)
    gc.collect()
    stream_kb = state_bytes(pipeline) / MEMORY_STREAMS / 1000
    yield Result("memory of a stream", stream_kb, "kB", "limit", LIMIT_KB, "<= 1")
    cost_ns = {}
    for streams in STREAMS:
        per_tick = min(max(1, TICK_CHUNKS // streams), MAX_PER_TICK)
        ticks = ticks_for(streams, ticks=16, per_tick=per_tick)
        rate, _ = samples_per_second(ticks, streams * per_tick * CHUNK, WARM)
        cost_ns[streams] = 1e9 / rate
        log(f"memory: {streams} streams: {cost_ns[streams]:.1f} ns per sample")
    for streams in (20_000, 100):
        name = f"cost at {streams:,} streams"
        yield Result(name, cost_ns[streams], "ns/sample", "at 1,000 streams", cost_ns[1000], "<= 1.5")
