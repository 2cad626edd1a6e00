"""Pulses of a pacemaker: without a QRS complex they are no beats, with one they hide no beat."""

import beatwire
import numpy as np
import pytest
from beatwire.recordings.synthetic.person import synthesise
from draws import draws
from hypothesis import example, given, settings
from hypothesis import strategies as st
from laws import assert_same, run_graph, ticks_of
from pulses import sharp_pulses, with_pulses, with_pulses_and_steps


def samples_of(signal: np.ndarray, rate_hz: float, units: str | None = None) -> np.ndarray:
    return np.asarray(beatwire.analyze(signal, rate_hz, units=units).beats["sample"])


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


def test_most_pulses_without_any_other_peak_are_no_beats(person) -> None:
    samples, rate_hz, beats, unit = person
    quiet = np.random.default_rng(1).normal(0, 20 / unit, samples.shape)
    found = samples_of(with_pulses(quiet, rate_hz, beats, unit), rate_hz)
    assert len(found) <= 0.4 * len(beats)


sharp = st.tuples(
    st.sampled_from((250.0, 360.0, 500.0, 1000.0)), st.floats(2.0, 8.0), st.floats(0.5, 1.5), st.floats(40, 110)
)  # rate in Hz, height in mV, width in ms, pulses a minute


@settings(deadline=None, max_examples=draws(48))
@given(sharp, st.integers(0, 99))
def test_pulses_that_capture_nothing_hide_no_asystole(pulse: tuple[float, float, float, float], seed: int) -> None:
    rate_hz, height_mv, width_ms, a_minute = pulse
    made = synthesise(seed, rate_hz=rate_hz, leads=1, seconds=90.0).recording
    signal = made.samples[0] * (made.uv_per_unit or 5.0) / 1000
    stop_s = 30.0
    signal[round(stop_s * rate_hz) :] = 0.0
    signal += np.random.default_rng(seed).normal(0, 0.005, len(signal))
    signal += sharp_pulses(np.arange(0.3, 90.0, 60 / a_minute), len(signal), rate_hz, height_mv, width_ms)
    run = beatwire.analyze(signal[None], rate_hz, units="mV")
    behind = np.asarray(run.beats["time_s"]) > stop_s + 1.0
    assert behind.sum() <= 0.3 * a_minute
    begun = run.alerts[(run.alerts["rule"] == "asystole")]["onset_s"]
    assert ((begun > stop_s) & (begun < stop_s + 8.0)).any()


@settings(deadline=None, max_examples=draws(48))
@given(sharp, st.floats(0.03, 0.07), st.booleans(), st.integers(0, 99))
@example((1000.0, 8.0, 1.5, 60.0), 0.04, True, 3)
@example((500.0, 8.0, 1.5, 60.0), 0.06, True, 3)
def test_pulses_before_the_atria_and_the_qrs_complex_hide_no_beat(
    pulse: tuple[float, float, float, float], before_s: float, atrial: bool, seed: int
) -> None:
    rate_hz, height_mv, width_ms, _ = pulse
    made = synthesise(seed, rate_hz=rate_hz, leads=1, seconds=40.0).recording
    signal = made.samples[0] * (made.uv_per_unit or 5.0) / 1000
    beats_s = samples_of(signal[None], rate_hz, units="mV") / rate_hz
    at_s = beats_s - before_s
    at_s = np.concatenate([at_s, at_s - 0.16]) if atrial else at_s
    signal = signal + sharp_pulses(at_s[at_s > 0], len(signal), rate_hz, height_mv, width_ms)
    found_s = samples_of(signal[None], rate_hz, units="mV") / rate_hz
    assert share_near(beats_s[5:], found_s, 0.1) >= 0.95
    assert share_near(found_s[5:], beats_s, 0.1) >= 0.95


@settings(deadline=None, max_examples=draws(24))
@given(st.integers(0, 1 << 20))
def test_no_cut_changes_what_is_found_beside_pulses_and_steps(seed: int) -> None:
    signals = with_pulses_and_steps(seed, 3, 40.0)
    runs = [
        run_graph(ticks_of(signals, np.random.default_rng(seed + longest), longest, per_tick))
        for longest, per_tick in ((200, 40), (700, 7))
    ]
    assert_same(*runs)
