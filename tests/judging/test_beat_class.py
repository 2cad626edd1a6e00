"""Classes of beats: the shape of a beat, the normal beat, features, and planted beats."""

import itertools
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from beatwire.kernels.classes import beat_shape, class_features, class_rhythm, normal_beat, stored_shape
from beatwire.kernels.classes.beat_class import LETTERS as CLASSES
from beatwire.model.classes import load_classes
from beatwire.offline.analyze import analyze
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.recordings import Recording
from beatwire.recordings.synthetic.person import synthesise
from beatwire.records import RawTick, TickBeats
from beatwire.records.beat_classes import ClassBeats, ClassScratch
from beatwire.records.columns import ORDERED_SAMPLE
from beatwire.stages.detection.windows import shape_edges
from beatwire.stages.judging import beat_class as stage
from beatwire_producers.ward import ward
from hypothesis import example, given, settings
from hypothesis import strategies as st
from laws import Signal

RATE_HZ = 250.0


@pytest.mark.parametrize(("rate_hz", "leads"), [(128.0, 1), (250.0, 2), (360.0, 3), (50.0, 2)])
def test_a_shape_is_the_means_of_boxes_of_10_ms_of_the_first_two_leads(rate_hz: float, leads: int) -> None:
    rng, edges = np.random.default_rng(3), shape_edges(rate_hz)
    signal = rng.integers(-32768, 32767, (leads, round(4 * rate_hz))).astype(np.int16)
    size = round(2 * rate_hz)
    ring = np.zeros((1, leads, size), np.int16)
    for a in range(signal.shape[1]):
        ring[0, :, a % size] = signal[:, a]
    at = signal.shape[1] - round(0.5 * rate_hz)
    shape = np.full((1, beat_shape.SHAPE_LEADS, beat_shape.COLUMNS), 7, np.int16)
    zero, work = np.zeros(1, np.int64), np.zeros((2, 400), np.int32)

    def means(stop: int) -> np.ndarray:
        held = np.where(np.arange(signal.shape[1]) < stop, signal, signal[:, stop - 1 : stop])
        pairs = list(itertools.pairwise(edges[beat_shape.EDGE]))
        boxes = [[held[lead, at + a : max(at + a + 1, at + b)] for a, b in pairs] for lead in range(min(leads, 2))]
        found = np.array([[box.mean(dtype=float) for box in row] for row in boxes])
        return found - found.mean(axis=1, keepdims=True)

    for decided, stop in ((10**9, signal.shape[1]), (at, at + 1)):  # nothing after the decision is read
        beat_shape.measure_shape(0, zero, zero + at, zero + decided, zero, edges, ring, work, shape)
        found = points_of(shape[0, : min(leads, 2)])
        np.testing.assert_allclose(found, means(stop), atol=np.abs(means(stop)).max() / 2**13)
        assert (shape[0, min(leads, 2) :] == 0).all()
    beat_shape.measure_shape(0, zero, zero + at, zero + 10**9, zero + at - 1, edges, ring, work, shape)
    assert (shape[0, : min(leads, 2), beat_shape.EXPONENT] == beat_shape.UNKNOWN).all()
    assert edges[0, 0] >= -0.3 * rate_hz - 1
    assert edges[0, -1] <= 0.3 * rate_hz


def points_of(shape: np.ndarray) -> np.ndarray:
    """Return the points of shapes in units of the device."""
    exponent = shape[..., beat_shape.EXPONENT, None].astype(float)
    return shape[..., : beat_shape.POINTS] * 2.0**exponent / 2**beat_shape.PARTS_BITS


def shape_of(points: np.ndarray) -> np.ndarray:
    """Return the shape of points in units of the device."""
    shape = np.zeros(beat_shape.COLUMNS, np.int16)
    beat_shape.store_mean(np.rint(np.array(points) * (1 << beat_shape.PARTS_BITS)).astype(np.int32), 1, shape)
    return shape


@settings(deadline=None)
@given(
    st.lists(st.floats(-4e4, 4e4, width=32), min_size=60, max_size=60),
    st.lists(st.floats(-4e4, 4e4, width=32), min_size=60, max_size=60),
)
def test_distances_and_likeness_of_shapes_are_those_of_their_points(one: list[float], other: list[float]) -> None:
    shapes = np.stack([shape_of(np.array(one)), shape_of(np.array(other))])
    a, b = points_of(shapes)
    for points, found in ((one, a), (other, b)):
        assert np.abs(found - points).max() <= max(2.0**-7, np.abs(points).max() / 2**13)
    assert beat_shape.apart(shapes[:1], shapes[1:], 1) == pytest.approx(((a - b) ** 2).sum())
    assert beat_shape.energy(shapes[0]) == pytest.approx((a**2).sum())
    u, v = (points[beat_shape.QRS_BEGIN : beat_shape.QRS_END] for points in (a, b))
    expected = np.corrcoef(u, v)[0, 1] if u.std() > 0 and v.std() > 0 else 0.0
    found = beat_shape.likeness(shapes[0], shapes[1], beat_shape.QRS_BEGIN, beat_shape.QRS_END)
    assert found == pytest.approx(expected, abs=1e-6)


@settings(deadline=None)
@given(
    st.lists(st.floats(-4e4, 4e4, width=32), min_size=60, max_size=60),
    st.lists(st.floats(1e-3, 1.0), min_size=3, max_size=3),
)
def test_a_stored_shape_has_the_points_of_each_part_to_a_thousandth_of_its_largest(
    points: list[float], sizes: list[float]
) -> None:
    parts = np.repeat(sizes, np.diff(stored_shape.BORDERS))
    whole = shape_of(np.array(points) * parts)
    stored, loaded = np.full(stored_shape.STORED_COLUMNS, 7, np.uint8), np.full(beat_shape.COLUMNS, 7, np.int16)
    stored_shape.store_shape(whole, stored)
    stored_shape.load_shape(stored, loaded)
    given_points, found = points_of(whole), points_of(loaded)
    for begin, end in itertools.pairwise(stored_shape.BORDERS):
        largest = np.abs(given_points[begin:end]).max()
        assert np.abs(found[begin:end] - given_points[begin:end]).max() <= largest / 500
    assert np.abs(loaded[: beat_shape.POINTS]).max() <= beat_shape.MOST_POINT + 1


def test_a_shape_that_is_not_known_is_stored_as_such() -> None:
    shape, stored = np.zeros(beat_shape.COLUMNS, np.int16), np.zeros(stored_shape.STORED_COLUMNS, np.uint8)
    stored_shape.store_shape(shape, stored)
    assert not stored_shape.is_unknown(stored)
    shape[beat_shape.EXPONENT] = beat_shape.UNKNOWN
    stored_shape.store_shape(shape, stored)
    assert stored_shape.is_unknown(stored)


def bump(centre: float, width: float) -> np.ndarray:
    return np.exp(-0.5 * ((np.arange(beat_shape.POINTS) - centre) / width) ** 2)


def scratch() -> ClassScratch:
    return ClassScratch(
        np.zeros(beat_shape.POINTS, np.float32), np.zeros(beat_shape.POINTS, np.float32),
        np.zeros(beat_shape.POINTS, np.int32), np.zeros((2, class_features.MEASURES)),
        np.zeros((normal_beat.PAST, beat_shape.SHAPE_LEADS, beat_shape.COLUMNS), np.int16),
        np.zeros((2 + normal_beat.CANDIDATES, normal_beat.PAST)), np.zeros(normal_beat.PAST, np.int64),
        np.zeros(normal_beat.CANDIDATES, np.int64), np.zeros((1, class_features.FEATURES), np.float32),
    )  # fmt: skip


@pytest.mark.parametrize("every", [2, 3])
def test_in_bigeminy_and_trigeminy_the_normal_beat_is_the_one_that_does_not_come_early(every: int) -> None:
    state = stage.State(None)
    stage.grow(state, 1)
    normal, strange = bump(30, 1.5), -bump(33, 5.0)
    rng = np.random.default_rng(0)
    for k in range(30):
        early = k % every == every - 1
        place = normal_beat.store_beat(0, k, state.history)
        state.history.rr_s[0, place] = 0.5 if early else 1.1 if k % every == 0 else 0.8
        points = (strange if early else normal) + 0.02 * rng.standard_normal(60)
        stored_shape.store_shape(shape_of(100 * points), state.history.shape[0, place, 0])
    normal_beat.find_normal(0, 1, state.history, scratch())
    found = points_of(state.history.normal[0, 0])
    assert np.corrcoef(found, normal)[0, 1] > 0.99
    assert state.history.known[0, normal_beat.SHARE] == pytest.approx(1 - 1 / every, abs=0.05)


def test_without_four_beats_there_is_no_normal_beat_and_a_restart_removes_it() -> None:
    state = stage.State(None)
    stage.grow(state, 1)
    for k in range(4):
        place = normal_beat.store_beat(0, k, state.history)
        state.history.rr_s[0, place] = 0.8 if k else 0.0
    normal_beat.find_normal(0, 1, state.history, scratch())
    assert state.history.known[0, normal_beat.SHARE] == 0
    state.history.rr_s[0] = 0.8
    normal_beat.find_normal(0, 1, state.history, scratch())
    assert state.history.known[0, normal_beat.SHARE] > 0
    normal_beat.forget(0, state.history)
    assert state.history.known[0, normal_beat.SHARE] == 0
    assert state.history.ring[0, normal_beat.COUNT] == 0


def test_measures_of_a_beat_do_not_depend_on_its_gain_or_offset() -> None:
    shape, usual = (bump(31, 4.0) - 0.2 * bump(40, 6.0)).astype(np.float32), bump(30, 1.5).astype(np.float32)
    one, other = np.zeros(class_features.MEASURES), np.zeros(class_features.MEASURES)
    class_features.measure_lead(shape - shape.mean(), usual - usual.mean(), 0.8, True, one)
    class_features.measure_lead(40 * (shape - shape.mean()), 40 * (usual - usual.mean()), 0.8, True, other)
    np.testing.assert_allclose(one, other, rtol=1e-4)
    named = dict(zip(class_features.OF_A_LEAD, one, strict=True))
    assert named["duration"] > 1.5 * named["normal duration"]
    assert named["match"] < 0.9
    class_features.measure_lead(usual, usual, 0.8, True, one)
    named = dict(zip(class_features.OF_A_LEAD, one, strict=True))
    assert named["match"] == pytest.approx(1)
    assert [named[k] for k in ("size", "fit", "deflection", "duration ratio")] == pytest.approx([1] * 4)
    assert [named[k] for k in ("qrs apart", "t apart", "p apart")] == pytest.approx([0] * 3, abs=1e-6)


def rhythm_of(intervals: list[float], rr_s: float) -> dict[str, float]:
    """Return the features of the rhythm of a beat that comes ``rr_s`` after beats with these intervals."""
    state = stage.State(None)
    stage.grow(state, 1)
    for k, one in enumerate(intervals):
        state.history.rr_s[0, normal_beat.store_beat(0, k, state.history)] = one
    known = np.zeros(1, np.float32)
    beats = ClassBeats(np.array([rr_s]), np.array([0.8]), known, known, known, np.zeros((1, 2, 64), np.int16))
    out = np.zeros(len(class_rhythm.RHYTHM), np.float32)
    class_rhythm.write_rhythm(0, 0, beats, state.history, scratch(), out)
    return dict(zip(class_rhythm.RHYTHM, out.tolist(), strict=True))


def test_a_short_interval_is_early_in_a_regular_rhythm_and_one_of_many_in_atrial_fibrillation() -> None:
    rng = np.random.default_rng(4)
    sinus = rhythm_of((0.8 + 0.01 * rng.standard_normal(30)).tolist(), 0.55)
    fibrillation = rhythm_of(rng.uniform(0.5, 1.1, 30).tolist(), 0.55)
    assert (sinus["rank"], sinus["deviation"] < -5) == (0, True)
    assert sinus["least change"] < 0.02
    assert fibrillation["rank"] > 0
    assert -2 < fibrillation["deviation"] < 0
    assert fibrillation["least change"] > 0.1


def test_intervals_that_repeat_change_little_at_the_least_of_three_distances() -> None:
    for pattern in ([0.5, 1.1], [0.8, 0.5, 1.1]):
        found = rhythm_of(pattern * 10, 0.5)
        assert found["least change"] == pytest.approx(0, abs=1e-6)
        assert found["change"] > 0.3
    assert rhythm_of([0.8], 0.5)["deviation"] == 0, "too few intervals"


def test_a_beat_is_compared_with_the_earlier_beats_that_look_like_it() -> None:
    state = stage.State(None)
    stage.grow(state, 1)
    normal, strange = shape_of(100 * bump(30, 1.5)), shape_of(-100 * bump(33, 5.0))
    for k in range(30):
        early = k % 3 == 2
        place = normal_beat.store_beat(0, k, state.history)
        state.history.ratio[0, place] = 0.6 if early else 1.4 if k % 3 == 0 else 1.0
        state.history.match[0, place] = 0.2 if early else 1.0
        stored_shape.store_shape(strange if early else normal, state.history.shape[0, place, 0])
    out = np.zeros(len(class_rhythm.LIKENESS), np.float32)
    class_rhythm.write_likeness(0, 1, state.history, strange[None], scratch(), out)
    found = dict(zip(class_rhythm.LIKENESS, out.tolist(), strict=True))
    assert found["alike"] == 10
    assert [
        found[k] for k in ("rr of alike", "next rr of alike", "early of alike", "match of alike", "most alike")
    ] == (pytest.approx([0.6, 1.4, 1.0, 0.2, 1.0], rel=1e-5))


def test_a_restart_in_a_tick_without_beats_removes_the_normal_beat() -> None:
    feed = next(f for f in ward(1, 40, seed=3, rates_hz=(250,), leads=(1,)).feeds)
    signal = Signal("bed", feed.recording.samples[:, : 40 * 250], 250.0)
    pipeline = Pipeline(Settings())
    pipeline.emit(RawTick.of([signal.chunk(0, 7500)]))
    history = next(node.state.history for node in pipeline.stages if isinstance(node.state, stage.State))
    assert history.known[0, normal_beat.SHARE] > 0
    pipeline.emit(RawTick.of([signal.chunk(8500, 8510)]))
    assert history.known[0, normal_beat.SHARE] == 0


@cache
def beats_of(seed: int) -> TickBeats:
    """Return the beats of a minute, as the stage takes them."""
    pipeline, found = Pipeline(Settings()), list[TickBeats]()
    pipeline.subscribe(pipeline.scored, found.append)
    samples = synthesise((1, seed), seconds=60.0, ectopy=0.2).recording.samples
    pipeline.emit(RawTick.of([Signal("bed", samples[:1], 250.0).chunk(0, 15_000)]))
    return found[0]


@given(st.integers(1, 3).map(lambda times: times << 31), st.integers(-20_000, 20_000))
@example(1 << 31, 15_000)
def test_beats_behind_a_pause_of_weeks_are_not_compared_with_those_before(pause: int, more: int) -> None:
    before, later = beats_of(1), beats_of(2)
    events = later.events.copy()
    events[:, ORDERED_SAMPLE] += max(pause + more, 60 * 250 + 15_000)
    later = replace(later, events=events)
    trees = load_classes()
    fresh, known = stage.State(trees), stage.State(trees)
    stage.step(known, before)
    expected, found = stage.step(fresh, later)[1], stage.step(known, later)[1]
    np.testing.assert_array_equal(found.beat_class, expected.beat_class)
    np.testing.assert_array_equal(found.class_probability, expected.class_probability)


def test_planted_ventricular_beats_are_called_so_and_normal_ones_are_not() -> None:
    feed = next(f for f in ward(1, 120, seed=3, rates_hz=(250,), leads=(1,)).feeds)
    quiet = feed.recording
    result = analyze(Recording("x", quiet.rate_hz, quiet.leads, quiet.uv_per_unit, quiet.samples))
    assert set(result.beats["beat_class"]) <= set(CLASSES)
    known = ~np.isnan(result.beats["class_probability"])
    assert known.mean() > 0.9
    assert (result.beats["class_probability"][known] <= 1).all()
    without = analyze(quiet, settings=Settings(with_classes=False))
    assert set(without.beats["beat_class"]) == {"Q"}
    assert without.beats["sample"].tolist() == result.beats["sample"].tolist()


def test_room_for_another_lead_keeps_what_is_stored() -> None:
    state = stage.State(None)
    stage.grow(state, 3, 1)
    assert state.history.shape.shape[2] == state.history.normal.shape[1] == 1
    state.history.shape[2, 5, 0, 7] = state.history.normal[2, 0, 7] = 4
    rows, beats = state.history.shape.shape[:2]
    stage.grow(state, 2, 2)
    assert state.history.shape.shape[:3] == (rows, beats, 2)
    assert (state.history.shape[2, 5, :, 7].tolist(), state.history.normal[2, :, 7].tolist()) == ([4, 0], [4, 0])
