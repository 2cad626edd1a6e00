"""Memory of a stream, and the cost of a sample from 100 to 20,000 streams, at 250 Hz and one lead on one core."""

import gc
from collections import Counter
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np

from beatwire.bench.graph import CHUNK, samples_per_second, ticks_for
from beatwire.bench.result import Log, Result
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.records.alerting import TransitionRoom

MEMORY_STREAMS = 16_000
LIMIT_KB = 16.0
LEAST_LISTED = 100  # bytes of a stream
STREAMS = (100, 1000, 5000, 20_000)
TICK_CHUNKS = 2000  # of a tick, at least one and at most MAX_PER_TICK per stream: ticks of similar size
MAX_PER_TICK = 8
WARM = 6


def array_bytes(pipeline: Pipeline) -> dict[str, int]:
    """Return the bytes of all arrays in the state of the stages, and of the names of the streams, the largest first.

    The room for transitions of a tick is left out: few of its pages are ever written.
    """
    sizes: Counter[str] = Counter()
    visited: set[int] = set()

    def add(value: Any, name: str) -> None:
        if id(value) in visited or isinstance(value, TransitionRoom):
            return
        visited.add(id(value))
        if isinstance(value, np.ndarray):
            if value.base is None:
                sizes[name] += value.nbytes
            else:
                add(value.base, name)
        elif isinstance(value, dict):
            add(list(value.values()), name)
        elif isinstance(value, (list, tuple)):
            sizes[name] += 8 * len(value)
            for own, v in zip(getattr(value, "_fields", [""] * len(value)), value, strict=True):
                add(v, f"{name}.{own}".rstrip("."))
        elif isinstance(value, (str, bytes)):
            sizes[name] += 49 + len(value)  # 49: the header of a str
        elif not callable(value) and not isinstance(value, ModuleType):  # kernels, NumPy itself: not of a stream
            for own in getattr(type(value), "__slots__", ()) or getattr(value, "__dict__", {}):
                if hasattr(value, own):
                    add(getattr(value, own), f"{name}.{own}")

    for node in pipeline.stages:
        add(node.state, node.func.__module__.rpartition(".")[2])
    add(pipeline.marks, "marks")
    return dict(sizes.most_common())


def measure(log: Log) -> Iterator[Result]:
    """Compare the bytes of a stream with the limit, and the cost of a sample with that at 1,000 streams."""
    yield Result("memory of a stream", _stream_kb(Settings(), log), "kB", "limit", LIMIT_KB, "<= 1")
    of_trees = _stream_kb(Settings(detector="trees"), lambda _: None)
    yield Result("memory of a stream, trees alone", of_trees, "kB", "limit", LIMIT_KB, "<= 1")
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


def _stream_kb(settings: Settings, log: Log) -> float:
    """Return the kB of a stream; the largest arrays are logged."""
    pipeline = Pipeline(settings)
    for tick in ticks_for(MEMORY_STREAMS, ticks=4, per_tick=1):
        pipeline.emit(tick)
    gc.collect()
    arrays = array_bytes(pipeline)
    for name, size in arrays.items():
        if size >= LEAST_LISTED * MEMORY_STREAMS:
            log(f"memory: {size / MEMORY_STREAMS:6.0f} bytes a stream: {name}")
    return sum(arrays.values()) / MEMORY_STREAMS / 1000
