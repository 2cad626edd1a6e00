"""Drift: alerts for beats unlike the training data, in any cut; counts against a slow version."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from beatwire.kernels.scores import drift as body
from beatwire.model.checkpoint import load_model
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.records import Event, TickBeats
from beatwire.records.events import DRIFTED
from beatwire.service.observing.drift_figures import stability
from beatwire.service.observing.metrics import drift_metrics
from beatwire.stages import gather
from beatwire.stages.judging import drift
from beatwire.stages.judging.drift import BLOCK_S, Reference, bins_of
from steps import Aligner, chunk

REFERENCE = load_model().reference
RATE = 250.0
BLOCK = round(BLOCK_S * RATE)


def beats_like(reference: Reference, n: int, rng: np.random.Generator, shift: float = 0.0) -> dict[str, np.ndarray]:
    """Return scores, latents and reconstruction errors of ``n`` beats; ``shift`` moves them out of the reference."""
    level = np.clip(rng.uniform(size=n) + shift, 0, 1)
    edges = np.concatenate([[0.0], reference.levels, [1.0]])
    far = np.interp(level, edges, np.concatenate([[0.0], reference.radius, [3 * reference.radius[-1]]]))
    reconstruction_error = np.interp(
        level, edges, np.concatenate([[-2.0], reference.reconstruction_error, [2 * reference.reconstruction_error[-1]]])
    )
    direction = rng.normal(size=(n, 8))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    latent = reference.centre + (far[:, None] * direction) @ np.linalg.inv(reference.whitener)
    score = rng.exponential(1 / np.log(10), n) + 3 * shift
    return {
        name: x.astype(np.float32)
        for name, x in (("score", score), ("latent", latent), ("reconstruction_error", reconstruction_error))
    }


class Watched:
    """One stream of 250 Hz whose beats the drift stage processes tick by tick."""

    def __init__(self) -> None:
        aligned = Aligner().tick([chunk(stream="bed", rate_hz=RATE)])
        self.empty = gather.step(gather.State(), (aligned, ()))[1]
        self.state = drift.State(REFERENCE)
        self.transitions: list[tuple[int, int]] = []
        self.tick([(Event.RESTART, 0, 0)])

    def tick(self, events: list[tuple[int, int, int]], slot: int = 0, **beats: np.ndarray) -> None:
        """Process one tick; events are (kind, sample, value), ``beats`` the columns of their beats."""
        rows = np.array([(slot, 1, *e, 0) for e in events], np.int64).reshape(-1, 6)
        tick: TickBeats = replace(self.empty, events=rows, run=None, **beats)
        if not beats:
            none = np.zeros(0, np.float32)
            tick = replace(tick, score=none, reconstruction_error=none, latent=np.zeros((0, 8), np.float32))
        _, out = drift.step(self.state, tick)
        self.transitions += [(int(e[3]), int(e[4])) for e in out.events if e[2] == DRIFTED]
        kept = out.events[out.events[:, 2] != DRIFTED]
        np.testing.assert_array_equal(kept, rows)
        assert (np.diff(out.events[:, 3]) >= 0).all() or len(rows) == 0

    def run(self, at: np.ndarray, columns: dict[str, np.ndarray], cuts: list[int], end: int) -> list[tuple[int, int]]:
        """Process beats at samples ``at``, cut into ticks at ``cuts``; return the transitions (sample, value)."""
        for a, b in pairwise([0, *cuts, end]):
            some = np.flatnonzero((at >= a) & (at < b))
            events = [(Event.BEAT, int(at[k]), row) for row, k in enumerate(some)]
            self.tick([*events, (Event.WATERMARK, b, b)], **{name: x[some] for name, x in columns.items()})
        return self.transitions


def a_shift(seed: int, minutes: float = 4.0) -> tuple[np.ndarray, dict[str, np.ndarray], int]:
    """Return beats of which the second half is far from the reference: samples, columns, end."""
    rng = np.random.default_rng(seed)
    end = round(minutes * 60 * RATE)
    at = np.cumsum(rng.integers(150, 250, 4 * round(minutes * 60)))
    at = at[at < end]
    late = at > end / 2
    usual, odd = beats_like(REFERENCE, len(at), rng), beats_like(REFERENCE, len(at), rng, shift=1.0)
    return at, {n: np.where(late if x.ndim == 1 else late[:, None], odd[n], x) for n, x in usual.items()}, end


def test_beats_like_those_of_the_training_data_raise_no_alert() -> None:
    rng = np.random.default_rng(0)
    at = np.arange(200, round(600 * RATE), 200)
    ward = Watched()
    assert ward.run(at, beats_like(REFERENCE, len(at), rng), [], int(at[-1])) == []
    assert 0 <= ward.state.streams.distance[0] < 0.3


def test_a_shift_of_the_beats_raises_an_alert_within_a_minute_and_its_end_clears_it() -> None:
    at, columns, end = a_shift(1)
    back = {n: x[::-1] for n, x in columns.items()}
    ward = Watched()
    both = np.concatenate([at, at + end])
    transitions = ward.run(both, {n: np.concatenate([columns[n], back[n]]) for n in columns}, [], 2 * end)
    (begun, value), (ended, after) = transitions
    assert begun % BLOCK == ended % BLOCK == 0
    assert end / 2 < begun <= end / 2 + 60 * RATE + BLOCK
    assert 1.5 * end < ended <= 1.5 * end + 60 * RATE + BLOCK
    assert value > 1000 * REFERENCE.limit >= -after


@pytest.mark.parametrize("seed", range(4))
def test_any_cut_gives_the_same_transitions(seed: int) -> None:
    at, columns, end = a_shift(seed)
    whole = Watched().run(at, columns, [], end)
    rng = np.random.default_rng(seed)
    cuts = sorted({*rng.integers(1, end, 300).tolist(), BLOCK, BLOCK + 1, 6 * BLOCK})
    assert Watched().run(at, columns, cuts, end) == whole != []


def test_drift_depends_on_the_last_eighty_seconds_only() -> None:
    at, columns, end = a_shift(3, minutes=8.0)
    first = Watched()
    first.run(at, columns, [], end)
    recent = at >= (end // BLOCK - body.DRIFT_BLOCKS) * BLOCK
    second = Watched()
    second.run(at[recent], {n: x[recent] for n, x in columns.items()}, [], end)
    assert first.state.streams.distance[0] == second.state.streams.distance[0]
    assert first.state.streams.above[0] == second.state.streams.above[0]


def test_a_restart_and_a_silence_clear_the_counts() -> None:
    at, columns, end = a_shift(4)
    for after in ((Event.RESTART, end, 0), (Event.WATERMARK, 100 * end, 100 * end)):
        ward = Watched()
        ward.run(at, columns, [], end)
        assert ward.state.streams.above[0]
        ward.tick([after])
        assert not ward.state.streams.above[0]
        assert ward.state.streams.distance[0] == -1
        assert not ward.state.streams.counts[0].any()


def test_a_silence_of_any_length_ends_a_drift_at_the_same_sample() -> None:
    """One watermark after minutes without beats gives what a watermark a second gives."""
    at, columns, end = a_shift(4)
    for silent in (2, 5, 30):
        stepwise, at_once = Watched(), Watched()
        stepwise.run(at, columns, [], end)
        at_once.run(at, columns, [], end)
        for k in range(silent * BLOCK // round(RATE)):
            stepwise.tick([(Event.WATERMARK, end + k * round(RATE), 0)])
        stepwise.tick([(Event.WATERMARK, end + silent * BLOCK, 0)])
        at_once.tick([(Event.WATERMARK, end + silent * BLOCK, 0)])
        assert at_once.transitions == stepwise.transitions
        assert at_once.state.streams.block[0] == stepwise.state.streams.block[0]
    assert len(at_once.transitions) == 2


def test_beats_without_a_score_are_not_counted() -> None:
    at, columns, _ = a_shift(5)
    columns["reconstruction_error"][::2] = np.nan
    ward = Watched()
    ward.run(at, columns, [], int(at[-1]) + 1)
    scored = ~np.isnan(columns["reconstruction_error"]) & (at // BLOCK == at[-1] // BLOCK)
    assert ward.state.streams.counts[0, 0].sum() == 11 * scored.sum()


def test_the_comparison_is_the_mean_of_two_one_sided_distances() -> None:
    rng = np.random.default_rng(6)
    columns = beats_like(REFERENCE, 90, rng, shift=0.3)
    bins, radius = bins_of(REFERENCE, **columns)
    counts = np.zeros((body.DRIFT_BLOCKS, len(REFERENCE.shares)), np.uint8)
    for k, row in enumerate(bins):
        for place in row:
            counts[k % body.DRIFT_BLOCKS, place] += 1
    far = drift.radius(REFERENCE.centre, REFERENCE.whitener, columns["latent"])
    np.testing.assert_allclose(radius, far, rtol=1e-5)
    assert (
        bins[:, -1] - REFERENCE.groups[-1].start
        == np.searchsorted(REFERENCE.reconstruction_error, columns["reconstruction_error"], "right")
    ).all()
    distances = [
        max(0.0, *(q - np.mean(x < border) for q, border in zip(REFERENCE.levels, borders, strict=True)))
        for x, borders in ((far, REFERENCE.radius), (columns["reconstruction_error"], REFERENCE.reconstruction_error))
    ]
    assert body.distance_to_reference(counts, REFERENCE.levels) == pytest.approx(np.mean(distances), abs=1e-12)
    assert 0.2 < np.mean(distances) < 0.4


def test_too_few_beats_give_no_value() -> None:
    counts = np.zeros((body.DRIFT_BLOCKS, len(REFERENCE.shares)), np.uint8)
    counts[0, REFERENCE.groups[-2].start] = counts[0, REFERENCE.groups[-1].start] = body.FEWEST_BEATS - 1
    assert body.distance_to_reference(counts, REFERENCE.levels) == -1
    counts[1, REFERENCE.groups[-2].start] = counts[1, REFERENCE.groups[-1].start] = 1
    assert body.distance_to_reference(counts, REFERENCE.levels) == 0


def test_the_stability_index_is_zero_for_the_reference_and_large_for_another_distribution() -> None:
    counts = np.rint(REFERENCE.shares * 1_000_000).astype(np.int64)[None]
    np.testing.assert_allclose(stability(REFERENCE, counts), 0.0, atol=1e-4)
    moved = np.zeros_like(counts)
    for group in REFERENCE.groups:
        moved[0, group.stop - 1] = 1000
    assert (stability(REFERENCE, moved) > 1.0).all()
    assert np.isnan(stability(REFERENCE, 0 * counts)).all()


def test_each_stream_has_its_own_counts() -> None:
    ward = Watched()
    columns = beats_like(REFERENCE, 1, np.random.default_rng(7))
    drift.grow(ward.state, 2)
    ward.tick([(Event.BEAT, 100, 0)], **columns)
    assert ward.state.streams.counts[0].sum() == 11
    assert not ward.state.streams.counts[1:].any()


def samples_of(pipeline: Pipeline) -> dict[str, dict[tuple[str, ...], float]]:
    return {
        family.name: {tuple(s.labels.values()): s.value for s in family.samples} for family in drift_metrics(pipeline)
    }


def test_metrics_report_all_streams_and_those_that_drift() -> None:
    pipeline = Pipeline(Settings())
    assert samples_of(pipeline)["beatwire_streams_drifting"] == {(): 0.0}
    rng = np.random.default_rng(8)
    ward = Watched()
    ward.state = pipeline.drift
    for slot in range(3):
        pipeline.directory.names.append(f"bed-{slot}")
        drift.grow(pipeline.drift, slot + 1)
        at = np.arange(100, round(61 * RATE), 180)
        columns = beats_like(REFERENCE, len(at), rng, shift=float(slot == 2))
        events = [(Event.BEAT, int(t), k) for k, t in enumerate(at)]
        ward.tick([(Event.RESTART, 0, 0), *events, (Event.WATERMARK, int(at[-1]), 0)], slot=slot, **columns)
    metrics = samples_of(pipeline)
    assert metrics["beatwire_streams_drifting"] == {(): 1.0}
    assert metrics["beatwire_stream_looks"].keys() == {("bed-2",)}
    assert (
        metrics["beatwire_stream_drift"][("looks", "1.0")]
        > REFERENCE.limit
        > metrics["beatwire_stream_drift"][("looks", "0.5")]
    )
    overall = metrics["beatwire_drift_stability_index"]
    assert len(overall) == 11
    assert overall[("reconstruction_error",)] > 0.5
