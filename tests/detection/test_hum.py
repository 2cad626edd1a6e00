"""Mains hum is taken out, equally for every cut, and hides no beat; a signal without hum stays as it is."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from beatwire.kernels.intake.one_sine import LEAST_SPANS, SPANS, UNKNOWN, compare, continue_sine, write_sine
from beatwire.kernels.intake.sines import LAG
from beatwire.offline.analyze import analyze
from beatwire.offline.feed import Feed
from beatwire.offline.results.coverage import coverage_of, without_holes
from beatwire.pipeline.settings import Settings
from beatwire.recordings.synthetic.person import Synthetic, synthesise
from beatwire.records.columns import HUM_COLUMNS, HUM_IM, HUM_OF, HUM_RE
from beatwire.stages.support.holes import longest_hole
from beatwire.stages.support.mains import MOST_SPAN_S, hum_filter_for
from draws import draws
from hypothesis import example, given, settings
from hypothesis import strategies as st
from laws import Signal, cut
from steps import Aligner

NO_VALUE = -32768
RATES_HZ = (125.0, 128.0, 200.0, 250.0, 257.0, 360.0, 1000.0, 2000.0)
SECONDS = 16
KNOWN_S = (SPANS + LAG) * MOST_SPAN_S  # from here on hum is known


@cache
def heart(seed: int, rate_hz: float, leads: int) -> Synthetic:
    return synthesise(seed, rate_hz=rate_hz, leads=leads, seconds=SECONDS, noise=0.0)


def hum_of(n: int, rate_hz: float, mains_hz: float, size: float, phase: float = 0.0) -> np.ndarray:
    return size * np.sin(2 * np.pi * mains_hz / rate_hz * np.arange(n) + phase)


def seconds_of(n: int, rate_hz: float) -> list[tuple[int, int]]:
    return [(a, min(n, a + round(rate_hz))) for a in range(0, n, round(rate_hz))]


def rings_of(signal: Signal, cuts: Sequence[tuple[int, int]], per_tick: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the samples [leads, n] of the rings, as the stages behind them see them, and which ones are known [n]."""
    aligner, values = Aligner(), [signal.chunk(a, b) for a, b in cuts]
    seen, known = np.zeros(signal.samples.shape, np.int16), np.zeros(signal.samples.shape[1], np.bool_)
    for k in range(0, len(values), per_tick):
        aligner.tick(values[k : k + per_tick], watch=True)
        for fresh, x in aligner.watched:
            for lane, start, stop in zip(fresh.lane, fresh.start, fresh.stop, strict=True):
                at = np.arange(start, stop)
                seen[:, at - signal.first], known[at - signal.first] = x[lane][:, at % x.shape[2]], True
    return seen, known


def with_holes(
    samples: np.ndarray, rate_hz: float, apart_s: float, gap_s: float, rng: np.random.Generator
) -> np.ndarray:
    """Return samples [leads, n] with holes that are filled in, of one lead or of all, so many seconds apart or more.

    Every second one is a gap of all leads of at most ``gap_s``, if that is longer than the longest hole.
    """
    out, at, longest = samples.copy(), round(rate_hz), longest_hole(rate_hz, 0.25)
    gap = round(gap_s * rate_hz)
    while at < samples.shape[1] - rate_hz:
        lead, size = int(rng.integers(-1, len(samples))), int(rng.integers(1, longest + 1))
        if gap > longest and rng.random() < 0.5:
            lead, size = -1, int(rng.integers(longest + 1, gap + 1))
        out[slice(None) if lead < 0 else lead, at : at + size] = NO_VALUE
        at += max(3 * longest, 4 * size) + int(rng.exponential(apart_s * rate_hz))
    return out


@settings(max_examples=draws(40), deadline=None)
@given(
    seed=st.integers(0, 2), rate_hz=st.sampled_from(RATES_HZ), mains_hz=st.sampled_from([50.0, 60.0]),
    away_hz=st.floats(-0.2, 0.2), size_mv=st.floats(0.1, 2.0), phase=st.floats(0, 6.28),
)  # fmt: skip
def test_a_tenth_of_the_hum_remains_at_most(
    seed: int, rate_hz: float, mains_hz: float, away_hz: float, size_mv: float, phase: float
) -> None:
    recording = heart(seed, rate_hz, 1).recording
    hum = hum_of(recording.samples.shape[1], rate_hz, mains_hz + away_hz, size_mv * 1000 / recording.uv_per_unit, phase)
    samples = np.clip(recording.samples + np.round(hum), -32767, 32767).astype(np.int16)
    seen, known = rings_of(Signal("s", samples, rate_hz), seconds_of(samples.shape[1], rate_hz), 4)
    left = (seen - recording.samples)[0][known][round(KNOWN_S * rate_hz) :]
    assert np.sqrt(np.mean(left.astype(np.float64) ** 2)) <= 0.1 * np.sqrt(np.mean(hum**2)) + 1.0


@settings(max_examples=draws(40), deadline=None)
@given(
    seed=st.integers(0, 30), rate_hz=st.sampled_from([100.0, *RATES_HZ]), leads=st.integers(1, 2),
    gap_s=st.sampled_from([None, 0.0, 0.25]),
)  # fmt: skip
def test_a_signal_without_hum_stays_as_it_is(seed: int, rate_hz: float, leads: int, gap_s: float | None) -> None:
    """QRS complexes are a sine of a few microvolts by chance, now and then."""
    recording = heart(seed, rate_hz, leads).recording
    samples = recording.samples
    if gap_s is not None:
        samples = with_holes(samples, rate_hz, 0.5, gap_s, np.random.default_rng(seed))
    seen, known = rings_of(Signal("s", samples, rate_hz), seconds_of(samples.shape[1], rate_hz), 4)
    changed = np.abs(seen.astype(np.int64) - samples)[known & (samples != NO_VALUE)] * recording.uv_per_unit
    assert changed.size > 0
    assert changed.max() <= 20.0
    assert np.sqrt(np.mean(changed**2)) <= 3.0


@settings(max_examples=draws(40), deadline=None)
@given(
    rate_hz=st.sampled_from(RATES_HZ), leads=st.integers(1, 2), mains_hz=st.sampled_from([49.97, 50.0, 60.0]),
    size_mv=st.floats(0.3, 3.0), share=st.floats(-0.5, 0.5), side=st.sampled_from([-1, 1]),
)  # fmt: skip
def test_a_lead_at_a_limit_of_its_converter_stays_as_it_is(
    rate_hz: float, leads: int, mains_hz: float, size_mv: float, share: float, side: int
) -> None:
    """Without what looks like hum no sample would equal the limit, and the alert would end."""
    recording, limit = heart(1, rate_hz, leads).recording, 2500  # of 2 uV
    hum = hum_of(recording.samples.shape[1], rate_hz, mains_hz, size_mv * 500)
    clipped = np.clip(0.2 * recording.samples + hum + limit + share * size_mv * 500, -limit, limit)
    signal = Signal("s", side * np.round(clipped).astype(np.int16), rate_hz, recording.uv_per_unit)
    seen, known = rings_of(signal, seconds_of(clipped.shape[1], rate_hz), 4)
    assert (seen == signal.samples)[:, known].all()


@pytest.mark.parametrize("seed", [2, 3])
def test_hum_as_large_as_the_beats_hides_none(seed: int) -> None:
    recording = synthesise(seed, rate_hz=125.0, leads=1, seconds=60).recording
    small = (0.4 * recording.samples).astype(np.int16)
    hum = np.round(hum_of(small.shape[1], 125.0, 50.05, 500 / recording.uv_per_unit))
    found = analyze(replace(recording, samples=(small + hum).astype(np.int16))).beats["sample"]
    beats = analyze(replace(recording, samples=small)).beats["sample"]
    late = beats[beats > KNOWN_S * 125.0]
    assert len(late) > 50
    assert np.abs(found[:, None] - late).min(axis=0).max() <= 3


@settings(max_examples=draws(20), deadline=None)
@given(
    seed=st.integers(0, 2), rate_hz=st.sampled_from(RATES_HZ[:7]), mains_hz=st.sampled_from([49.95, 50.0, 60.02]),
    size_mv=st.floats(0.3, 2.0), more=st.integers(0, 300), is_silent=st.booleans(), draw=st.integers(0, 99),
)  # fmt: skip
@example(0, 250.0, 50.0, 1.0, 37, True, 1)
@example(0, 250.0, 50.0, 0.5, 0, True, 1)
def test_the_end_of_a_recording_with_hum_is_no_beat(
    seed: int, rate_hz: float, mains_hz: float, size_mv: float, more: int, is_silent: bool, draw: int
) -> None:
    rng, recording = np.random.default_rng(draw), heart(seed, rate_hz, 1).recording
    n = round((40 if is_silent else SECONDS - 3) * rate_hz) + more
    samples = np.zeros((1, n)) if is_silent else recording.samples[:, :n].astype(np.float64)
    samples += hum_of(n, rate_hz, mains_hz, size_mv * 1000 / recording.uv_per_unit) + rng.normal(0, 4, n)
    whole = replace(recording, samples=np.round(samples).astype(np.int16))
    found = analyze(whole)
    beats = heart(seed, rate_hz, 1).beats
    late = found.beats["sample"][found.beats["sample"] > n - rate_hz]
    assert len(late) == 0 if is_silent else np.abs(beats[:, None] - late).min(axis=0, initial=n).max() < 0.1 * rate_hz
    feed = Feed(Settings(), "analyze", rate_hz, recording.leads, recording.uv_per_unit, timed=False)
    pieces = [feed.push(whole.samples[:, a:b]) for a, b in cut(n, rng, round(3 * rate_hz))] + [feed.finish()]
    assert np.concatenate([piece[0]["sample"] for piece in pieces]).tolist() == found.beats["sample"].tolist()
    assert [a["rule"] for piece in pieces for a in piece[1]] == [a["rule"] for a in found.alerts]


@settings(max_examples=draws(60), deadline=None)
@given(
    rate_hz=st.sampled_from(RATES_HZ[:6]), leads=st.integers(1, 3), mains_hz=st.floats(49.8, 60.2),
    size=st.sampled_from([3.0, 40.0, 300.0, 30_000.0]), hole=st.integers(0, 3), draw=st.integers(0, 10**6),
)  # fmt: skip
def test_no_cut_changes_what_is_taken_out(
    rate_hz: float, leads: int, mains_hz: float, size: float, hole: int, draw: int
) -> None:
    rng = np.random.default_rng(draw)
    samples = heart(0, rate_hz, leads).recording.samples.astype(np.float64)
    n = samples.shape[1]
    hum = hum_of(n, rate_hz, mains_hz, size)
    for lead in range(leads):
        a, b = sorted(rng.integers(0, n, 2).tolist())
        samples[lead, a : b + n // 2] += hum[a : b + n // 2]
    holed = np.clip(np.round(samples), -32767, 32767).astype(np.int16)
    for _ in range(hole * 6):
        a, lead = int(rng.integers(rate_hz, n - rate_hz)), int(rng.integers(leads))
        holed[lead if leads > 1 else 0, a : a + int(rng.choice([1, 3, 8, 40]) * rate_hz / 250) + 1] = NO_VALUE
    signal = Signal("s", holed, rate_hz, first=int(rng.integers(0, 10**9)))
    gaps = [0, *(int(rng.integers(rate_hz, n)) for _ in range(hole)), n]
    missing = [int(rng.choice([1, 5, 50, 2 * rate_hz])) for _ in gaps]
    parts = [(a + lost * (a > 0), b) for (a, b), lost in zip(pairwise(sorted(gaps)), missing, strict=False)]
    found = []
    for per_tick in (1, int(rng.integers(2, 20))):
        pieces = [(a + p, a + q) for a, b in parts if a < b for p, q in cut(b - a, rng, round(rate_hz))]
        found.append(rings_of(signal, pieces, per_tick))
    (one, known), (other, known_too) = found
    both = known & known_too
    assert both.sum() > n // 4
    assert (one[:, both] == other[:, both]).all()


def humming(seed: int, rate_hz: float, leads: int, mains_hz: float, size_mv: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the samples of a heart, and its hum."""
    recording = heart(seed, rate_hz, leads).recording
    hum = hum_of(recording.samples.shape[1], rate_hz, mains_hz, size_mv * 1000 / recording.uv_per_unit, 0.1 * seed)
    return recording.samples, np.round(hum).astype(np.int16)


@settings(max_examples=draws(40), deadline=None)
@given(
    seed=st.integers(0, 2), rate_hz=st.sampled_from(RATES_HZ[:7]), leads=st.integers(1, 2),
    mains_hz=st.sampled_from([49.9, 50.0, 50.03, 60.0, 60.1]), size_mv=st.floats(0.3, 1.0),
    gap_s=st.sampled_from([0.0, 0.12, 0.24]), draw=st.integers(0, 10**6),
)  # fmt: skip
def test_holes_in_hum_are_filled_in_and_gaps_bridged_as_without_it(
    seed: int, rate_hz: float, leads: int, mains_hz: float, size_mv: float, gap_s: float, draw: int
) -> None:
    samples, hum = humming(seed, rate_hz, leads, mains_hz, size_mv)
    holed = with_holes(samples, rate_hz, 0.5, gap_s, np.random.default_rng(draw))
    cuts = seconds_of(samples.shape[1], rate_hz)
    with_hum = np.where(holed == NO_VALUE, NO_VALUE, holed + hum).astype(np.int16)
    (seen, known), (right, _) = (rings_of(Signal("s", x, rate_hz), cuts, 4) for x in (with_hum, holed))
    late = known & (np.arange(len(known)) > KNOWN_S * rate_hz)
    left = (seen - right.astype(np.float64))[(holed == NO_VALUE) & late]
    assert len(left) > 20
    assert np.sqrt(np.mean(left**2)) <= 0.4 * np.abs(hum).max() + 1.0


@settings(max_examples=draws(40), deadline=None)
@given(
    rate_hz=st.sampled_from(RATES_HZ[:7]), leads=st.integers(1, 2), mains_hz=st.sampled_from([49.97, 50.0, 60.0]),
    size_mv=st.floats(0.1, 1.0), apart_s=st.floats(0.01, 1.0), gap_s=st.sampled_from([0.0, 0.1, 0.25]),
    draw=st.integers(0, 10**6),
)  # fmt: skip
def test_what_is_taken_out_depends_on_no_older_samples_and_a_recording_is_the_same(
    rate_hz: float, leads: int, mains_hz: float, size_mv: float, apart_s: float, gap_s: float, draw: int
) -> None:
    """Holes are filled in with a sine, and sines are measured between holes: what is measured must not go round."""
    rng = np.random.default_rng(draw)
    samples, hum = humming(0, rate_hz, leads, mains_hz, size_mv)
    x = with_holes(samples + hum, rate_hz, apart_s, gap_s, rng)
    n, late = x.shape[1], int(rng.integers(2 * rate_hz, 6 * rate_hz))
    late = int(late + np.argmax((x[:, late:] != NO_VALUE).all(axis=0)))
    cuts = seconds_of(n, rate_hz)
    seen, known = rings_of(Signal("s", x, rate_hz), cuts, 1)
    again, known_too = rings_of(
        Signal("s", x[:, late:], rate_hz, first=late), [(max(a - late, 0), b - late) for a, b in cuts if b > late], 1
    )
    begin = late + round((KNOWN_S + MOST_SPAN_S) * rate_hz)
    both = known[begin:] & known_too[begin - late :]
    assert both.sum() > 2 * rate_hz
    assert (seen[:, begin:][:, both] == again[:, begin - late :][:, both]).all()
    hole, held = longest_hole(rate_hz, 0.25), np.zeros((leads, round(rate_hz)), np.int16)
    coverage = coverage_of(x, held.shape[1], round(0.25 * rate_hz), hole)
    clean, _, is_clean = without_holes(x, held, coverage, hole, rate_hz, Signal("s", x, rate_hz).uv_per_unit)
    assert is_clean
    assert (clean == seen)[:, known].all()


@settings(max_examples=draws(300), deadline=None)
@given(
    seed=st.integers(0, 10**6), size=st.floats(2.0, 60000.0), turn=st.floats(-3.1, 3.1), noise=st.floats(0.0, 0.6),
    k=st.integers(0, 40), one=st.booleans(),
)  # fmt: skip
def test_no_sine_is_left_out_before_it_is_fitted(
    seed: int, size: float, turn: float, noise: float, k: int, one: bool
) -> None:
    hum_filter = hum_filter_for(250.0)
    rng = np.random.default_rng(seed)
    spans = size * np.exp(1j * turn * np.arange(SPANS)) * np.exp(6j * rng.random())
    away = noise * size * (rng.normal(size=SPANS) + 1j * rng.normal(size=SPANS))
    if one:  # all the noise in one span
        away[np.arange(SPANS) != rng.integers(SPANS)] = 0.0
    spans = np.roll(spans + away, k + 1)  # the newest one, the last, in column k % SPANS
    re, im = np.round(spans.real).astype(np.int32), np.round(spans.imag).astype(np.int32)
    power = re.astype(float) ** 2 + im.astype(float) ** 2
    newest = power[k % SPANS]
    alike = newest >= 256 and newest <= 4 * power.min() and power.max() <= 4 * newest
    may_be, whole, x, y = compare(re, im, k % SPANS)
    assert whole == power.sum()
    found = write_sine(re, im, k, 0, whole, x, y, 0.0, hum_filter, np.zeros(HUM_COLUMNS, np.int32)) > 0.0
    assert may_be >= (alike and found)
    assert alike >= may_be


@settings(max_examples=draws(100), deadline=None)
@given(
    seed=st.integers(0, 10**6), size=st.floats(100.0, 60000.0), turn=st.floats(-3.1, 3.1), noise=st.floats(0.0, 0.05),
    k=st.integers(0, 40), unknown=st.integers(1, SPANS),
)  # fmt: skip
def test_spans_that_are_unknown_are_left_out(
    seed: int, size: float, turn: float, noise: float, k: int, unknown: int
) -> None:
    rng, sines = np.random.default_rng(seed), np.zeros((2, HUM_COLUMNS), np.int32)
    spans = size * np.exp(1j * turn * np.arange(SPANS)) * np.exp(6j * rng.random())
    spans += noise * size * (rng.normal(size=SPANS) + 1j * rng.normal(size=SPANS)) / SPANS
    amplitudes = np.zeros((2, SPANS), np.int32)
    amplitudes[:, (k + 1 + np.arange(SPANS)) % SPANS] = np.round([spans.real, spans.imag])
    continue_sine(k, amplitudes, hum_filter_for(110.0), sines[0])
    amplitudes[:, rng.choice(SPANS, unknown, replace=False)] = UNKNOWN
    continue_sine(k, amplitudes, hum_filter_for(110.0), sines[1])
    assert sines[0, HUM_OF] > 0
    assert (sines[1, HUM_OF] > 0) == (SPANS - unknown >= LEAST_SPANS)
    if sines[1, HUM_OF] > 0:
        assert np.abs(sines[1] - sines[0])[[HUM_RE, HUM_IM]].max() <= 0.1 * size + 4
