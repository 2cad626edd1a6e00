"""Signals of a low rate that are sent at a higher one: their beats are those found at their own rate."""

from functools import cache
from pathlib import Path

import numpy as np
from beatwire.evaluation.beats.match import pair
from beatwire.offline.analyze import analyze
from beatwire.recordings import Recording, read_recording
from draws import draws
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.signal import resample_poly

RECORDS = (106, 112, 116, 119, 208, 215)  # of mitdb; their steps are large
SECONDS, NEAR_S = 400, 0.15
MOST_OTHER = 0.008  # of the beats


@cache
def slow(folder: Path, record: int, rate_hz: float) -> tuple[Recording, np.ndarray]:
    """Return a first lead at a low rate, and its beats."""
    whole = read_recording(folder / "mitdb" / f"{record}.hea")
    lead = whole.samples[0, : SECONDS * 360].astype(np.float64)
    samples = np.rint(resample_poly(lead, round(2 * rate_hz), 720)).astype(np.int16)[None]
    recording = Recording(str(record), rate_hz, ("I",), whole.uv_per_unit, samples)
    return recording, analyze(recording).beats["sample"]


def sent(recording: Recording, rate_hz: float, way: str) -> Recording:
    """Return a recording as it is sent at a higher rate."""
    low, n = recording.samples[0], int(recording.samples.shape[1] * rate_hz / recording.rate_hz)
    at = np.arange(n) * recording.rate_hz / rate_hz
    if way == "linear":
        samples = np.rint(np.interp(at, np.arange(len(low)), low))
    else:
        samples = low[np.minimum((at + 0.5 * (way == "nearest") + 1e-6).astype(np.int64), len(low) - 1)]
    return Recording(recording.name, rate_hz, recording.leads, recording.uv_per_unit, samples[None].astype(np.int16))


@settings(max_examples=draws(12), deadline=None)
@given(
    record=st.sampled_from(RECORDS), own_hz=st.sampled_from((62.5, 100.0, 125.0, 200.0)),
    rate_hz=st.sampled_from((250.0, 360.0, 500.0, 1000.0)), way=st.sampled_from(("held", "nearest", "linear")),
)  # fmt: skip
@example(116, 62.5, 500.0, "held")
@example(208, 62.5, 250.0, "held")
def test_samples_that_are_repeated_or_drawn_between_hide_no_beats(
    ecg_folder: Path, record: int, own_hz: float, rate_hz: float, way: str
) -> None:
    recording, beats = slow(ecg_folder, record, own_hz)
    held_s = 0.5 / own_hz if way == "held" else 0.0
    found = np.rint((analyze(sent(recording, rate_hz, way)).beats["sample"] / rate_hz - held_s) * 1000).astype(np.int64)
    partner = pair(np.rint(beats / own_hz * 1000).astype(np.int64), found, round(NEAR_S * 1000))
    other = len(beats) + len(found) - 2 * int((partner >= 0).sum())
    assert len(beats) > 300
    assert other <= MOST_OTHER * len(beats)
