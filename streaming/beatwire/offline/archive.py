"""A recording through the graph in shards: many lanes at once, whatever its length.

The stages from ring to score see each piece as a stream (``beatwire.offline.shards``); what a piece says of the
samples that it answers for is put together again, and the rules run over that in one go. By cut invariance
and the horizon this is what the graph says of the recording in one piece. Memory is that of one batch
of shards, besides the recording itself and its beats.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from queue import SimpleQueue
from threading import Lock
from typing import Any

import numpy as np

from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.kernels import clock
from beatwire.offline.batch import Kept, ShardBatch
from beatwire.offline.prefetch import ROOMS, Fed, one_ahead
from beatwire.offline.shards import Shards, Source, Stretches, Whole, cut, held_after, passes, stretches_of
from beatwire.pipeline.parts import Alerting, Models
from beatwire.pipeline.settings import Settings
from beatwire.recordings import Recording
from beatwire.records import I64, Alerts, Aligned, Bank, Event, Rejects, Terms, TickBeats
from beatwire.records.samples import SlotColumns
from beatwire.stages.support.directory import Directory

MOST_WORKERS, FEWEST_SHARDS = 8, 4  # graphs at once on the CPU, shards that are worth one
ROOMY = 16 << 30  # bytes of a device's memory from which a batch comes back at once
FILLED = 0.9  # of a device's memory by a plan
WARM_S = 100.0  # a score looks back 75 s over beats that look back 22.4 s; alerts see all beats at once
AHEAD_S = 1.0  # more than any decision or window looks ahead
START_US = 1_000_000_000_000_000


@dataclass(frozen=True, slots=True)
class Plan:
    """How a recording is cut.

    shard_s     what a piece answers for; it works ``WARM_S`` more
    pass_s      how much of each piece goes through the rings at once
    lanes       shards of a batch
    by_pass     results come back after every pass, not after a batch: less of a device's memory, more round trips
    longest_s   what shards may grow to, so that a long recording is one batch
    """

    shard_s: float = 900.0
    pass_s: float = 60.0
    lanes: int = 128
    by_pass: bool = True
    longest_s: float = 0.0

    @staticmethod
    def of(backend: Backend, memory_bytes: int | None = None) -> Plan:
        """Return what suits a backend: a GPU wants many lanes, the CPU what stays in its caches."""
        if backend.in_order:
            return Plan()
        if memory_bytes is not None and memory_bytes < ROOMY:
            return Plan(shard_s=90.0, pass_s=10.0, lanes=2048, longest_s=900.0)
        return Plan(shard_s=90.0, pass_s=96.0, lanes=2048, by_pass=False, longest_s=900.0)

    def within(self, memory_bytes: int, bank: Bank) -> Plan:
        """Return the plan with as few lanes as a device's memory has room for.

        A lane holds its rings, three stretches of samples, and what a beat every 0.22 s would take in what is on its
        way: 3.6 kB each.
        """
        way_s = self.pass_s if self.by_pass else self.shard_s + WARM_S + AHEAD_S
        samples = 2 * bank.leads * ((1 + ROOMS) * self.pass_s + 7.0) + 4 * (self.pass_s + 5.0)
        lane = samples * bank.rate_hz + 3600 * way_s / 0.22 + 10_000
        return replace(self, lanes=max(1, min(self.lanes, int(FILLED * memory_bytes / lane))))

    def for_length(self, seconds: float, segments: int = 1) -> Plan:
        """Return the plan with shards so long that a recording of some segments is one batch, if they may be."""
        wanted_s = seconds / max(1, self.lanes - segments)  # the last piece of a segment is a short one
        return replace(self, shard_s=max(self.shard_s, min(self.longest_s, wanted_s)))


class Archive:
    """Analyses recordings, one after the other; what it holds is that of some batches of shards.

    Parameters
    ----------
    settings
        What the graph does.
    plan
        How recordings are cut.
    backend
        Where the rings are, and what is done with them. On the CPU batches go through several graphs at once.
    memory_bytes
        What it may take of a device's memory.
    rules
        Go on to drift and alerts; without, scores are the end.

    Raises
    ------
    UserError
        The model of the settings cannot be used.
    """

    def __init__(
        self,
        settings: Settings,
        plan: Plan | None = None,
        backend: Backend = CPU,
        *,
        memory_bytes: int | None = None,
        rules: bool = True,
    ) -> None:
        self.plan = Plan.of(backend, memory_bytes) if plan is None else plan
        self._memory_bytes = memory_bytes
        self._backend, self._settings = backend, replace(settings, pass_s=self.plan.pass_s)
        self._lanes = [ShardBatch(self._settings, backend, rules=rules)]
        self.model = (models := Models.of(settings)).scoring
        self._directory = Directory(1)
        self._alerting = Alerting(settings, models, lambda: self._directory)
        self._alerts: list[Alerts] = []
        self._alerting.subscribe(self._alerting.alerts, self._alerts.append)
        self._rules = rules

    def analyze(
        self, recording: Recording, stream: str, progress: Callable[[float], None] = lambda _: None
    ) -> tuple[Alerts, dict[str, int]]:
        """Return all beats of a recording with their scores, its alerts, and the counts of its holes.

        Parameters
        ----------
        progress
            Called with the part that is done.
        """
        rate_hz, samples = recording.rate_hz, recording.samples
        bank = Bank(0, rate_hz, len(samples))
        plan = self.plan if self._memory_bytes is None else self.plan.within(self._memory_bytes, bank)
        held = held_after(samples, rate_hz)
        known = stretches_of(samples, held.shape[1], max(1, round(self._settings.bridge_s * rate_hz)))
        plan = plan.for_length(recording.seconds, len(known.segment))
        shards = cut(known, *(round(s * rate_hz) for s in (plan.shard_s, WARM_S, AHEAD_S)))
        most = max(1, round(plan.pass_s * rate_hz))
        total, taken, lock = int((shards.stop - shards.base).sum()), 0, Lock()

        def done(n: int) -> None:
            nonlocal taken
            with lock:
                taken += n
                progress(taken / total)

        def batch(some: Shards) -> Kept:
            lanes = idle.get()
            try:
                lanes.prepare(bank, len(some))
                source = self._source(samples, some, most)
                after = self._part("held", held, 0, held.shape[1])
                tick = passes(source, samples.shape[1], after, known, some, bank, recording.uv_per_unit, most)
                if isinstance(source, Fed):
                    ahead = one_ahead(bring() for bring in one_ahead(tick))
                    return lanes.batch(source.arrived(ahead), some, done)
                return lanes.batch((bring() for bring in tick), some, done, by_pass=plan.by_pass)
            finally:
                idle.put(lanes)

        workers = self._workers(len(shards))
        idle: SimpleQueue[ShardBatch] = SimpleQueue()
        for lanes in self._lanes[:workers]:
            idle.put(lanes)
        size = min(plan.lanes, -(-len(shards) // workers))
        batches = [shards.rows(first, first + size) for first in range(0, len(shards), size)]
        with ThreadPoolExecutor(workers) as pool:
            kept = Kept.joined(list(pool.map(batch, batches) if workers > 1 else map(batch, batches)))
        return self._put_together(kept, known, bank, stream), known.counts

    def _workers(self, shards: int) -> int:
        """Return how many graphs work on so many shards, and make them."""
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        wanted = max(1, min(cores, MOST_WORKERS, shards // FEWEST_SHARDS)) if self._backend.in_order else 1
        while len(self._lanes) < wanted:
            self._lanes.append(ShardBatch(self._settings, self._backend, rules=self._rules))
        return wanted

    def _source(self, samples: Any, some: Shards, most: int) -> Source:
        """Return where shards have their samples from: as they are, or a pass at a time where a device's are apart."""
        backend = self._backend
        if backend.in_order:
            return Whole(np.ascontiguousarray(samples))
        if isinstance(samples, np.ndarray):
            size = len(some) * len(samples) * most
            return Fed(samples, [backend.buffer(f"samples {k}", (size,), np.int16) for k in range(ROOMS)])
        first, stop = int(some.base.min()), int(some.stop.max())
        return Whole(self._part("recording", samples, first, stop), first)

    def _part(self, name: str, samples: Any, first: int, stop: int) -> Any:
        """Return samples [first, stop) of all leads where the backend has its arrays."""
        part = samples[:, first:stop]
        if self._backend.in_order:
            return np.ascontiguousarray(part)
        flat = self._backend.buffer(name, (part.size,), np.int16)[: part.size]  # the same place each time
        there = flat.reshape(part.shape)
        if isinstance(part, np.ndarray):
            there.set(np.ascontiguousarray(part))
        else:
            there[...] = part
        return there

    def _put_together(self, kept: Kept, known: Stretches, bank: Bank, stream: str) -> Alerts:
        """Make one stream of what the shards said, and run over it what follows the score: drift and rules."""
        column = kept.in_order()
        sample = column["sample"]
        b = len(sample)
        zero, none = np.zeros(b, np.int64), np.full(b, np.nan, np.float32)
        beats = TickBeats(
            aligned=_aligned(1, bank, int(known.run[-1, 1])), slot=zero, session=zero + 1, arrived_us=zero,
            time_us=START_US + np.floor(sample * 1e6 / bank.rate_hz + 0.5).astype(np.int64),
            rate_hz=np.full(b, bank.rate_hz), restart=np.zeros(b, np.bool_),
            terms=Terms(column["reconstruction_error"], none, none, none, column["prematurity"], column["latent"]),
            events=_events(kept, known, sample) if self._rules else np.zeros((0, 5), np.int64), **column,
        )  # fmt: skip
        if not self._rules:
            return Alerts(beats, [])
        self._directory = Directory(1)
        self._directory.names.append(stream)
        self._alerting.reset()
        self._alerting.scored.emit(beats)
        return self._alerts.pop()


def _aligned(slots: int, bank: Bank, expected: int = 0) -> Aligned:
    """Return what align would say of streams that began at ``START_US``."""
    zeros = np.zeros(slots, np.int64)
    columns = SlotColumns(
        session=zeros + 1, bank=zeros + bank.number, lane=np.arange(slots), expected=zeros + expected, arrived_us=zeros
    )
    anchors = np.zeros((slots, clock.ANCHOR_COLUMNS), np.int64)
    anchors[:, :4] = 1, 1, 0, START_US
    return Aligned(
        passes=[], events=np.zeros((0, 6), np.int64), seen=np.arange(slots),
        slots=columns, anchors=anchors, clocks=np.zeros((0, 6), np.int64), banks=(bank,),
        refused=np.zeros((0, 3), np.int64), rejects=Rejects(), now_us=0, caught_up=True, overloaded=False,
    )  # fmt: skip


def _events(kept: Kept, known: Stretches, sample: I64) -> I64:
    """Return what happened, by sample: nothing of a segment comes before its restart or after the next one."""
    blocks, reached = np.concatenate(kept.blocks), np.concatenate(kept.known)
    until = known.segment[:, 0].copy()
    np.maximum.at(until, *reached.T)
    parts = (
        known.event.T,
        (np.full(len(sample), Event.BEAT), sample, np.arange(len(sample))),
        (np.full(len(blocks), Event.BLOCK), *blocks.T),
        (np.full(len(until), Event.WATERMARK), until, until),
    )
    kind, at, value = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(8 * at + kind, kind="stable")
    rows = np.zeros((len(order), 5), np.int64)
    rows[:, 1], rows[:, 2], rows[:, 3], rows[:, 4] = 1, kind[order], at[order], value[order]
    return rows
