"""What a monitor asks of the graph: a tick in, messages out, and what is in force meanwhile.

``Pipeline`` is the graph (``pipeline.graph``) with the tick in work, the messages whose chunks wait, and the marks from
which a replay begins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.pipeline.graph import Graph
from beatwire.pipeline.held import Held
from beatwire.pipeline.rewind import Marks
from beatwire.pipeline.settings import Settings
from beatwire.pipeline.turned_away import note_turned_away
from beatwire.records import I32, Acknowledgement, Aligned, Expired, LimitChange, Outgoing, RawTick, Rejects
from beatwire.records.feed import Watched
from beatwire.records.samples import BankKind, SlotColumns
from beatwire.records.slot_columns import SLOT_BANK, SLOT_LANE, SLOT_NANOVOLTS
from beatwire.settings import HORIZON_S
from beatwire.stages import align, lifecycle
from beatwire.stages.judging import alert, drift
from beatwire.stages.support.hum import humming
from beatwire.stages.support.streams.banks import kinds_of
from beatwire.stages.support.streams.read_ids import ReadIds
from beatwire.wire.dead_letters import Origin, dead_letters


class Pipeline(Graph):
    """The graph with what a monitor asks of it.

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
        super().__init__(settings, backend)
        self._out: list[Outgoing] = []
        self._origin: Origin | None = None  # of the messages of the tick in work
        self._ahead: Callable[[Sequence[Outgoing]], None] | None = None
        self._unread: frozenset[int] = frozenset()
        self.subscribe(self.rejects, self._reject)
        self.subscribe(self.aligned, self._note)
        self.subscribe(self.published, self._out.extend)

    def _begin(self) -> None:
        super()._begin()
        self.marks = Marks(HORIZON_S, self.settings.silence_s)
        self._tick = -1
        self._turned_ticks: dict[int, int] = {}
        self.held = Held()
        self._rejects = Rejects()
        self._slots: SlotColumns | None = None

    def _note(self, aligned: Aligned) -> None:
        self._slots = aligned.slots
        self.marks.note(self._tick, aligned, self._partitions(), self._unread)

    def _reject(self, rejects: Rejects) -> None:
        """Make the dead letters of a tick; the stages of the samples follow."""
        self._rejects = rejects
        turned, rows, ids = self.lifecycle.state.turned, self.unbundled.state.tick, self.decoded.state.ids
        note_turned_away(turned, rejects, rows, ids, self._origin, self._align, self._tick)
        if self._origin is None:
            return
        tick, origin = self.unbundled.state.tick, self._origin  # rejects name rows
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
        self._origin = origin
        self._ahead, self._unread = ahead, tick.held
        self.source.emit(tick)
        self._origin = self.unbundled.state.tick = None
        self.decoded.state.ids = ReadIds()
        self._turned_ticks = self.lifecycle.state.turned.oldest_ticks()
        return list(self._out)

    def adopt(
        self, alerts: list[dict[str, Any]], acks: Sequence[Acknowledgement] = (), said_us: Mapping[str, int] = {}
    ) -> None:
        """Take over the alerts that are not off according to the log, and all acknowledgements: `lifecycle.adopt`."""
        over = self.alerting.adopt(alerts, self.lifecycle.state.alerts.held.keys())
        lifecycle.adopt(self.lifecycle.state, alerts, acks, over, said_us)

    def acknowledge(self, acks: Sequence[Acknowledgement]) -> None:
        """Apply acknowledgements with the next tick."""
        self.lifecycle.state.acks += acks

    def watch_feed(self, watched: Watched, newest_us: int) -> None:
        """Take what is known of the feed before a tick.

        Parameters
        ----------
        watched
            By the clock that silence is measured by.
        newest_us
            Arrival of the newest chunk of any stream, by the clock of the ticks; 0: unknown, or the alert that nothing
            arrives is another worker's.
        """
        self.alerts.state.silence.watch(watched)
        self.lifecycle.state.feed_newest_us = newest_us

    def count_partitions(self, counts: Sequence[int]) -> None:
        """Take the numbers of partitions that the topic of samples has had, the present one last.

        A stream that belongs to another partition since some were added is released when it is silent for two minutes.
        """
        self.directory.counts = tuple(counts)

    def report_expired(self, expired: Mapping[int, Expired]) -> None:
        """Raise an alert with the next tick, for each partition of which samples were deleted before they were read."""
        self.lifecycle.state.expired.update(expired)

    def repeat_alerts(self) -> int:
        """Publish the alerts that are not off as they are with the next tick; return their number."""
        self.lifecycle.state.repeat = True
        return len(self.lifecycle.state.alerts.by_id)

    def change_limits(self, changes: Sequence[LimitChange]) -> None:
        """Take changes of the limits of streams; each is in force from a time of the broker on."""
        self.limits.add(changes)

    def rewind_tick(self, partition: int) -> int:
        """Return the tick from whose start a successor must replay ``partition``."""
        if self._slots is None:
            return self._tick + 1
        partitions = self._partitions()
        arrived_us = self._slots.arrived_us[: len(partitions)]
        oldest = self.marks.oldest(partition, partitions, arrived_us, self._tick + 1)
        oldest = self._align.admission.waiting.oldest_tick(partition, oldest)
        oldest = min(oldest, self._turned_ticks.get(partition, oldest))
        return self.marks.starts.at_or_before(partition, oldest)

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
    def streams_with_hum(self) -> int | None:
        """Return how many streams have mains hum; another thread may read it during a tick. None: a card has it.

        There a copy by another thread would end the capture of a graph.
        """
        if self.backend.name != "cpu":
            return None
        slots, count = self._align.slots, 0
        for bank, sines in list(self.ringed.state.sines.items()):
            of_bank = slots[(slots[:, SLOT_BANK] == bank) & (slots[:, SLOT_LANE] >= 0)]
            of_bank = of_bank[of_bank[:, SLOT_LANE] < len(sines)]  # others begin with this tick
            count += int(humming(sines[of_bank[:, SLOT_LANE]], of_bank[:, SLOT_NANOVOLTS] / 1000.0).sum())
        return count

    @property
    def _align(self) -> align.State:
        state: align.State = self.aligned.state
        return state

    @property
    def resolved(self) -> int:
        """Return the number of messages since the start that were converted from another schema."""
        return int(self.decoded.state.resolved) + int(self.unbundled.state.resolved)

    @property
    def rejected(self) -> Rejects:
        """Return the rejects of the last tick."""
        return self._rejects
