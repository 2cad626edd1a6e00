"""Ticks on a GPU: from payload and placements in pinned memory to beats and terms in host memory.

Times are medians over many warm ticks, measured with events on the device's stream. The output is compared with the
CPU's first. With cuDF, a long recording and JSON ticks follow; then a recording larger than the memory limit,
and live streams through Kafka.
"""

from collections.abc import Iterable, Iterator
from importlib.util import find_spec

from beatwire.backends.cuda.backend import CudaBackend
from beatwire.backends.cuda.card import missing
from beatwire.bench import json_tick, recording
from beatwire.bench.broker import live_many
from beatwire.bench.card import out_of_core, workers
from beatwire.bench.card.gpu_card import TimedCard
from beatwire.bench.card.gpu_ticks import (
    WARM,
    TickTimes,
    cpu_tick_ms,
    first_difference,
    multiplied,
    time_kernels,
    time_ticks,
)
from beatwire.bench.graph import ticks_for
from beatwire.bench.result import Log, Result
from beatwire.jit.threads import cores, using
from beatwire.records import RawTick
from beatwire.service.process_tuning import keep_freed_memory

SIZES = ((1, 30), (100, 30), (1000, 30), (10_000, 14), (100_000, 12))  # streams, ticks that count
LIMITS_MS = {1000: 0.25, 100_000: 2.0}  # of the GPU time of a tick, by streams
CHUNK_MS = 256.0  # duration of a chunk of 64 samples at 250 Hz: a tick must take less
FAST_CHUNK_MS = 128.0  # of 64 samples at 500 Hz


def measure(log: Log) -> Iterator[Result]:
    """Compare the GPU with the limits and with one core."""
    reason = missing()
    if reason is not None:
        log(f"gpu: skipped, {reason}")
        return
    keep_freed_memory()
    card = TimedCard()
    difference = first_difference(CudaBackend(card, "bench"), ticks_for(300, ticks=20, per_tick=2))
    log(f"gpu: {difference or 'output as on the CPU'}")
    if difference:
        return

    def timed(name: str, ticks: Iterable[RawTick]) -> TickTimes:
        with using(cores()):  # as a monitor of one worker has them
            times = time_ticks(card, ticks)
        log(
            f"gpu: {name}: GPU {times.gpu_ms:.3f} ms, tick {times.tick_ms:.2f} ms, {times.beats:.0f} beats per tick, "
            f"{times.up_bytes / 1e6:.1f} MB uploaded, {times.held_bytes / 2**20:.0f} MiB held, "
            f"{times.allocations} allocations after {WARM} ticks"
        )
        return times

    for streams, count in SIZES:
        ticks = ticks_for(streams, ticks=WARM + count, per_tick=1)
        times, cpu_ms = timed(f"{streams} streams", ticks), cpu_tick_ms(ticks)
        limit_ms = LIMITS_MS.get(streams)
        if limit_ms is not None:
            yield Result(f"gpu, {streams} streams, GPU part", times.gpu_ms, "ms", "limit", limit_ms, "<= 1")
            kernels = ", ".join(f"{name} {us:.0f}" for name, us in time_kernels(card, ticks).items() if us >= 1)
            log(f"gpu: {streams} streams, each kernel alone, us: {kernels}")
        yield Result(f"gpu, {streams} streams, whole tick", times.tick_ms, "ms", "one core", cpu_ms)
    yield workers.measure(log, streams, times.tick_ms)
    twelve = timed(
        "10,000 streams of 12 leads at 500 Hz", ticks_for(10_000, ticks=WARM + 8, per_tick=1, rate_hz=500.0, leads=12)
    )
    name = "gpu, 10,000 streams of 12 leads at 500 Hz, whole tick"
    yield Result(name, twelve.tick_ms, "ms", "duration of the signal", FAST_CHUNK_MS, "<= 1")
    million = timed("1,000,000 streams", multiplied(ticks[: WARM + 5], 10))
    yield Result("gpu, 1,000,000 streams, GPU part", million.gpu_ms, "ms", "duration of the signal", CHUNK_MS, "<= 1")
    yield workers.measure(log, 1_000_000, million.tick_ms)
    if find_spec("cudf") is None:
        log("gpu: long recording and JSON skipped, cuDF is not installed (pip install 'beatwire[gpu]')")
    else:
        yield from recording.measure_on_gpu(CudaBackend(card, "bench"), log)
        yield from json_tick.measure_on_gpu(card.xp, log)
    yield from out_of_core.measure(log)
    yield from live_many.measure(log)
