"""THE streamz graph: the journey of a sample, one line per stage. Read this first.

A tick goes in as RawTick and comes out as messages. The pass from ring to beats may repeat within a
tick: the rings hold about two seconds, so a tick that brings more of a stream is cut into passes.
Every node is an attribute of ``Pipeline`` (``decoded`` ... ``published``): attach a listener or a branch of your
own to any of them::

    pipeline = Pipeline(Settings())
    pipeline.subscribe(pipeline.alerts, lambda alerts: print(alerts.transitions))

What a stage does is in ``streaming/stages``; what travels is in ``streaming/records``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from streamz import Stream

from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.model.checkpoint import load_model
from beatwire.model.trees import load_trees
from beatwire.pipeline.rewind import Marks
from beatwire.pipeline.settings import HORIZON_S, Settings
from beatwire.records import Aligned, Bank, Outgoing, RawTick, Rejects
from beatwire.stages import (
    alert,
    align,
    beats,
    classify,
    decode,
    drift,
    gather,
    history,
    nms,
    publish,
    ricker,
    ring,
    score,
    windows,
)
from beatwire.stages.support.directory import Directory
from beatwire.wire.dead_letters import Origin, dead_letters


class Pipeline:
    """The graph and the state of its stages.

    Parameters
    ----------
    settings
        What it does.
    backend
        Where the stages from ring to gather run.

    Raises
    ------
    UserError
        The model of the settings cannot be used.
    """

    def __init__(self, settings: Settings, backend: Backend = CPU) -> None:
        self.settings = settings
        self.backend = backend
        self.model = load_model(settings.model)
        self.trees = load_trees(settings.trees) if settings.detector == "trees" else None
        self._out: list[Outgoing] = []
        states = self._fresh_states()

        def stage(stream: Stream, step: Any) -> Stream:
            return stream.accumulate(step, start=states[step], returns_state=True)

        # fmt: off
        self.source = Stream()                                          # RawTick    m messages
        self.decoded = stage(self.source, decode.step)                  # Chunks     n columns
        self.aligned = stage(self.decoded, align.step)                  # Aligned    passes, events
        self.passes = self.aligned.map(lambda t: t.passes).flatten()    # Placement  per bank and pass
        self.ringed = stage(self.passes, ring.step)                     # Ringed     x [lanes, leads, R]
        self.responses = stage(self.ringed, ricker.step)                # Response   f [lanes, R]
        self.peaks = stage(self.responses, nms.step)                    # Peaks      [n, most]
        self.classified = stage(self.peaks, classify.step)                    # Peaks      and logits [n, most]
        self.beats = stage(self.classified, beats.step)                     # Beats      b
        self.windows = stage(self.beats, windows.step)                   # Windows    [b, 256]
        self.history_features = stage(self.windows, history.step)                # HistoryFeatures   terms of a score
        self.collected = self.history_features.collect()                        # (HistoryFeatures, ...) of all passes
        self.ticks = self.aligned.zip(self.collected)                   # (Aligned, (HistoryFeatures, ...))
        self.gathered = stage(self.ticks, gather.step)                  # TickBeats  b, by stream, in order
        self.scored = stage(self.gathered, score.step)                  # TickBeats  with scores
        self.compared = stage(self.scored, drift.step)                  # TickBeats  with what is unlike all people
        self.alerts = stage(self.compared, alert.step)                  # Alerts     transitions
        self.published = stage(self.alerts, publish.step)               # [Outgoing] messages
        self.rejects = self.aligned.map(lambda t: t.rejects)            # Rejects    a branch of its own

        # fmt: on
        self._subscriptions: list[Stream] = []
        self.subscribe(
            self.aligned, lambda _: self.collected.flush()
        )  # attached last, so after the passes: the tick ends
        self.subscribe(self.aligned, self._note)
        self.subscribe(self.published, self._out.extend)
        self.subscribe(self.rejects, self._reject)
        self._stateful = {
            decode.step: self.decoded,
            align.step: self.aligned,
            ring.step: self.ringed,
            ricker.step: self.responses,
            nms.step: self.peaks,
            classify.step: self.classified,
            beats.step: self.beats,
            windows.step: self.windows,
            history.step: self.history_features,
            gather.step: self.gathered,
            score.step: self.scored,
            drift.step: self.compared,
            alert.step: self.alerts,
            publish.step: self.published,
        }

    def subscribe(self, node: Stream, listener: Callable[[Any], object]) -> None:
        """Call a listener with what a node emits, as long as the pipeline lives: a sink of streamz lives for ever."""
        self._subscriptions.append(node.map(listener))

    def _fresh_states(self) -> dict[Any, Any]:
        s = self.settings
        self.directory = Directory(s.most_streams)
        self.drift = drift.State(self.model.reference)
        self.alert_settings = replace(s.alert, drift=self.model.reference.limit)
        self._alert = alert.State(self.alert_settings, self.directory)
        self._align = align.State(s.align(), self.directory, admits=self._admits)
        self.marks = Marks(HORIZON_S, s.silence_s)
        self._tick = -1
        self._rejects = Rejects()
        self._aligned: Aligned | None = None
        return {
            decode.step: decode.State(s.decode(), self.backend.xp),
            align.step: self._align,
            ring.step: ring.State(s.ring(), self.backend),
            ricker.step: ricker.State(s.ricker(), self.backend),
            nms.step: nms.State(s.nms, self.backend),
            classify.step: classify.State(s.classify(self.trees), self.backend),
            beats.step: beats.State(s.beats(self.trees), self.backend),
            windows.step: windows.State(self.backend),
            history.step: history.State(self.model.network, self.backend),
            gather.step: gather.State(self.backend),
            score.step: score.State(score.Settings(self.model.calibration)),
            drift.step: self.drift,
            alert.step: self._alert,
            publish.step: publish.State(publish.Settings(self.model.name, score.SCORED_BY), self.directory),
        }

    def _admits(self, banks: Sequence[Bank], lanes: Sequence[int]) -> bool:
        """Tell whether the backend has memory for so many lanes of each bank."""
        limit_bytes = self.backend.limit_bytes
        needed = sum(n * self.settings.lane_bytes(bank) for bank, n in zip(banks, lanes, strict=True))
        return limit_bytes is None or needed <= limit_bytes

    def _note(self, aligned: Aligned) -> None:
        self._aligned = aligned
        self.marks.note(self._tick, aligned)

    def _reject(self, rejects: Rejects) -> None:
        self._rejects = rejects

    def emit(self, tick: RawTick, origin: Origin | None = None) -> Sequence[Outgoing]:
        """Take a tick through all stages; return what is to be published.

        Parameters
        ----------
        origin
            Where the messages came from; without it rejects are counted but no dead letters made.
        """
        self._tick += 1
        self._out.clear()
        self.backend.begin()
        self.source.emit(tick)
        out = list(self._out)
        if self._rejects.message and origin is not None:
            out.append(dead_letters(self._rejects, origin))
        return out

    def reset(self) -> None:
        """Forget every stream; what is attached to the graph stays."""
        for step, state in self._fresh_states().items():
            self._stateful[step].state = state

    def adopt(self, alerts: list[dict[str, Any]]) -> None:
        """Take over the alerts that are not off according to the log."""
        alert.adopt(self._alert, alerts)

    def rewind_tick(self, partition: int) -> int:
        """Return the tick from whose start a successor must replay ``partition``."""
        if self._aligned is None:
            return self._tick + 1
        known = len(self.directory.names)
        partitions = self.directory.partition[:known].astype(np.int64)
        return self.marks.oldest(partition, partitions, self._aligned.arrival_us[:known], self._tick + 1)

    @property
    def states(self) -> list[Any]:
        """What every stage holds, in the order of the journey."""
        return [node.state for node in self._stateful.values()]

    @property
    def counts(self) -> dict[str, int]:
        """What happened to chunks since the start: duplicates, gaps, restarts."""
        return dict(zip(align.COUNTS, self._align.counts.tolist(), strict=True))

    @property
    def rejected(self) -> Rejects:
        """The rejects of the last tick."""
        return self._rejects
