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

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from streamz import Stream

from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.pipeline.held import Held
from beatwire.pipeline.parts import Alerting, Detection, Models, Part
from beatwire.pipeline.rewind import Marks
from beatwire.pipeline.settings import Settings
from beatwire.records import I32, Acknowledgement, Aligned, Bank, Expired, LimitChange, Outgoing, RawTick, Rejects
from beatwire.records.samples import BankKind
from beatwire.settings import HORIZON_S
from beatwire.stages import align, decode, gather, lifecycle, publish, score
from beatwire.stages.judging import alert, drift
from beatwire.stages.support.alerts.limits import Limits
from beatwire.stages.support.streams.banks import kinds_of
from beatwire.stages.support.streams.directory import Directory
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
        self.models = models = Models.of(settings)
        self.model, self.trees = models.scoring, models.trees
        self._begin()
        stage = self.stage

        self._out: list[Outgoing] = []
        self._received: tuple[RawTick, Origin] | None = None  # the tick in work
        self._ahead: Callable[[Sequence[Outgoing]], None] | None = None
        self._unread: frozenset[int] = frozenset()
        # fmt: off
        self.source = Stream()                                                       # RawTick     m messages
        self.decoded = stage(self.source, decode.step, self._decode_state)           # Chunks      n columns
        self.aligned = stage(self.decoded, align.step, self._align_state)            # Aligned     passes, events
        self.rejects = self.aligned.map(lambda aligned: aligned.rejects)             # Rejects     a branch
        self.subscribe(self.rejects, self._reject)  # before the passes: the broker takes the letters meanwhile
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
        self.subscribe(self.aligned, self._note)
        self.subscribe(self.published, self._out.extend)

    def _begin(self) -> None:
        """Begin with no stream and no tick."""
        self.directory = Directory(self.settings.most_streams)
        self.limits = Limits(self.models.alert(self.settings).limits, self.directory)
        self.marks = Marks(HORIZON_S, self.settings.silence_s)
        self._tick = -1
        self.held = Held()
        self._rejects = Rejects()
        self._aligned: Aligned | None = None

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
        return lifecycle.State(self.settings.lifecycle, self.limits)

    def _publish_state(self) -> publish.State:
        settings = publish.Settings(
            self.model.name, score.SCORED_BY, self.model.network.map, self.settings.cloud_events
        )
        return publish.State(settings, self.directory)

    def _admits(self, banks: list[Bank], lanes: list[int]) -> bool:
        """Return True if the backend has memory for so many lanes of each bank."""
        limit_bytes = self.backend.limit_bytes
        needed = sum(n * self.settings.lane_bytes(bank) for bank, n in zip(banks, lanes, strict=True))
        return limit_bytes is None or needed <= limit_bytes

    def _note(self, aligned: Aligned) -> None:
        self._aligned = aligned
        self.marks.note(self._tick, aligned, self._partitions(), self._unread)

    def _reject(self, rejects: Rejects) -> None:
        """Make the dead letters of a tick; the stages of the samples follow."""
        self._rejects = rejects
        if self._received is None:
            return
        tick, origin = self._received
        waiting = self._align.admission.waiting
        self.held.enter(waiting, tick, origin)
        if len(rejects):
            self._out += dead_letters(rejects, tick, origin, self.held)
            if self._ahead is not None:
                self._ahead(self._out)
        self.held.leave(waiting)

    def emit(
        self, tick: RawTick, origin: Origin | None = None, ahead: Callable[[Sequence[Outgoing]], None] | None = None
    ) -> Sequence[Outgoing]:
        """Take a tick through all stages; return the messages to publish.

        Parameters
        ----------
        origin
            The messages of the tick; without it rejects are counted but no dead letters are made.
        ahead
            Called with the dead letters, which are returned first, before the samples are processed.
        """
        self._tick += 1
        self._out.clear()
        self.backend.begin()
        self._received = None if origin is None else (tick, origin)
        self._ahead, self._unread = ahead, tick.held
        self.source.emit(tick)
        self._received = None
        return list(self._out)

    def adopt(self, alerts: list[dict[str, Any]], acks: Sequence[Acknowledgement] = ()) -> None:
        """Take over the alerts that are not off according to the log, and all acknowledgements."""
        over = self.alerting.adopt(alerts)
        lifecycle.adopt(self.lifecycle.state, alerts, acks, over)

    def acknowledge(self, acks: Sequence[Acknowledgement]) -> None:
        """Apply acknowledgements with the next tick."""
        self.lifecycle.state.acks += acks

    def watch_feed(self, newest_us: int, *, raises: bool) -> None:
        """Take the arrival of the newest chunk of any stream, 0: unknown; ``raises``: the alert is this worker's."""
        alert.watch_feed(self.alerts.state, newest_us)
        self.lifecycle.state.feed_newest_us = newest_us if raises else 0

    def count_partitions(self, counts: Sequence[int]) -> None:
        """Take the numbers of partitions that the topic of samples has had, the present one last.

        A stream that belongs to another partition since some were added is released when it is silent for two minutes.
        """
        self.directory.counts = tuple(counts)

    def report_expired(self, expired: Mapping[int, Expired]) -> None:
        """Raise an alert with the next tick, for each partition of which samples were deleted before they were read."""
        self.lifecycle.state.expired.update(expired)

    def change_limits(self, changes: Sequence[LimitChange]) -> None:
        """Take changes of the limits of streams; each is in force from a time of the broker on."""
        self.limits.add(changes)

    def rewind_tick(self, partition: int) -> int:
        """Return the tick from whose start a successor must replay ``partition``."""
        if self._aligned is None:
            return self._tick + 1
        partitions = self._partitions()
        arrived_us = self._aligned.slots.arrived_us[: len(partitions)]
        oldest = self.marks.oldest(partition, partitions, arrived_us, self._tick + 1)
        return self._align.admission.waiting.oldest_tick(partition, oldest)

    def _partitions(self) -> I32:
        """Return the partition of each stream, by slot: a view."""
        return self.directory.partition[: len(self.directory.names)]

    @property
    def open_banks(self) -> frozenset[BankKind]:
        """Return the banks that are open: the commit of each partition contains them, for a replay."""
        return kinds_of(self._align.admission.banks)

    @property
    def model_name(self) -> str:
        """Return version and hash of the scoring model, which alerts carry."""
        return self.model.name

    @property
    def drift(self) -> drift.State:
        """Return what is compared with the reference of the model."""
        return self.alerting.drift

    @property
    def active_alerts(self) -> dict[str, int]:
        """Return how many alerts of each rule are on."""
        return alert.active(self.alerts.state)

    @property
    def counts(self) -> dict[str, int]:
        """Return what happened to chunks since the start: duplicates, gaps, restarts, by ``align.COUNTS``."""
        counts = dict(zip(align.COUNTS, self._align.counts.tolist(), strict=True))
        return counts | {"strays": self._align.admission.waiting.dropped}

    @property
    def _align(self) -> align.State:
        state: align.State = self.aligned.state
        return state

    @property
    def resolved(self) -> int:
        """Return the number of messages since the start that were converted from another schema."""
        return int(self.decoded.state.resolved)

    @property
    def rejected(self) -> Rejects:
        """Return the rejects of the last tick."""
        return self._rejects
