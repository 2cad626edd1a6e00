"""Ticks on a GPU: the part on the device, from pinned payload and placements to beats and terms back on the host.

Event-timed on the device's stream, warm, the median of many ticks; checked against the CPU first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np

from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.backends.cuda.backend import Device
from beatwire.backends.cuda.card import CudaCard, missing
from beatwire.bench import archive, json_tick, live_100k, out_of_core
from beatwire.bench.graph import ticks_for
from beatwire.bench.row import Row
from beatwire.jit import cpu
from beatwire.pipeline.graph import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.records import U8, Alerts, RawTick
from beatwire.service.process_tuning import keep_freed_memory
from beatwire.wire.avro import chunk_columns

CHUNK = 64
WARM = 10
HELD_NS = 20_000_000  # longer than the host takes to ask for a tick's kernels
HOLD = """
extern "C" __global__ void hold(long long ns) {
    long long begin, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
    do { asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now)); } while (now - begin < ns);
}
"""


class Timed(CudaCard):
    """A card that takes the time from when the host has put its last array until results are there.

    While it is ``apart``: of each kernel; the card waits until all are asked for, so that no time is lost between them.
    What was put before goes up while the host goes on; ``up_bytes`` counts all of it.
    """

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self._begin, self._end = self.xp.cuda.Event(), self.xp.cuda.Event()
        self.up_bytes = 0
        self.apart = False
        self._hold = self.xp.RawKernel(HOLD, "hold")
        self.marks: list[tuple[str, Any, Any]] = []

    def up(self, device: Any, host: U8, first: int, stop: int) -> None:
        """Copy; counts the bytes of a tick."""
        self.up_bytes += stop - first
        super().up(device, host, first, stop)

    def run(self, key: Hashable, tape: Callable[[], None]) -> None:
        """Run a tape; the device's part of a tick begins: the last of it may still be on its way up."""
        if self.apart:
            key = object()  # no tape comes again: none becomes a graph
            with self.stream:
                self._hold((1,), (1,), (np.int64(HELD_NS),))
        self._begin.record(self.stream)
        super().run(key, tape)

    def reached(self) -> Any:
        """Return a mark; the device's part of a tick ends."""
        self._end.record(self.stream)
        return super().reached()

    def embed(self, network: int, most: int, sizes: Any, cell: int, *arrays: Any) -> None:
        """Run the network between two marks."""
        with self._marked("embed"):
            super().embed(network, most, sizes, cell, *arrays)

    def bring(self, segments: Any) -> None:
        """Copy to the host, between two marks."""
        with self._marked("bring"):
            super().bring(segments)

    def launch(
        self, name: str, kernel: Any, grid: tuple[tuple[int, int], int, int], arguments: tuple[Any, ...]
    ) -> None:
        """Start a kernel, between two marks."""
        with self._marked(name):
            super().launch(name, kernel, grid, arguments)

    def _marked(self, name: str) -> Marked:
        return Marked(self, name)

    def taken_ms(self) -> float:
        """Return milliseconds of the last tick."""
        return float(self.xp.cuda.get_elapsed_time(self._begin, self._end))

    def kernels_us(self) -> dict[str, float]:
        """Return microseconds of each kernel since it was last asked."""
        found: dict[str, float] = {}
        for name, begin, end in self.marks:
            found[name] = found.get(name, 0.0) + 1000 * self.xp.cuda.get_elapsed_time(begin, end)
        self.marks.clear()
        return found


@dataclass(slots=True)
class Marked:
    """Two events around something, where a card wants to know."""

    card: Timed
    name: str
    begin: Any = field(default=None)

    def __enter__(self) -> None:
        """Mark the beginning."""
        if self.card.apart:
            self.begin = self.card.xp.cuda.Event()
            self.begin.record(self.card.stream)

    def __exit__(self, *_: object) -> None:
        """Mark the end."""
        if self.card.apart:
            end = self.card.xp.cuda.Event()
            end.record(self.card.stream)
            self.card.marks.append((self.name, self.begin, end))


def said(backend: Backend, ticks: list[RawTick]) -> list[tuple[Any, ...]]:
    """Return every beat of ticks with its score, and the ids of alerts."""
    pipeline, found = Pipeline(Settings(), backend), []

    def subscribe(alerts: Alerts) -> None:
        b = alerts.beats
        found.append((b.slot, b.sample, b.decided, b.rr_s, b.response, b.score, [a["id"] for a in alerts.transitions]))

    pipeline.subscribe(pipeline.alerts, subscribe)
    for tick in ticks:
        pipeline.emit(tick)
    return found


def differs(device: Device, ticks: list[RawTick]) -> str | None:
    """Return where a device says something else than the CPU; None: nowhere."""
    beats = 0
    for number, (here, there) in enumerate(zip(said(CPU, ticks), said(device, ticks), strict=True)):
        if here[6] != there[6]:
            return f"tick {number}: other alerts"
        for name, a, b in zip(("slot", "sample", "decided", "rr", "response"), here, there, strict=False):
            if not np.array_equal(a, b, equal_nan=True):
                return f"tick {number}: other {name}"
        if not np.allclose(here[5], there[5], rtol=1e-3, atol=1e-4, equal_nan=True):
            return f"tick {number}: scores differ by {np.nanmax(np.abs(here[5] - there[5]))}"
        beats += len(here[0])
    return None if beats else "no beats"


@dataclass(frozen=True, slots=True)
class Taken:
    """Medians over ticks: the device's part and the whole tick, milliseconds; beats of a tick; bytes of the pool.

    up_bytes: of a tick
    """

    device_ms: float
    tick_ms: float
    beats: float
    held_bytes: int
    allocated: int
    up_bytes: float


def measured(card: Timed, ticks: list[RawTick], warm: int = WARM) -> Taken:
    """Run ticks through a fresh graph on a card."""
    pipeline = Pipeline(Settings(), Device(card, "bench"))
    beats: list[int] = []
    pipeline.subscribe(pipeline.gathered, lambda found: beats.append(len(found.slot)))
    device_ms, tick_ms, before = [], [], 0
    for number, tick in enumerate(ticks):
        if number == warm:
            before, card.up_bytes = card.memory.allocations, 0
        begin = time.perf_counter()
        pipeline.emit(tick)
        tick_ms.append(1000 * (time.perf_counter() - begin))
        device_ms.append(card.taken_ms())
    return Taken(
        float(np.median(device_ms[warm:])), float(np.median(tick_ms[warm:])), float(np.median(beats[warm:])),
        card.memory.current_bytes, card.memory.allocations - before, card.up_bytes / max(1, len(ticks) - warm),
    )  # fmt: skip


def one_by_one(card: Timed, ticks: list[RawTick], warm: int = WARM) -> dict[str, float]:
    """Return the median microseconds of each kernel in a tick, longest first."""
    pipeline, each = Pipeline(Settings(), Device(card, "bench")), []
    card.apart = True
    for tick in ticks:
        pipeline.emit(tick)
        each.append(card.kernels_us())
    card.apart = False
    names = {name for one in each[warm:] for name in one}
    middle = {name: float(np.median([one.get(name, 0.0) for one in each[warm:]])) for name in names}
    return dict(sorted(middle.items(), key=lambda pair: -pair[1]))


def on_cpu_ms(ticks: list[RawTick], warm: int = WARM) -> float:
    """Return the median milliseconds of a tick on one core."""
    pipeline = Pipeline(Settings())
    taken = []
    for tick in ticks:
        begin = time.perf_counter()
        pipeline.emit(tick)
        taken.append(1000 * (time.perf_counter() - begin))
    return float(np.median(taken[warm:]))


def many_times(ticks: list[RawTick], times: int) -> list[RawTick]:
    """Return ticks of so many times the streams: the same signals under other ids."""
    made = []
    for tick in ticks:
        m = len(tick.arrival_us)
        ints, floats, code = chunk_columns(m)
        cpu.kernels.read_chunk(m, tick.payload, tick.start, -1, ints, floats, code)
        parts = []
        for k in range(times):
            part = tick.payload.copy()
            part[ints[:, 0]] = ord("A") + k
            parts.append(part)
        start = np.concatenate([tick.start[:-1] + k * len(tick.payload) for k in range(times)])
        zero = np.zeros(times * m, np.int64)
        end = [times * len(tick.payload)]
        made.append(RawTick(np.concatenate(parts), np.append(start, end), zero, zero.astype(np.int32), 0))
    return made


def measure(say: Callable[[str], None]) -> Iterator[Row]:
    """Compare with the bars, and with one core."""
    why = missing()
    if why is not None:
        say(f"gpu: left out, {why}")
        return
    keep_freed_memory()
    card = Timed()
    wrong = differs(Device(card, "bench"), ticks_for(300, ticks=20, per_tick=2))
    say(f"gpu: {wrong or 'says what the CPU says'}")
    if wrong:
        return

    def told(what: str, made: list[RawTick], warm: int = WARM) -> Taken:
        taken = measured(card, made, warm)
        say(
            f"gpu: {what}: device part {taken.device_ms:.3f} ms, tick {taken.tick_ms:.2f} ms, "
            f"{taken.beats:.0f} beats a tick, {taken.up_bytes / 1e6:.1f} MB up, {taken.held_bytes / 2**20:.0f} MiB, "
            f"{taken.allocated} allocations after {warm} ticks"
        )
        return taken

    for streams, ticks in ((1, 40), (100, 40), (1000, 40), (10_000, 24), (100_000, 22)):
        made = ticks_for(streams, ticks=ticks, per_tick=1)
        taken, cpu_ms = told(f"{streams} streams", made), on_cpu_ms(made)
        limit_ms = {1000: 0.25, 100_000: 2.0}.get(streams)
        if limit_ms is not None:
            yield Row(f"gpu, {streams} lanes, device part", taken.device_ms, "ms", "the limit", limit_ms, "<= 1")
            kernels = ", ".join(f"{name} {us:.0f}" for name, us in one_by_one(card, made).items() if us >= 1)
            say(f"gpu: {streams} streams, one kernel at a time, us: {kernels}")
        yield Row(f"gpu, {streams} streams, whole tick", taken.tick_ms, "ms", "one core", cpu_ms)
    leads = told(
        "10,000 streams of 12 leads at 500 Hz", ticks_for(10_000, ticks=14, per_tick=1, rate_hz=500.0, leads=12)
    )
    yield Row("gpu, 12 leads x 500 Hz x 10,000, whole tick", leads.tick_ms, "ms", "the signal in it", 128.0, "<= 1")
    million = told("1,000,000 streams", many_times(made[:9], 10), 6)
    yield Row("gpu, 1,000,000 lanes, device part", million.device_ms, "ms", "the signal in it", 256.0, "<= 1")
    if find_spec("cudf") is None:
        say("gpu: archive and JSON are left out, cuDF is not installed")
    else:
        yield from archive.measure_on_gpu(Device(card, "bench"), say)
        yield from json_tick.measure_on_gpu(card.xp, say)
    yield from out_of_core.measure(say)
    yield from live_100k.measure(say)
