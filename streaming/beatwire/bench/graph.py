"""The whole graph in memory, on one core: from encoded 64-sample chunks of 2,000 streams to alerts.

Ticks of four chunks a stream, encoded beforehand; what comes out are messages ready to send.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
from beatwire_producers.encode import Encoder
from beatwire_producers.feeds import Lanes
from beatwire_producers.schedule import chunks_of
from beatwire_producers.ward import ward

from beatwire.bench.row import Row
from beatwire.pipeline.graph import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.records import RawTick

RATE_HZ = 250.0
CHUNK = 64
PER_TICK = 4
TICKS = 24
WARM = 8


def ticks_for(
    streams: int,
    ticks: int = TICKS,
    per_tick: int = PER_TICK,
    chunk: int = CHUNK,
    *,
    rate_hz: float = RATE_HZ,
    leads: int = 1,
) -> list[RawTick]:
    """Encode ticks of a ward without events."""
    shown = ward(streams, 30, seed=1, events=(), distinct=64, rates_hz=(rate_hz,), leads=(leads,))
    lanes = Lanes.of(shown.feeds)
    encoder = Encoder.of(lanes, 1_700_000_000_000_000)
    made = []
    for tick in range(ticks):
        rows = chunks_of(lanes, 1000 * chunk / rate_hz, tick * per_tick, (tick + 1) * per_tick)
        payload, start = encoder.encode(rows)
        m = len(start) - 1
        made.append(RawTick(payload, start, np.zeros(m, np.int64), np.zeros(m, np.int32), 0))
    return made


def per_second(ticks: list[RawTick], samples: int, warm: int = WARM) -> tuple[float, int]:
    """Return samples a second of the ticks after the first ``warm`` (median tick), and the beats."""
    pipeline = Pipeline(Settings())
    taken, beats = [], 0
    for number, tick in enumerate(ticks):
        begin = time.perf_counter()
        out = pipeline.emit(tick)
        if number >= warm:
            taken.append(time.perf_counter() - begin)
            beats += sum(len(o.values) for o in out if o.topic == "ecg.beats")
    return samples / float(np.median(taken)), beats


def measure(say: Callable[[str], None]) -> Iterator[Row]:
    """Against the bar of 20 million samples a second."""
    streams = 2000
    rate, beats = per_second(ticks_for(streams), streams * PER_TICK * CHUNK)
    say(f"graph: {beats} beats in {TICKS - WARM} ticks of {streams} streams x {PER_TICK} chunks")
    yield Row("graph", rate / 1e6, "Msamples/s", "the bar", 20.0, ">= 1")
