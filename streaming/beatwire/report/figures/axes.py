"""The interactive figures: rate, tachogram, histogram and Poincare plot of RR, overlaid beats, signal quality.

In:  Study
Out: Bokeh figures; none where there is nothing to draw
"""

from typing import Any

import numpy as np
import pandas as pd

from beatwire.offline.results.quality import STRETCH_S
from beatwire.recordings import NO_VALUE
from beatwire.records import F64, I64
from beatwire.report.figures.style import HALF_PX, clock_axis, new_figure
from beatwire.report.study import COLOURS, INK, Group, Study

RATE_BIN_S = 60.0  # of the rate trend, in recordings longer than ``LONG_S``
SHORT_BIN_S, LONG_S = 5.0, 600.0  # in shorter ones
HISTOGRAM_MS = 20.0
POINCARE_MS = 8.0  # side of a cell of the Poincare plot
TACHOGRAM_MS = 5000.0
LONGEST_RR_MS = 3000.0  # shown in the histogram and in the Poincare plot, at most
_SIDE_PX = 280  # of the Poincare plot
QUALITY_COLOURS = (
    ("#5f6b78", "false or missed beats expected in ten seconds, the largest of each column"),
    (INK, "below the line: ten seconds without a beat"),
    (COLOURS["Q"], "below the line: samples without a value"),
)
_QUALITY_COLUMNS = 1500  # at most, about two in a pixel; the worst stretch of each is shown
OVERLAID = 150  # beats of a group that are drawn
BEFORE_S, AFTER_S = 0.25, 0.45  # of R in the overlay
_SEED = 1  # of the choice of beats: a report of the same analysis is the same


def rate_figure(study: Study) -> Any:
    """Return the trend of the heart rate: median, and range of the middle 90 % of the intervals, by minute."""
    rr_ms = study.rr_ms
    known = np.isfinite(rr_ms)
    if not known.any():
        return None
    width = rate_bin_s(study)
    number = (study.time_s[known] // width).astype(np.int64)
    rates = pd.Series(60_000 / rr_ms[known]).groupby(number)
    trend = rates.quantile([0.05, 0.5, 0.95]).unstack().reindex(range(int(number[-1]) + 1))
    begin = trend.index.to_numpy() * width
    x = (begin + np.minimum(begin + width, study.recording.seconds)) / 2
    figure = new_figure(200, "time from the start", "rate, /min", x_range=(0, study.recording.seconds))
    low, middle, high = (trend[q].to_numpy(np.float32) for q in (0.05, 0.5, 0.95))
    figure.varea(x=x, y1=low, y2=high, fill_color="#b9c3ce", fill_alpha=0.55)
    figure.line(x=x, y=middle, line_color=INK, line_width=1.3)
    clock_axis(figure)
    return figure


def rate_bin_s(study: Study) -> float:
    """Return the length of a bin of the rate trend."""
    return RATE_BIN_S if study.recording.seconds > LONG_S else SHORT_BIN_S


def tachogram_figure(study: Study, x_range: Any = None) -> Any:
    """Return the tachogram: the interval before every beat; longer ones than ``TACHOGRAM_MS`` stand at the top."""
    rr_ms = study.rr_ms
    if not np.isfinite(rr_ms).any():
        return None
    longest = float(np.nanmax(rr_ms))
    label = "RR, ms" if longest <= TACHOGRAM_MS else f"RR, ms; at the top {TACHOGRAM_MS:g} and more"
    rr_ms = np.minimum(rr_ms, TACHOGRAM_MS)
    shown = (0, study.recording.seconds) if x_range is None else x_range
    figure = new_figure(230, "time from the start", label, x_range=shown, y_range=(0, 1.1 * float(np.nanmax(rr_ms))))
    for group in study.groups:
        figure.scatter(
            x=study.time_s[group.rows].astype(np.float32), y=rr_ms[group.rows].astype(np.float32), size=2.4,
            marker="square", color=group.colour, line_color=None,
        )  # fmt: skip
    clock_axis(figure)
    return figure


def histogram_figure(study: Study) -> Any:
    """Return the histogram of the RR intervals; its last bar holds all longer ones."""
    top = _longest_shown(study)
    if top is None:
        return None
    rr_ms = study.rr_ms
    rr_ms = np.minimum(rr_ms[np.isfinite(rr_ms)], top)
    first = HISTOGRAM_MS * np.floor(rr_ms.min() / HISTOGRAM_MS)
    edges = np.arange(first, rr_ms.max() + 2 * HISTOGRAM_MS, HISTOGRAM_MS)
    count, _ = np.histogram(rr_ms, edges)
    figure = new_figure(_SIDE_PX + 52, "RR, ms", f"beats in {HISTOGRAM_MS:g} ms", tools="pan,box_zoom,reset")
    figure.width = HALF_PX
    figure.quad(left=edges[:-1], right=edges[1:], bottom=0, top=count, fill_color="#93a0ae", line_color="white")
    figure.y_range.start = 0
    return figure


def poincare_figure(study: Study) -> Any:
    """Return the Poincare plot: each interval and the next one, in cells of ``POINCARE_MS``."""
    rr_ms = study.rr_ms
    pairs = np.stack([rr_ms[:-1], rr_ms[1:]], axis=1)
    top = _longest_shown(study)
    if top is None:
        return None
    known = (pairs <= top).all(axis=1)
    figure = new_figure(
        _SIDE_PX + 52, "RR, ms", "next RR, ms", x_range=(0, top), y_range=(0, top), frame_width=_SIDE_PX - 20,
        frame_height=_SIDE_PX - 20, tools="pan,box_zoom,reset",
    )  # fmt: skip
    figure.width = HALF_PX
    figure.line([0, top], [0, top], line_color="#9aa5b1", line_dash="dotted")
    for group in study.groups:
        own = np.zeros(len(study.sample), bool)
        own[group.rows] = True
        chosen = pairs[known & own[1:]]
        if not len(chosen):
            continue
        cells, count = np.unique(np.floor(chosen / POINCARE_MS).astype(np.int32), axis=0, return_counts=True)
        alpha = 0.35 + 0.65 * np.log1p(count) / np.log1p(count.max())
        centre = ((cells + 0.5) * POINCARE_MS).astype(np.float32)
        figure.rect(
            x=centre[:, 0], y=centre[:, 1], width=POINCARE_MS, height=POINCARE_MS, line_color=None,
            fill_color=group.colour, fill_alpha=alpha.astype(np.float32),
        )  # fmt: skip
    return figure


def _longest_shown(study: Study) -> float | None:
    """Return the longest interval that the figures of intervals show, milliseconds; None without intervals."""
    known = study.rr_ms[np.isfinite(study.rr_ms)]
    if not len(known):
        return None
    return float(min(1.15 * np.percentile(known, 99.5), LONGEST_RR_MS))


def overlay_figure(study: Study, group: Group) -> Any:
    """Return the beats of a group drawn over one another, and their median."""
    rate_hz = study.recording.rate_hz
    before, after = round(BEFORE_S * rate_hz), round(AFTER_S * rate_hz)
    windows = windows_around(study, chosen_rows(group.rows, OVERLAID), before, after)
    if not len(windows):
        return None
    windows *= study.per_sample
    x = np.arange(-before, after) * (1000 / rate_hz)
    figure = new_figure(
        230, "ms from R", study.unit, tools="pan,box_zoom,reset", title=f"{group.label}: {len(windows)} of "
        f"{len(group.rows):,} {'beat' if len(group.rows) == 1 else 'beats'}",
    )  # fmt: skip
    figure.width = HALF_PX
    figure.title.text_font_style = "normal"
    figure.title.text_font_size = "12px"
    gaps = np.full((len(windows), 1), np.nan)
    xs = np.tile(np.append(x, np.nan), len(windows)).astype(np.float32)
    ys = np.hstack([windows, gaps]).ravel().astype(np.float32)
    alpha = float(np.clip(6 / len(windows), 0.08, 0.5))
    figure.line(xs, ys, line_color=group.colour, line_alpha=alpha, line_width=0.8)
    middle = np.median(windows, axis=0).astype(np.float32)
    figure.line(x, middle, line_color="white", line_width=3.2)
    figure.line(x, middle, line_color=INK, line_width=1.6)
    return figure


def chosen_rows(rows: I64, most: int) -> I64:
    """Return at most so many of the rows, drawn at random but the same in every run, in order."""
    if len(rows) <= most:
        return rows
    return np.sort(np.random.default_rng(_SEED).choice(rows, most, replace=False))


def windows_around(study: Study, rows: I64, before: int, after: int) -> F64:
    """Return the signal around beats, float64 [k, before + after], without its median; complete windows only."""
    samples = study.recording.samples[study.lead]
    at = study.sample[rows]
    at = at[(at >= before) & (at + after <= len(samples))]
    windows: F64 = samples[at[:, None] + np.arange(-before, after)].astype(np.float64)
    windows = windows[(windows != NO_VALUE).all(axis=1)]
    return windows - np.median(windows, axis=1, keepdims=True)


def quality_figure(study: Study, table: dict[str, Any]) -> Any:
    """Return the signal quality over time: expected errors, and where beats or signal are missing."""
    step = max(1, len(table["time_s"]) // _QUALITY_COLUMNS)
    parts = {
        name: _by(np.asarray(table[name], np.float64), step) for name in ("expected_errors", "quality", "with_signal")
    }
    figure = new_figure(190, "time from the start", "expected errors in 10 s", x_range=(0, study.recording.seconds))
    errors = np.array([np.nanmax(p) if np.isfinite(p).any() else np.nan for p in parts["expected_errors"]])
    width = step * STRETCH_S
    x = table["time_s"][::step] + width / 2
    figure.vbar(x=x, top=np.nan_to_num(errors), width=width, color=QUALITY_COLOURS[0][0], line_color=None)
    top = max(2.0, float(np.nanmax(errors)) if np.isfinite(errors).any() else 2.0)
    missing = np.array([np.nanmin(p) < 1 for p in parts["with_signal"]])
    if missing.any():
        figure.vbar(x=x[missing], top=-0.06 * top, width=width, color=COLOURS["Q"], line_color=None)
    no_beats = np.array([np.isnan(p).any() for p in parts["quality"]]) & ~missing
    if no_beats.any():
        figure.vbar(x=x[no_beats], top=-0.06 * top, width=width, color=INK, line_color=None)
    figure.y_range.start, figure.y_range.end = -0.08 * top, 1.05 * top
    clock_axis(figure)
    return figure


def _by(column: F64, step: int) -> list[F64]:
    """Return a column in pieces of ``step`` rows."""
    return [column[k : k + step] for k in range(0, len(column), step)]
