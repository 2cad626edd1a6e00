"""What the summary, the tables and the report of one recording say is the same, whatever the recording is."""

import re
from typing import Any

import numpy as np
import pytest
from beatwire.api.iterate import iterate
from beatwire.api.summary import summary_text
from beatwire.model.checkpoint import load_model
from beatwire.offline.analyze import Analysis, analyze
from beatwire.offline.results.episodes import episodes_of
from beatwire.offline.results.quality import quality_table
from beatwire.offline.results.summary import summarize
from beatwire.recordings import NO_VALUE, Recording
from beatwire.recordings.synthetic.person import synthesise
from beatwire.report.figures.hours import hours_of
from beatwire.report.sections import summary
from beatwire.report.study import study_of
from hypothesis import given
from hypothesis import strategies as st

KINDS = ("ecg", "fast", "noise", "flat", "gap", "one lead", "hum")
PARTS = st.lists(st.tuples(st.sampled_from(KINDS), st.floats(0.5, 45.0)), min_size=1, max_size=5)
RATES = st.sampled_from((62.475, 99.7, 128.0, 250.0, 300.3, 512.0001))
KNOWN = {kind: synthesise(7, seconds=60, leads=2, bpm=bpm).recording for kind, bpm in (("ecg", 70), ("fast", 150))}


def made_of(parts: list[tuple[str, float]], rate_hz: float, seed: int) -> Recording:
    """Two leads of pieces, one after the other."""
    rng, pieces = np.random.default_rng(seed), []
    for kind, seconds in parts:
        n = max(1, round(seconds * rate_hz))
        known = KNOWN["fast" if kind == "fast" else "ecg"]
        at = np.arange(n) * known.rate_hz / rate_hz
        piece = np.stack([np.interp(at, np.arange(known.samples.shape[1]), lead) for lead in known.samples])
        if kind == "noise":
            piece = rng.normal(0, 200, (2, n))
        elif kind in ("flat", "gap"):
            piece = np.full((2, n), 0 if kind == "flat" else NO_VALUE)
        elif kind == "hum":
            piece[1] += 60 * np.sin(2 * np.pi * 50 / rate_hz * np.arange(n))
        elif kind == "one lead":
            piece[0] = NO_VALUE
        pieces.append(piece.round().astype(np.int16))
    return Recording("drawn", rate_hz, ("I", "II"), known.uv_per_unit, np.concatenate(pieces, axis=1))


@given(parts=PARTS, rate_hz=RATES, seed=st.integers(0, 1000))
def test_summary_rows_and_report_agree(parts: list[tuple[str, float]], rate_hz: float, seed: int) -> None:
    recording = made_of(parts, rate_hz, seed)
    if (recording.samples == NO_VALUE).all():
        return
    analysis = analyze(recording)
    beats, n = analysis.beats, recording.samples.shape[1]
    quality = quality_table(recording, beats)
    told: dict[str, Any] = summarize(recording, analysis, quality)
    study = study_of(recording, analysis, load_model(), None)
    hours = hours_of(study)

    assert all(0 <= alert["onset"] <= alert["decided"] <= n for alert in analysis.alerts)
    counts = {rule: row["count"] for rule, row in told["alerts_by_rule"].items()}
    assert counts == {rule: sum(e.rule == rule for e in study.episodes) for rule in counts}
    assert told["alerts"] == sum(h.alerts for h in hours) == len(episodes_of(analysis.alerts, recording.samples))
    assert told["beats"] == sum(h.beats for h in hours) == quality["beats"].sum() == len(beats["sample"])
    assert sum(h.intervals for h in hours) == np.isfinite(beats["rr_ms"]).sum()
    rates = [told[f"{name}_rate_bpm"] for name in ("min", "median", "max")]
    assert None in rates or rates == sorted(rates)
    np.testing.assert_allclose(quality["time_s"], 10.0 * np.arange(len(quality["time_s"])), atol=1 / rate_hz)
    share = (recording.samples != NO_VALUE).any(axis=0).mean()
    assert (told["quality"]["with_signal"] == 1.0) == (share == 1.0)
    assert told["quality"]["with_signal"] == pytest.approx(share, abs=1e-4)
    page = summary(study, hours, told["quality"], told["hum"])
    screen = summary_text(told | {"source": "drawn", "took_s": 0.1})
    for text in (page, screen):
        assert ("100 %" in text) >= (share == 1.0)
        assert ("mains hum" in text) == bool(told["hum"])
        assert not re.findall(r"\b(?:nan|inf|None|0\.0 %)", text)


@given(parts=PARTS, rate_hz=RATES, seed=st.integers(0, 1000))
def test_blocks_and_chunks_tell_of_a_recording_with_gaps_what_one_piece_does(
    parts: list[tuple[str, float]], rate_hz: float, seed: int
) -> None:
    recording = made_of(parts, rate_hz, seed)
    samples = recording.samples
    if (samples == NO_VALUE).all():
        return
    whole = analyze(recording)
    order = [alert["decided"] for alert in whole.alerts]
    assert order == sorted(order)
    assert told_of(analyze(recording, chunk_ms=700)) == told_of(whole)
    cuts = np.sort(np.random.default_rng(seed).integers(0, samples.shape[1], 6))
    blocks = [block for block in np.split(samples, cuts, axis=1) if block.shape[1]]
    found = list(
        iterate(blocks, fs=rate_hz, leads=recording.leads, gain=1000 / recording.uv_per_unit, notes=lambda _: None)
    )
    assert sum(len(beats) for beats, _ in found) == len(whole.beats["sample"])
    alerts = [alert for _, table in found for alert in zip(*(table[name] for name in TOLD), strict=True)]
    assert sorted(alerts) == sorted(told_of(whole))


@pytest.mark.parametrize("end", range(2316, 2326))
def test_a_recording_that_ends_on_the_slope_of_a_beat_has_no_beat_behind_its_end(end: int) -> None:
    known = synthesise(1, seconds=20, ectopy=0.3).recording  # a ventricular beat at 2326
    samples = np.ascontiguousarray(known.samples[:, :end])
    assert analyze(Recording("cut", known.rate_hz, known.leads, known.uv_per_unit, samples)).beats["sample"].max() < end


TOLD = ("decided", "onset", "rule", "priority", "state", "text")


def told_of(analysis: Analysis) -> list[tuple[Any, ...]]:
    return [tuple(alert[name] for name in TOLD) for alert in analysis.alerts]
