"""A batch of shards through the graph, a lane each: what it says of what the shards answer for, scored, on the host."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from beatwire.backends.base import Backend, Table
from beatwire.kernels.history import LATENTS
from beatwire.offline.shards import Shards
from beatwire.pipeline.parts import Detection, Models
from beatwire.pipeline.settings import Settings
from beatwire.records import I64, Bank, Beats, HistoryFeatures, Placement, Terms
from beatwire.records.scoring import Calibration, Scores, ShardBeats
from beatwire.stages.score import ANOMALOUS

BEATS = {
    "sample": np.int64, "decided": np.int64, "rr_s": np.float64, "median_rr_s": np.float64, "response": np.float32,
    "quality": np.float32, "expected_errors": np.float32, "score": np.float32, "prematurity": np.float32,
    "scored_by": np.uint8, "anomalous": np.bool_, "latent": np.dtype((np.float32, LATENTS)),
    "reconstruction_error": np.float32,
}  # fmt: skip
JUDGED = (np.float32, np.uint8, np.bool_)
MOST_THREADS = 8
MANY = 1 << 18  # beats that are worth threads


@dataclass(slots=True)
class Kept:
    """What the shards said of what they answer for, on the host.

    beats    the columns of ``BEATS``, a list of arrays each
    blocks   int64 [., 2] of each pass: where a block of the level ends, and what it held
    known    int64 [., 2]: segment, up to where its beats are known
    """

    beats: dict[str, list[Any]] = field(default_factory=lambda: {name: [] for name in BEATS})
    blocks: list[I64] = field(default_factory=list)
    known: list[I64] = field(default_factory=list)

    def add(self, beats: Beats, blocks: tuple[Any, ...], shards: Shards) -> None:
        """Keep blocks, and how far lanes know, of a pass whose slots are the numbers of shards."""
        slot = beats.fresh.slot
        row, end, held = blocks
        inside = (end > shards.begin[slot[row]]) & (end <= shards.end[slot[row]])
        self.blocks.append(np.stack([end[inside], held[inside]], axis=1))
        self.known.append(np.stack([shards.segment[slot], beats.watermark], axis=1))

    @staticmethod
    def joined(parts: list[Kept]) -> Kept:
        """Return what several batches said."""
        return Kept(
            {name: [array for part in parts for array in part.beats[name]] for name in BEATS},
            [array for part in parts for array in part.blocks],
            [array for part in parts for array in part.known],
        )

    def in_order(self) -> dict[str, Any]:
        """Return the columns of all beats in order."""
        sample = np.concatenate(self.beats["sample"])
        order = None if (sample[1:] > sample[:-1]).all() else np.argsort(sample, kind="stable")

        def joined(name: str) -> Any:
            column = sample if name == "sample" else np.concatenate(self.beats[name])
            return column if order is None else np.take(column, order, axis=0)

        if len(sample) < MANY:
            return {name: joined(name) for name in BEATS}
        with ThreadPoolExecutor(MOST_THREADS) as pool:
            return dict(zip(BEATS, pool.map(joined, BEATS), strict=True))


class Told(NamedTuple):
    """A pass that was called: its beats, and the table of those that the shards answer for."""

    beats: Beats
    table: Table


class ShardBatch:
    """Detection, and the score, of a batch of shards; a slot is the number of a shard in its batch.

    ``rules``: what rules need beside the beats is kept.
    """

    def __init__(self, settings: Settings, backend: Backend, *, rules: bool = True) -> None:
        self.backend = backend
        models = Models.of(settings)
        self._detection = Detection(settings, models, backend)
        self._tables = Calibration(*map(backend.constant, models.scoring.calibration))
        self._rules = rules
        self._told: list[Told] = []
        self._shards: Shards
        self._bank: Bank | None = None
        self._most = 0
        features = self._detection.history_features
        self._detection.subscribe(features, lambda cut: self._told.append(self._answered(cut)))

    def prepare(self, bank: Bank, lanes: int) -> None:
        """Make ready for a batch of so many lanes: what is too small for it goes before what is larger comes."""
        if bank == self._bank and lanes <= self._most:
            return  # every lane begins anew by itself
        self._detection.reset()
        self.backend.release_buffers()
        self._bank, self._most = bank, lanes

    def batch(
        self, placements: Iterable[Placement], shards: Shards, done: Callable[[int], None], *, by_pass: bool = True
    ) -> Kept:
        """Take the passes of a batch through it, each a tick or all of them one.

        While a device is busy with a pass the next one is written down: when a placement is asked for, what all but
        the last one pointed to has been used.
        """
        kept, backend = Kept(), self.backend
        coming: Callable[[], None] | None = None
        self._told.clear()
        self._shards = shards
        backend.begin()
        try:
            for placement in placements:
                self._detection.passes.emit(placement)
                if by_pass:
                    last, coming = coming, self._finish(kept)
                    if last is not None:
                        last()
                    backend.begin()
                else:
                    backend.start()
                done(int((placement.fresh.stop - placement.fresh.start).sum()))
        finally:
            if coming is not None:
                coming()
        if self._told:
            self._finish(kept)()
            backend.begin()
        return kept

    def _finish(self, kept: Kept) -> Callable[[], None]:
        """End a tick; returns what waits for it and keeps what its passes say."""
        passes, self._told = self._told, []
        blocks = [told.beats.blocks for told in passes] if self._rules else []
        coming = self.backend.finish([*(told.table for told in passes), *blocks])

        def keep() -> None:
            came = coming()
            for columns in came[: len(passes)]:
                for name, column in zip(BEATS, columns, strict=True):
                    kept.beats[name].append(column)
            for told, held in zip(passes, came[len(passes) :], strict=False):
                kept.add(told.beats, held, self._shards)

        return keep

    def _answered(self, cut: HistoryFeatures) -> Told:
        """Score the beats of a pass, and list those that the shards answer for; no other leaves a device."""
        backend, beats, terms = self.backend, cut.beats, Terms(*cut.terms.columns)
        total, slot = beats.total, beats.fresh.slot
        (count,) = backend.table("is answered", total, (np.int64,)).columns
        begin, end = self._shards.begin[slot], self._shards.end[slot]
        backend.kernels.mark_owned(total, beats.row, beats.sample, begin, end, count)
        first, mine = backend.positions("answered", total, count, total.__index__())
        scores = Scores(*backend.table("scored", total, JUDGED).columns)
        backend.later.score_beat(total, terms, self._tables, ANOMALOUS, False, scores)
        table = backend.table("answered", mine, tuple(BEATS.values()))
        scored = ShardBeats(
            sample=beats.sample,
            decided=beats.decided,
            rr_s=beats.rr_s,
            median_rr_s=beats.median_rr_s,
            response=beats.response,
            quality=beats.quality,
            expected_errors=beats.expected_errors,
            score=scores.score,
            prematurity=terms.early,
            scored_by=scores.scored_by,
            anomalous=scores.anomalous,
            latent=terms.latent,
            reconstruction_error=terms.population,
        )
        backend.later.copy_owned(total, count, first, scored, ShardBeats(*table.columns))
        return Told(beats, table)
