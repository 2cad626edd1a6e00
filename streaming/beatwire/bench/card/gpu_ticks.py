"""Ticks on a GPU: comparison of their output with the CPU's, their times, and ticks of more streams."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.backends.cuda.backend import CudaBackend
from beatwire.bench.card.gpu_card import TimedCard
from beatwire.jit import cpu
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.records import F32, Alerts, RawTick
from beatwire.wire.avro import chunk_columns

WARM = 80  # ticks that are not counted: after 20 s the normal beat of each stream is known, as it mostly is
ALIKE, MOST_APART, FEW = 1e-4, 1e-2, 0.01  # scores of two backends differ by so much, and few of them by more


def outputs_of(backend: Backend, ticks: list[RawTick]) -> list[tuple[Any, ...]]:
    """Return for each tick the columns of its beats and the ids of its alerts."""
    pipeline, outputs = Pipeline(Settings(), backend), []

    def collect(alerts: Alerts) -> None:
        b = alerts.beats
        ids = [a["id"] for a in alerts.transitions]
        outputs.append((b.slot, b.sample, b.decided, b.rr_s, b.response, b.score, ids))

    pipeline.subscribe(pipeline.alerts, collect)
    for tick in ticks:
        pipeline.emit(tick)
    return outputs


def first_difference(device: CudaBackend, ticks: list[RawTick]) -> str | None:
    """Return a description of the first difference between the output on a device and on the CPU; None if equal."""
    beats = 0
    apart: list[F32] = []
    pairs = zip(outputs_of(CPU, ticks), outputs_of(device, ticks), strict=True)
    for number, (expected, found) in enumerate(pairs):
        if expected[6] != found[6]:
            return f"tick {number}: the alerts differ"
        for name, a, b in zip(("slot", "sample", "decided", "rr", "response"), expected, found, strict=False):
            if not np.array_equal(a, b, equal_nan=True):
                return f"tick {number}: {name} differs"
        if not np.array_equal(np.isnan(expected[5]), np.isnan(found[5])):
            return f"tick {number}: other beats have scores"
        apart.append(np.abs(expected[5] - found[5]))
        beats += len(expected[0])
    return scores_differ(np.concatenate(apart)) if beats else "no beats"


def scores_differ(apart: F32) -> str | None:
    """Return how far scores are apart (NaN: none) if that is more than the laws allow, else None.

    What a beat is compared with is stored in few bits, so a last bit of a latent can move a score.
    """
    some = apart[~np.isnan(apart)]
    most, many = float(some.max(initial=0.0)), int((some > ALIKE).sum())
    if most > MOST_APART or many > FEW * len(some):
        return f"{many} of {len(some)} scores differ by more than {ALIKE}, one by {most:.2g}"
    return None


@dataclass(frozen=True, slots=True)
class TickTimes:
    """Medians over ticks.

    gpu_ms, tick_ms   milliseconds of the part on the GPU, and of the whole tick
    beats, up_bytes   of a tick
    held_bytes        bytes held by the memory pool at the end
    allocations       in all ticks that are counted
    """

    gpu_ms: float
    tick_ms: float
    beats: float
    held_bytes: int
    allocations: int
    up_bytes: float


def time_ticks(card: TimedCard, ticks: Iterable[RawTick]) -> TickTimes:
    """Run ticks through a new graph on a card; the first ``WARM`` are not counted."""
    pipeline = Pipeline(Settings(), CudaBackend(card, "bench"))
    beats: list[int] = []
    pipeline.subscribe(pipeline.gathered, lambda found: beats.append(len(found.slot)))
    gpu_ms, tick_ms, allocations_before = [], [], 0
    for number, tick in enumerate(ticks):
        if number == WARM:
            allocations_before, card.up_bytes = card.memory.allocations, 0
        begin = time.perf_counter()
        pipeline.emit(tick)
        tick_ms.append(1000 * (time.perf_counter() - begin))
        gpu_ms.append(card.tick_ms())
    return TickTimes(
        gpu_ms=float(np.median(gpu_ms[WARM:])),
        tick_ms=float(np.median(tick_ms[WARM:])),
        beats=float(np.median(beats[WARM:])),
        held_bytes=card.memory.current_bytes,
        allocations=card.memory.allocations - allocations_before,
        up_bytes=card.up_bytes / max(1, len(tick_ms) - WARM),
    )


def time_kernels(card: TimedCard, ticks: list[RawTick], warm: int = WARM) -> dict[str, float]:
    """Return the median microseconds of each kernel in a tick, longest first."""
    pipeline, times_us = Pipeline(Settings(), CudaBackend(card, "bench")), []
    card.by_kernel = True
    for tick in ticks:
        pipeline.emit(tick)
        times_us.append(card.kernel_times_us())
    card.by_kernel = False
    names = {name for tick_us in times_us[warm:] for name in tick_us}
    medians = {name: float(np.median([tick_us.get(name, 0.0) for tick_us in times_us[warm:]])) for name in names}
    return dict(sorted(medians.items(), key=lambda pair: -pair[1]))


def cpu_tick_ms(ticks: list[RawTick], warm: int = WARM) -> float:
    """Return the median milliseconds of a tick on one core."""
    pipeline = Pipeline(Settings())
    taken_ms = []
    for tick in ticks:
        begin = time.perf_counter()
        pipeline.emit(tick)
        taken_ms.append(1000 * (time.perf_counter() - begin))
    return float(np.median(taken_ms[warm:]))


def multiplied(ticks: Iterable[RawTick], times: int) -> Iterator[RawTick]:
    """Yield ticks of ``times`` as many streams: the same signals under other stream ids."""
    for tick in ticks:
        m = len(tick.arrival_us)
        ints, floats, code = chunk_columns(m)
        cpu.kernels.read_chunk(m, tick.payload, tick.start, tick.arrival_us, -1, ints, floats, code)
        parts = []
        for k in range(times):
            part = tick.payload.copy()
            part[ints[:, 0]] = ord("A") + k  # the first byte of the stream id
            parts.append(part)
        start = np.concatenate([tick.start[:-1] + k * len(tick.payload) for k in range(times)])
        zero = np.zeros(times * m, np.int64)
        end = [times * len(tick.payload)]
        yield RawTick(np.concatenate(parts), np.append(start, end), zero, zero.astype(np.int32), 0)
