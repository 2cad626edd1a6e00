"""The streamz graph: the journey of a sample, one line for each stage. Read this first.

A tick goes in as RawTick and comes out as messages. A pass is 1.03 s of a stream at most, so a tick that brings more of
a stream is cut into passes; the stages from ring to history run once for each bank and pass
(``pipeline.parts.Detection``). Every node is an attribute of ``Graph`` and of ``Pipeline``, which a monitor runs:
subscribe a function, or attach a branch, to any of them::

    pipeline = Pipeline(Settings())
    pipeline.subscribe(pipeline.alerts, lambda alerts: print(alerts.transitions))

``beatwire.stages`` describes the stages, ``beatwire.records`` the records between them.
"""

from __future__ import annotations

from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.errors import UserError
from beatwire.pipeline.nodes import Stream
from beatwire.pipeline.parts import Alerting, Detection, Models, Part
from beatwire.pipeline.settings import Settings
from beatwire.records import Bank
from beatwire.stages import align, decode, gather, lifecycle, publish, score, unbundle
from beatwire.stages.support.alerts.limits import Limits
from beatwire.stages.support.alerts.unseen import Unseen
from beatwire.stages.support.streams.directory import Directory
from beatwire.wire.names import SAMPLES


class Graph(Part):
    """The stages, connected, and their states. ``Pipeline`` adds what a monitor asks of them.

    Parameters
    ----------
    settings
        Settings of all stages.
    backend
        Where the stages from ring to gather run.

    Raises
    ------
    UserError
        The model of the settings cannot be used, or the backend has no memory for a single stream.
    """

    def __init__(self, settings: Settings, backend: Backend = CPU) -> None:
        super().__init__()
        self.settings, self.backend = settings, backend
        self._check_memory()
        self.models = models = Models.of(settings)
        self.model, self.trees = models.scoring, models.trees
        self._begin()
        stage = self.stage

        # fmt: off
        self.source = Stream()                                                       # RawTick     m messages
        self.unbundled = stage(self.source, unbundle.step, unbundle.State)           # RawTick     one chunk a row
        self.decoded = stage(self.unbundled, decode.step, self._decode_state)        # Chunks      n columns
        self.aligned = stage(self.decoded, align.step, self._align_state)            # Aligned     passes, events
        self.rejects = self.aligned.map(lambda aligned: aligned.rejects)             # Rejects     before the passes
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

        self.alerting = self.include(Alerting(settings, models, lambda: self.limits, self.scored))
        self.labelled = self.alerting.labelled                                       # TickBeats   with classes
        self.compared = self.alerting.compared                                       # TickBeats   with events of drift
        self.judged = self.alerting.judged                                           # TickBeats   with rhythm
        self.alerts = self.alerting.alerts                                           # Alerts      transitions

        self.lifecycle = stage(self.alerts, lifecycle.step, self._lifecycle_state)   # Alerts      to publish; audit
        self.published = stage(self.lifecycle, publish.step, self._publish_state)       # [Outgoing]  messages
        # fmt: on

        # Subscribed after the passes, so it ends the tick: the passes of a tick are collected when it is called.
        self.subscribe(self.aligned, lambda _: self.collected.flush())

    def _begin(self) -> None:
        """Begin with no stream and no tick."""
        self.directory = Directory(self.settings.most_streams, SAMPLES)
        self.limits = Limits(self.models.alert(self.settings).limits, self.directory)

    def reset(self) -> None:
        """Drop every stream; subscriptions stay."""
        self._begin()
        super().reset()

    def _decode_state(self) -> decode.State:
        return decode.State(self.settings.decode(), self.backend.xp)

    def _align_state(self) -> align.State:
        admission = self.settings.admission(self._admits)
        return align.State(self.settings.align(), self.directory, admission, changes=self.limits)

    def _score_state(self) -> score.State:
        return score.State(score.Settings(self.model.calibration))

    def _lifecycle_state(self) -> lifecycle.State:
        return lifecycle.State(self.settings.lifecycle, self.limits, unseen=Unseen(self.settings.evict_s))

    def _publish_state(self) -> publish.State:
        settings = publish.Settings(
            self.model.name, score.SCORED_BY, self.model.network.map, self.settings.cloud_events
        )
        return publish.State(settings, self.directory)

    def _check_memory(self) -> None:
        """Check that a stream of one lead at 250 Hz can be admitted."""
        least, limit = self.settings.fixed_bytes + self.settings.lane_bytes(Bank(0, 250.0, 1)), self.backend.limit_bytes
        if limit is not None and limit < least:
            raise UserError(
                f"--gpu-memory: expected at least {-(-least // 2**20)} MiB for a worker with detector "
                f"{self.settings.detector}; got {limit // 2**20}"
            )

    def _admits(self, banks: list[Bank], lanes: list[int]) -> bool:
        """Return True if the backend has memory for so many lanes of each bank."""
        limit_bytes = self.backend.limit_bytes
        of_lanes = sum(n * self.settings.lane_bytes(bank) for bank, n in zip(banks, lanes, strict=True))
        return limit_bytes is None or self.settings.fixed_bytes + of_lanes <= limit_bytes
