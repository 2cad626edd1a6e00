"""A gain that grows many times over: QRS complexes that are larger than those of any heart are no silence."""

import beatwire
import numpy as np
from beatwire.recordings.synthetic.person import synthesise
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

HZ, SECONDS = 250, 62
FOLLOWED_S = 11.0


def heart(seed: int, bpm: float) -> tuple[np.ndarray, np.ndarray]:
    """Return an ECG in millivolts, and its beats in seconds."""
    truth = synthesise(seed, rate_hz=HZ, seconds=SECONDS, bpm=bpm)
    return truth.recording.samples[0] * 0.002, truth.beats / HZ


@settings(max_examples=draws(15), deadline=None)
@given(seed=st.integers(0, 99), bpm=st.floats(45, 140), times=st.floats(6, 50), at_s=st.floats(20, 30))
def test_a_gain_that_grows_is_no_asystole_and_beats_are_found_within_seconds(
    seed: int, bpm: float, times: float, at_s: float
) -> None:
    ecg, beats_s = heart(seed, bpm)
    ecg[int(at_s * HZ) :] *= times
    result = beatwire.analyze(ecg, fs=HZ, units="mV")
    assert "asystole" not in set(result.alerts.rule)
    found = result.beats.time_s.to_numpy()
    later = beats_s[(beats_s > at_s + FOLLOWED_S) & (beats_s < SECONDS - 1)]
    assert np.mean([np.abs(found - s).min() < 0.15 for s in later]) > 0.9


@settings(max_examples=draws(8), deadline=None)
@given(seed=st.integers(0, 99), times=st.floats(6, 50), at_s=st.floats(20, 30), beating_s=st.floats(1, 25))
def test_a_heart_that_stops_behind_a_change_of_gain_is_announced_within_ten_seconds(
    seed: int, times: float, at_s: float, beating_s: float
) -> None:
    ecg, beats_s = heart(seed, 75)
    ecg[int(at_s * HZ) :] *= times
    stop = int((at_s + beating_s) * HZ)
    ecg[stop:] = np.random.default_rng(seed).normal(0, 0.005, len(ecg) - stop)
    result = beatwire.analyze(ecg, fs=HZ, units="mV")
    last_s = beats_s[beats_s < stop / HZ][-1]
    onset_s = result.alerts[(result.alerts.rule == "asystole") & (result.alerts.state == "on")].onset_s
    assert len(onset_s) == 1
    assert 3.5 < onset_s.iloc[0] - last_s < 10.0
