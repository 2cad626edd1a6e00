"""Memory of a stream, and its cost from 100 to 20,000 streams, at 250 Hz and one lead, on one core."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from beatwire.bench.graph import CHUNK, per_second, ticks_for
from beatwire.bench.row import Row
from beatwire.pipeline.graph import Pipeline
from beatwire.pipeline.settings import Settings


def held_bytes(pipeline: Pipeline) -> int:
    """Return the bytes of all arrays that the stages hold, and of the names of the streams."""
    seen: set[int] = set()

    def size(thing: Any) -> int:
        if id(thing) in seen:
            return 0
        seen.add(id(thing))
        if isinstance(thing, np.ndarray):
            return thing.nbytes if thing.base is None else size(thing.base)
        if isinstance(thing, dict):
            return sum(size(v) for v in thing.values())
        if isinstance(thing, (list, tuple)):
            return 8 * len(thing) + sum(size(v) for v in thing)
        if isinstance(thing, (str, bytes)):
            return 49 + len(thing)
        names = getattr(type(thing), "__slots__", ()) or getattr(thing, "__dict__", {})
        return sum(size(getattr(thing, name)) for name in names if hasattr(thing, name))

    return sum(size(state) for state in pipeline.states) + size(pipeline.marks)


def measure(say: Callable[[str], None]) -> Iterator[Row]:
    """Bytes a stream, and nanoseconds a sample at different numbers of streams."""
    streams = 16_000
    pipeline = Pipeline(Settings())
    for tick in ticks_for(streams, ticks=4, per_tick=1):
        pipeline.emit(tick)
    gc.collect()
    yield Row("memory a stream", held_bytes(pipeline) / streams / 1000, "kB", "the bar", 20.0, "<= 1")
    cost = {}
    for count in (100, 1000, 5000, 20_000):
        per_tick = max(1, 20_000 // count // 10)
        rate, _ = per_second(ticks_for(count, ticks=16, per_tick=min(per_tick, 8)), count * min(per_tick, 8) * CHUNK, 6)
        cost[count] = 1e9 / rate
        say(f"memory: {count} streams: {cost[count]:.1f} ns a sample")
    yield Row("cost at 20,000 streams", cost[20_000], "ns/sample", "at 1,000 streams", cost[1000], "<= 1.5")
    yield Row("cost at 100 streams", cost[100], "ns/sample", "at 1,000 streams", cost[1000], "<= 1.5")
