"""Leads: the best lead alone is heard where it is better than all together."""

from __future__ import annotations

import numpy as np
import pytest
from beatwire.evaluation.beats.noise import electrode_motion
from beatwire.kernels.detection import lead_votes
from beatwire.kernels.detection.lead_votes import COUNT, FIRST, KEPT, VOTE_COLUMNS
from beatwire.recordings import NO_VALUE
from beatwire.recordings.synthetic.person import synthesise
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import Signal, cut
from steps import beats_of

RATE_HZ = 200.0
KINDS = ("white", "hum", "rail", "steps", "motion")
HORIZON_S = 10.0 + 32.4 + 1.5  # accepted peaks of ten seconds; expected errors; a lead that has just had a beat


def heart(leads: int, seconds: float = 60.0) -> np.ndarray:
    return synthesise(5, rate_hz=RATE_HZ, leads=leads, seconds=seconds).recording.samples


def noise_of(kind: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return noise of about unit RMS; a rail is far above every sample."""
    if kind == "white":
        return rng.standard_normal(n)
    if kind == "hum":
        return np.sqrt(2) * np.sin(2 * np.pi * 50 * np.arange(n) / RATE_HZ + rng.random())
    if kind == "motion":
        motion = electrode_motion(n, 1, RATE_HZ, rng)[0]
        return motion / motion.std()
    if kind == "rail":
        return np.full(n, 1e6)
    return np.repeat(rng.standard_normal(n // 20 + 1), 20)[:n]


def disturbed(x: np.ndarray, lead: int, kind: str, level: float, first: int, rng: np.random.Generator) -> np.ndarray:
    """Return leads with noise on one of them from a sample on, ``level`` times a quarter of its swing."""
    out = x.astype(np.float64)
    out[lead, first:] += level * np.ptp(x[lead]) / 4 * noise_of(kind, x.shape[1] - first, rng)
    return np.clip(np.rint(out), -32767, 32767).astype(np.int16)


def row_of(samples: list[int]) -> np.ndarray:
    """Return the state of a source that has accepted these peaks."""
    row = np.zeros(VOTE_COLUMNS, np.int64)
    for sample in samples:
        row[FIRST + int(row[COUNT]) % KEPT] = sample
        row[COUNT] += 1
    return row


PEAKS = st.lists(st.integers(20, 400), min_size=0, max_size=60).map(lambda gaps: np.cumsum([0, *gaps]).tolist())


@given(PEAKS, PEAKS, st.integers(0, 3000), st.integers(1, 60))
def test_peaks_that_another_source_lacks_are_those_without_a_near_one(
    one: list[int], other: list[int], window: int, near: int
) -> None:
    t = max(one[-1], other[-1])
    rows = row_of(one), row_of(other)
    n, m = (lead_votes.count_recent(row, t - window) for row in rows)
    recent = [s for s in one[-KEPT:] if s >= t - window]
    partners = [s for s in other[-KEPT:] if s >= t - window]
    assert (n, m) == (len(recent), len(partners))
    expected = sum(all(abs(s - p) > near for p in partners) for s in recent if s < t - 30)
    assert lead_votes.count_alone(rows[0], n, rows[1], m, t - 30, near) == expected


@given(PEAKS)
def test_a_steady_rhythm_is_not_irregular(samples: list[int]) -> None:
    n = min(len(samples), KEPT)
    got = lead_votes.irregularity(row_of(samples), n)
    if n < lead_votes.FEWEST:
        assert got == 0.5
    else:
        rr = np.diff(samples[-n:])
        assert got == pytest.approx(min(1.0, np.abs(np.diff(rr)).sum() / rr.sum()))


@settings(max_examples=5, deadline=None)
@given(st.integers(2, 4), st.integers(0, 3), st.sampled_from(KINDS), st.floats(0.5, 8.0), st.integers(0, 99))
def test_any_cut_and_a_later_beginning_give_the_same_beats(
    leads: int, lead: int, kind: str, level: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    x = disturbed(heart(leads, 70.0), lead % leads, kind, level, int(rng.integers(0, 8000)), rng)
    x[int(rng.integers(leads)), 5000:5200] = NO_VALUE
    signal = Signal("bed", x, RATE_HZ)
    whole = beats_of(signal)
    pieces = beats_of(signal, cut(x.shape[1], rng, 300))
    for column, other in zip(whole, pieces, strict=True):
        np.testing.assert_array_equal(column, other)
    late = 1600  # whole blocks of the level
    again = beats_of(Signal("bed", x[:, late:], RATE_HZ))
    settled = late + HORIZON_S * RATE_HZ
    kept, seen = whole.sample > settled, again.sample + late > settled
    np.testing.assert_array_equal(whole.sample[kept], again.sample[seen] + late)
    np.testing.assert_array_equal(whole.expected_errors[kept], again.expected_errors[seen])


@pytest.mark.parametrize("lead", [0, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_noise_on_one_lead_costs_the_beats_of_the_other_nothing(kind: str, lead: int) -> None:
    clean, rng = heart(2), np.random.default_rng(lead)
    beats = beats_of(Signal("bed", clean[1 - lead : 2 - lead], RATE_HZ)).sample
    found = beats_of(Signal("bed", disturbed(clean, lead, kind, 4.0, 2000, rng), RATE_HZ)).sample
    missed = np.abs(found[None] - beats[:, None]).min(axis=1) > 0.1 * RATE_HZ
    false = np.abs(found[None] - beats[:, None]).min(axis=0) > 0.1 * RATE_HZ
    assert len(beats) > 40
    assert missed.sum() + false.sum() <= 2, "while the noise begins"


def test_clean_leads_are_heard_together() -> None:
    x = heart(3)
    first = beats_of(Signal("bed", x[:1], RATE_HZ)).sample
    found = beats_of(Signal("bed", x, RATE_HZ)).sample
    assert len(first) == len(found)
    assert np.abs(first - found).max() <= 0.05 * RATE_HZ


def test_a_flat_lead_does_not_silence_another() -> None:
    x = heart(2)
    alone = beats_of(Signal("bed", x[1:], RATE_HZ)).sample
    x[0] = 7
    np.testing.assert_array_equal(beats_of(Signal("bed", x, RATE_HZ)).sample, alone)
