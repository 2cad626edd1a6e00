"""Leads of several hearts are said, whatever they are brought in; leads of one heart never are."""

from pathlib import Path

import numpy as np
import pytest
from beatwire.recordings import Recording, as_recording
from beatwire.recordings.one_heart import with_groups
from beatwire.recordings.synthetic.person import synthesise
from beatwire.records import I16
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

RATE_HZ = 200.0
SAYS = "do not beat together"


def person(seed: int, seconds: float, leads: int = 1, rate_hz: float = RATE_HZ, bpm: float = 75.0) -> I16:
    """Return the samples of a synthetic person, int16 [leads, n]."""
    return synthesise(seed, rate_hz=rate_hz, seconds=seconds, leads=leads, bpm=bpm).recording.samples


def notes_of(samples: I16, rate_hz: float = RATE_HZ) -> tuple[str, ...]:
    """Return the notes on leads that are called 0, 1, ..."""
    names = tuple(str(k) for k in range(len(samples)))
    return with_groups(Recording("x", rate_hz, names, 1.0, samples)).notes


@settings(max_examples=draws(20), deadline=None)
@given(
    seed=st.integers(1, 99),
    leads=st.integers(2, 12),
    rate_hz=st.sampled_from([60.0, 125.0, 257.0, 1000.0]),
    seconds=st.sampled_from([5.0, 10.0, 33.0]),
    scale=st.lists(st.sampled_from([-3.0, -0.2, 0.05, 1.0, 4.0]), min_size=12, max_size=12),
    late=st.integers(0, 4),
    hidden=st.sampled_from(["nothing", "a gap of all", "a gap of one", "one lead is empty", "one is noise"]),
)
def test_leads_of_one_heart_have_no_note(
    seed: int, leads: int, rate_hz: float, seconds: float, scale: list[float], late: int, hidden: str
) -> None:
    one = person(seed, seconds, leads, rate_hz).astype(np.float64)
    samples = np.clip(one * np.array(scale[:leads])[:, None], -30_000, 30_000).astype(np.int16)
    samples[0] = np.roll(samples[0], round(late * 0.02 * rate_hz))
    n = samples.shape[1]
    if hidden == "a gap of all":
        samples[:, n // 3 : n // 2] = -32768
    elif hidden == "a gap of one":
        samples[-1, n // 3 : n // 2] = -32768
    elif hidden == "one lead is empty":
        samples[-1] = -32768
    elif hidden == "one is noise":
        samples[-1] = np.random.default_rng(seed).integers(-500, 500, n)
    noise = f"no heartbeats, where other leads have some: {leads - 1}: "
    assert all(note.startswith(noise) and hidden == "one is noise" for note in notes_of(samples, rate_hz))


@settings(max_examples=draws(40), deadline=None)
@given(
    seed=st.integers(1, 99), leads=st.integers(2, 12), rate_hz=st.sampled_from([125.0, 128.0, 257.0, 500.0, 1000.0]),
    seconds=st.sampled_from([5.0, 10.0, 33.0]), mains_hz=st.sampled_from([50.0, 60.0]), away_hz=st.floats(-0.1, 0.1),
    size_uv=st.floats(20, 2000), humming=st.integers(1, 12),
)  # fmt: skip
def test_leads_of_one_heart_of_which_some_hum_have_no_note(
    seed: int, leads: int, rate_hz: float, seconds: float, mains_hz: float, away_hz: float, size_uv: float,
    humming: int,
) -> None:  # fmt: skip
    made = synthesise(seed, rate_hz=rate_hz, seconds=seconds, leads=leads).recording
    samples = made.samples.astype(np.float64)
    at = np.arange(samples.shape[1]) + np.arange(min(humming, leads))[:, None]
    samples[: len(at)] += size_uv / made.uv_per_unit * np.sin(2 * np.pi * (mains_hz + away_hz) / rate_hz * at)
    assert notes_of(samples.round().astype(np.int16), rate_hz) == ()


@settings(max_examples=draws(30), deadline=None)
@given(
    seed=st.integers(1, 99), leads=st.integers(1, 4), rate_hz=st.sampled_from([60.0, 125.0, 257.0, 977.0]),
    seconds=st.sampled_from([33.0, 60.0]), other=st.sampled_from(["noise", "drift", "bytes", "pressure"]),
)  # fmt: skip
def test_what_has_no_heartbeats_beside_leads_is_said(
    seed: int, leads: int, rate_hz: float, seconds: float, other: str
) -> None:
    samples, rng = person(seed, seconds, leads, rate_hz), np.random.default_rng(seed)
    n = samples.shape[1]
    added = {
        "noise": rng.normal(0, 100, n), "drift": np.cumsum(rng.normal(0, 10, n)), "bytes": rng.integers(0, 255, n),
        "pressure": 1000 + 500 * np.sin(np.arange(n) / rate_hz) + rng.normal(0, 30, n),
    }[other]  # fmt: skip
    (note,) = notes_of(np.concatenate([samples, np.clip(added, -9e3, 9e3).astype(np.int16)[None]]), rate_hz)
    assert note.startswith(f"no heartbeats, where other leads have some: {leads}: ")


def test_noise_is_hardly_ever_a_heart_however_short_it_is() -> None:
    samples = person(1, 5.0, 2, 125.0)
    noise = np.random.default_rng(1).integers(-500, 500, (200, samples.shape[1])).astype(np.int16)
    notes = [note for one in noise for note in notes_of(np.concatenate([samples, one[None]]), 125.0)]
    assert sum(SAYS in note for note in notes) <= 2
    assert all(": 2" in note or "| 2" in note for note in notes)
    assert len(notes) >= 190


@settings(max_examples=draws(20), deadline=None)
@given(
    first=st.integers(1, 40),
    rates_bpm=st.lists(st.sampled_from([53, 61, 71, 83, 97]), min_size=2, max_size=4, unique=True),
    seconds=st.sampled_from([60.0, 120.0]),
)
def test_leads_of_several_hearts_are_named_in_groups(first: int, rates_bpm: list[int], seconds: float) -> None:
    samples = np.concatenate([person(first + k, seconds, 2, bpm=bpm) for k, bpm in enumerate(rates_bpm)])
    (note,) = notes_of(samples)
    groups = " | ".join(f"{2 * k}, {2 * k + 1}" for k in range(len(rates_bpm)))
    assert note.startswith(f"leads that {SAYS}: {groups}: ")


@pytest.mark.parametrize("how", ["array", "table", "file"])
def test_it_is_said_of_whatever_is_read(how: str, tmp_path: Path) -> None:
    samples = np.concatenate([person(seed, 10.0, bpm=55 + 9 * seed) for seed in range(1, 6)]) / 1000.0
    if how == "file":
        path = tmp_path / "people.csv"
        np.savetxt(path, samples.T, fmt="%.3f", delimiter=",", header="S1_ECG,S2_ECG,S3_ECG,S4_ECG,S5_ECG", comments="")
        notes = as_recording(path, RATE_HZ).notes
    else:
        given = samples if how == "array" else {f"lead {k}": x for k, x in enumerate(samples)}
        notes = as_recording(given, RATE_HZ, units="mV").notes
    assert sum(SAYS in note for note in notes) == 1
    one = person(3, 10.0, 5) / 1000.0
    assert not any(SAYS in note for note in as_recording(one, RATE_HZ, units="mV").notes)


@settings(max_examples=draws(15), deadline=None)
@given(
    seed=st.integers(1, 99), together=st.integers(1, 2), parts=st.integers(2, 4), has_strip=st.booleans(),
    seconds=st.sampled_from([10.0, 60.0]),
)  # fmt: skip
def test_leads_that_were_recorded_one_after_the_other_have_no_note(
    seed: int, together: int, parts: int, has_strip: bool, seconds: float
) -> None:
    samples = person(seed, seconds, together * parts + has_strip)
    n = samples.shape[1] // parts
    for part in range(parts):
        rows = samples[part * together : (part + 1) * together]
        rows[:, : part * n] = rows[:, (part + 1) * n :] = -32768
    assert notes_of(samples) == ()


def test_a_lead_of_another_time_joins_no_people() -> None:
    samples = np.concatenate([person(k, 60.0, bpm=50.0 + 20 * k) for k in range(3)])
    samples[0, 3000:] = samples[1:, :3000] = -32768
    (note,) = notes_of(samples)
    assert note.startswith(f"leads that {SAYS}: 1 | 2: ")


def test_recordings_that_are_too_short_to_tell_have_no_note() -> None:
    samples = np.concatenate([person(1, 3.0), person(2, 3.0, bpm=50.0)])
    assert notes_of(samples) == ()
