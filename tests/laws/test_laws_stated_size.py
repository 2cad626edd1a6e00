"""Recordings that state a wrong size, by a gain that nobody measured: the same beats, in any cut, and a remark."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from beatwire.offline.analyze import analyze
from beatwire.recordings import NO_VALUE, Recording, read_recording
from beatwire.recordings.read import as_recording
from beatwire.recordings.synthetic.person import synthesise
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

RECORDS = ("106", "114", "119", "203", "208")  # ventricular beats that are larger than others, noise
SECONDS = 150
NEAR_S = 0.15
KNOWN_S = (
    12.0  # from here on a stream has a level though it is larger than any heart: it might begin with a disturbance
)
MOST = 2  # beats that differ
REMARK = "more than a heart"


@cache
def record(folder: Path, name: str, leads: int) -> Recording:
    whole = read_recording(folder / "mitdb" / f"{name}.hea")
    samples = whole.samples[:leads, : round(SECONDS * whole.rate_hz)]
    return replace(whole, samples=samples, leads=whole.leads[:leads])


@cache
def beats_as_stated(folder: Path, name: str, leads: int) -> np.ndarray:
    return np.asarray(analyze(record(folder, name, leads)).beats["time_s"])


@settings(deadline=None, max_examples=draws(20))
@given(name=st.sampled_from(RECORDS), leads=st.integers(1, 2), times=st.floats(0.0, 1.8).map(lambda power: 10.0**power))
def test_a_recording_that_states_up_to_sixty_times_its_size_has_the_same_beats(
    ecg_folder: Path, name: str, leads: int, times: float
) -> None:
    one, expected = record(ecg_folder, name, leads), beats_as_stated(ecg_folder, name, leads)
    found = np.asarray(analyze(replace(one, uv_per_unit=times * one.uv_per_unit)).beats["time_s"])
    apart = np.abs(found[found >= KNOWN_S, np.newaxis] - expected)
    differ = int((apart.min(axis=0) > NEAR_S)[expected >= KNOWN_S + NEAR_S].sum() + (apart.min(axis=1) > NEAR_S).sum())
    assert differ <= MOST, f"of {len(expected)} beats {differ} differ"


@settings(deadline=None, max_examples=draws(20))
@given(name=st.sampled_from(RECORDS), times=st.floats(0.0, 1.8).map(lambda power: 10.0**power))
def test_in_its_first_seconds_no_beat_of_one_lead_is_missed(ecg_folder: Path, name: str, times: float) -> None:
    one, expected = record(ecg_folder, name, 1), beats_as_stated(ecg_folder, name, 1)
    found = np.asarray(analyze(replace(one, uv_per_unit=times * one.uv_per_unit)).beats["time_s"])
    early = expected[expected < KNOWN_S]
    assert early[np.abs(early[:, np.newaxis] - found).min(axis=1) > NEAR_S].tolist() == []


@settings(deadline=None, max_examples=draws(20))
@given(
    name=st.sampled_from(RECORDS),
    leads=st.integers(1, 2),
    times=st.floats(0.5, 1.3).map(lambda power: 10.0**power),
    seed=st.integers(0, 2**32 - 1),
)
def test_in_any_cut_it_has_the_same_beats(ecg_folder: Path, name: str, leads: int, times: float, seed: int) -> None:
    one = record(ecg_folder, name, leads)
    samples = one.samples[:, : round(60 * one.rate_hz)]
    one = replace(one, samples=samples, uv_per_unit=times * one.uv_per_unit)
    rng = np.random.default_rng(seed)
    ends = np.minimum(np.cumsum(rng.integers(1, 400, samples.shape[1])), samples.shape[1])
    chunks = [int(n) for n in np.diff(ends, prepend=0) if n > 0]
    found = analyze(one, chunks=chunks, ticks=rng.integers(1, 9, len(chunks)).tolist()).beats
    for column, expected in analyze(one).beats.items():
        np.testing.assert_array_equal(found[column], expected, column)


def remarks(recording: Recording) -> list[str]:
    return [note for note in recording.notes if note.startswith(REMARK)]


@given(
    seed=st.integers(0, 20),
    rate_hz=st.sampled_from([50.0, 128.0, 257.0, 1000.0]),
    times=st.floats(0.1, 60.0),
    gap=st.integers(0, 400),
    seconds=st.floats(2.5, 30.0),
)
def test_it_is_said_where_half_of_the_stretches_span_more_than_a_heart(
    seed: int, rate_hz: float, times: float, gap: int, seconds: float
) -> None:
    heart = synthesise(seed, rate_hz=rate_hz, seconds=seconds).recording
    samples = heart.samples.copy()
    samples[:, :gap] = NO_VALUE
    span_mv = float(np.ptp(heart.samples[0].astype(float))) * heart.uv_per_unit / 1000
    found = as_recording(Recording("x", rate_hz, heart.leads, times * heart.uv_per_unit, samples))
    if times * span_mv < 8.0:
        assert not remarks(found)
    if times > 20 and gap < rate_hz:
        assert len(remarks(found)) == 1
    assert not remarks(as_recording(Recording("x", rate_hz, heart.leads, 0.0, samples)))


@pytest.mark.parametrize(
    ("name", "said"), [("motion/m0101rest", True), ("mitdb/119", False), ("mitdb/208", False), ("nsrdb/16265", False)]
)
def test_of_known_recordings_those_with_a_gain_that_nobody_measured(ecg_folder: Path, name: str, said: bool) -> None:
    if not (ecg_folder / f"{name}.hea").exists():
        name = f"nsrdb/{min((ecg_folder / 'nsrdb').glob('*.hea')).stem}"
    assert bool(remarks(as_recording(ecg_folder / f"{name}.hea"))) is said
