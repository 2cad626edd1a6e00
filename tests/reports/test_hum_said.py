"""Mains hum of a recording is said: in which leads, how much, at which frequency, for which share of the time."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from beatwire.api.summary import summary_text
from beatwire.offline.results.hum import hum_summary
from beatwire.recordings import NO_VALUE, Recording
from beatwire.recordings.synthetic.person import synthesise
from beatwire.report import sections
from beatwire.report.figures.response import responses_of
from beatwire.stages.support import hum as said
from beatwire.stages.support.hum import measured_hum, window_of
from draws import draws
from hypothesis import assume, given, settings
from hypothesis import strategies as st

RATES_HZ = (125.0, 128.0, 250.0, 257.0, 360.0, 1000.0)
SECONDS = 60


@cache
def heart(seed: int, rate_hz: float, leads: int = 3) -> Recording:
    return synthesise(seed, rate_hz=rate_hz, leads=leads, seconds=SECONDS, noise=0.0).recording


def with_hum(
    recording: Recording, lead: int, hz: float, mv: float, first: float = 0.0, share: float = 1.0
) -> Recording:
    samples, n = recording.samples.astype(np.float64), recording.samples.shape[1]
    at = np.arange(round(first * n), round((first + share) * n))
    samples[lead, at] += mv * 1000 / recording.uv_per_unit * np.sin(2 * np.pi * hz / recording.rate_hz * at + lead)
    return replace(recording, samples=samples.round().astype(np.int16))


@settings(max_examples=draws(40), deadline=None)
@given(
    seed=st.integers(0, 2), rate_hz=st.sampled_from(RATES_HZ), mains_hz=st.sampled_from([50.0, 60.0]),
    away_hz=st.floats(-0.2, 0.2), mv=st.floats(0.1, 1.5), lead=st.integers(0, 2), first=st.floats(0, 0.5),
    share=st.floats(0.2, 0.5), is_calibrated=st.booleans(),
)  # fmt: skip
def test_a_lead_that_hums_is_named_with_frequency_amplitude_and_share(
    seed: int, rate_hz: float, mains_hz: float, away_hz: float, mv: float, lead: int, first: float, share: float,
    is_calibrated: bool,
) -> None:  # fmt: skip
    mv += 0.0 if is_calibrated else 0.2  # more than a twentieth of the beats
    recording = with_hum(heart(seed, rate_hz), lead, mains_hz + away_hz, mv, first, share)
    rows = hum_summary(recording if is_calibrated else replace(recording, uv_per_unit=0.0))
    assert rows is not None
    (row,) = rows
    assert (row["lead"], row["hz"]) == (recording.leads[lead], mains_hz)
    assert row["mv"] == (pytest.approx(mv, rel=0.05, abs=0.02) if is_calibrated else None)
    windows = SECONDS * rate_hz // window_of(rate_hz)
    assert abs(row["share"] + 1 / windows - share) <= 1.5 / windows  # those at its ends are no hum


@settings(max_examples=draws(30), deadline=None)
@given(
    seed=st.integers(0, 2), rate_hz=st.sampled_from(RATES_HZ), mains_hz=st.sampled_from([50.0, 60.0]),
    size=st.floats(1.2, 20), share=st.floats(-0.7, 0.7), lead=st.integers(0, 2), is_calibrated=st.booleans(),
)  # fmt: skip
def test_hum_that_a_converter_cuts_off_is_said_too(
    seed: int, rate_hz: float, mains_hz: float, size: float, share: float, lead: int, is_calibrated: bool
) -> None:
    limit = 2500.0 if is_calibrated else 32767.0
    known = heart(seed, rate_hz)
    at = np.arange(known.samples.shape[1])
    samples = known.samples.astype(np.float64)
    samples[lead] += limit * (size * np.sin(2 * np.pi * (mains_hz + 0.03) / rate_hz * at) + share)
    clipped = replace(known, samples=np.clip(samples, -limit, limit).round().astype(np.int16))
    rows = hum_summary(clipped if is_calibrated else replace(clipped, uv_per_unit=0.0))
    assert rows is not None
    (row,) = rows
    assert (row["lead"], row["hz"]) == (known.leads[lead], mains_hz)
    assert row["share"] > 0.9
    if is_calibrated:
        assert 0.5 * min(size, 1) * 5.0 <= row["mv"] <= 1.35 * 5.0


@pytest.mark.parametrize("rate_hz", RATES_HZ)
def test_a_lead_at_a_limit_that_does_not_hum_is_none(rate_hz: float) -> None:
    known = heart(0, rate_hz)
    samples = known.samples.copy()
    samples[0], samples[1] = 2500, np.clip(samples[1].astype(np.int32) * 40, -2500, 2500)
    assert hum_summary(replace(known, samples=samples)) == []


@pytest.mark.parametrize("rate_hz", [*RATES_HZ, 2000.0])
@pytest.mark.parametrize("seed", range(4))
def test_of_a_signal_without_hum_none_is_said(seed: int, rate_hz: float) -> None:
    recording = heart(seed, rate_hz)
    assert hum_summary(recording) == []
    assert hum_summary(replace(recording, uv_per_unit=0.0)) == []
    assert hum_summary(with_hum(recording, 0, 50.0, 0.03)) == []


@pytest.mark.parametrize(("rate_hz", "seconds"), [(100.0, 60), (250.0, 2)])
def test_where_hum_cannot_be_measured_nothing_is_known(rate_hz: float, seconds: int) -> None:
    known = heart(0, rate_hz)
    assert hum_summary(replace(known, samples=known.samples[:, : round(seconds * rate_hz)])) is None


@settings(max_examples=draws(30), deadline=None)
@given(rate_hz=st.sampled_from(RATES_HZ), draw=st.integers(0, 10**6))
def test_a_window_is_measured_alone(rate_hz: float, draw: int) -> None:
    rng, width = np.random.default_rng(draw), window_of(rate_hz)
    recording = with_hum(heart(0, rate_hz), int(rng.integers(3)), 50.0, 0.4, *rng.uniform(0, 0.5, 2))
    samples = recording.samples.copy()
    missing = rng.integers(0, samples.shape[1], 8)
    samples[rng.integers(0, 3, 8), missing] = NO_VALUE
    found = measured_hum(samples, rate_hz, recording.uv_per_unit)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(said, "_BLOCK", int(rng.integers(1, 20 * width)))
        for one, other in zip(found, measured_hum(samples, rate_hz, recording.uv_per_unit), strict=True):
            np.testing.assert_array_equal(one, other)
    for k in range(found.hz.shape[1]):
        part = samples[:, k * width : (k + 1) * width]
        alone = measured_hum(part, rate_hz, recording.uv_per_unit)
        np.testing.assert_array_equal(alone.amplitude[:, 0], found.amplitude[:, k])


@settings(max_examples=draws(40), deadline=None)
@given(
    rate_hz=st.sampled_from(RATES_HZ), mv=st.floats(0.1, 8.0), share=st.floats(0.0, 0.15),
    longest_s=st.sampled_from([0.01, 0.04, 0.2]), is_calibrated=st.booleans(), draw=st.integers(0, 10**6),
)  # fmt: skip
def test_hum_is_said_where_most_samples_are_known(
    rate_hz: float, mv: float, share: float, longest_s: float, is_calibrated: bool, draw: int
) -> None:
    rng, width = np.random.default_rng(draw), window_of(rate_hz)
    mv += 0.0 if is_calibrated else 0.4
    recording = with_hum(heart(0, rate_hz), 0, 50.03, mv)
    limit = 5000 / recording.uv_per_unit  # of a converter
    samples = np.clip(recording.samples, -limit, limit).round().astype(np.int16)
    size = max(1, round(longest_s * rate_hz))
    for begin in rng.integers(0, samples.shape[1], round(share * samples.shape[1] / size)):
        samples[:, begin : begin + size] = NO_VALUE
    silent = int(rng.integers(samples.shape[1] // width))
    samples[0, silent * width : silent * width + round(0.6 * width)] = NO_VALUE
    found = measured_hum(samples, rate_hz, recording.uv_per_unit if is_calibrated else 0.0)
    known = (samples[0, : found.hz.shape[1] * width].reshape(-1, 6, width // 6) != NO_VALUE).mean(axis=2)
    assert np.isnan(found.hz[0, silent])
    said_in = found.hz[0, known.min(axis=1) >= 0.6]
    assume(len(said_in) >= 5)
    assert np.mean(said_in == 50.0) >= 0.8
    assert np.isnan(found.hz[1:]).all()


def test_the_screen_and_the_report_say_it_on_lines_of_80_characters() -> None:
    row = {"lead": "a lead of 18 lette", "hz": 50.0, "mv": 0.0551, "share": 0.9999}
    leads = [row["lead"], *(f"V{k}" for k in range(11))]
    summary = dict.fromkeys(("median_rate_bpm", "mean_rr_ms", "median_rr_ms", "sdnn_ms", "rmssd_ms", "pnn50"))
    summary |= {
        "source": "drawn", "leads": leads, "rate_hz": 250.0, "seconds": 60.0, "samples": 15_000, "beats": 0,
        "quality": {"with_signal": 1.0, "good": 1.0, "worst": None}, "rate_trend_bpm": [], "alerts": 0,
        "alerts_by_rule": {}, "gaps": 0, "model": "m", "took_s": 0.1, "hum": [row | {"lead": name} for name in leads],
    }  # fmt: skip
    lines = summary_text(summary).splitlines()
    (at,) = (k for k, line in enumerate(lines) if line.startswith("mains hum"))
    assert lines[at][14:] == "50 Hz in 12 of 12 leads, most in a lead of 18 lette: 0.06 mV peak"
    assert lines[at + 1].strip() == ">99 % of the time; subtracted for the analysis; check the contacts"
    assert max(map(len, lines[at : at + 2])) <= 80
    saturated = {"count": 1, "first_s": 2.0, "seconds": 9.0, "priority": "low"}
    limited = {"alerts": 1, "alerts_by_rule": {"saturated": saturated}}
    assert "of the time; subtracted where not saturated; check" in summary_text(summary | limited)
    uncalibrated: list[dict[str, Any]] = [row | {"mv": None}]
    assert "0.0551" not in summary_text(summary | {"hum": uncalibrated, "leads": ["II"]})
    assert "not known" not in sections.hum_table(uncalibrated)
    assert sections.hum_table([row]).count("<tr>") == 2
    assert sections.hum_table([]) == sections.hum_table(None) == ""


def test_the_response_of_a_strip_is_that_of_the_signal_without_hum() -> None:
    recording = heart(1, 250.0, 1)
    hums = with_hum(recording, 0, 50.03, 0.5)
    clean, found = (responses_of(one.samples[None], 250.0, one.uv_per_unit)[0, 1000:-200] for one in (recording, hums))
    assert np.abs(found - clean).max() < 0.2 * clean.max()
