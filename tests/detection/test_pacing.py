"""Pulses of a pacemaker: without a QRS complex they are no beats, with one they hide no beat."""

import beatwire
import numpy as np
import pytest
from beatwire.recordings.synthetic.person import synthesise
from pulses import with_pulses


def samples_of(signal: np.ndarray, rate_hz: float) -> np.ndarray:
    return np.asarray(beatwire.analyze(signal, rate_hz).beats["sample"])


def share_near(wanted: np.ndarray, found: np.ndarray, reach: float) -> float:
    return float(np.mean([np.abs(found - one).min() <= reach for one in wanted]))


@pytest.fixture(scope="module", params=[250.0, 360.0, 500.0])
def person(request: pytest.FixtureRequest) -> tuple[np.ndarray, float, np.ndarray, float]:
    """Return samples of a person, their rate, the R of each beat, and the size of a unit."""
    rate_hz: float = request.param
    made = synthesise(3, rate_hz=rate_hz, leads=2, seconds=60.0).recording
    beats = samples_of(made.samples, rate_hz)
    assert len(beats) > 40
    return made.samples, rate_hz, beats, made.uv_per_unit or 5.0


def test_pulses_between_the_beats_are_no_beats(person) -> None:
    samples, rate_hz, beats, unit = person
    pulses = ((beats[5:-1] + beats[6:]) // 2)[::2]
    found = samples_of(with_pulses(samples, rate_hz, pulses, unit), rate_hz)
    assert share_near(pulses, found, 0.1 * rate_hz) <= 0.1
    assert share_near(beats, found, 0.05 * rate_hz) >= 0.98


def test_beats_are_found_between_pulses_of_six_times_their_height(person) -> None:
    """The level is that of the beats: every pulse is as large as the largest response of its two seconds."""
    samples, rate_hz, beats, unit = person
    pulses = (beats[5:-1] + beats[6:]) // 2
    found = samples_of(with_pulses(samples // 3, rate_hz, pulses, unit), rate_hz)
    assert share_near(pulses[10:], found, 0.1 * rate_hz) <= 0.1
    assert share_near(beats[20:], found, 0.05 * rate_hz) >= 0.95


def test_no_beat_is_lost_behind_a_pulse_before_it(person) -> None:
    samples, rate_hz, beats, unit = person
    found = samples_of(with_pulses(samples, rate_hz, beats - round(0.08 * rate_hz), unit), rate_hz)
    assert share_near(beats, found, 0.12 * rate_hz) >= 0.98


def test_pulses_without_any_other_peak_are_taken_for_beats(person) -> None:
    samples, rate_hz, beats, unit = person
    quiet = np.random.default_rng(1).normal(0, 20 / unit, samples.shape)
    found = samples_of(with_pulses(quiet, rate_hz, beats, unit), rate_hz)
    assert share_near(beats[5:], found, 0.1 * rate_hz) >= 0.9
