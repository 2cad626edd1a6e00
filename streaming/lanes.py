"""A batch of pieces through the graph, a lane each: what it says of what the pieces answer for, scored, on the host."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from streaming.backend import Backend
from streaming.frames import host_array, library
from streaming.pieces import Pieces
from streaming.pipeline import Pipeline
from streaming.records import I64, Bank, Beats, Placement, Recalled, Terms
from streaming.settings import Settings
from streaming.stages import score

OF_BEATS = ("sample", "decided", "rr_s", "median_rr_s", "response", "quality", "expected_errors")
SCORED = ("score", "prematurity", "scored_by", "anomalous", "latent", "misfit")


@dataclass(slots=True)
class Kept:
    """What the pieces said of what they answer for, on the host.

    beats    a list of arrays for each column of ``OF_BEATS`` and ``SCORED``
    blocks   int64 [., 2] of each pass: where a block of the level ends, and what it held
    known    int64 [., 2]: segment, up to where its beats are known
    """

    beats: dict[str, list[Any]] = field(default_factory=lambda: {name: [] for name in OF_BEATS + SCORED})
    blocks: list[I64] = field(default_factory=list)
    known: list[I64] = field(default_factory=list)

    def add(self, beats: Beats, blocks: tuple[Any, ...], pieces: Pieces) -> None:
        """Keep blocks, and how far lanes know, of a pass whose slots are the numbers of pieces."""
        slot = beats.fresh.slot
        row, end, held = blocks
        inside = (end > pieces.begin[slot[row]]) & (end <= pieces.end[slot[row]])
        self.blocks.append(np.stack([end[inside], held[inside]], axis=1))
        self.known.append(np.stack([pieces.segment[slot], beats.known], axis=1))

    @staticmethod
    def joined(parts: list[Kept]) -> Kept:
        """Return what several batches said."""
        return Kept(
            {name: [array for part in parts for array in part.beats[name]] for name in OF_BEATS + SCORED},
            [array for part in parts for array in part.blocks],
            [array for part in parts for array in part.known],
        )

    def in_order(self) -> dict[str, Any]:
        """Return the columns of all beats in order."""
        order = np.argsort(np.concatenate(self.beats["sample"]), kind="stable")
        return {name: np.concatenate(parts)[order] for name, parts in self.beats.items()}


class Lanes:
    """The graph as far as a pass goes, and the score; a slot is the number of a piece in its batch."""

    def __init__(self, settings: Settings, backend: Backend) -> None:
        self.pipeline = Pipeline(settings, backend)
        self.xp: Any = library(backend)
        table = self.pipeline.model.calibration
        arrays = {f.name: self.xp.asarray(getattr(table, f.name)) for f in fields(table)}
        self._score = score.Settings(score.Calibration(**arrays))
        self._cut: list[Recalled] = []
        self._bank: Bank | None = None
        last = self.pipeline.collected.upstreams[0]
        last.downstreams.clear()
        last.sink(self._cut.append)

    def batch(
        self,
        placements: Iterable[Placement],
        pieces: Pieces,
        bank: Bank,
        done: Callable[[int], None],
        *,
        by_pass: bool = True,
    ) -> Kept:
        """Take the passes of a batch through it, each a tick or all of them one."""
        kept, backend = Kept(), self.pipeline.backend
        if bank != self._bank:
            self.pipeline.reset()  # otherwise every lane begins anew by itself
            self._bank = bank
        self._cut.clear()
        backend.begin()
        for placement in placements:
            self.pipeline.passes.emit(placement)
            if by_pass:
                self._bring(pieces, kept)
            done(int((placement.fresh.stop - placement.fresh.start).sum()))
        if self._cut:
            self._bring(pieces, kept)
        return kept

    def _bring(self, pieces: Pieces, kept: Kept) -> None:
        """End a tick: keep what its passes say."""
        blocks = self.pipeline.backend.fetch([one.beats.blocks for one in self._cut])
        for one, held in zip(self._cut, blocks, strict=True):
            kept.add(one.beats, held, pieces)
        for name, column in self._scored(self._cut, pieces).items():
            kept.beats[name].append(host_array(column))
        self._cut.clear()

    def _scored(self, cut: list[Recalled], pieces: Pieces) -> dict[str, Any]:
        """Score those beats of passes that the pieces answer for; what they do not never leaves a device."""
        xp = self.xp
        counts = host_array(xp.stack([one.beats.first[len(one.beats.fresh.lane)] for one in cut])).tolist()
        some = [self._answered(one, n, pieces) for one, n in zip(cut, counts, strict=True)]
        column = {name: xp.concatenate([part[name] for part in some]) for name in some[0]}
        terms = Terms(*(column.pop(f.name) for f in fields(Terms)))
        return (
            column
            | score.judge(self._score, terms, xp=xp)._asdict()
            | {"prematurity": terms.early, "latent": terms.latent, "misfit": terms.population}
        )

    def _answered(self, one: Recalled, n: int, pieces: Pieces) -> dict[str, Any]:
        """Return columns and terms of the beats of a pass, ``n`` of them, for which the pieces answer."""
        xp, beats = self.xp, one.beats
        row, sample = beats.row[:n], beats.sample[:n]
        begin, end = (xp.asarray(of[beats.fresh.slot])[row] for of in (pieces.begin, pieces.end))
        mine = xp.flatnonzero((sample >= begin) & (sample < end))
        columns = {name: getattr(beats, name) for name in OF_BEATS}
        columns |= {f.name: column for f, column in zip(fields(Terms), one.terms.columns, strict=True)}
        return {name: column[:n][mine] for name, column in columns.items()}
