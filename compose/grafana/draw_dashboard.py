"""Draw the panels of the dashboard as one picture, without Grafana.

``python compose/grafana/draw_dashboard.py --minutes 60 --out dashboard.png`` asks a Prometheus for the expressions of
``dashboards/beatwire.json`` over the last minutes. A panel without data says so.
"""

from __future__ import annotations

import argparse
import json
import re
import time
import urllib.parse
import urllib.request
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, FuncFormatter, MaxNLocator, PercentFormatter

FILE = Path(__file__).parent / "dashboards" / "beatwire.json"
POINTS = 300  # of each line
MOST_LINES = 12  # of a legend
LEGEND_COLUMNS = 3
MOST_IN_ORDER = 4  # more lines are sorted by their largest values
WIDTH, PLOT_HEIGHT, LINE_HEIGHT, MARGIN = 18.0, 1.9, 0.16, 0.65  # inches
COLUMNS = 24  # of Grafana's grid
ALARM_COLOURS = {"high": "#d62728", "medium": "#e0a800", "low": "#17a2b8"}
FORMATS = {
    "s": EngFormatter("s", sep=" "),
    "bytes": EngFormatter("B", sep=" "),
    "percentunit": PercentFormatter(1.0),
    "cps": FuncFormatter(lambda value, _: f"{value:,.4g}/s"),
}
NUMBER = FuncFormatter(lambda value, _: f"{value:,.4g}")

Line = tuple[str, np.ndarray, np.ndarray]


def lines(server: str, panel: Mapping[str, Any], begin_s: float, end_s: float) -> list[Line]:
    """Return legend, seconds since 1970 and values of each line of a panel that is not always 0."""
    step_s = max(5.0, (end_s - begin_s) / POINTS)
    at = np.arange(begin_s, end_s, step_s)
    found: list[Line] = []
    for target in panel["targets"]:
        expression = target["expr"].replace("$__rate_interval", f"{max(60, round(4 * step_s))}s")
        query = urllib.parse.urlencode({"query": expression, "start": begin_s, "end": at[-1], "step": step_s})
        with urllib.request.urlopen(f"{server}/api/v1/query_range?{query}", timeout=30) as reply:  # noqa: S310
            series = json.load(reply)["data"]["result"]
        for one in series:
            values = np.full(len(at), np.nan)  # a time without a value is a gap in the line
            for t, value in one["values"]:
                values[round((t - begin_s) / step_s)] = float(value)
            if len(series) < 3 or np.nanmax(np.nan_to_num(values)) > 0:
                found.append((legend(target["legendFormat"], one["metric"]), at, values))
    return found


def legend(pattern: str, labels: Mapping[str, str]) -> str:
    """Return a legend with its labels.

    >>> legend("worker {{worker}}, {{what}}", {"worker": "2", "what": "now"})
    'worker 2, now'
    """
    return re.sub(r"{{(\w+)}}", lambda found: labels.get(found.group(1), ""), pattern).strip()


def draw(axes: Axes, panel: Mapping[str, Any], found: list[Line]) -> None:
    """Draw one panel, with its legend below."""
    unit = panel["fieldConfig"]["defaults"]["unit"]
    axes.set_title(panel["title"], loc="left", fontsize=10, fontweight="bold")
    if not found:
        axes.text(0.5, 0.5, "no data", transform=axes.transAxes, ha="center", color="#888")
        axes.set_xticks([])
        axes.set_yticks([])
        return
    axes.set_prop_cycle(color=mpl.color_sequences["tab20" if len(found) > 10 else "tab10"])
    if len(found) > MOST_IN_ORDER:
        found = sorted(found, key=lambda line: -np.nanmax(np.nan_to_num(line[2])))
    for name, at, values in found:
        colour = next((c for priority, c in ALARM_COLOURS.items() if name.startswith(priority)), None)
        style = "--" if name.endswith((", off", ", latched")) else "-"
        times = [datetime.fromtimestamp(t, UTC) for t in at]
        axes.plot(times, values, style, linewidth=1.0, marker=".", markersize=2, label=name, color=colour)  # type: ignore[arg-type]
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10], integer=unit in ("none", "short")))
    axes.yaxis.set_major_formatter(FORMATS.get(unit, NUMBER))
    axes.set_ylim(bottom=0)
    locator = AutoDateLocator(minticks=3)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator, show_offset=False))
    axes.grid(color="#ddd", linewidth=0.5)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    handles, names = axes.get_legend_handles_labels()
    axes.legend(
        handles[:MOST_LINES], names[:MOST_LINES], fontsize=7, loc="upper left", frameon=False,
        ncols=LEGEND_COLUMNS, bbox_to_anchor=(0.0, -0.11), borderaxespad=0.2, columnspacing=1.0, handlelength=1.5,
    )  # fmt: skip


def picture(server: str, minutes: float, end_s: float) -> Figure:
    """Return the panels that have a time axis, in the order and the widths of the dashboard."""
    panels = [p for p in json.loads(FILE.read_text(encoding="utf-8"))["panels"] if p["type"] not in ("row", "stat")]
    found = [lines(server, panel, end_s - 60 * minutes, end_s) for panel in panels]
    tops = sorted({panel["gridPos"]["y"] for panel in panels})
    legends = [  # lines of text below the panels of each row
        max(
            -(-min(len(f), MOST_LINES) // LEGEND_COLUMNS)
            for p, f in zip(panels, found, strict=True)
            if p["gridPos"]["y"] == top
        )
        for top in tops
    ]
    heights = [PLOT_HEIGHT + MARGIN + LINE_HEIGHT * count for count in legends]
    whole = sum(heights) + MARGIN
    figure = Figure(figsize=(WIDTH, whole))
    below = whole - MARGIN
    bottoms = {}
    for top, height in zip(tops, heights, strict=True):
        bottoms[top] = below - PLOT_HEIGHT
        below -= height
    for panel, drawn in zip(panels, found, strict=True):
        at = panel["gridPos"]
        left, width = (at["x"] + 0.8) / COLUMNS, (at["w"] - 1.1) / COLUMNS
        draw(figure.add_axes((left, bottoms[at["y"]] / whole, width, PLOT_HEIGHT / whole)), panel, drawn)
    last = datetime.fromtimestamp(end_s, UTC)
    figure.suptitle(
        f"beatwire, {minutes:g} minutes to {last:%Y-%m-%d %H:%M} UTC", x=0.01, y=1 - 0.1 / whole, ha="left", fontsize=11
    )
    return figure


def main() -> None:
    """Draw the picture of the command line."""
    parser = argparse.ArgumentParser(description="Draw the dashboard's panels from its own expressions.")
    parser.add_argument("--prometheus", default="http://127.0.0.1:9090", help="address of Prometheus")
    parser.add_argument("--minutes", type=float, default=60.0, help="length of the time axis")
    parser.add_argument(
        "--until", type=datetime.fromisoformat, help="end of the time axis, e.g. 2026-01-31T12:00Z [now]"
    )
    parser.add_argument("--out", type=Path, default=Path("dashboard.png"), help="PNG, SVG or PDF")
    chosen = parser.parse_args()
    with mpl.rc_context({"svg.hashsalt": "beatwire"}):
        end_s = chosen.until.timestamp() if chosen.until else time.time()
        picture(chosen.prometheus.rstrip("/"), chosen.minutes, end_s).savefig(chosen.out, dpi=100)


if __name__ == "__main__":
    main()
