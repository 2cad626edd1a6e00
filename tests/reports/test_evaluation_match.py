"""Matching against hand-made cases, brute force and wfdb's own comparison."""

import itertools

import numpy as np
import pytest
from beatwire.evaluation.beats.match import Counts, count, inside, pair, timing_ms
from beatwire.evaluation.records import read_annotated
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

NONE = np.empty((0, 2), np.int64)


def beats(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@pytest.mark.parametrize(
    ("annotated", "detected", "expected"),
    [
        ((100, 200), (100, 200), (0, 1)),
        ((100,), (110,), (0,)),
        ((100,), (111,), (-1,)),
        ((100,), (92, 99), (-1, 0)),
        ((100, 108), (104,), (0,)),
        ((100, 112), (106, 118), (0, 1)),  # the nearest for the first would leave the second alone
        ((), (5,), (-1,)),
        ((5,), (), ()),
    ],
)
def test_pairs_are_as_many_as_possible_and_then_as_close_as_possible(annotated, detected, expected):
    assert tuple(pair(beats(*annotated), beats(*detected), 10)) == expected


def test_a_beat_detected_twice_is_one_true_and_one_false():
    annotated, detected = beats(100, 300), beats(99, 103, 300)
    partner = pair(annotated, detected, 20)
    assert count(annotated, detected, partner, NONE) == Counts(tp=2, fn=0, fp=1)
    assert partner.tolist() == [0, -1, 1]


def brute_force(annotated, detected, tolerance):
    best = (0, 0)
    for size in range(1, min(len(annotated), len(detected)) + 1):
        for refs in itertools.combinations(annotated, size):
            for dets in itertools.permutations(detected, size):
                gaps = [abs(r - d) for r, d in zip(refs, dets, strict=True)]
                if max(gaps) <= tolerance:
                    best = min(best, (-size, sum(gaps)))
    return best


instants = st.lists(st.integers(0, 60), max_size=4, unique=True).map(sorted)


@settings(max_examples=draws(150), deadline=None)
@given(instants, instants, st.integers(0, 15))
def test_pairs_are_the_most_and_the_nearest_of_all_there_are(annotated, detected, tolerance):
    ref, det = beats(*annotated), beats(*detected)
    partner = pair(ref, det, tolerance)
    found = partner >= 0
    gaps = np.abs(det[found] - ref[partner[found]])
    assert len(set(partner[found].tolist())) == found.sum()
    assert (-int(found.sum()), int(gaps.sum())) == brute_force(annotated, detected, tolerance)


def wfdb_counts(annotated, detected, tolerance):
    from wfdb.processing import compare_annotations  # a second, which other processes of tests need not wait

    theirs = compare_annotations(annotated, detected, tolerance)
    return Counts(int(theirs.tp), int(theirs.fn), int(theirs.fp))


def test_counts_are_those_of_wfdb_on_beats_with_misses_false_alarms_and_jitter():
    rng = np.random.default_rng(3)
    for tolerance in (18, 54):
        annotated = np.cumsum(rng.integers(150, 400, 2000))
        kept = annotated[rng.uniform(size=2000) > 0.05]
        moved = kept + rng.integers(-80, 80, len(kept)) * (rng.uniform(size=len(kept)) < 0.1)
        detected = np.unique(np.concatenate([moved, rng.integers(0, annotated[-1], 100)]))
        ours = count(annotated, detected, pair(annotated, detected, tolerance), NONE)
        theirs = wfdb_counts(annotated, detected, tolerance)
        assert abs(ours.tp - theirs.tp) <= 2
        assert ours.tp >= theirs.tp


def test_counts_are_those_of_wfdb_on_a_record_with_premature_beats(ecg_folder):
    record = read_annotated(ecg_folder / "mitdb", "208")
    rng = np.random.default_rng(1)
    detected = np.unique(record.beat[rng.uniform(size=len(record.beat)) > 0.02] + rng.integers(-30, 31))
    ours = count(record.beat, detected, pair(record.beat, detected, 54), NONE)
    assert ours == wfdb_counts(record.beat, detected, 54)


def test_excluded_spans_are_not_counted():
    annotated, detected = beats(100, 200, 300, 400), beats(100, 230, 260, 400, 410)
    partner = pair(annotated, detected, 5)
    assert count(annotated, detected, partner, NONE) == Counts(2, 2, 3)
    assert count(annotated, detected, partner, np.array([[150, 350]])) == Counts(2, 0, 1)


def test_a_pair_across_the_border_of_a_span_is_no_error():
    annotated, detected = beats(100, 200), beats(100, 196)
    partner = pair(annotated, detected, 10)
    for span in ([198, 250], [150, 197]):
        counted = count(annotated, detected, partner, np.array([span]))
        assert (counted.fn, counted.fp) == (0, 0)


def test_timing_is_signed_and_in_milliseconds():
    annotated, detected = beats(100, 200, 300), beats(98, 250, 301)
    errors = timing_ms(annotated, detected, pair(annotated, detected, 10), 250.0)
    assert errors.tolist() == [-8.0, 4.0]


def test_percentages_follow_from_the_counts():
    counts = Counts(tp=90, fn=10, fp=30)
    assert (counts.beats, counts.se, counts.ppv) == (100, 90.0, 75.0)
    assert counts.f1 == pytest.approx(2 * 90 * 75 / 165)
    assert np.isnan(Counts().se)


def test_both_ends_of_a_span_are_inside():
    assert inside(beats(9, 10, 20, 21), np.array([[10, 20]])).tolist() == [False, True, True, False]
