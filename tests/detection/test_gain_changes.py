"""A gain that grows many times over: larger QRS complexes are no silence, and soon beats; artefacts are neither."""

import beatwire
import numpy as np
from changed_gain import AT_S, SECONDS, announced_behind, begins, gain, heart, stopped
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import Signal, assert_equal, run_graph, ticks_of

ASYSTOLE_S = 4.6  # with what decides it
LATEST_S = 8.6  # waves that may be beats count for 4 s
RATES = st.sampled_from([100, 125, 200, 250, 360, 500, 1000])


@settings(max_examples=draws(40), deadline=None)
@given(
    seed=st.integers(0, 199),
    bpm=st.floats(40, 180),
    rate_hz=RATES,
    leads=st.integers(1, 3),
    grown=st.tuples(st.floats(6, 50), st.sampled_from([0, 1])) | st.tuples(st.floats(5, 9), st.sampled_from([4, 10])),
)
def test_a_gain_that_grows_is_no_asystole(
    seed: int, bpm: float, rate_hz: int, leads: int, grown: tuple[float, float]
) -> None:
    """While it grows further than beats can be large, no two waves have one size: 4 s later that is a silence."""
    times, ramp_s = grown
    mv, _ = heart(seed, bpm, rate_hz, leads)
    result = beatwire.analyze(mv * gain(mv.shape[1], rate_hz, times, ramp_s), fs=rate_hz, units="mV")
    assert begins(result, "asystole").size == 0


@settings(max_examples=draws(20), deadline=None)
@given(
    seed=st.integers(0, 199),
    bpm=st.floats(60, 180),
    rate_hz=st.sampled_from([125, 128, 250, 500]),
    times=st.floats(12, 50),
)
def test_beats_of_another_gain_are_found_from_the_fourth_on(seed: int, bpm: float, rate_hz: int, times: float) -> None:
    mv, beats_s = heart(seed, bpm, rate_hz)
    result = beatwire.analyze(mv * gain(mv.shape[1], rate_hz, times, 0), fs=rate_hz, units="mV")
    later = beats_s[beats_s > AT_S + 0.1][4:]
    later = later[later < SECONDS - 1]
    found = result.beats.time_s.to_numpy()
    missed = sum(np.abs(found - s).min() > 0.15 for s in later)
    assert missed <= 3
    assert np.sum(found > later[0]) <= 1.1 * len(later) + 2  # T waves are none


@settings(max_examples=draws(20), deadline=None)
@given(seed=st.integers(0, 199), bpm=st.floats(50, 150), times=st.floats(8, 50), beating_s=st.floats(0.8, 12))
def test_a_heart_that_stops_behind_a_change_of_gain_is_announced(
    seed: int, bpm: float, times: float, beating_s: float
) -> None:
    late_s = announced_behind(seed, bpm, times, beating_s)
    assert (late_s > 0).any()
    assert late_s[late_s > 0][0] < 10.6


@settings(max_examples=draws(30), deadline=None)
@given(
    seed=st.integers(0, 199),
    mv=st.floats(25, 60),
    width_s=st.floats(0.02, 0.05),
    every_s=st.floats(0.4, 1.5),
    waves=st.integers(1, 3),
)
def test_a_heart_that_stops_behind_large_artefacts_is_announced(
    seed: int, mv: float, width_s: float, every_s: float, waves: int
) -> None:
    ecg, beats_s = heart(seed, 75)
    ecg = stopped(seed, 250, AT_S, ecg)
    t = np.arange(ecg.shape[1]) / 250
    last_s = AT_S + 0.3 + every_s * (waves - 1)
    for k in range(waves):
        u = (t - AT_S - 0.3 - k * every_s) / width_s
        ecg = ecg + mv * (1 - 0.7 * u) * np.exp(-u * u / 2)
    result = beatwire.analyze(ecg, fs=250, units="mV")
    found, onset_s = result.beats.time_s.to_numpy(), begins(result, "asystole")
    last_beat_s = beats_s[beats_s < AT_S - 0.1][-1]
    if not (found > AT_S + 0.15).any():  # else an artefact was taken for a beat
        assert onset_s.size > 0
        assert onset_s[0] < min(last_s + ASYSTOLE_S, last_beat_s + LATEST_S)


@settings(max_examples=draws(6), deadline=None)
@given(seed=st.integers(0, 99), times=st.floats(8, 50), leads=st.integers(1, 2), longest=st.sampled_from([40, 200]))
def test_any_cut_of_a_changed_gain_gives_the_same_output(seed: int, times: float, leads: int, longest: int) -> None:
    mv, _ = heart(seed, 50 + seed, 128, leads)
    mv = stopped(seed, 128, 32, mv * gain(mv.shape[1], 128, times, 0))
    signal = Signal("bed", np.clip(np.rint(200 * mv), -32767, 32767).astype(np.int16), 128.0, 5.0)
    whole = run_graph([[signal.chunk(0, signal.samples.shape[1])]])
    assert "asystole" in {a["rule"] for a in whole.alerts}
    assert_equal(run_graph(ticks_of([signal], np.random.default_rng(seed), longest)), whole)
