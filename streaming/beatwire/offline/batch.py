"""A batch of shards through the graph, one lane each.

In:  the placements of the passes of a batch (``beatwire.offline.passes``), its shards
Out: :class:`ShardResults` on the host: the scored beats and the events of the samples that the shards own
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from beatwire.backends.base import Backend, Table
from beatwire.kernels.classes.beat_shape import COLUMNS, SHAPE_LEADS
from beatwire.kernels.scores.history import LATENTS
from beatwire.offline.shards import Shards
from beatwire.pipeline.parts import Detection, Models
from beatwire.pipeline.settings import Settings
from beatwire.records import I64, Bank, Beats, HistoryFeatures, Placement, Terms
from beatwire.records.scoring import Calibration, Scores, ShardBeats
from beatwire.stages.score import ANOMALOUS

# Columns of the beats that leave the backend, with their types.
BEAT_TYPES = {
    "sample": np.int64, "decided": np.int64, "rr_s": np.float64, "median_rr_s": np.float64, "response": np.float32,
    "quality": np.float32, "expected_errors": np.float32, "disturbance": np.float32, "score": np.float32,
    "prematurity": np.float32, "scored_by": np.uint8, "anomalous": np.bool_, "latent": np.dtype((np.float32, LATENTS)),
    "reconstruction_error": np.float32, "shape": np.dtype((np.int16, (SHAPE_LEADS, COLUMNS))),
}  # fmt: skip
SCORE_TYPES = (np.float32, np.uint8, np.bool_)
MAX_THREADS = 8  # that put columns in order
THREADED_BEATS = 1 << 18  # fewer are put in order by one thread


@dataclass(slots=True)
class ShardResults:
    """The results of the samples that shards own, on the host, pass by pass.

    beats        the columns of ``BEAT_TYPES``, a list of arrays each
    blocks       int64 [., 2] of each pass: end of a block of the response, and what it contained (flat, waves);
                 or a denied peak
    watermarks   int64 [., 2] of each pass: segment, and the sample before which its beats are decided
    """

    beats: dict[str, list[Any]] = field(default_factory=lambda: {name: [] for name in BEAT_TYPES})
    blocks: list[I64] = field(default_factory=list)
    watermarks: list[I64] = field(default_factory=list)

    def add(self, beats: Beats, blocks: tuple[Any, ...], shards: Shards) -> None:
        """Add the blocks and watermarks of a pass; a slot is the index of a shard."""
        slot = beats.fresh.slot
        row, end, content = blocks
        inside = (end > shards.begin[slot[row]]) & (end <= shards.end[slot[row]])
        self.blocks.append(np.stack([end[inside], content[inside]], axis=1))
        self.watermarks.append(np.stack([shards.segment[slot], beats.watermark], axis=1))

    @staticmethod
    def joined(parts: list[ShardResults]) -> ShardResults:
        """Return the results of several batches."""
        return ShardResults(
            {name: [array for part in parts for array in part.beats[name]] for name in BEAT_TYPES},
            [array for part in parts for array in part.blocks],
            [array for part in parts for array in part.watermarks],
        )

    def in_order(self) -> dict[str, Any]:
        """Return the columns of all beats, in order of samples."""
        sample = np.concatenate(self.beats["sample"])
        order = None if (sample[1:] > sample[:-1]).all() else np.argsort(sample, kind="stable")

        def joined(name: str) -> Any:
            column = sample if name == "sample" else np.concatenate(self.beats[name])
            return column if order is None else np.take(column, order, axis=0)

        if len(sample) < THREADED_BEATS:
            return {name: joined(name) for name in BEAT_TYPES}
        with ThreadPoolExecutor(MAX_THREADS) as pool:
            return dict(zip(BEAT_TYPES, pool.map(joined, BEAT_TYPES), strict=True))


class ScoredPass(NamedTuple):
    """A pass whose beats are scored: the beats, and the table of those that the shards own."""

    beats: Beats
    table: Table


class ShardBatch:
    """The stages of a pass, from ring to history, and the score; a slot is the index of a shard in its batch.

    Parameters
    ----------
    settings, backend
        Of the graph.
    rules
        False: results without the blocks, which only the rules need.
    """

    def __init__(self, settings: Settings, backend: Backend, *, rules: bool = True) -> None:
        self.backend = backend
        models = Models.of(settings)
        self._detection = Detection(settings, models, backend)
        self._tables = Calibration(*map(backend.constant, models.scoring.calibration))
        self._rules = rules
        self._scored: list[ScoredPass] = []
        self._shards: Shards
        self._bank: Bank | None = None
        self._lanes = 0
        features = self._detection.history_features
        self._detection.subscribe(features, lambda row: self._scored.append(self._score(row)))

    def prepare(self, bank: Bank, lanes: int) -> None:
        """Prepare for a batch of ``lanes`` shards: free arrays that are too small before larger ones are allocated."""
        if bank == self._bank and lanes <= self._lanes:
            return  # a lane resets itself when its shard starts
        self._detection.reset()
        self.backend.release_buffers()
        self._bank, self._lanes = bank, lanes

    def run(
        self, placements: Iterable[Placement], shards: Shards, done: Callable[[int], None], *, by_pass: bool = True
    ) -> ShardResults:
        """Process the passes of a batch and return the results of its shards.

        Parameters
        ----------
        placements
            One per pass. While a device processes a pass the next one is prepared: when a placement is requested, the
            payloads of all placements but the last one are no longer needed.
        shards
            The shards of the batch; their index is the lane.
        done
            Called with the number of samples of each pass.
        by_pass
            True: each pass is a tick, and its results are fetched; False: all passes are one tick.
        """
        results, backend = ShardResults(), self.backend
        fetch: Callable[[], None] | None = None
        self._scored.clear()
        self._shards = shards
        backend.begin()
        try:
            for placement in placements:
                self._detection.passes.emit(placement)
                if by_pass:
                    fetch_last, fetch = fetch, self._finish(results)
                    if fetch_last is not None:
                        fetch_last()
                    backend.begin()
                else:
                    backend.start()
                done(int((placement.fresh.stop - placement.fresh.start).sum()))
        finally:
            if fetch is not None:
                fetch()
        if self._scored:
            self._finish(results)()
            backend.begin()
        return results

    def _finish(self, results: ShardResults) -> Callable[[], None]:
        """End a tick; return a function that waits for it and adds the results of its passes."""
        passes, self._scored = self._scored, []
        blocks = [one.beats.blocks for one in passes] if self._rules else []
        tables = self.backend.finish([*(one.table for one in passes), *blocks])

        def fetch() -> None:
            fetched = tables()
            for columns in fetched[: len(passes)]:
                for name, column in zip(BEAT_TYPES, columns, strict=True):
                    results.beats[name].append(column)
            for one, block in zip(passes, fetched[len(passes) :], strict=False):
                results.add(one.beats, block, self._shards)

        return fetch

    def _score(self, features: HistoryFeatures) -> ScoredPass:
        """Score the beats of a pass and select those that the shards own; only these leave the device."""
        backend, beats, terms = self.backend, features.beats, Terms(*features.terms.columns)
        total, slot = beats.total, beats.fresh.slot
        (count,) = backend.table("is owned", total, (np.int64,)).columns
        begin, end = self._shards.begin[slot], self._shards.end[slot]
        backend.kernels.mark_owned(total, beats.row, beats.sample, begin, end, count)
        first, total_owned = backend.positions("owned", total, count, total.__index__())
        scores = Scores(*backend.table("scored", total, SCORE_TYPES).columns)
        backend.later.score_beat(total, terms, beats.disturbance, self._tables, ANOMALOUS, False, scores)
        table = backend.table("owned", total_owned, tuple(BEAT_TYPES.values()))
        scored = ShardBeats(
            sample=beats.sample,
            decided=beats.decided,
            rr_s=beats.rr_s,
            median_rr_s=beats.median_rr_s,
            response=beats.response,
            quality=beats.quality,
            expected_errors=beats.expected_errors,
            disturbance=beats.disturbance,
            score=scores.score,
            prematurity=terms.early,
            scored_by=scores.scored_by,
            anomalous=scores.anomalous,
            latent=terms.latent,
            reconstruction_error=terms.reconstruction_error,
            shape=features.shapes.columns[0],
        )
        backend.later.copy_owned(total, count, first, scored, ShardBeats(*table.columns))
        return ScoredPass(beats, table)
