"""The summary of a recording as people read it, on one screen.

In:  the dict of ``beatwire.offline.results.summary`` with ``source``, ``took_s`` and the names of written files
Out: lines of at most 80 characters (the names of files aside); the line of the rate is as wide as the terminal, up to
     120 characters. Colours on a terminal only
"""

from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from beatwire.errors import escape
from beatwire.offline.results.clock import clock, length
from beatwire.offline.results.hum import size_text, where_text
from beatwire.offline.results.share import percent
from beatwire.service.priorities import STARS, STYLES

_LABEL = 14  # characters of the column of labels
_PLAIN_WIDTH = 80  # characters of a line where there is no terminal
_NONE = 0.005  # of the time: 0 %
_BLOCKS, _ASCII_BLOCKS = "▁▂▃▄▅▆▇█", "_.-~=+*#"
_WIDEST, _WIDEST_PART = 120, 6  # characters of the line of the rate, and of each part of a short recording
_STEP_BPM = 10  # the range of the line of the rate begins and ends with a multiple of it,
_MARGIN_BPM = 5  # and exceeds the rates by this much: a constant rate is not at its edge


def summary_text(summary: Mapping[str, Any]) -> str:
    """Return a summary as lines without colours."""
    console = Console(file=StringIO(), width=_PLAIN_WIDTH, color_system=None)
    with console.capture() as printed:
        print_summary(summary, console)
    return printed.get().rstrip()


def summary_html(summary: Mapping[str, Any]) -> str:
    """Return a summary as a table for notebooks."""
    console = Console(file=StringIO(), width=_PLAIN_WIDTH, color_system=None)
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(label)}</th>"
        f"<td style='text-align:left;white-space:pre'>{chr(10).join(map(escape, text.plain.splitlines()))}</td></tr>"
        for label, text in _lines(summary, console)
    )
    return f"<table>{rows}</table>"


def print_summary(summary: Mapping[str, Any], console: Console) -> None:
    """Print a summary."""
    for label, text in _lines(summary, console):
        line = Text.assemble((f"{label:{_LABEL}}", "dim"), text)
        line.rstrip()
        console.print(line, soft_wrap=True)


def _lines(summary: Mapping[str, Any], console: Console) -> Iterator[tuple[str, Text]]:
    """Yield the lines: a label, and its text."""
    leads = ", ".join(summary["leads"])
    yield "recording", Text(summary["source"], style="bold")
    samples = f"{summary['samples']:,} {'sample' if summary['samples'] == 1 else 'samples'}"
    yield "", Text(f"{leads}; {summary['rate_hz']:g} Hz; {length(summary['seconds'])}; {samples}")
    yield "heart rate", Text(_rates(summary), style="bold")
    yield "beats", Text(f"{summary['beats']:,}")
    yield "RR intervals", Text(_intervals(summary))
    yield from _quality_lines(summary["quality"])
    yield from _hum_lines(summary)
    yield "gaps", Text(f"{summary['gaps']:,}" if summary["gaps"] else "none")
    yield from _rate_lines(summary["rate_trend_bpm"], summary["seconds"], console)
    yield from _alert_lines(summary["alerts"], summary["alerts_by_rule"])
    yield "model", Text(f"{summary['model']}; computed in {summary['took_s']:,.2f} s")
    files = [summary[name] for name in ("out", "alerts_out", "alerts_file") if name in summary]
    for row, file in enumerate(files):
        yield "" if row else "written", Text(file)


def _rates(summary: Mapping[str, Any]) -> str:
    if summary["median_rate_bpm"] is None:
        return "-"
    text = f"median {summary['median_rate_bpm']:.0f} /min"
    if summary["min_rate_bpm"] is None:
        return text
    lowest, highest = (
        f"{summary[f'{name}_rate_bpm']:.0f} at {clock(summary[f'{name}_rate_at_s'])}" for name in ("min", "max")
    )
    return f"{text}, lowest {lowest}, highest {highest}"


def _intervals(summary: Mapping[str, Any]) -> str:
    names = {"mean": "mean_rr_ms", "median": "median_rr_ms", "SDNN": "sdnn_ms", "RMSSD": "rmssd_ms"}
    known = [f"{label} {summary[name]:.0f}" for label, name in names.items() if summary[name] is not None]
    if not known:
        return "-"
    pnn50 = f"; pNN50 {percent(summary['pnn50'] / 100, 1)}" if summary["pnn50"] is not None else ""
    return f"{', '.join(known)} ms{pnn50}"


def _quality_lines(quality: dict[str, Any]) -> Iterator[tuple[str, Text]]:
    good = "too short to say if it is good" if quality["good"] is None else f"good {percent(quality['good'])}"
    good += ": is it an ECG?" if quality["good"] is not None and quality["good"] < _NONE else ""
    yield "signal", Text(f"present {percent(quality['with_signal'])} of the time, {good}")
    worst = quality["worst"]
    if worst is not None:
        errors = worst["expected_errors"]
        wrong = 0 if errors is None else max(1, round(errors))
        found = f"about {wrong} wrong {'beat' if wrong == 1 else 'beats'} in 10 s" if wrong else "no beats"
        yield "", Text(f"worst {clock(worst['start_s'])} to {clock(worst['stop_s'])}, {found}")


def _hum_lines(summary: Mapping[str, Any]) -> Iterator[tuple[str, Text]]:
    """Yield how much mains hum there is, and what becomes of it; nothing without hum."""
    rows = summary["hum"]
    if rows:
        size = f": {size_text(rows[0])} mV peak" if rows[0]["mv"] is not None else ""
        yield "mains hum", Text(where_text(rows, len(summary["leads"])) + size)
        where = "where not saturated" if "saturated" in summary["alerts_by_rule"] else "for the analysis"
        yield "", Text(f"{percent(rows[0]['share'])} of the time; subtracted {where}; check the contacts")


def _alert_lines(count: int, by_rule: dict[str, dict[str, Any]]) -> Iterator[tuple[str, Text]]:
    """Yield the number of alerts, and a row for each rule."""
    if not count:
        yield "alerts", Text("none")
        return
    width = max(20, *map(len, by_rule))
    yield "alerts", Text.assemble(f"{count:<{4 + width},}", (f"{'COUNT':>6}{'FIRST':>10}{'IN ALL':>10}", "dim"))
    for rule, row in by_rule.items():
        name = f"{STARS[row['priority']]:4}{rule:{width}}", STYLES[row["priority"]]
        figures = f"{row['count']:>6,}{clock(row['first_s']):>10}{clock(row['seconds']):>10}"
        yield "", Text.assemble(name, figures)


def _rate_lines(trend: Sequence[float | None], seconds: float, console: Console) -> Iterator[tuple[str, Text]]:
    """Yield the rate over the recording as a line of blocks, blank where there is none, and a line with its range."""
    known = [rate for rate in trend if rate is not None]
    if not known:
        return
    low = max(0, int((min(known) - _MARGIN_BPM) // _STEP_BPM) * _STEP_BPM)
    high = -int(-(max(known) + _MARGIN_BPM) // _STEP_BPM) * _STEP_BPM
    width = max(10, min(console.width - _LABEL, _WIDEST, _WIDEST_PART * len(trend)))
    blocks = _ASCII_BLOCKS if console.options.ascii_only else _BLOCKS
    yield "rate", Text(sparkline(trend, width, (low, high), blocks), style="green")
    scale = f"{blocks[0]} {low} to {blocks[-1]} {high} /min over {length(seconds)}"
    yield "", Text(scale, style="dim")


def sparkline(trend: Sequence[float | None], width: int, limits: tuple[float, float], blocks: str = _BLOCKS) -> str:
    """Return numbers as a line of blocks; a blank where none is known.

    Parameters
    ----------
    trend
        Numbers of equal parts of the line; None: not known.
    width
        Characters of the line. A character is the median of the parts that it covers.
    limits
        The numbers of the lowest and the highest block.
    blocks
        Characters by height.

    >>> sparkline([60, None, 90, 120], 4, (60, 120))
    '▁ ▅█'
    """
    low, high = limits
    characters = []
    for column in range(width):
        first = column * len(trend) // width
        stop = max(first + 1, (column + 1) * len(trend) // width)
        known = [rate for rate in trend[first:stop] if rate is not None]
        height = (float(np.median(known)) - low) / (high - low) if known else 0.0
        characters.append(blocks[round(min(1.0, max(0.0, height)) * (len(blocks) - 1))] if known else " ")
    return "".join(characters)
