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

from streaming.backend import Table
from streaming.directory import Directory
from streaming.kernels import align as columns
from streaming.pieces import Pieces, Stretches, cut, passes, stretches_of
from streaming.pipeline import Pipeline
from streaming.recordings import Recording
from streaming.records import I64, Alerts, Aligned, Bank, Beats, Event, Fresh, Placement, Rejects, TickBeats, Windows
from streaming.settings import HORIZON_S, Settings
from streaming.stages import alert, drift, gather

AHEAD_S = 1.0  # more than any decision or window looks ahead
START_US = 1_000_000_000_000_000
BY_BEAT = (
    "sample", "decided", "rr_s", "median_rr_s", "response", "quality", "score", "prematurity", "scored_by", "anomalous",
    "latent", "misfit",
)  # fmt: skip


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
    """What the pieces said of what they answer for: columns of beats, flat blocks, and how far they know."""

    beats: dict[str, list[Any]] = field(default_factory=lambda: {name: [] for name in BY_BEAT})
    blocks: list[I64] = field(default_factory=list)
    known: list[I64] = field(default_factory=list)

    def of_beats(self, scored: TickBeats, pieces: Pieces) -> None:
        """Keep beats."""
        mine = (scored.sample >= pieces.begin[scored.slot]) & (scored.sample < pieces.end[scored.slot])
        for name, parts in self.beats.items():
            parts.append(getattr(scored, name)[mine])

    def of_pass(self, beats: Beats, pieces: Pieces) -> None:
        """Keep which blocks were flat, and how far each lane knows its beats."""
        row, end, flat = beats.blocks.columns
        slot = beats.fresh.slot[row]
        mine = (end > pieces.begin[slot]) & (end <= pieces.end[slot])
        self.blocks.append(np.stack([pieces.segment[slot], end, flat], axis=1)[mine])
        self.known.append(np.stack([pieces.segment[beats.fresh.slot], beats.known], axis=1))


def analyze_pieces(
    recording: Recording,
    settings: Settings,
    *,
    plan: Plan | None = None,
    stream: str = "analyze",
    held: Any,
    progress: Callable[[float], None] = lambda _: None,
) -> tuple[Alerts, dict[str, int]]:
    """Return all beats with their scores and alerts of a recording, and the counts of its holes.

    Parameters
    ----------
    held : int16 [leads, h]
        What follows the end of the recording.
    progress
        Called with the part that is done.
    """
    plan = Plan() if plan is None else plan
    rate_hz, samples = recording.rate_hz, np.ascontiguousarray(recording.samples)
    held = np.ascontiguousarray(held)
    known = stretches_of(samples, held.shape[1], max(1, round(settings.bridge_s * rate_hz)))
    pieces = cut(known, *(round(s * rate_hz) for s in (plan.piece_s, HORIZON_S, AHEAD_S)))
    bank = Bank(0, rate_hz, len(samples))
    lanes = _Lanes(replace(settings, pass_s=plan.pass_s))
    kept = Kept()
    most, total, done = max(1, round(plan.pass_s * rate_hz)), int((pieces.stop - pieces.base).sum()), 0
    for first in range(0, len(pieces), plan.lanes):
        some = pieces.rows(first, first + plan.lanes)
        lanes.begin(some, bank)
        for placement in passes(samples, held, known, some, bank, recording.uv_per_unit, most):
            lanes.take(placement, kept)
            done += int((placement.fresh.stop - placement.fresh.start).sum())
            progress(done / total)
    return _put_together(kept, known, bank, lanes.pipeline, stream), _counts(known)


class _Lanes:
    """The graph from rings to scores, its branches to the end cut off."""

    def __init__(self, settings: Settings) -> None:
        self.pipeline = Pipeline(settings)
        self.windows: list[Windows] = []
        self.scored: list[TickBeats] = []
        self.pipeline.windows.downstreams.clear()
        self.pipeline.scored.downstreams.clear()
        self.pipeline.windows.sink(self.windows.append)
        self.pipeline.scored.sink(self.scored.append)

    def begin(self, pieces: Pieces, bank: Bank) -> None:
        """Begin a batch of pieces."""
        self.pipeline.reset()
        self.pieces = pieces
        self.aligned = _aligned(len(pieces), bank)

    def take(self, placement: Placement, kept: Kept) -> None:
        """Take one pass through it."""
        self.pipeline.passes.emit(placement)
        for one in self.windows:
            kept.of_pass(one.beats, self.pieces)
        self.pipeline.gathered.emit(_to_score(self.aligned, self.windows))
        for scored in self.scored:
            kept.of_beats(scored, self.pieces)
        self.windows.clear()
        self.scored.clear()


def _to_score(aligned: Aligned, cut_windows: list[Windows]) -> TickBeats:
    """Make of the beats of some passes what the score stage takes: without times and events."""

    def all_of(name: str) -> Any:
        return np.concatenate([getattr(one.beats, name) for one in cut_windows])

    slot = all_of("slot")
    session = np.concatenate([one.beats.fresh.session[one.beats.row] for one in cut_windows])
    zero, no = np.zeros(len(slot), np.int64), np.zeros(len(slot), np.bool_)
    return TickBeats(
        aligned=aligned, slot=slot, session=session, sample=all_of("sample"), decided=all_of("decided"),
        time_us=zero, arrived_us=zero, rate_hz=np.full(len(slot), aligned.banks[0].rate_hz), rr_s=all_of("rr_s"),
        median_rr_s=all_of("median_rr_s"), response=all_of("response"), quality=all_of("quality"), restart=no,
        windows=np.concatenate([one.windows for one in cut_windows]),
        amplitude=np.concatenate([one.amplitude for one in cut_windows]), events=np.zeros((0, 5), np.int64),
    )  # fmt: skip


def _aligned(slots: int, bank: Bank, events: I64 | None = None, expected: int = 0) -> Aligned:
    """Return what align would say of streams that began at ``START_US``."""
    rows = np.zeros((slots, columns.SLOT_COLUMNS), np.int64)
    rows[:, columns.BANK], rows[:, columns.SESSION] = bank.number, 1
    rows[:, columns.ANCHORS : columns.ANCHORS + 4] = 1, 1, 0, START_US
    return Aligned(
        passes=[], events=np.zeros((0, 6), np.int64) if events is None else events, seen=np.arange(slots),
        arrival_us=np.zeros(slots, np.int64), expected=np.full(slots, expected), slots=rows,
        clocks=np.zeros((0, 6), np.int64), banks=[bank], rejects=Rejects(), now_us=0, caught_up=True, overloaded=False,
    )  # fmt: skip


def _put_together(kept: Kept, known: Stretches, bank: Bank, pipeline: Pipeline, stream: str) -> Alerts:
    """Make one stream of what the pieces said, and run the rules over it."""
    column = {name: np.concatenate(parts) for name, parts in kept.beats.items()}
    order = np.argsort(column["sample"], kind="stable")
    column = {name: values[order] for name, values in column.items()}
    restart = np.flatnonzero(known.event[:, 0] == Event.RESTART)
    number = np.searchsorted(restart, np.arange(len(known.event)), "right") - 1
    events = np.zeros((len(known.event), 6), np.int64)
    events[:, 0], events[:, 2:5], events[:, 5] = number, known.event, 1
    blocks, reached = np.concatenate(kept.blocks), np.concatenate(kept.known)
    before = len(restart) - len(known.segment)  # a restart without samples: a recording that begins with a hole
    told = []
    for s, (first, last) in enumerate(known.segment.tolist()):
        mine = slice(*np.searchsorted(column["sample"], (first, last)))
        here = blocks[blocks[:, 0] == s]
        flat = np.concatenate([np.zeros((len(here), 1), np.int64), here[:, 1:]], axis=1)
        until = reached[reached[:, 0] == s, 1].max(initial=first)
        told.append(_windows(before + s, bank, {k: v[mine] for k, v in column.items()}, flat, first, last, int(until)))
    aligned = _aligned(1, bank, events, int(known.run[-1, 1]))
    _, beats = gather.step(gather.State(), (aligned, tuple(told)))
    beats = replace(
        beats, score=column["score"], prematurity=column["prematurity"], scored_by=column["scored_by"],
        anomalous=column["anomalous"], latent=column["latent"], misfit=column["misfit"],
    )  # fmt: skip
    compared = drift.step(drift.State(pipeline.drift.reference), beats)[1]
    return alert.step(alert.State(pipeline.alert_settings, Directory(1, names=[stream])), compared)[1]


def _windows(number: int, bank: Bank, column: dict[str, Any], flat: I64, first: int, last: int, until: int) -> Windows:
    """Return the beats of a segment as those of one pass of one stream."""
    b = len(column["sample"])
    none, zero, one = np.zeros(b, np.int64), np.zeros(1, np.int64), np.ones(1, np.int64)
    fresh = Fresh(
        number, bank, zero, zero, np.array([first]), np.array([last]), np.array([first]), one, np.zeros(1),
        np.zeros((0, 3), np.int64),
    )  # fmt: skip
    column = {"row": none, **column, "restart": np.zeros(b, np.bool_)}
    mine = {f.name: column[f.name] for f in fields(Beats) if f.name in column}
    beats = Beats(
        fresh=fresh, known=np.array([until]), total=b, x=None, listed=Table("beats", b, tuple(mine.values())),
        blocks=Table("blocks", len(flat), tuple(flat.T)), lane=none, slot=none, base=np.full(b, first), **mine,
    )  # fmt: skip
    return Windows(beats, np.zeros((b, 0), np.float32), np.zeros(b, np.float32))


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
