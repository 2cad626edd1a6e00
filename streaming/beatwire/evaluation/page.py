"""An evaluation for people: lines for a terminal, and an HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

_COLUMNS = ("record", "beats", "fn", "fp", "se", "ppv", "f1", "se_50ms", "ppv_50ms")
_HEADS = ("record", "beats", "missed", "false", "Se %", "+P %", "F1 %", "Se 50 ms", "+P 50 ms", "error ms", "delay ms")
_COLOURS = {"N": "#6b7a8c", "S": "#c98a00", "V": "#c0392b", "F": "#6f42c1"}
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#1d2733}"
    "table{border-collapse:collapse;margin:1rem 0}td,th{padding:.2rem .8rem;text-align:right;"
    "border-bottom:1px solid #d8dee6}"
    "td:first-child,th:first-child{text-align:left}tr.sum td{font-weight:600;border-top:2px solid #1d2733}"
)


def cell(value: object) -> str:
    """Write a number as people read it; a dash where there is none."""
    if value is None:
        return "-"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def rows(figures: dict[str, Any]) -> list[list[str]]:
    """Rows of the table of records, with the sums at the end."""
    out = []
    for r in figures["records"]:
        name = r["record"] + (" (paced)" if r["paced"] else "")
        own = [cell(r[c]) for c in _COLUMNS[1:]]
        out.append([name, *own, cell(r["timing_ms"]["median"]), cell(r["delay_ms"]["max"])])
    for name, key in (("all", "gross"), ("paced", "gross_paced")):
        if figures[key]["beats"]:
            plain = key == "gross"
            own = [cell(figures[key][c]) for c in _COLUMNS[1:]]
            error = cell(figures["timing_ms"]["median"]) if plain else "-"
            out.append([name, *own, error, cell(figures["delay_ms"]["max"]) if plain else "-"])
    return out


def as_text(figures: dict[str, Any]) -> str:
    """Write the figures of a run as lines."""
    table = [list(_HEADS), *rows(figures)]
    widths = [max(len(row[k]) for row in table) for k in range(len(_HEADS))]
    lines = ["  ".join(v.ljust(w) if k == 0 else v.rjust(w) for k, (v, w) in enumerate(zip(row, widths, strict=True)))
             for row in table]  # fmt: skip
    lines += summary(figures)
    lines += [f"{n['condition']}: F1 {cell(n['gross']['f1'])}" for n in figures.get("noise", [])]
    for name, own in figures.get("rivals", {}).items():
        ladder = ", ".join(f"{n['condition']} {cell(n['gross']['f1'])}" for n in own.get("noise", []))
        lines.append(f"{name}: F1 {cell(own['gross']['f1'])}" + (f" ({ladder})" if ladder else ""))
    for group, area in figures["auroc"].items():
        if area["pooled"] is not None:
            lines.append(
                f"AUROC {group} against N: {area['pooled']:.3f} pooled [{cell3(area['low'])}, {cell3(area['high'])}], "
                f"{cell3(area['mean'])} mean over {area['records']} records"
            )
    lines += [f"alarm {rule}: {a['found']} of {a['episodes']} found, {a['false']} false"
              for rule, a in figures["alarms"].items()]  # fmt: skip
    lines += [f"failed: {f['record']}: {f['reason']}" for f in figures["failed"]]
    return "\n".join(lines)


def summary(figures: dict[str, Any]) -> list[str]:
    """Write what the table has no room for, a line each."""
    settled, timing, delay = figures["gross_after_5min"], figures["timing_ms"], figures["delay_ms"]
    lines = [
        f"without the first 5 min: Se {cell(settled['se'])}, +P {cell(settled['ppv'])}, F1 {cell(settled['f1'])}",
        f"R peak: off by {cell(timing['median'])} ms (median), {cell(timing['p95'])} ms (95 %)",
        f"delay from R peak to decision: {cell(delay['median'])} ms (median), {cell(delay['max'])} ms (most)",
    ]
    if figures["false_positives_per_day"] is not None:
        lines.append(
            f"false positives a day at a score of {figures['threshold']:g}: {figures['false_positives_per_day']:g}"
        )
        for promise, found in figures["flagged_percent"].items():
            shares = ", ".join(f"{letter} {cell(value)}" for letter, value in found.items())
            lines.append(f"marked at a promised {promise} of normal beats, in %: {shares}")
    if figures["unseen"]:
        lines.append(f"{figures['unseen']} records were learned from: scored by models that have not seen them")
    return lines


def cell3(value: float | None) -> str:
    """Write three decimals, or a dash."""
    return "-" if value is None else f"{value:.3f}"


def as_html(figures: dict[str, Any], title: str) -> str:
    """Write the figures of a run as a page."""
    body = [f"<h1>{escape(title)}</h1>", f"<p>{escape(figures['condition'])}. Not a medical device.</p>"]
    sums = 1 + bool(figures["gross_paced"]["beats"])
    table = rows(figures)
    body.append(_table(_HEADS, table, sums))
    body += [f"<p>{escape(line)}</p>" for line in summary(figures)]
    ladder = [[n["condition"], *(cell(n["gross"][c]) for c in _COLUMNS[1:7])] for n in figures.get("noise", [])]
    if ladder:
        body += ["<h2>With noise</h2>", _table(("noise", *_HEADS[1:7]), ladder)]
    rivals = [
        [name, *(cell(own["gross"][c]) for c in _COLUMNS[1:7])] for name, own in figures.get("rivals", {}).items()
    ]
    if rivals:
        body += ["<h2>Beside it</h2>", _table(("detector", *_HEADS[1:7]), rivals)]
    areas = [
        [g, *(cell3(a[k]) for k in ("pooled", "low", "high", "mean")), cell3(figures["average_precision"][g]["pooled"])]
        for g, a in figures["auroc"].items()
        if a["pooled"] is not None
    ]
    if areas:
        heads = ("against N", "AUROC", "low", "high", "mean over records", "average precision")
        body += ["<h2>Score</h2>", _table(heads, areas)]
    body += _picture(figures["map"])
    alarms = [[rule, *(str(a[k]) for k in ("episodes", "found", "false"))] for rule, a in figures["alarms"].items()]
    body += ["<h2>Alarms</h2>", _table(("rule", "episodes", "found", "false"), alarms)]
    if figures["failed"]:
        items = "".join(f"<li>{escape(f['record'])}: {escape(f['reason'])}</li>" for f in figures["failed"])
        body.append(f"<h2>Failed</h2><ul>{items}</ul>")
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style><body>{''.join(body)}</body></html>\n"
    )


def _picture(places: dict[str, list[list[float]]]) -> list[str]:
    """Draw the beats of each class on the model's map."""
    every = [point for points in places.values() for point in points]
    if not every:
        return []
    (left, top), (right, low) = ([f(p[k] for p in every) for k in (0, 1)] for f in (min, max))
    dots = []
    for letter, points in places.items():
        at = (
            ((x - left) / max(right - left, 1e-9) * 580 + 10, (y - top) / max(low - top, 1e-9) * 380 + 10)
            for x, y in points
        )
        circles = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>' for x, y in at)
        dots.append(f'<g fill="{_COLOURS[letter]}" fill-opacity=".5">{circles}</g>')
    legend = ", ".join(f'<span style="color:{_COLOURS[k]}">{k} {len(v)}</span>' for k, v in places.items() if v)
    return [
        "<h2>Beats on the model's map</h2>",
        f"<p>Some of each class: {legend}. What lies together looks alike to the model.</p>",
        f'<svg viewBox="0 0 600 400" width="600" role="img" aria-label="Map of the latents">{"".join(dots)}</svg>',
    ]


def _table(heads: Sequence[str], body: Sequence[Sequence[str]], sums: int = 0) -> str:
    head = "".join(f"<th>{escape(h)}</th>" for h in heads)
    lines = []
    for k, row in enumerate(body):
        kind = ' class="sum"' if k >= len(body) - sums else ""
        lines.append(f"<tr{kind}>" + "".join(f"<td>{escape(v)}</td>" for v in row) + "</tr>")
    return f"<table><tr>{head}</tr>{''.join(lines)}</table>"
