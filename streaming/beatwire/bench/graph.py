"""The whole graph in memory, on one core and on all: from encoded chunks of 2,000 streams to encoded output.

A tick holds four chunks of 64 samples of each stream, encoded beforehand. The output is messages ready to be sent. What
decode and align cost of it is measured for single messages and for bundles of 50.
"""

import itertools
import time
from collections.abc import Iterator

import numpy as np
from beatwire_producers.encode import Encoder
from beatwire_producers.feeds import Lanes
from beatwire_producers.schedule import chunks_of
from beatwire_producers.ward import ward

from beatwire.bench.result import Log, Result
from beatwire.jit.threads import cores, using
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.records import RawTick
from beatwire.stages import align, decode, unbundle
from beatwire.stages.support.streams.directory import Directory
from beatwire.wire import encode_bundle

RATE_HZ = 250.0
STREAMS = 2000
CHUNK = 64  # samples
PER_TICK = 4  # chunks of a stream in a tick
TICKS = 24
WARM = 8  # ticks that are not counted
BUNDLE = 50  # chunks in a message, as a gateway sends them
TARGET_MSAMPLES = 20.0  # per second


def ticks_for(
    streams: int,
    ticks: int = TICKS,
    per_tick: int = PER_TICK,
    chunk: int = CHUNK,
    *,
    rate_hz: float = RATE_HZ,
    leads: int = 1,
) -> list[RawTick]:
    """Return encoded ticks of synthetic streams without events.

    Parameters
    ----------
    streams, ticks
        Number of streams and of ticks.
    per_tick, chunk
        Chunks of each stream in a tick, and samples per lead in a chunk.
    rate_hz, leads
        Of every stream.
    """
    feeds = ward(streams, 30, seed=1, events=(), distinct=64, rates_hz=(rate_hz,), leads=(leads,)).feeds
    lanes = Lanes.of(feeds)
    encoder = Encoder.of(lanes, 1_700_000_000_000_000)
    made = []
    for tick in range(ticks):
        rows = chunks_of(lanes, 1000 * chunk / rate_hz, tick * per_tick, (tick + 1) * per_tick)
        payload, start = encoder.encode(rows)
        m = len(start) - 1
        made.append(RawTick(payload, start, np.zeros(m, np.int64), np.zeros(m, np.int32), 0))
    return made


def samples_per_second(ticks: list[RawTick], samples: int, warm: int = WARM) -> tuple[float, int]:
    """Return the samples per second of the median tick after ``warm`` ticks, and the number of beats published.

    ``samples`` is the number of samples in a tick.
    """
    pipeline = Pipeline(Settings())
    taken_s, beats = [], 0
    for number, tick in enumerate(ticks):
        begin = time.perf_counter()
        out = pipeline.emit(tick)
        if number >= warm:
            taken_s.append(time.perf_counter() - begin)
            beats += sum(len(o.values) for o in out if o.topic == "ecg.beats")
    return samples / float(np.median(taken_s)), beats


def measure(log: Log) -> Iterator[Result]:
    """Compare with the target of 20 million samples per second."""
    ticks, samples, count = ticks_for(STREAMS), STREAMS * PER_TICK * CHUNK, cores()
    rate, beats = samples_per_second(ticks, samples)
    log(f"graph: {beats} beats in {TICKS - WARM} ticks of {STREAMS} streams x {PER_TICK} chunks")
    yield Result("graph", rate / 1e6, "Msamples/s", "target", TARGET_MSAMPLES, ">= 1")
    if count > 1:
        with using(count):
            shared, _ = samples_per_second(ticks, samples)
        yield Result(f"graph, {count} threads", shared / 1e6, "Msamples/s", "one thread", rate / 1e6)
    alone, together = intake_ns([ticks, [bundles_of(tick, BUNDLE) for tick in ticks]], STREAMS * PER_TICK)
    log(f"intake: unbundle, decode and align a chunk: single {alone:.0f} ns, in bundles of {BUNDLE} {together:.0f} ns")
    yield Result(f"intake, bundles of {BUNDLE}", together, "ns/chunk", "single messages", alone)


def bundles_of(tick: RawTick, size: int) -> RawTick:
    """Return the messages of a tick in bundles of ``size`` each."""
    payload, start = tick.payload.tobytes(), tick.start.tolist()
    values = [payload[a:b] for a, b in itertools.pairwise(start)]
    return RawTick.of([encode_bundle(values[at : at + size]) for at in range(0, len(values), size)])


def intake_ns(forms: list[list[RawTick]], chunks: int) -> list[float]:
    """Return what a chunk takes up to align, nanoseconds, in the median tick; the forms of a tick are taken in turn."""
    graphs = [Intake() for _ in forms]
    taken_s: list[list[float]] = [[] for _ in forms]
    for number, same in enumerate(zip(*forms, strict=True)):
        for graph, tick, taken in zip(graphs, same, taken_s, strict=True):
            begin = time.perf_counter()
            graph.take(tick)
            if number >= WARM:
                taken.append(time.perf_counter() - begin)
    return [1e9 * float(np.median(taken)) / chunks for taken in taken_s]


class Intake:
    """The stages from a message to its place."""

    def __init__(self) -> None:
        settings = Settings()
        self._unbundle, self._decode = unbundle.State(), decode.State(settings.decode())
        self._align = align.State(settings.align(), Directory(settings.most_streams), settings.admission())

    def take(self, tick: RawTick) -> None:
        """Take the messages of a tick."""
        _, rows = unbundle.step(self._unbundle, tick)
        _, chunks = decode.step(self._decode, rows)
        align.step(self._align, chunks)
