"""Doubtful peaks: which are judged by their waveform, what becomes of the judgement, cuts."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from beatwire.backends.cpu import CPU
from beatwire.jit import cpu
from beatwire.kernels.peaks import doubt
from beatwire.kernels.peaks.risk import beat_probability, risk_of
from beatwire.kernels.peaks.wave_input import FRACTION
from beatwire.model.trees import load_trees
from beatwire.offline.analyze import analyze
from beatwire.pipeline.parts import Detection, Models
from beatwire.pipeline.settings import Settings
from beatwire.recordings import Recording
from beatwire.records.columns import PEAK_COLUMNS
from beatwire.records.detection import FreshLanes, PeakTable, Rings
from beatwire.records.waveform import RiskChanges
from beatwire.stages.detection.doubt import grid_for, scale_of, scratch_of
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_calls import DOUBTFUL, judged_again
from noisy_streams import noisy_recording
from past import NO_PAST
from small_network import DEPTH, small_network


def beats_of(recording: Recording, detector: Any, chunk: int, chunks_of_tick: int) -> dict[str, Any]:
    n = recording.samples.shape[1]
    chunks = [min(chunk, n - a) for a in range(0, n, chunk)]
    ticks = [min(chunks_of_tick, len(chunks) - a) for a in range(0, len(chunks), chunks_of_tick)]
    return analyze(recording, settings=replace(Settings(), detector=detector), chunks=chunks, ticks=ticks).beats


@pytest.mark.parametrize("leads", [1, 2])
def test_the_network_changes_beats_in_noise_and_cuts_change_nothing(leads: int) -> None:
    recording = noisy_recording(leads, 1)
    whole = beats_of(recording, "network", 5000, 3)
    assert len(whole["sample"]) > 40
    trees = beats_of(recording, "trees", 5000, 3)
    assert not (
        np.array_equal(whole["sample"], trees["sample"])
        and np.array_equal(whole["quality"], trees["quality"], equal_nan=True)
    )
    for chunk, ticks in ((97, 4), (13, 40)):
        cut = beats_of(recording, "network", chunk, ticks)
        for name in ("sample", "quality", "expected_errors", "rr_ms"):
            np.testing.assert_array_equal(cut[name], whole[name])


@settings(max_examples=draws(50), deadline=None)
@given(logit=st.floats(-8, 8), errors=st.floats(0, 40))
def test_no_doubt_without_expected_errors(logit: float, errors: float) -> None:
    assert not doubt.in_doubt(logit, float("nan"))
    assert not doubt.in_doubt(logit, min(errors, doubt.LEAST_ERRORS))
    assert not doubt.in_doubt(doubt.LAST_DOUBTED, errors)
    assert not doubt.in_doubt(doubt.FIRST_DOUBTED, errors)
    assert doubt.in_doubt(0.0, doubt.LEAST_ERRORS + 0.01 + errors)


@settings(max_examples=draws(50), deadline=None)
@given(combined=st.floats(-8, 8))
def test_a_combined_logit_becomes_the_logit_of_the_trees_with_the_same_sign_and_probability(combined: float) -> None:
    probability = load_trees().probability
    logit = beat_probability(combined, scale_of(probability))
    assert logit * combined >= 0
    assert (logit > 0) == (combined > 1e-9) or abs(combined) < 1e-9
    if combined < -1.25 or combined > 0.25:  # between them the trees' logit of the same probability has another sign
        assert beat_probability(logit, probability) == pytest.approx(1 / (1 + np.exp(-combined)), abs=0.01)


def test_expected_errors_follow_the_network_the_disturbance_the_trees_and_other_peaks_stay_as_they_are() -> None:
    found, probability = judged_again(CPU, small_network(), 60), load_trees().probability
    np.testing.assert_array_equal(found[..., 1], np.tile([1.0, 2.0, np.nan], (60, 1)))
    assert (found[:, 2, 0] == -99.0).all()
    assert (found[:, 0, 0] != 0.5).mean() > 0.9
    more = [
        np.array([risk_of(new, probability) for new in found[:, k, 0]]) - risk_of(DOUBTFUL[k, 0], probability)
        for k in range(2)
    ]
    np.testing.assert_allclose(found[:, 0, 2], np.maximum(0, 1.0 + more[0]), atol=1 / doubt.RISK_UNIT)
    np.testing.assert_allclose(found[:, 1, 2], np.maximum(0, 2.0 + more[0] + more[1]), atol=1 / doubt.RISK_UNIT)
    assert np.isnan(found[:, 2, 2]).all()


@settings(max_examples=draws(30), deadline=None)
@given(
    data=st.data(),
    seed=st.integers(0, 1000),
    late=st.sampled_from([0, (1 << 15) - 9_000, (1 << 16) - 9_000]),
    pause=st.sampled_from([0, 1 << 15, (1 << 16) - 2000, 1 << 16, (1 << 17) + 56]),
)
def test_changed_risks_count_for_ten_seconds_whatever_the_passes(
    data: st.DataObject, seed: int, late: int, pause: int
) -> None:
    rng, n, lookback = np.random.default_rng(seed), 120, 2500
    at = late + np.cumsum(rng.integers(56, 300, n))
    at[rng.integers(0, n) :] += pause
    is_asked, change = rng.random(n) < 0.6, rng.integers(-doubt.RISK_UNIT, doubt.RISK_UNIT, n)
    errors = rng.random(n) * 20
    cuts = sorted({0, n, *data.draw(st.lists(st.integers(0, n), max_size=6))})
    expected = [
        max(0.0, errors[k] + int(change[is_asked & (at <= at[k]) & (at >= at[k] - lookback)].sum()) / doubt.RISK_UNIT)
        for k in range(n)
    ]
    for body in (doubt.correct_errors, cpu.compiled(doubt.correct_errors)):
        changes = RiskChanges(
            np.full((1, doubt.CHANGE_COLUMNS), 7), *(np.full((1, doubt.PAST_CHANGES), 7, np.int16) for _ in range(2))
        )  # of a stream that had the lane before
        found = []
        for a, b in pairwise(cuts):
            lanes = FreshLanes(*(np.array([v]) for v in (0, 0, int(at[a]) if a else 0, int(at[b - 1]) + 1, 0)))
            peaks = np.zeros((1, b - a, PEAK_COLUMNS), np.int64)
            peaks[0, :, 0] = at[a:b]
            table = PeakTable(np.array([b - a]), peaks, np.zeros((1, 1, 3), np.int64), lanes.lane, peaks[:, :1, :2])
            asked = np.stack([np.zeros(is_asked[a:b].sum(), np.int64), np.flatnonzero(is_asked[a:b])], axis=1)
            logits = np.stack([np.zeros(b - a), errors[a:b], errors[a:b]], axis=1)[None]
            own = change[a:b][is_asked[a:b]]
            body(0, lanes, table, asked, np.array([0, len(asked)]), own, lookback, changes, logits)
            found += logits[0, :, 2].tolist()
        np.testing.assert_array_equal(found, expected)


def rings_with(waves: dict[int, int]) -> Rings:
    f = np.zeros((1, 600), np.int32)
    for sample, height in waves.items():
        f[0, sample] = height
    return Rings(np.zeros((1, 1, 600), np.int16), f, np.zeros((1, 3), np.int64))


@settings(max_examples=draws(50), deadline=None)
@given(away=st.integers(1, 150), tenths=st.integers(0, 12), base=st.integers(0, 500))
def test_a_peak_hides_waves_of_its_own_height_in_the_time_before_it(away: int, tenths: int, base: int) -> None:
    c, grid = 500, grid_for(250.0, DEPTH)
    hides = grid.hidden_to <= away <= grid.hidden_from and tenths > doubt.HIDDEN_TENTHS and c - away >= base
    f = rings_with({c - away: 100 * tenths, c: 1000}).f[0]
    for body in (doubt.hidden_peak, cpu.compiled(doubt.hidden_peak)):
        assert body(f, base, c, grid) == (c - away if hides else c)
    assert (grid.hidden_from, grid.hidden_to) == (38, 25)


@pytest.mark.parametrize(
    ("logit", "at_peak", "hidden", "expected"),
    [(2.0, -3.0, 4.0, 4.0), (2.0, -3.0, -5.0, -3.0), (2.0, 1.0, 4.0, 1.0), (-2.0, -3.0, 4.0, -3.0)],
)
def test_where_the_network_denies_a_beat_of_the_trees_it_is_asked_for_the_hidden_one(
    monkeypatch: pytest.MonkeyPatch, logit: float, at_peak: float, hidden: float, expected: float
) -> None:
    monkeypatch.setattr(doubt, "odds", lambda _, c, *__: at_peak if c == 500 else hidden)
    network, grid = small_network(), grid_for(250.0, DEPTH)
    found = doubt.combined(
        logit,
        500,
        0,
        0,
        rings_with({470: 900, 500: 1000}),
        NO_PAST[None],
        0,
        grid,
        network,
        np.linspace(-8, 8, 33),
        scratch_of(network),
    )  # fmt: skip
    assert found == pytest.approx(expected)


def test_the_first_tick_compiles_nothing() -> None:
    def signatures() -> list[list[Any]]:
        of_doubts = "store_past", "copy_logits", "count_doubts", "list_doubts", "judge_doubt", "correct_errors"
        return [list(getattr(cpu.kernels, name).dispatcher.signatures) for name in of_doubts]

    chosen = replace(Settings(), detector="network")
    Detection(chosen, Models.of(chosen))
    before = signatures()
    beats_of(noisy_recording(1, 2), "network", 5000, 3)
    beats_of(noisy_recording(2, 2), "network", 5000, 3)
    assert signatures() == before


@given(st.one_of(st.integers(50, 4000).map(float), st.floats(50.0, 4000.0)))
@settings(max_examples=draws(200))
def test_no_point_of_the_network_lies_behind_the_samples_that_are_there_at_any_rate(rate_hz: float) -> None:
    known = Settings().doubt(None, None).known_after(rate_hz)
    grid, free = grid_for(rate_hz, DEPTH, known), grid_for(rate_hz, DEPTH)
    last = (grid.offset + FRACTION - 1) // FRACTION + grid.apart - 1  # a point between two samples reads both
    assert last.max() <= known
    inside = (free.offset + FRACTION - 1) // FRACTION + free.apart - 1 <= known
    np.testing.assert_array_equal(grid.offset[inside], free.offset[inside])
    assert (~inside).sum() <= 8
