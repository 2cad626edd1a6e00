"""Analysis of recordings of any length, in overlapping shards that are processed as lanes of the graph.

In:  a :class:`Recording`, int16 ``samples[leads, n]`` on the host or on the device
Out: its beats with scores, its alerts, and the counts of its gaps

The stages from ring to history process each shard as a stream of its own; the beats are scored; the results that the
shards own are merged, and drift and alert process the merged stream at once. By cut invariance and the finite horizon
the output is that of the graph for the recording in one piece. Memory: one batch of shards per graph, beside the
recording and its beats.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from queue import SimpleQueue
from threading import Lock
from typing import Any

import numpy as np

from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.errors import FullMemoryError
from beatwire.offline.batch import ShardBatch, ShardResults
from beatwire.offline.passes import SamplesInPlace, SampleSource, passes
from beatwire.offline.plan import AHEAD_S, WARM_S, Plan
from beatwire.offline.prefetch import BUFFERS, UploadedSamples, one_ahead
from beatwire.offline.results.coverage import coverage_of, hold_last, without_holes
from beatwire.offline.results.merge import merge
from beatwire.offline.shards import Shards, cut
from beatwire.pipeline.parts import Alerting, Models
from beatwire.pipeline.settings import Settings
from beatwire.recordings import Recording
from beatwire.records import Alerts, Bank, TickBeats
from beatwire.stages.support.alerts.limits import Limits
from beatwire.stages.support.holes import longest_hole
from beatwire.stages.support.streams.directory import Directory

MAX_GRAPHS = 8  # that run at the same time on the CPU
SHARDS_PER_GRAPH = 4  # fewer are not worth another graph


class Analyzer:
    """Analyzes recordings, one after the other, and keeps the memory of its batches between them.

    Parameters
    ----------
    settings
        Settings of the graph.
    plan
        How recordings are cut; None: the plan for the backend.
    backend
        Where the graph runs. On the CPU several graphs process batches at the same time.
    memory_bytes
        Limit of the device memory used; None: no limit.
    rules
        False: end with the scores, without drift and alerts.
    most_graphs
        That run at the same time on the CPU.

    Raises
    ------
    UserError
        The model in the settings cannot be used.
    """

    def __init__(
        self,
        settings: Settings,
        plan: Plan | None = None,
        backend: Backend = CPU,
        *,
        memory_bytes: int | None = None,
        rules: bool = True,
        most_graphs: int = MAX_GRAPHS,
    ) -> None:
        self.plan = Plan.of(backend, memory_bytes) if plan is None else plan
        self._memory_bytes, self._most_graphs = memory_bytes, most_graphs
        self._backend, self._settings = backend, replace(settings, pass_s=self.plan.pass_s)
        self._graphs = [ShardBatch(self._settings, backend, rules=rules)]
        self.model = (models := Models.of(settings)).scoring
        self._directory = Directory(1)
        self.alerting = Alerting(settings, models, lambda: Limits(models.alert(settings).limits, self._directory))
        self._alerts: list[Alerts] = []
        self.alerting.subscribe(self.alerting.alerts, self._alerts.append)
        self._rules = rules

    def analyze(
        self, recording: Recording, stream: str, progress: Callable[[float], None] = lambda _: None
    ) -> tuple[Alerts, dict[str, int]]:
        """Return the beats of a recording with their scores, its alerts, and the counts of its gaps.

        Parameters
        ----------
        stream
            The stream id in the alerts.
        progress
            Called with the completed fraction, 0-1; from 0 on again where the memory of a device was full, and fewer
            shards at once are tried.
        """
        rate_hz, samples = recording.rate_hz, recording.samples
        bank = Bank(0, rate_hz, len(samples))
        plan = self.plan
        if self._memory_bytes is not None:
            plan = plan.within(self._memory_bytes - self._settings.fixed_bytes, bank)
        held = hold_last(samples, rate_hz, recording.uv_per_unit)
        bridge = max(1, round(self._settings.bridge_s * rate_hz))
        hole = longest_hole(rate_hz, self._settings.bridge_s)
        coverage = coverage_of(samples, held.shape[1], bridge, hole)
        samples, held, is_clean = without_holes(samples, held, coverage, hole, rate_hz, recording.uv_per_unit)
        plan = plan.for_length(recording.seconds, len(coverage.segment))
        shards = cut(coverage, *(round(s * rate_hz) for s in (plan.shard_s, WARM_S, AHEAD_S)))
        pass_samples = max(1, round(plan.pass_s * rate_hz))
        total, processed, lock = int((shards.stop - shards.base).sum()), 0, Lock()

        def done(count: int) -> None:
            nonlocal processed
            with lock:
                processed += count
                progress(processed / total)

        def run_batch(batch: Shards) -> ShardResults:
            graph = idle.get()
            try:
                graph.prepare(bank, len(batch))
                source = self._source(samples, batch, pass_samples)
                after = self._part("held", held, 0, held.shape[1])
                fetches = passes(
                    source, samples.shape[1], after, coverage, batch, bank, recording.uv_per_unit, pass_samples,
                    is_clean=is_clean,
                )  # fmt: skip
                if isinstance(source, UploadedSamples):
                    placements = one_ahead(fetch() for fetch in one_ahead(fetches))
                    return graph.run(source.when_uploaded(placements), batch, done)
                return graph.run((fetch() for fetch in fetches), batch, done, by_pass=plan.by_pass)
            finally:
                idle.put(graph)

        workers = self._workers(len(shards))
        size, results = min(plan.lanes, -(-len(shards) // workers)), None
        while results is None:
            idle: SimpleQueue[ShardBatch] = SimpleQueue()
            for graph in self._graphs[:workers]:
                idle.put(graph)
            batches = [shards.rows(first, first + size) for first in range(0, len(shards), size)]
            try:
                with ThreadPoolExecutor(workers) as pool:
                    results = ShardResults.joined(list((pool.map if workers > 1 else map)(run_batch, batches)))
            except FullMemoryError:
                if size == 1:
                    raise
            if results is None:  # not before the error is gone: its frames hold what is to be freed
                size, processed = size // 2, 0
                self._free()
        beats = merge(results, coverage, bank, rules=self._rules)
        return self._decide(beats, stream) if self._rules else Alerts(beats, []), coverage.counts

    def _free(self) -> None:
        """Drop graphs and buffers: where memory was full."""
        self._graphs = [ShardBatch(self._settings, self._backend, rules=self._rules) for _ in self._graphs]
        self._backend.begin()
        self._backend.release_buffers()

    def _workers(self, shards: int) -> int:
        """Return how many graphs process this many shards, and create them."""
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        workers = max(1, min(cores, self._most_graphs, shards // SHARDS_PER_GRAPH)) if self._backend.in_order else 1
        while len(self._graphs) < workers:
            self._graphs.append(ShardBatch(self._settings, self._backend, rules=self._rules))
        return workers

    def _source(self, samples: Any, batch: Shards, pass_samples: int) -> SampleSource:
        """Return the source of the samples of a batch: in place, or uploaded pass by pass from the host."""
        backend = self._backend
        if backend.in_order:
            return SamplesInPlace(np.ascontiguousarray(samples))
        if isinstance(samples, np.ndarray):
            size = len(batch) * len(samples) * pass_samples
            buffers = [backend.buffer(f"samples {k}", (size,), np.int16) for k in range(BUFFERS)]
            return UploadedSamples(samples, buffers)
        first, stop = int(batch.base.min()), int(batch.stop.max())
        return SamplesInPlace(self._part("recording", samples, first, stop), first)

    def _part(self, name: str, samples: Any, first: int, stop: int) -> Any:
        """Return samples ``[first, stop)`` of all leads in the memory of the backend, in the buffer ``name``."""
        part = samples[:, first:stop]
        if self._backend.in_order:
            return np.ascontiguousarray(part)
        flat = self._backend.buffer(name, (part.size,), np.int16)[: part.size]
        out = flat.reshape(part.shape)
        if isinstance(part, np.ndarray):
            out.set(np.ascontiguousarray(part))
        else:
            out[...] = part
        return out

    def _decide(self, beats: TickBeats, stream: str) -> Alerts:
        """Return the beats with their alerts: drift and alert process all of them as one tick."""
        self._directory = Directory(1)
        self._directory.names.append(stream)
        self.alerting.reset()
        self.alerting.scored.emit(beats)
        return self._alerts.pop()
