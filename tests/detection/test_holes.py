"""Holes of at most 40 ms cost no beat and no alert, wherever they lie; a lead without values costs nothing."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from beatwire.offline.analyze import Analysis, analyze
from beatwire.offline.feed import Feed
from beatwire.offline.results.coverage import hold_last
from beatwire.pipeline.settings import Settings
from beatwire.recordings.synthetic.person import Synthetic, synthesise
from beatwire.recordings.synthetic.rhythm import ASYSTOLE, Event
from beatwire.stages.support.holes import longest_hole
from draws import draws
from hypothesis import example, given, settings
from hypothesis import strategies as st
from laws import Run, Signal, assert_equal, cut, run_graph

NO_VALUE = -32768
RATES_HZ = (125.0, 200.0, 250.0, 360.0, 1000.0)
SECONDS = 24
KINDS = ("one in 50", "one in 20", "two of 25", "at random", "40 ms each second", "40 ms over a tenth of all R")


@cache
def heart(seed: int, rate_hz: float, leads: int) -> Synthetic:
    return synthesise(seed, rate_hz=rate_hz, leads=leads, seconds=SECONDS)


@cache
def whole(seed: int, rate_hz: float, leads: int) -> Analysis:
    """Return the result without a hole."""
    return analyze(heart(seed, rate_hz, leads).recording)


def missing(kind: str, n: int, rate_hz: float, beats: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return which of ``n`` samples are missing: bool [n], none of the first second and of the last."""
    out, longest = np.zeros(n, np.bool_), longest_hole(rate_hz, 0.25)
    if kind == "one in 50":
        out[rng.integers(50) :: 50] = True
    elif kind == "one in 20":
        out[rng.integers(20) :: 20] = True
    elif kind == "two of 25":
        for k in rng.choice(25, 2, replace=False):
            out[k::25] = True
    elif kind == "at random":
        out[:] = rng.random(n) < 0.03
    else:
        second = np.arange(0, n - round(rate_hz), round(rate_hz))
        begins = second + rng.integers(0, round(rate_hz) - longest, len(second))
        if kind == KINDS[-1]:
            over = rng.choice(beats, max(1, len(beats) // 10), replace=False)
            begins = over - rng.integers(0, longest, len(over))
        for begin in begins:
            out[begin : begin + longest] = True
    out[: round(rate_hz)] = out[n - round(rate_hz) :] = False
    return out


def distance(found: np.ndarray, beats: np.ndarray) -> np.ndarray:
    """Return how far the nearest found beat is from each beat, in samples."""
    return np.abs(found[None] - beats[:, None]).min(axis=1)


def rules_of(result: Analysis) -> list[tuple[str, str]]:
    return [(alert["rule"], alert["state"]) for alert in result.alerts]


@settings(max_examples=draws(40), deadline=None)
@given(
    seed=st.integers(0, 4), rate_hz=st.sampled_from(RATES_HZ), leads=st.integers(1, 3), kind=st.sampled_from(KINDS),
    in_all=st.booleans(), draw=st.integers(0, 10**6),
)  # fmt: skip
def test_holes_cost_no_beat_and_no_alert(
    seed: int, rate_hz: float, leads: int, kind: str, in_all: bool, draw: int
) -> None:
    rng = np.random.default_rng(draw)
    recording, right = heart(seed, rate_hz, leads).recording, whole(seed, rate_hz, leads)
    beats, samples = right.beats["sample"], recording.samples.copy()
    for lead in range(leads):
        if lead == 0 or not in_all:
            out = missing(kind, samples.shape[1], rate_hz, beats, rng)
        samples[lead, out] = NO_VALUE
    result = analyze(replace(recording, samples=samples))
    found = result.beats["sample"]
    off = distance(found, beats) > max(0.010 * rate_hz, 1.0)
    assert off.sum() <= {KINDS[-1]: len(beats) // 10, KINDS[-2]: 1}.get(kind, 0)
    if off.any():  # a QRS complex of these hearts may lie in 40 ms with all that there is of it
        assert len(beats) - off.sum() <= len(found) <= len(beats)
        assert "high" not in [alert["priority"] for alert in result.alerts]
    else:
        assert len(found) == len(beats)
        assert rules_of(result) == rules_of(right)


@settings(max_examples=draws(15), deadline=None)
@given(
    rate_hz=st.sampled_from((125.0, 250.0, 360.0)), leads=st.integers(1, 3), kind=st.sampled_from(KINDS),
    absent=st.booleans(), draw=st.integers(0, 10**6),
)  # fmt: skip
def test_holes_are_filled_in_the_same_way_in_every_cut_whether_skipped_or_without_a_value(
    rate_hz: float, leads: int, kind: str, absent: bool, draw: int
) -> None:
    rng = np.random.default_rng(draw)
    person = heart(1, rate_hz, leads)
    samples, skipped = person.recording.samples.copy(), []
    n = samples.shape[1]
    for lead in range(leads):
        samples[lead, missing(kind, n, rate_hz, person.beats, rng)] = NO_VALUE
        if absent and lead > 0:
            begin, end = np.sort(rng.integers(0, n, 2))
            samples[lead, begin:end] = NO_VALUE
    signal = Signal("bed-1", samples, rate_hz)
    in_one = run_graph([[signal.chunk(a, min(n, a + 400)) for a in range(0, n, 400)]])
    for a, b in cut(n, rng, 90):
        given = ~(samples[:, a:b] == NO_VALUE).all(axis=0)
        edges = np.flatnonzero(np.diff(given, prepend=False, append=False)).reshape(-1, 2) + a
        skipped += [signal.chunk(c, d) for c, d in edges.tolist()] if rng.random() < 0.5 else [signal.chunk(a, b)]
    assert_equal(until_last(run_graph([[chunk] for chunk in skipped])), until_last(in_one))


@settings(max_examples=draws(15), deadline=None)
@given(
    rate_hz=st.sampled_from((62.5, 128.0, 250.0, 360.0)), leads=st.integers(1, 3),
    mains_hz=st.sampled_from([49.9, 60.0]), size_mv=st.sampled_from([0.0, 0.3, 1.0]), apart_s=st.floats(0.1, 3.0),
    end=st.integers(0, 40), draw=st.integers(0, 10**6),
)  # fmt: skip
@example(128.0, 2, 60.0, 1.0, 1.0, 9, 0)
def test_a_recording_with_holes_and_gaps_in_hum_is_the_same_in_pieces(
    rate_hz: float, leads: int, mains_hz: float, size_mv: float, apart_s: float, end: int, draw: int
) -> None:
    """It ends in ``end`` samples without a value, 0.2 s after a beat."""
    rng, person = np.random.default_rng(draw), heart(1, rate_hz, leads)
    recording, n = person.recording, int(person.beats[-2] + 0.2 * rate_hz) + end
    hum = size_mv * 1000 / recording.uv_per_unit * np.sin(2 * np.pi * mains_hz / rate_hz * np.arange(n))
    samples, at = np.round(recording.samples[:, :n] + hum).astype(np.int16), round(rate_hz)
    while at < n - 2:
        lead, size = int(rng.integers(-1, leads)), round(rate_hz * rng.choice([0.01, 0.02, 0.04, 0.1, 0.2, 0.3]))
        samples[slice(None) if lead < 0 else lead, at : at + size] = NO_VALUE
        at += size + 1 + int(rng.exponential(apart_s * rate_hz))
    samples[:, n - end :] = NO_VALUE
    right = analyze(replace(recording, samples=samples)).beats
    feed = Feed(Settings(), "analyze", rate_hz, recording.leads, recording.uv_per_unit, timed=False)
    pieces = [feed.push(samples[:, a:b])[0] for a, b in cut(n, rng, round(3 * rate_hz))] + [feed.finish()[0]]
    for name in ("sample", "expected_errors"):
        np.testing.assert_array_equal(np.concatenate([piece[name] for piece in pieces]), right[name], name)


@settings(max_examples=draws(30), deadline=None)
@given(
    rate_hz=st.sampled_from((128.0, 250.0, 360.0)), mains_hz=st.sampled_from([49.97, 50.0, 60.0]),
    size_mv=st.sampled_from([0.0, 0.3, 1.0]), end=st.integers(0, 80), phase=st.floats(0, 6.28),
)  # fmt: skip
def test_what_is_held_after_missing_samples_is_the_last_value_and_its_hum(
    rate_hz: float, mains_hz: float, size_mv: float, end: int, phase: float
) -> None:
    recording, n = heart(1, rate_hz, 1).recording, round(20 * rate_hz)
    size = size_mv * 1000 / recording.uv_per_unit
    hum = size * np.sin(2 * np.pi * mains_hz / rate_hz * np.arange(n + round(rate_hz)) + phase)
    samples = np.round(0.1 * recording.samples[:, :n] + hum[:n]).astype(np.int16)
    samples[:, n - end :] = NO_VALUE
    held = hold_last(samples, rate_hz, recording.uv_per_unit)[0]
    right = 0.1 * recording.samples[0, n - end - 1] + hum[n:]
    assert np.abs(held - right)[: round(0.4 * rate_hz)].max() <= 0.2 * size + 25


def until_last(run: Run) -> Run:
    """Return the beats of a run but those of the last second, which may wait for what would fill a hole."""
    return Run({s: [row for row in rows if row[1] < rows[-1][1] - 360] for s, rows in run.beats.items()})


@pytest.mark.parametrize("rate_hz", [125.0, 250.0, 360.0])
@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_lead_without_a_value_changes_no_beat(rate_hz: float, position: int) -> None:
    recording, right = heart(2, rate_hz, 2).recording, whole(2, rate_hz, 2)
    samples = np.insert(recording.samples, position, NO_VALUE, axis=0)
    result = analyze(replace(recording, samples=samples, leads=("a", "b", "c")))
    assert result.beats["sample"].tolist() == right.beats["sample"].tolist()
    assert result.beats["beat_class"].tolist() == right.beats["beat_class"].tolist()
    for name in ("rr_ms", "quality", "expected_errors", "score"):
        np.testing.assert_allclose(result.beats[name], right.beats[name], rtol=0, atol=0.02, err_msg=name)
    assert rules_of(result) == rules_of(right)


@settings(max_examples=draws(30), deadline=None)
@given(
    seed=st.integers(0, 4), rate_hz=st.sampled_from((125.0, 250.0, 360.0)), leads=st.integers(2, 4),
    seconds=st.floats(0.06, 10.0), draw=st.integers(0, 10**6),
)  # fmt: skip
def test_leads_that_come_and_go_cost_no_beat_of_the_others(
    seed: int, rate_hz: float, leads: int, seconds: float, draw: int
) -> None:
    """Each lead but one is absent for stretches of ``seconds`` on average, which may overlap."""
    rng = np.random.default_rng(draw)
    recording, beats = heart(seed, rate_hz, leads).recording, whole(seed, rate_hz, leads).beats["sample"]
    samples, kept = recording.samples.copy(), int(rng.integers(leads))
    for lead in range(leads):
        edges = np.cumsum(rng.exponential(seconds * rate_hz, 2000)).astype(np.int64)
        for begin, end in zip(edges[::2], edges[1::2], strict=True):
            if lead != kept:
                samples[lead, begin:end] = NO_VALUE
    result = analyze(replace(recording, samples=samples))
    beats = beats[beats > rate_hz]
    found = result.beats["sample"]
    assert (distance(found, beats) <= 0.06 * rate_hz).all()
    assert (distance(beats, found[found > 1.1 * rate_hz]) <= 0.06 * rate_hz).all()
    high = [alert["rule"] for alert in result.alerts if alert["priority"] == "high"]
    assert high == []


@pytest.mark.parametrize("gap_s", [0.1, 0.2])
@pytest.mark.parametrize("chunk_ms", [None, 100.0])
def test_no_asystole_begins_from_beats_that_are_hidden_by_gaps(gap_s: float, chunk_ms: float | None) -> None:
    recording, samples = heart(1, 250.0, 1).recording, heart(1, 250.0, 1).recording.samples.copy()
    for r in whole(1, 250.0, 1).beats["sample"]:
        if 6.0 < r / 250.0 < 20.0:
            samples[:, r - round(125 * gap_s) : r + round(125 * gap_s)] = NO_VALUE
    result = analyze(replace(recording, samples=samples), chunk_ms=chunk_ms)
    assert len(result.beats["sample"]) < len(whole(1, 250.0, 1).beats["sample"]) - 10
    assert not [alert for alert in result.alerts if alert["priority"] == "high"]


@pytest.mark.parametrize("chunk_ms", [None, 40.0, 1000.0])
def test_two_seconds_of_an_asystole_have_no_gap(chunk_ms: float | None) -> None:
    recording = synthesise(3, rate_hz=250.0, seconds=30, events=[Event(ASYSTOLE, 10.0, 24.0)]).recording
    right = next(a for a in analyze(recording).alerts if a["rule"] == "asystole")
    samples = recording.samples.copy()
    last = right["onset"] - 1000  # the beat before
    for begin in (last + 300, last + 900, last + 950, last + 2100):
        samples[:, begin : begin + 25] = NO_VALUE
    result = analyze(replace(recording, samples=samples), chunk_ms=chunk_ms)
    assert next((a["onset"], a["state"]) for a in result.alerts if a["rule"] == "asystole") == (last + 1475, "on")
