"""Score and history: the laws, a slow version of the history features, missing values."""

import math
from dataclasses import fields, replace
from itertools import pairwise

import numpy as np
import pytest
from beatwire.backends.network import embed
from beatwire.kernels.scores import history, stored_beat
from beatwire.model.checkpoint import load_model
from beatwire.records import Terms
from beatwire.stages.detection.history import Memory, WindowedBeats, streams_of, terms_of, usual_scale
from beatwire.stages.score import BY_HISTORY, BY_POPULATION, SCORE_HORIZON_S, score_terms
from hypothesis import example, given, settings
from hypothesis import strategies as st

MODEL = load_model()
RATE_HZ = 1000.0


def some_beats(seed: int, slots: int = 5, each: int = 150) -> WindowedBeats:
    """Return beats of several streams in order of time, each with its own shape and amplitude, gaps and restarts."""
    rng = np.random.default_rng(seed)
    slot = np.repeat(np.arange(slots), each)
    rr = rng.normal(0.8, 0.02, (slots, each)) * np.where(rng.random((slots, each)) < 0.1, 0.6, 1.0)
    rr = np.rint(rr * RATE_HZ) / RATE_HZ
    time_s = np.cumsum(rr, axis=1).ravel()
    rr = rr.ravel()
    rr[rng.random(len(rr)) < 0.03] = np.nan
    rr[::each] = np.nan
    restart = rng.random(len(rr)) < 0.004
    restart[::each] = True
    shape = rng.normal(size=(slots, 256))[slot] + 0.3 * rng.normal(size=(len(slot), 256))
    shape /= np.sqrt(np.mean(shape**2, axis=1, keepdims=True))
    amplitude = np.exp(rng.normal(5, 0.2, len(slot)))
    amplitude[rng.random(len(slot)) < 0.03] = np.nan
    seen = WindowedBeats(slot, time_s, rr, restart, shape.astype(np.float32), amplitude.astype(np.float32), RATE_HZ)
    mixed = np.lexsort((slot, time_s))
    return pick(seen, mixed)


def pick(beats: WindowedBeats, rows: np.ndarray) -> WindowedBeats:
    columns = [f.name for f in fields(WindowedBeats) if f.name != "rate_hz"]
    return replace(beats, **{name: getattr(beats, name)[rows] for name in columns})


def score_of(beats: WindowedBeats, cuts: list[int] | None = None) -> tuple[np.ndarray, Terms]:
    memory = Memory()
    edges = [0, *(cuts or []), len(beats.slot)]
    parts = [terms_of(MODEL.network, memory, pick(beats, np.arange(a, b))) for a, b in pairwise(edges)]
    terms = Terms(*map(np.concatenate, zip(*parts, strict=True)))
    return score_terms(MODEL.calibration, terms).score, terms


@pytest.mark.parametrize("seed", range(5))
def test_scores_do_not_depend_on_how_beats_fall_into_ticks(seed: int) -> None:
    beats = some_beats(seed)
    whole, _ = score_of(beats)
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.integers(0, len(beats.slot), 60)).tolist()
    np.testing.assert_allclose(score_of(beats, cuts)[0], whole, rtol=1e-5, atol=1e-5)
    assert np.isfinite(whole).sum() > 600


def test_a_tick_of_one_beat_at_a_time_gives_the_same_scores() -> None:
    beats = some_beats(9, slots=2, each=60)
    one_by_one = score_of(beats, list(range(1, len(beats.slot))))[0]
    np.testing.assert_allclose(one_by_one, score_of(beats)[0], rtol=1e-5, atol=1e-5)


def test_lanes_are_independent() -> None:
    beats = some_beats(1)
    whole = score_of(beats)[0]
    for slot in range(5):
        alone = pick(beats, np.flatnonzero(beats.slot == slot))
        moved = replace(alone, slot=np.full(len(alone.slot), 17 - slot))
        np.testing.assert_allclose(score_of(moved)[0], whole[beats.slot == slot], rtol=1e-5, atol=1e-5)


def test_a_score_depends_on_nothing_older_than_the_horizon() -> None:
    beats = pick(some_beats(2, slots=1, each=400), np.arange(400))
    beats = replace(beats, restart=np.arange(400) == 0)
    begin = np.searchsorted(beats.time_s, beats.time_s[300] - SCORE_HORIZON_S)
    late = pick(beats, np.arange(begin, 400))
    assert begin > 100
    np.testing.assert_allclose(score_of(late)[0][300 - begin :], score_of(beats)[0][300:], rtol=1e-5, atol=1e-5)


def test_a_restart_clears_the_history() -> None:
    beats = some_beats(3, slots=1, each=200)
    beats = replace(beats, restart=np.isin(np.arange(200), (0, 100)))
    fresh = pick(beats, np.arange(100, 200))
    np.testing.assert_allclose(score_of(beats)[0][100:], score_of(fresh)[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("pause_s", [50.0, 62.0, 64.5, 128.0, 1e5])
def test_a_pause_of_more_than_a_minute_clears_the_history(pause_s: float) -> None:
    beats = some_beats(11, slots=1, each=60)
    beats = replace(beats, restart=np.arange(60) == 0, amplitude=np.ones(60, np.float32))
    later = replace(beats, time_s=np.where(np.arange(60) < 30, beats.time_s, beats.time_s + pause_s))
    _, terms = score_of(later)
    assert np.isnan(terms.early[30]) == (pause_s > history.BEATS_S)
    alone = pick(replace(beats, restart=np.isin(np.arange(60), (0, 30))), np.arange(30, 60))
    if pause_s > history.BEATS_S:
        np.testing.assert_array_equal(terms.early[30:], score_of(alone)[1].early)


def test_an_evicted_slot_has_no_history() -> None:
    beats = some_beats(4, slots=1, each=80)
    beats = replace(beats, restart=np.zeros(80, np.bool_))
    memory = Memory()
    first = terms_of(MODEL.network, memory, beats)
    memory.evict(np.array([0]))
    again = terms_of(MODEL.network, memory, beats)
    for before, after in zip(first, again, strict=True):
        np.testing.assert_array_equal(before, after)


def test_history_population_and_prematurity_equal_those_of_a_slow_version() -> None:
    beats = some_beats(5, slots=1, each=300)
    _, terms = score_of(beats)
    past: list[tuple[float, float, np.ndarray | None, float]] = []
    for b in range(300):
        if beats.restart[b]:
            past = []
        past = [p for p in past if p[0] >= beats.time_s[b] - history.BEATS_S]
        known = sorted(p[1] for p in past if p[1] > 0)
        if len(known) >= history.FEWEST_INTERVALS and beats.rr_s[b] > 0:
            early = 1 - beats.rr_s[b] / known[int(0.8 * len(known))]
            assert terms.early[b] == pytest.approx(early, abs=1e-5)
        else:
            assert math.isnan(terms.early[b])
        threshold = known[(len(known) - 1) // 2] if known else math.inf
        reference = [p[2] for p in past if p[1] >= threshold and p[2] is not None]
        if len(reference) >= history.FEWEST_REFERENCES and np.isfinite(beats.amplitude[b]):
            middle = np.mean(np.array(reference, np.float64), axis=0)
            distance = np.linalg.norm(terms.latent[b, -history.STORED :] - middle)
            spread = np.sqrt(np.mean(np.sum((np.array(reference, np.float64) - middle) ** 2, axis=1)))
            assert terms.history[b] == pytest.approx(np.log(distance + 0.05) - 0.75 * np.log(spread + 0.1), abs=1e-4)
            usual = -0.5 * np.log(np.mean([p[3] ** 4 for p in past if p[1] >= threshold and p[2] is not None]))
            assert terms.population[b] == pytest.approx(terms.reconstruction_error[b] - 0.6 * (usual - 1), abs=1e-4)
        else:
            assert math.isnan(terms.history[b])
            np.testing.assert_equal(terms.population[b], terms.reconstruction_error[b])
        rr = float(np.float32(beats.rr_s[b])) if beats.rr_s[b] > 0 else 0.0
        latent = terms.latent[b, -history.STORED :].astype(float)
        stored = np.floor(stored_beat.LATENT_PARTS * latent + 0.5) / stored_beat.LATENT_PARTS
        closeness = np.clip(np.floor(255 * np.exp(-terms.reconstruction_error[b] / 2) + 0.5), 1, 255) / 255
        past.append((beats.time_s[b], rr, stored if np.isfinite(beats.amplitude[b]) else None, closeness))
        past = past[-history.BEATS :]


def test_the_usual_amplitude_equals_that_of_a_slow_version() -> None:
    beats = some_beats(6, slots=1, each=200)
    _, terms = score_of(beats)
    past: list[tuple[float, float, float]] = []
    scale = np.full(200, np.nan, np.float32)
    for b in range(200):
        if beats.restart[b]:
            past = []
        if not np.isfinite(beats.amplitude[b]):
            continue
        past.append((beats.time_s[b], max(0.0, np.nan_to_num(np.float32(beats.rr_s[b]))), beats.amplitude[b]))
        past = [p for p in past if p[0] >= beats.time_s[b] - history.SIZES_S][-history.SIZES :]
        threshold = sorted((p[1] for p in past), reverse=True)[(len(past) - 1) // 2]
        sizes = sorted(p[2] for p in past if p[1] >= threshold)
        scale[b] = beats.amplitude[b] / sizes[(len(sizes) - 1) // 2]
    latent, _ = embed(MODEL.network, beats.windows, scale)
    np.testing.assert_allclose(latent, terms.latent, rtol=1e-4, atol=1e-4)


@given(st.floats(10.01, 1e7), st.integers(1, 19), st.integers(0, 99))
@example(64.0, 19, 0)
@example(128.5, 3, 1)
@settings(deadline=None)
def test_sizes_from_before_a_pause_of_ten_seconds_are_not_usual_however_long_it_is(
    pause_s: float, before: int, seed: int
) -> None:
    beats = some_beats(seed, slots=1, each=20)
    beats = replace(beats, restart=np.arange(20) == 0, amplitude=np.where(np.arange(20) < before, 1.0, 7.0))
    beats = replace(beats, amplitude=beats.amplitude.astype(np.float32))
    later = replace(beats, time_s=beats.time_s + pause_s * (np.arange(20) >= before))
    memory = Memory()
    memory.grow(1)
    scale = usual_scale(memory, later, 20, streams_of(later.slot))
    np.testing.assert_array_equal(scale, np.ones(20, np.float32))


def test_the_first_beats_of_a_stream_are_scored_by_the_population() -> None:
    beats = some_beats(7, slots=1, each=40)
    score, terms = score_of(replace(beats, restart=np.arange(40) == 0, amplitude=np.ones(40, np.float32)))
    by = np.where(np.isnan(terms.history), BY_POPULATION, BY_HISTORY)
    assert by[0] == BY_POPULATION
    assert by[-1] == BY_HISTORY
    assert np.isfinite(score[0])


def test_a_beat_without_a_window_has_no_score_and_changes_no_other() -> None:
    beats = some_beats(8, slots=1, each=60)
    beats = replace(beats, amplitude=np.where(np.arange(60) == 30, np.nan, 100).astype(np.float32))
    score, _ = score_of(beats)
    assert np.flatnonzero(np.isnan(score)).tolist() == [30]


def test_overload_skips_the_network_and_keeps_the_prematurity(monkeypatch: pytest.MonkeyPatch) -> None:
    beats = replace(some_beats(10, slots=2, each=60), restart=np.zeros(120, np.bool_))

    def fail(*_: object) -> None:
        raise AssertionError("the network ran")

    calm = terms_of(MODEL.network, Memory(), beats)
    monkeypatch.setattr("beatwire.backends.cpu.embed_into", fail)
    busy = terms_of(MODEL.network, Memory(), beats, overloaded=True)
    assert np.isnan(score_terms(MODEL.calibration, busy).score).all()
    np.testing.assert_array_equal(busy.early, calm.early)


def test_an_empty_tick_gives_an_empty_result() -> None:
    memory = Memory()
    assert terms_of(MODEL.network, memory, pick(some_beats(0), np.arange(0))).latent.shape == (0, 8)


def test_the_features_of_a_beat_depend_on_no_other_beat() -> None:
    rng = np.random.default_rng(0)
    shapes = rng.normal(size=(301, 256)).astype(np.float32)
    sizes = rng.uniform(0.5, 2.0, 301).astype(np.float32)
    sizes[17] = np.nan
    latent, reconstruction_error = embed(MODEL.network, shapes, sizes)
    assert (
        np.flatnonzero(np.isnan(reconstruction_error)).tolist()
        == np.flatnonzero(np.isnan(latent).all(1)).tolist()
        == [17]
    )
    for begin, stop in ((0, 1), (3, 40), (250, 300), (1, 301), (5, 5)):
        some = embed(MODEL.network, shapes[begin:stop], sizes[begin:stop])
        np.testing.assert_array_equal(some[0], latent[begin:stop])
        np.testing.assert_array_equal(some[1], reconstruction_error[begin:stop])


def test_the_network_equals_its_matrices_multiplied_in_float64() -> None:
    rng, w = np.random.default_rng(1), MODEL.network
    shapes, sizes = rng.normal(size=(40, 256)).astype(np.float32), rng.uniform(0.5, 2.0, 40).astype(np.float32)
    x = shapes.astype(np.float64) * sizes[:, None]
    z = np.maximum(x @ w.encode + w.encode_bias, 0) @ w.latent + w.latent_bias
    rebuilt = np.maximum(z @ w.decode + w.decode_bias, 0) @ w.output + w.output_bias
    reconstruction_error = np.log(((rebuilt - x) ** 2).sum(1) * 0.5 / w.variance + 0.5 * (z**2).sum(1))
    latents, errors = embed(w, shapes, sizes)
    np.testing.assert_allclose(latents, z, atol=5e-6)
    np.testing.assert_allclose(errors, reconstruction_error, atol=5e-6)


def test_strided_windows_give_the_result_of_contiguous_ones() -> None:
    windows = np.random.default_rng(2).normal(size=(12, 256)).astype(np.float32)
    for apart, together in zip(
        embed(MODEL.network, windows[::3], np.ones(8, np.float32)[::2]),
        embed(MODEL.network, windows[::3].copy(), np.ones(4, np.float32)),
        strict=True,
    ):
        np.testing.assert_array_equal(apart, together)


def test_the_score_equals_interpolation_in_the_calibration_tables() -> None:
    """Interpolation by NumPy in the table of each term, and in the table of their sum."""
    _, terms = score_of(some_beats(3))
    of = MODEL.calibration
    far = [np.nextafter(of.terms[1, -1], np.inf), of.terms[1, -1] + 3.0, of.terms[1, 0] - 1.0, of.terms[1, 4]]
    terms.history[: len(far)] = far

    def level(values: np.ndarray, knots: np.ndarray, most: float) -> np.ndarray:
        slope = (of.level[-1] - of.level[-9]) / (knots[-1] - knots[-9])
        beyond = of.level[-1] + slope * (values - knots[-1])
        return np.minimum(np.where(values > knots[-1], beyond, np.interp(values, knots, of.level)), most)

    total = np.zeros(len(terms.population))
    for k, values in enumerate((terms.population, terms.history, terms.prematurity, terms.rate_term)):
        part = level(values.astype(np.float64), of.terms[k], 3.0 if k == 3 else 4.0)
        total += of.weights[k] * (part if k == 0 else np.nan_to_num(part))
    case = 2 * ~np.isnan(terms.history) + ~np.isnan(terms.prematurity)
    right = np.array([level(t, of.sums[c], 12.0) for t, c in zip(total, case, strict=True)])
    np.testing.assert_array_equal(score_terms(of, terms).score, right.astype(np.float32))
