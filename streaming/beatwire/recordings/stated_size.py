"""A remark about a recording that states a size that no heart has: often the gain in its header is a placeholder."""

from dataclasses import replace

import numpy as np

from beatwire.recordings.record import NO_VALUE, Recording
from beatwire.tables import host_array

STRETCH_S = 2.0  # with a beat at any usual rate
STRETCHES = 50  # that are looked at, evenly spaced
LARGEST_MV = 8.0  # that a stretch spans, as `stages.detection.ricker` has it for beats


def with_remark(recording: Recording) -> Recording:
    """Return a recording with a note on the leads that span more than a heart does in half of their stretches."""
    n = round(STRETCH_S * recording.rate_hz)
    count = recording.samples.shape[1] // n
    if recording.uv_per_unit <= 0 or count == 0:
        return recording
    spans_mv = np.full((len(recording.leads), min(count, STRETCHES)), np.nan)
    for k, first in enumerate(np.linspace(0, count - 1, spans_mv.shape[1]).astype(np.int64)):
        stretch = host_array(recording.samples[:, first * n : (first + 1) * n]).astype(np.float64)
        known = stretch != NO_VALUE
        span = np.where(known, stretch, -np.inf).max(axis=1) - np.where(known, stretch, np.inf).min(axis=1)
        spans_mv[:, k] = np.where(known.any(axis=1), span * recording.uv_per_unit / 1000, np.nan)
    usual_mv = [float(np.median(of_lead[~np.isnan(of_lead)], axis=0)) if (~np.isnan(of_lead)).any() else 0.0
                for of_lead in spans_mv]  # fmt: skip
    large = [f"{name} {mv:.0f} mV" for name, mv in zip(recording.leads, usual_mv, strict=True) if mv > LARGEST_MV]
    if not large:
        return recording
    note = f"more than a heart: is its gain wrong, or is it disturbed throughout? Two seconds span: {', '.join(large)}"
    return replace(recording, notes=(*recording.notes, note))
