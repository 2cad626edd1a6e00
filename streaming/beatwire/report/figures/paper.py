"""ECG paper in SVG: 25 mm/s, 10 mm/mV, a grid of 1 and 5 mm, black traces, marks of beats.

Drawings are in millimetres and print at their size. The grid is defined once per page (``GRID``) and used by all
drawings.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from beatwire.errors import escape
from beatwire.recordings import NO_VALUE
from beatwire.report.study import Study

MM_PER_S = 25.0
MM_PER_MV = 10.0
WIDTH_MM = 187.5  # of a strip: 7.5 s fit the width of a page
_TALLEST_MM = 60
_LEAST_MM, _MOST_MM = 20, 50  # height of the grid of a lead
_MARGIN_MM = 2.0  # between most beats and the edge of the grid
_NEARLY_ALL = (0.3, 50, 99.7)  # per cent of the samples of a strip
_NOTHING = (-200.0, 200.0)  # limits of a lead without beats, in units of samples
_PER_S = 500.0  # points drawn of a second: 20 in a millimetre
_WINDOW_S = 0.2  # on either side of R, in which amplitudes are measured


def grid_definition() -> str:
    """Return the grid of a page as an invisible SVG; ``grid`` draws a part of it."""
    width = int(np.ceil(WIDTH_MM))
    lines = {
        step: "".join(f"M{x} 0V{_TALLEST_MM}" for x in range(0, width + 1, step))
        + "".join(f"M0 {y}H{WIDTH_MM:g}" for y in range(0, _TALLEST_MM + 1, step))
        for step in (1, 5)
    }
    return (
        '<svg width="0" height="0" style="position:absolute" aria-hidden="true"><defs><g id="paper">'
        f'<path class="fine" d="{lines[1]}"/><path class="bold" d="{lines[5]}"/></g></defs></svg>'
    )


def grid(name: str, x: float, y: float, width: float, height: float) -> str:
    """Return a piece of the grid with its corner at ``x``, ``y``; ``name`` is unique in the page."""
    return (
        f'<clipPath id="{name}"><rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"/></clipPath>'
        f'<g clip-path="url(#{name})"><use href="#paper" x="{x:g}" y="{y:g}"/></g>'
    )


def text(x: float, y: float, content: str, kind: str = "") -> str:
    """Return a text, escaped; ``kind`` is its classes."""
    return f'<text x="{x:.2f}" y="{y:.2f}"{f" class={kind!r}" if kind else ""}>{escape(content)}</text>'


def polyline(x_mm: Any, y_mm: Any) -> str:
    """Return the data of a path through points in millimetres, in hundredths; NaN interrupts it."""
    x = np.round(np.asarray(x_mm) * 100)
    y = np.round(np.asarray(y_mm) * 100)
    parts, known = [], np.isfinite(y)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], known, [False]]).astype(np.int8)))
    for first, stop in edges.reshape(-1, 2):
        points = zip(x[first:stop].astype(int).tolist(), y[first:stop].astype(int).tolist(), strict=True)
        parts.append("M" + " ".join(f"{a} {b}" for a, b in points))
    return "".join(parts)


def trace(x_mm: Any, y_mm: Any, kind: str, clip: str) -> str:
    """Return a line through points in millimetres, clipped by the piece of grid ``clip``."""
    return f'<g clip-path="url(#{clip})"><path class="{kind}" transform="scale(.01)" d="{polyline(x_mm, y_mm)}"/></g>'


class Room(NamedTuple):
    """Millimetres of grid above and below the zero line of a lead."""

    above: int
    below: int

    @property
    def height(self) -> int:
        """Height of the grid."""
        return self.above + self.below


@dataclass(frozen=True, slots=True)
class Scale:
    """How samples become millimetres of paper.

    mm_per_unit   of a sample
    rooms         of each lead
    caption       as people read it
    """

    mm_per_unit: float
    rooms: tuple[Room, ...]
    caption: str


def scale_of(study: Study) -> Scale:
    """Return the scale of a report: the same for all of its strips, tall enough for most beats."""
    limits = _amplitudes(study)
    if study.calibrated:
        mm_per_unit = MM_PER_MV * study.per_sample
        caption = f"{MM_PER_S:g} mm/s, {MM_PER_MV:g} mm/mV"
    else:
        mm_per_unit = 15.0 / max(1.0, *(high - low for low, high in limits))
        caption = f"{MM_PER_S:g} mm/s, not calibrated: the usual beat is 15 mm high"
    return Scale(mm_per_unit, tuple(_room(-low * mm_per_unit, high * mm_per_unit) for low, high in limits), caption)


def enlarged(room: Room, samples: Any, mm_per_unit: float) -> Room:
    """Return the grid for samples of a lead: at least ``room``, and nearly all of them where that is possible.

    Parameters
    ----------
    samples
        Of any shape.
    """
    known = samples[samples != NO_VALUE].astype(np.float64)
    if not len(known):
        return room
    low, level, high = np.percentile(known, _NEARLY_ALL) * mm_per_unit
    return _room(max(room.below - _MARGIN_MM, level - low), max(room.above - _MARGIN_MM, high - level))


def _room(below_mm: float, above_mm: float) -> Room:
    """Return the grid for a lead that reaches so far below and above its zero line, in whole squares of 5 mm."""
    above, below = (5 * int(np.ceil((max(0.0, part) + _MARGIN_MM) / 5)) for part in (above_mm, below_mm))
    share = min(1.0, _MOST_MM / (above + below))
    above, below = (max(5, 5 * int(part * share / 5)) for part in (above, below))
    return Room(above + max(0, _LEAST_MM - above - below), below)


def _amplitudes(study: Study) -> list[tuple[float, float]]:
    """Return how far most beats of each lead reach below and above the median around them, in units of samples."""
    recording = study.recording
    reach = round(_WINDOW_S * recording.rate_hz)
    inner = study.sample[(study.sample >= reach) & (study.sample < recording.samples.shape[1] - reach)]
    chosen = inner[:: max(1, len(inner) // 500)]
    found = []
    for lead in recording.samples:
        windows = lead[chosen[:, None] + np.arange(-reach, reach)].astype(np.float64)
        windows = windows[(windows != NO_VALUE).all(axis=1)]
        if not windows.size:
            found.append(_NOTHING)
            continue
        windows -= np.median(windows, axis=1, keepdims=True)
        low, high = np.percentile(windows.min(axis=1), 3), np.percentile(windows.max(axis=1), 97)
        found.append((float(low), float(high)))
    return found


def lead_trace(samples: Any, scale: Scale, rate_hz: float, zero: float) -> tuple[Any, Any]:
    """Return the points of one lead in millimetres.

    Parameters
    ----------
    samples
        int16 [n].
    zero
        The line of its median.
    """
    step = max(1, int(rate_hz // _PER_S))
    values = samples[::step].astype(np.float64)
    values[values == NO_VALUE] = np.nan
    known = values[np.isfinite(values)]
    level = float(np.median(known)) if len(known) else 0.0
    at = np.arange(len(values)) * (step * MM_PER_S / rate_hz)
    return at, zero - (values - level) * scale.mm_per_unit
