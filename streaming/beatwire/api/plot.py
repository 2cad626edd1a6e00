"""The picture of a stretch: leads on ECG paper at 25 mm/s and 10 mm/mV, beats by their score, alerts in force."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from beatwire.errors import UserError
from beatwire.offline.results.clock import clock
from beatwire.recordings.arguments import number
from beatwire.stages.score import ANOMALOUS

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from matplotlib.figure import Figure

    from beatwire.recordings import Recording

INCH_MM = 25.4
SPEED_MM_S, GAIN_MM_MV = 25.0, 10.0
PAPER, GRID, FINE_GRID = "#fffafa", "#efb8b8", "#f9e2e2"
NORMAL, UNUSUAL = "#555555", "#b3261e"
PRIORITY = {"high": "#d32f2f", "medium": "#f9a825", "low": "#0097a7"}
STARS = {"high": "***", "medium": "**", "low": "*"}
WIDEST_IN = 24.0  # a longer stretch is compressed
LONGEST_PAPER_S = 30.0  # of a stretch with a fine grid
LEAD_MV = 3.0  # height of a lead without calibration, in millivolts of paper


def plot(
    recording: Recording, signal_of: Callable[[float, float], Any], beats: pd.DataFrame, alerts: pd.DataFrame,
    start_s: float, seconds: float,
) -> Figure:  # fmt: skip
    """Return a figure of a stretch of a result; see :meth:`beatwire.api.result.Result.plot`.

    ``signal_of`` returns its leads, float64 [leads, n], of a start and a duration.
    """
    import matplotlib.pyplot as plt

    start_s = number("plot: start_s", start_s, "a number of seconds")
    seconds = number("plot: seconds", seconds, "a number of seconds")
    length_s = recording.seconds
    if not (0 <= start_s < length_s and seconds > 0):
        raise UserError(f"plot: expected a stretch within 0-{length_s:g} s; got {seconds:g} s from {start_s:g} s on")
    signal = signal_of(start_s, seconds)
    calibrated = recording.uv_per_unit > 0
    heights = [_height(lead, calibrated) for lead in signal]
    width_in = min(WIDEST_IN, max(4.0, seconds * SPEED_MM_S / INCH_MM)) + 1.0
    height_in = sum(h * GAIN_MM_MV / INCH_MM for h in heights) + 1.0
    figure, grid = plt.subplots(
        len(signal), 1, sharex=True, squeeze=False, height_ratios=heights, figsize=(width_in, height_in),
        layout="constrained",
    )  # fmt: skip
    axes = grid[:, 0]
    time_s = (round(start_s * recording.rate_hz) + np.arange(signal.shape[1])) / recording.rate_hz
    for name, lead, axis, height in zip(recording.leads, signal, axes, heights, strict=True):
        axis.plot(time_s, lead, color="black", linewidth=0.8)
        axis.set_ylabel(f"{name}\n{'mV' if calibrated else 'not calibrated'}")
        _draw_paper(axis, lead, height if calibrated else None, seconds)
    _mark(beats, alerts, axes, start_s, start_s + seconds)
    axes[-1].set_xlim(start_s, start_s + seconds)
    axes[-1].set_xlabel("time, s")
    return figure


def _draw_paper(axis: Any, lead: Any, height_mv: float | None, seconds: float) -> None:
    """Draw the grid: 0.2 s and 0.5 mV, finely 0.04 s and 0.1 mV; without a height the lead is not calibrated."""
    from matplotlib.ticker import FuncFormatter, MultipleLocator

    axis.set_facecolor(PAPER)
    if height_mv is not None:
        finite = lead[np.isfinite(lead)]
        middle = (finite.max() + finite.min()) / 2 if len(finite) else 0.0
        axis.set_ylim(middle - height_mv / 2, middle + height_mv / 2)
        axis.yaxis.set_major_locator(MultipleLocator(0.5))
        axis.yaxis.set_minor_locator(MultipleLocator(0.1))
    if seconds <= LONGEST_PAPER_S:
        axis.xaxis.set_major_locator(MultipleLocator(0.2))
        axis.xaxis.set_minor_locator(MultipleLocator(0.04))
        axis.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:.0f}" if abs(x - round(x)) < 0.01 else ""))
    axis.grid(which="major", color=GRID, linewidth=0.6)
    axis.grid(which="minor", color=FINE_GRID, linewidth=0.3)
    axis.tick_params(which="both", length=0)


def _height(lead: Any, calibrated: bool) -> float:
    """Return the height of a lead in millivolts of paper."""
    finite = lead[np.isfinite(lead)]
    if not calibrated or not len(finite):
        return LEAD_MV
    return float(np.clip(np.ceil(2 * (finite.max() - finite.min()) + 1) / 2, 1.5, 8.0))


def _mark(beats: pd.DataFrame, alerts: pd.DataFrame, axes: Any, start_s: float, stop_s: float) -> None:
    """Mark beats on the first lead, with the score of those that are anomalous, and alerts on every lead."""
    beats = beats[beats["time_s"].between(start_s, stop_s)]
    top = axes[0].get_xaxis_transform()
    for time_s, score in zip(beats["time_s"], beats["score"], strict=True):
        unusual = score >= ANOMALOUS
        colour = UNUSUAL if unusual else NORMAL
        axes[0].plot([time_s], [1.0], marker="v", color=colour, transform=top, clip_on=False, markersize=5)
        if unusual:
            axes[0].annotate(
                f"{score:.1f}", (time_s, 1.0), (0, 5), xycoords=top, textcoords="offset points", ha="center",
                fontsize=8, color=colour,
            )  # fmt: skip
    for row in in_force(alerts, start_s, stop_s).itertuples():
        before = row.onset_s < start_s
        at = start_s if before else row.onset_s
        for axis in axes:
            axis.axvline(at, color=PRIORITY[row.priority], linewidth=1.5)
        label = f" {STARS[row.priority]} {row.rule}" + (f" since {clock(row.onset_s)}" if before else "")
        axes[-1].annotate(label, (at, 0.02), xycoords=axes[-1].get_xaxis_transform(), fontsize=8)


def in_force(alerts: pd.DataFrame, start_s: float, stop_s: float) -> pd.DataFrame:
    """Return the rows of ``Result.alerts`` with which the alerts began that are on in a stretch."""
    begun = alerts[alerts["state"] == "on"].drop_duplicates("id")
    ended_s = alerts[alerts["state"] != "on"].groupby("id")["decided_s"].first()
    until_s = begun["id"].map(ended_s).fillna(np.inf)
    return begun[(begun["onset_s"] <= stop_s) & (until_s > start_s)]
