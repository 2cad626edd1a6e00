"""A gain that falls to a tenth: smaller QRS complexes are no silence; P waves of a heart that stands still are one."""

from pathlib import Path

import beatwire
import numpy as np
import pytest
from beatwire.evaluation.records import find_records
from beatwire.recordings import read_recording
from changed_gain import SECONDS, announced_behind, begins, gain, heart, stopped
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import Signal, assert_equal, run_graph, ticks_of
from standstill import RATE_HZ, find_people, standstill


def falsely_silent(mv: np.ndarray, rate_hz: float, times: float, ramp_s: float) -> bool:
    """Return whether there is an asystole behind a gain that falls, and none without."""
    if begins(beatwire.analyze(mv, fs=rate_hz, units="mV"), "asystole").size:
        return False
    changed = mv * gain(mv.shape[1], rate_hz, times, ramp_s)
    return begins(beatwire.analyze(changed, fs=rate_hz, units="mV"), "asystole").size > 0


def test_a_gain_that_falls_is_rarely_an_asystole() -> None:
    silent = 0
    for seed in range(20):
        rate_hz = (125, 250, 500)[seed % 3]
        mv, _ = heart(seed, 45 + 5 * seed, rate_hz, 1 + seed % 2)
        silent += falsely_silent(mv, rate_hz, 0.1, 0)
    assert silent <= 4


@pytest.mark.parametrize("ramp_s", [0, 10])
def test_a_gain_that_falls_in_recordings_is_rarely_an_asystole(ecg_folder: Path, ramp_s: float) -> None:
    silent = 0
    for name in find_records(ecg_folder / "qtdb"):  # on which nothing was trained
        recording = read_recording(ecg_folder / "qtdb" / f"{name}.hea")
        first, rate_hz = 90 * int(recording.rate_hz), recording.rate_hz
        mv = recording.samples[:1, first : first + int(SECONDS * rate_hz)] * (recording.uv_per_unit / 1000)
        silent += falsely_silent(mv, rate_hz, 0.12, ramp_s)
    assert silent <= 4


def test_p_waves_of_a_heart_that_stands_still_are_a_silence(ecg_folder: Path) -> None:
    found = people = 0
    for name in find_people(ecg_folder / "ludb")[::2]:
        made = standstill(ecg_folder / "ludb", name, "v1")
        if made is not None:
            mv, stop_s = made
            onset_s = begins(beatwire.analyze(mv, fs=RATE_HZ, units="mV"), "asystole")
            people += 1
            found += bool((abs(onset_s - stop_s) < 12).any())
    assert people >= 40
    assert found >= people - 3  # in the others P waves are as large as small QRS complexes


@settings(max_examples=draws(10), deadline=None)
@given(seed=st.integers(0, 199), bpm=st.floats(50, 150), times=st.floats(0.02, 0.15), beating_s=st.floats(0.8, 12))
def test_a_heart_that_stops_behind_a_gain_that_falls_is_announced(
    seed: int, bpm: float, times: float, beating_s: float
) -> None:
    late_s = announced_behind(seed, bpm, times, beating_s)
    assert late_s.size > 0
    assert late_s[0] < 10.6


@settings(max_examples=draws(4), deadline=None)
@given(
    seed=st.integers(0, 99), times=st.floats(0.05, 0.15), leads=st.integers(1, 2), longest=st.sampled_from([40, 200])
)
def test_any_cut_of_a_gain_that_falls_gives_the_same_output(seed: int, times: float, leads: int, longest: int) -> None:
    mv, _ = heart(seed, 50 + seed, 128, leads)
    mv = stopped(seed, 128, 32, mv * gain(mv.shape[1], 128, times, 0))
    signal = Signal("bed", np.clip(np.rint(500 * mv), -32767, 32767).astype(np.int16), 128.0, 2.0)
    whole = run_graph([[signal.chunk(0, signal.samples.shape[1])]])
    assert_equal(run_graph(ticks_of([signal], np.random.default_rng(seed), longest)), whole)
