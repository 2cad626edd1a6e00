"""The streamz graph: the journey of a sample, one line for each stage. Read this first.

A tick goes in as RawTick and comes out as messages. The rings hold about two seconds, so a tick that brings more of a
stream is cut into passes; the stages from ring to history run once for each bank and pass
(``pipeline.parts.Detection``). Every node is an attribute of ``Pipeline``: subscribe a function, or attach a branch, to
any of them::

    pipeline = Pipeline(Settings())
    pipeline.subscribe(pipeline.alerts, lambda alerts: print(alerts.transitions))

``beatwire.stages`` describes the stages, ``beatwire.records`` the records between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from streamz import Stream

from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.pipeline.parts import Alerting, Detection, Models, Part
from beatwire.pipeline.rewind import Marks
from beatwire.pipeline.settings import HORIZON_S, Settings
from beatwire.records import Aligned, Bank, Outgoing, RawTick, Rejects
from beatwire.stages import align, decode, drift, gather, publish, score
from beatwire.stages.support.directory import Directory
from beatwire.wire.dead_letters import Origin, dead_letters


class Pipeline(Part):
    """The graph and the states of its stages.

    Parameters
    ----------
    settings
        Settings of all stages.
    backend
        Where the stages from ring to gather run.

    Raises
    ------
    UserError
        The model of the settings cannot be used.
    """

    def __init__(self, settings: Settings, backend: Backend = CPU) -> None:
        super().__init__()
        self.settings, self.backend = settings, backend
        self.model, self.trees = models = Models.of(settings)
        self._begin()
        stage = self.stage

        # fmt: off
        self.source = Stream()                                                       # RawTick     m messages
        self.decoded = stage(self.source, decode.step, self._decode_state)           # Chunks      n columns
        self.aligned = stage(self.decoded, align.step, self._align_state)            # Aligned     passes, events
        self.passes = self.aligned.map(lambda aligned: aligned.passes).flatten()     # Placement   one bank and pass

        detection = self.include(Detection(settings, models, backend, self.passes))
        self.ringed = detection.ringed                                               # Ringed      x [lanes, leads, R]
        self.responses = detection.responses                                         # Response    f [lanes, R]
        self.peaks = detection.peaks                                                 # Peaks       [n, most]
        self.classified = detection.classified                                       # Peaks       with logits
        self.beats = detection.beats                                                 # Beats       b
        self.windows = detection.windows                                             # Windows     [b, 256]
        self.history_features = detection.history_features                           # HistoryFeatures  terms

        self.collected = self.history_features.collect()                             # (HistoryFeatures, ...) all passes
        self.ticks = self.aligned.zip(self.collected)                                # (Aligned, (HistoryFeatures, ...))
        self.gathered = stage(self.ticks, gather.step, lambda: gather.State(backend))  # TickBeats  b, in order
        self.scored = stage(self.gathered, score.step, self._score_state)            # TickBeats   with scores

        self.alerting = self.include(Alerting(settings, models, lambda: self.directory, self.scored))
        self.compared = self.alerting.compared                                       # TickBeats   with events of drift
        self.alerts = self.alerting.alerts                                           # Alerts      transitions

        self.published = stage(self.alerts, publish.step, self._publish_state)       # [Outgoing]  messages
        self.rejects = self.aligned.map(lambda aligned: aligned.rejects)             # Rejects     a branch
        # fmt: on

        self._out: list[Outgoing] = []
        # Subscribed after the passes, so it ends the tick: the passes of a tick are collected when it is called.
        self.subscribe(self.aligned, lambda _: self.collected.flush())
        self.subscribe(self.aligned, self._note)
        self.subscribe(self.published, self._out.extend)
        self.subscribe(self.rejects, self._reject)

    def _begin(self) -> None:
        """Begin with no stream and no tick."""
        self.directory = Directory(self.settings.most_streams)
        self.marks = Marks(HORIZON_S, self.settings.silence_s)
        self._tick = -1
        self._rejects = Rejects()
        self._aligned: Aligned | None = None

    def reset(self) -> None:
        """Drop every stream; subscriptions stay."""
        self._begin()
        super().reset()

    def _decode_state(self) -> decode.State:
        return decode.State(self.settings.decode(), self.backend.xp)

    def _align_state(self) -> align.State:
        return align.State(self.settings.align(), self.directory, admits=self._admits)

    def _score_state(self) -> score.State:
        return score.State(score.Settings(self.model.calibration))

    def _publish_state(self) -> publish.State:
        return publish.State(publish.Settings(self.model.name, score.SCORED_BY), self.directory)

    def _admits(self, banks: Sequence[Bank], lanes: Sequence[int]) -> bool:
        """Return True if the backend has memory for so many lanes of each bank."""
        limit_bytes = self.backend.limit_bytes
        needed = sum(n * self.settings.lane_bytes(bank) for bank, n in zip(banks, lanes, strict=True))
        return limit_bytes is None or needed <= limit_bytes

    def _note(self, aligned: Aligned) -> None:
        self._aligned = aligned
        self.marks.note(self._tick, aligned)

    def _reject(self, rejects: Rejects) -> None:
        self._rejects = rejects

    def emit(self, tick: RawTick, origin: Origin | None = None) -> Sequence[Outgoing]:
        """Take a tick through all stages; return the messages to publish.

        Parameters
        ----------
        origin
            The messages of the tick; without it rejects are counted but no dead letters are made.
        """
        self._tick += 1
        self._out.clear()
        self.backend.begin()
        self.source.emit(tick)
        out = list(self._out)
        if self._rejects.message and origin is not None:
            out.append(dead_letters(self._rejects, origin))
        return out

    def adopt(self, alerts: list[dict[str, Any]]) -> None:
        """Take over the alerts that are not off according to the log."""
        self.alerting.adopt(alerts)

    def rewind_tick(self, partition: int) -> int:
        """Return the tick from whose start a successor must replay ``partition``."""
        if self._aligned is None:
            return self._tick + 1
        known = len(self.directory.names)
        partitions = self.directory.partition[:known].astype(np.int64)
        arrived_us = self._aligned.slots.arrived_us[:known]
        return self.marks.oldest(partition, partitions, arrived_us, self._tick + 1)

    @property
    def drift(self) -> drift.State:
        """Return what is compared with the reference of the model."""
        return self.alerting.drift

    @property
    def counts(self) -> dict[str, int]:
        """Return what happened to chunks since the start: duplicates, gaps, restarts, by ``align.COUNTS``."""
        return dict(zip(align.COUNTS, self.aligned.state.counts.tolist(), strict=True))

    @property
    def rejected(self) -> Rejects:
        """Return the rejects of the last tick."""
        return self._rejects
