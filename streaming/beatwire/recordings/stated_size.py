"""Remarks on what can hardly be: a size that no heart has, a length of hardly a beat, a lead without a signal.

Often the gain in its header is a placeholder, or the file is not a table of samples.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from beatwire.recordings.record import NO_VALUE, Recording
from beatwire.records import I16
from beatwire.tables import array_module, host_array

_ENOUGH_S = 10.0  # of a stream
_PIECE = 1 << 16  # samples
STRETCH_S = 2.0  # with a beat at any usual rate
STRETCHES = 50  # that are looked at, evenly spaced
LEAST_MV = 0.005  # an amplifier's noise is hardly less, nor is a heart
LARGEST_MV = 8.0  # that a stretch spans, as `stages.detection.ricker` has it for beats


def with_remark(recording: Recording) -> Recording:
    """Return a recording with a note on the leads that span more than a heart does in half of their stretches, or less.

    One that is shorter than a stretch has a note that says so, one in which some leads never change has their names.
    """
    n = round(STRETCH_S * recording.rate_hz)
    count = recording.samples.shape[1] // n
    if count == 0:
        note = f"{recording.samples.shape[1] / recording.rate_hz:.3g} s: too short for beats and rates"
        return replace(recording, notes=(*recording.notes, note))
    dead = [name for name, lead in zip(recording.leads, recording.samples, strict=True) if not changes(lead)]
    if 0 < len(dead) < len(recording.leads):
        recording = replace(recording, notes=(*recording.notes, f"no signal in {', '.join(dead)}"))
    size = _size_of(recording)
    return replace(recording, notes=(*recording.notes, size)) if size else recording


class ChunkSize:
    """Says whether a stream is larger or smaller than a heart in its first ten seconds in which a lead moves.

    Parameters
    ----------
    rate_hz, leads
        Of the stream.
    notes
        Called with the remark, if there is one.
    """

    def __init__(self, rate_hz: float, leads: Sequence[str], notes: Callable[[str], None]) -> None:
        self._rate_hz, self._leads, self._notes = rate_hz, tuple(leads), notes
        self._uv_per_unit, self._held, self._is_known = 0.0, list[I16](), False

    def look_at(self, samples: I16, uv_per_unit: float) -> None:
        """Look at the next samples, int16 [leads, n], of so many microvolts per unit; 0: not calibrated."""
        if self._is_known or uv_per_unit <= 0:
            return
        if self._uv_per_unit != uv_per_unit:
            self._uv_per_unit, self._held = uv_per_unit, []
        self._held.append(samples.copy())
        count, enough = sum(part.shape[1] for part in self._held), round(_ENOUGH_S * self._rate_hz)
        if count < enough:
            return
        held = np.concatenate(self._held, axis=1)
        for first in range(0, count - enough + 1, enough):
            part = Recording("", self._rate_hz, self._leads, uv_per_unit, held[:, first : first + enough])
            self._is_known = _moves(part)
            if self._is_known:
                if size := _size_of(part):
                    self._notes(size)
                self._held = []
                return
        self._held = [held[:, count // enough * enough :]]


def _size_of(recording: Recording) -> str | None:
    """Return a note on the leads that span more than a heart does in half of their stretches, or less."""
    if recording.uv_per_unit <= 0:
        return None
    n = round(STRETCH_S * recording.rate_hz)
    count = recording.samples.shape[1] // n
    xp = array_module(recording.samples)
    first = np.linspace(0, count - 1, min(count, STRETCHES)).astype(np.int64) * n
    stretches = recording.samples[:, xp.asarray(first[:, None] + np.arange(n))]
    picked = host_array(stretches).astype(np.int32)  # [leads, stretches, n]
    known = picked != NO_VALUE
    span = np.where(known, picked, NO_VALUE).max(axis=2) - np.where(known, picked, -NO_VALUE).min(axis=2)
    spans_mv = [of_lead[of_lead >= 0] * recording.uv_per_unit / 1000 for of_lead in span]  # below 0: without a value
    usual_mv = [float(np.median(of_lead)) if len(of_lead) else 0.0 for of_lead in spans_mv]
    large = [f"{name} {mv:.0f} mV" for name, mv in zip(recording.leads, usual_mv, strict=True) if mv > LARGEST_MV]
    moving = [mv for mv in usual_mv if mv > 0]
    if moving and max(moving) < LEAST_MV:
        spans = ", ".join(
            f"{name} {mv * 1000:.2g} uV" for name, mv in zip(recording.leads, usual_mv, strict=True) if mv
        )
        return f"less than a heart: is its unit wrong? Two seconds span: {spans}"
    if not large:
        return None
    return f"more than a heart: is its gain wrong, or is it disturbed throughout? Two seconds span: {', '.join(large)}"


def _moves(recording: Recording) -> bool:
    """Return True if a lead changes in most stretches."""
    n = round(STRETCH_S * recording.rate_hz)
    begins = range(0, recording.samples.shape[1] - n + 1, n)
    return any(2 * sum(changes(lead[k : k + n]) for k in begins) > len(begins) for lead in recording.samples)


def changes(lead: Any) -> bool:
    """Return True if a lead, int16 [n] on the host or a GPU, has two values that differ."""
    value = None
    for first in range(0, len(lead), _PIECE):  # most leads change at once
        known = lead[first : first + _PIECE]
        known = known[known != NO_VALUE]
        if value is None and len(known):
            value = known[0]
        if len(known) and bool((known != value).any()):
            return True
    return False
