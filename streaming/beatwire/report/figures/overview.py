"""The whole recording, zoomable: its samples in the page, and the figure that draws them.

In:  Study
Out: :class:`Signal`, the samples as text; Bokeh figures, one per lead, and one of the alerts

The page holds every sample, or minima and maxima of a few where the samples would need more than ``MOST_TEXT``
characters. ``overview.js`` unpacks them, computes minima and maxima at coarser scales, and on each zoom draws the scale
that the width of the figure can show. Before that a figure shows the coarsest scale.

Format of the text: successive differences of the values (int16, modulo 65536), zigzag, first all low bytes, then all
high bytes, compressed by zlib, base64. ECG has small differences: their high bytes are nearly all 0.
"""

import base64
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from beatwire.alerts.rule import PRIORITIES
from beatwire.recordings import NO_VALUE
from beatwire.records import I16
from beatwire.report.figures.style import PRIORITY_COLOURS, clock_axis, new_figure
from beatwire.report.study import Study

MOST_TEXT = 21_000_000  # characters of base64: a page stays below 25 MB
FACTORS = (1, 4, 8, 16, 32, 64, 128, 256)  # samples of a pair of minimum and maximum; 1: the samples themselves
_PIECE = 200_000  # samples from which the length of the text is estimated
_LETTER_PX, _TICK_PX = 6, 16  # room for the names of rules at the left of the figure of alerts
FIRST_COLUMNS = 700  # of the picture before the samples are unpacked
SCRIPT = Path(__file__).with_name("overview.js")


@dataclass(frozen=True, slots=True)
class Signal:
    """The samples of a recording as the page holds them.

    factor   samples of each pair of minimum and maximum; 1: every sample
    texts    for each lead, see the module
    lengths  number of values of each lead
    """

    factor: int
    texts: tuple[str, ...]
    lengths: tuple[int, ...]


def signal_of(samples: I16) -> Signal:
    """Return int16 samples [leads, n] as text, in the finest resolution that is short enough."""
    smallest = next((f for f in FACTORS if _expected_text(samples, f) <= 1.1 * MOST_TEXT), FACTORS[-1])
    for factor in FACTORS[FACTORS.index(smallest) :]:
        values = [lead if factor == 1 else extremes(lead, factor).ravel() for lead in samples]
        texts = tuple(packed(v) for v in values)
        if sum(map(len, texts)) <= MOST_TEXT:
            break
    return Signal(factor, texts, tuple(len(v) for v in values))


def _expected_text(samples: I16, factor: int) -> float:
    """Return the expected length of the text of all samples, from that of a piece in the middle."""
    n = samples.shape[1]
    piece = samples[:, n // 2 : n // 2 + _PIECE]
    values = piece if factor == 1 else np.stack([extremes(lead, factor).ravel() for lead in piece])
    return float(sum(len(packed(v)) for v in values) * n / max(1, piece.shape[1]))


def extremes(lead: I16, factor: int) -> I16:
    """Return minimum and maximum of each ``factor`` samples, int16 [k, 2]; ``NO_VALUE`` without a value.

    >>> extremes(np.array([3, 1, 2, NO_VALUE, NO_VALUE], np.int16), 3).tolist()
    [[1, 3], [-32768, -32768]]
    """
    columns = -(-len(lead) // factor)
    padded: I16 = np.full((columns, factor), NO_VALUE, np.int16)
    padded.ravel()[: len(lead)] = lead
    high = padded.max(axis=1)
    low = padded.min(axis=1)
    if (low == NO_VALUE).any():
        low = np.where(padded == NO_VALUE, 32767, padded).min(axis=1).astype(np.int16)
        low[high == NO_VALUE] = NO_VALUE
    return np.stack([low, high], axis=1)


def packed(values: I16) -> str:
    """Return int16 values as text, see the module."""
    difference = np.diff(values, prepend=np.int16(0))
    zigzag = ((difference << 1) ^ (difference >> 15)).view(np.uint16)
    coder = zlib.compressobj(
        1, zlib.DEFLATED, zlib.MAX_WBITS, 9, zlib.Z_RLE
    )  # no search for repeats: five times faster
    low = coder.compress((zigzag & 255).astype(np.uint8).tobytes())
    return base64.b64encode(low + coder.compress((zigzag >> 8).astype(np.uint8).tobytes()) + coder.flush()).decode()


def holder(signal: Signal, study: Study) -> str:
    """Return the elements of the page that hold the samples."""
    rate_hz = study.recording.rate_hz
    return "".join(
        f'<script type="text/plain" class="samples" data-lead="{k}" data-length="{n}" data-factor="{signal.factor}" '
        f'data-rate="{rate_hz!r}" data-unit="{study.per_sample!r}" data-samples="{study.recording.samples.shape[1]}">'
        f"{text}</script>"
        for k, (text, n) in enumerate(zip(signal.texts, signal.lengths, strict=True))
    )


def figures_of(study: Study) -> dict[str, Any]:
    """Return a figure for each lead, and one of the alerts; they show the same time."""
    from bokeh.models import Range1d, WheelZoomTool

    seconds = study.recording.seconds
    shown = Range1d(start=0, end=seconds, bounds=(0, seconds), min_interval=0.2, name="overview")
    found: dict[str, Any] = {}
    leads = len(study.recording.leads)
    for k, lead in enumerate(study.recording.leads):
        x, y = _first_picture(study.recording.samples[k], study)
        low, high = _range_of(y)
        figure = new_figure(
            190 if leads < 4 else 120, "time from the start" if k == leads - 1 else None, f"{lead}, {study.unit}",
            x_range=shown, y_range=Range1d(start=low, end=high), tools="xpan,xbox_zoom,reset",
        )  # fmt: skip
        wheel = WheelZoomTool(dimensions="width")
        figure.add_tools(wheel)
        figure.toolbar.active_scroll = wheel
        line = figure.line(x, y, line_color="black", line_width=0.8, line_join="bevel")
        line.data_source.name = f"lead {k}"
        clock_axis(figure)
        found[f"overview{k}"] = figure
    if study.episodes:
        found["timeline"] = _timeline(study, shown)
        longest = max(map(len, found["timeline"].y_range.factors))
        for figure in found.values():  # a time stands at one place in all of them
            figure.min_border_left = _LETTER_PX * longest + _TICK_PX
    return found


def _first_picture(lead: I16, study: Study) -> tuple[Any, Any]:
    """Return the points of the coarsest scale: a line from minimum to maximum in each column."""
    factor = max(1, -(-len(lead) // FIRST_COLUMNS))
    pairs = extremes(lead, factor).astype(np.float32)
    pairs[pairs == NO_VALUE] = np.nan
    x = np.repeat((np.arange(len(pairs)) + 0.5) * factor / study.recording.rate_hz, 2)
    return x.astype(np.float32), (pairs * np.float32(study.per_sample)).ravel()


def _range_of(y: Any) -> tuple[float, float]:
    """Return the limits of the vertical axis: nearly all values, without the largest artefacts."""
    known = y[np.isfinite(y)]
    if not len(known):
        return -1.0, 1.0
    low, high = np.percentile(known, [0.5, 99.5]).astype(float)
    margin = 0.08 * max(high - low, 1e-3)
    return low - margin, high + margin


def _timeline(study: Study, shown: Any) -> Any:
    """Return the figure of the alerts: a row for each rule, named at its left."""
    from bokeh.models import ColumnDataSource, HoverTool

    rate_hz, seconds = study.recording.rate_hz, study.recording.seconds
    rules = sorted({(PRIORITIES.index(e.priority), e.rule) for e in study.episodes}, reverse=True)
    names = [f"{rule} ({PRIORITIES[priority]})" for priority, rule in rules]
    rows = {
        "rule": [f"{e.rule} ({e.priority})" for e in study.episodes],
        "left": [e.onset / rate_hz for e in study.episodes],
        "right": [seconds if e.end is None else e.end / rate_hz for e in study.episodes],
        "fill": [PRIORITY_COLOURS[e.priority] for e in study.episodes],
        "text": [e.text for e in study.episodes],
    }
    figure = new_figure(
        64 + 20 * len(names), "time from the start", None, x_range=shown, y_range=names, tools="xpan,xbox_zoom,reset"
    )
    figure.add_tools(HoverTool(tooltips="@text"))
    source = ColumnDataSource(rows)
    figure.segment(x0="left", x1="right", y0="rule", y1="rule", line_color="fill", line_width=12, source=source)
    figure.scatter(  # the onset, visible however short the alert is
        x="left", y="rule", marker="dash", angle=np.pi / 2, size=12, line_color="fill", line_width=1.5, source=source
    )
    clock_axis(figure)
    return figure
