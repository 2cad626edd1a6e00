"""A recording through the graph in pieces: many lanes at once, whatever its length.

The stages from ring to score see each piece as a stream (``streaming.pieces``); what a piece says of the
samples that it answers for is put together again, and the rules run over that in one go. By cut invariance
and the horizon this is what the graph says of the recording in one piece. Memory is that of one batch
of pieces, besides the recording itself and its beats.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from streaming.kernels import align as columns
from streaming.model.checkpoint import Model
from streaming.pieces import Pieces, Stretches, cut, passes, stretches_of
from streaming.pipeline import Pipeline
from streaming.recordings import Recording
from streaming.records import I64, Alerts, Aligned, Bank, Event, Rejects, Terms, TickBeats
from streaming.settings import HORIZON_S, Settings

AHEAD_S = 1.0  # more than any decision or window looks ahead
START_US = 1_000_000_000_000_000
_OF_A_TICK = (
    "aligned", "slot", "session", "arrived_us", "rate_hz", "restart", "terms", "events", "overloaded",
)  # fmt: skip
BY_BEAT = tuple(f.name for f in fields(TickBeats) if f.name not in _OF_A_TICK)


@dataclass(frozen=True, slots=True)
class Plan:
    """How a recording is cut.

    piece_s   what a piece answers for; it works ``HORIZON_S`` more
    pass_s    how much of each piece goes through the rings at once
    lanes     pieces of a batch
    """

    piece_s: float = 900.0
    pass_s: float = 60.0
    lanes: int = 128


@dataclass(slots=True)
class Kept:
    """What the pieces said of what they answer for.

    beats    a list of arrays for each column
    blocks   int64 [., 2] of each tick: where a block of the level ends, and whether it was flat
    known    int64 [., 2]: segment, up to where its beats are known
    """

    beats: dict[str, list[Any]] = field(default_factory=lambda: {name: [] for name in BY_BEAT})
    blocks: list[I64] = field(default_factory=list)
    known: list[I64] = field(default_factory=list)

    def add(self, scored: TickBeats, pieces: Pieces) -> None:
        """Keep what a tick said."""
        mine = (scored.sample >= pieces.begin[scored.slot]) & (scored.sample < pieces.end[scored.slot])
        for name, parts in self.beats.items():
            parts.append(getattr(scored, name)[mine])
        slot, _, kind, sample, value = scored.events.T
        inside = (kind == Event.BLOCK) & (sample > pieces.begin[slot]) & (sample <= pieces.end[slot])
        self.blocks.append(np.stack([sample[inside], value[inside]], axis=1))
        until = kind == Event.KNOWN
        self.known.append(np.stack([pieces.segment[slot[until]], sample[until]], axis=1))


class Archive:
    """Analyses recordings, one after the other; what it holds is that of a batch of pieces.

    Parameters
    ----------
    settings
        What the graph does.
    plan
        How recordings are cut.

    Raises
    ------
    UserError
        The model of the settings cannot be used.
    """

    def __init__(self, settings: Settings, plan: Plan | None = None) -> None:
        self.plan = Plan() if plan is None else plan
        self.xp: Any = np
        self._lanes = Pipeline(replace(settings, pass_s=self.plan.pass_s))
        self._whole = Pipeline(settings)
        self._cut: list[Any] = []
        self._scored: list[TickBeats] = []
        self._alerts: list[Alerts] = []
        for node, sink in (
            (self._lanes.collected.upstreams[0], self._cut),  # what a pass ends with
            (self._lanes.scored, self._scored),
            (self._whole.alerts, self._alerts),
        ):
            node.downstreams.clear()
            node.sink(sink.append)

    @property
    def model(self) -> Model:
        """The model that scores."""
        return self._whole.model

    def analyze(
        self, recording: Recording, held: Any, stream: str, progress: Callable[[float], None] = lambda _: None
    ) -> tuple[Alerts, dict[str, int]]:
        """Return all beats of a recording with their scores, its alerts, and the counts of its holes.

        Parameters
        ----------
        held : int16 [leads, h]
            What follows the end of the recording.
        progress
            Called with the part that is done.
        """
        plan, rate_hz = self.plan, recording.rate_hz
        samples, held = recording.samples, self.xp.ascontiguousarray(self.xp.asarray(held))
        known = stretches_of(samples, held.shape[1], max(1, round(self._whole.settings.bridge_s * rate_hz)))
        pieces = cut(known, *(round(s * rate_hz) for s in (plan.piece_s, HORIZON_S, AHEAD_S)))
        bank, kept = Bank(0, rate_hz, len(samples)), Kept()
        most, total, done = max(1, round(plan.pass_s * rate_hz)), int((pieces.stop - pieces.base).sum()), 0
        for first in range(0, len(pieces), plan.lanes):
            some = pieces.rows(first, first + plan.lanes)
            aligned = _aligned(len(some), bank)
            self._lanes.reset()
            source, origin = self._part(samples, some)
            for placement in passes(
                source, origin, samples.shape[1], held, known, some, bank, recording.uv_per_unit, most
            ):
                self._lanes.passes.emit(placement)
                self._score(aligned, some, kept)
                done += int((placement.fresh.stop - placement.fresh.start).sum())
                progress(done / total)
        return self._put_together(kept, known, bank, stream), _counts(known)

    def _part(self, samples: Any, pieces: Pieces) -> tuple[Any, int]:
        """Return the samples of some pieces where the backend has its arrays, and which the first of them is."""
        if self.xp is np:
            return np.ascontiguousarray(samples), 0
        first = int(pieces.base.min())
        return self.xp.ascontiguousarray(self.xp.asarray(samples[:, first : int(pieces.stop.max())])), first

    def _score(self, aligned: Aligned, pieces: Pieces, kept: Kept) -> None:
        """End a tick: score the beats of its passes and keep what they say."""
        self._lanes.ticks.emit((aligned, tuple(self._cut)))
        for scored in self._scored:
            kept.add(scored, pieces)
        self._cut.clear()
        self._scored.clear()

    def _put_together(self, kept: Kept, known: Stretches, bank: Bank, stream: str) -> Alerts:
        """Make one stream of what the pieces said, and run over it what follows the score."""
        column: dict[str, Any] = {name: np.concatenate(parts) for name, parts in kept.beats.items()}
        order = np.argsort(column["sample"], kind="stable")
        column = {name: values[order] for name, values in column.items()}
        b = len(order)
        zero, none = np.zeros(b, np.int64), np.full(b, np.nan, np.float32)
        self._whole.reset()
        self._whole.directory.names.append(stream)
        self._whole.scored.emit(
            TickBeats(
                aligned=_aligned(1, bank, int(known.run[-1, 1])), slot=zero, session=zero + 1, arrived_us=zero,
                rate_hz=np.full(b, bank.rate_hz), restart=np.zeros(b, np.bool_),
                terms=Terms(none, none, none, none, none, column["latent"]),
                events=_events(kept, known, column["sample"]), **column,
            )
        )  # fmt: skip
        return self._alerts.pop()


def _aligned(slots: int, bank: Bank, expected: int = 0) -> Aligned:
    """Return what align would say of streams that began at ``START_US``."""
    rows = np.zeros((slots, columns.SLOT_COLUMNS), np.int64)
    rows[:, columns.BANK], rows[:, columns.SESSION] = bank.number, 1
    rows[:, columns.ANCHORS : columns.ANCHORS + 4] = 1, 1, 0, START_US
    return Aligned(
        passes=[], events=np.zeros((0, 6), np.int64), seen=np.arange(slots),
        arrival_us=np.zeros(slots, np.int64), expected=np.full(slots, expected), slots=rows,
        clocks=np.zeros((0, 6), np.int64), banks=[bank], rejects=Rejects(), now_us=0, caught_up=True, overloaded=False,
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
        (np.full(len(until), Event.KNOWN), until, until),
    )
    kind, at, value = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(8 * at + kind, kind="stable")
    rows = np.zeros((len(order), 5), np.int64)
    rows[:, 1], rows[:, 2], rows[:, 3], rows[:, 4] = 1, kind[order], at[order], value[order]
    return rows


def _counts(known: Stretches) -> dict[str, int]:
    """Return what align counts of holes."""
    bridged = known.event[:, 0] == columns.GAP
    hole = np.abs(known.event[:, 2] - known.event[:, 1])
    begun = known.event[:, 2] < 0
    return {
        "bridged": int(bridged.sum()),
        "restarts": int((~bridged & ~begun).sum()),
        "lost_samples": int(hole[~begun].sum()),
    }
