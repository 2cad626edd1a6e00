"""An evaluation as one HTML page without external resources."""

from collections.abc import Sequence
from typing import Any

from beatwire.errors import escape
from beatwire.evaluation.beats.classes import class_lines
from beatwire.evaluation.text import COLUMNS, HEADS, cell, failures, record_rows, summary, three_decimals

_COLOURS = {"N": "#6b7a8c", "S": "#c98a00", "V": "#c0392b", "F": "#6f42c1"}
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#1d2733}"
    "table{border-collapse:collapse;margin:1rem 0}td,th{padding:.2rem .8rem;text-align:right;"
    "border-bottom:1px solid #d8dee6}"
    "td:first-child,th:first-child{text-align:left}tr.sum td{font-weight:600;border-top:2px solid #1d2733}"
)


def as_html(figures: dict[str, Any], title: str) -> str:
    """Return the figures of ``full_report`` as a page."""
    body = [f"<h1>{escape(title)}</h1>", f"<p>{escape(figures['condition'])}. Not a medical device.</p>"]
    sums = 1 + bool(figures["gross_paced"]["beats"])
    body.append(_table(HEADS, record_rows(figures), sums))
    body += [f"<p>{escape(line)}</p>" for line in summary(figures)]
    noisy = [[n["condition"], *(cell(n["gross"][c]) for c in COLUMNS[1:7])] for n in figures.get("noise", [])]
    if noisy:
        body += ["<h2>With added noise</h2>", _table(("noise", *HEADS[1:7]), noisy)]
    rivals = [[name, *(cell(own["gross"][c]) for c in COLUMNS[1:7])] for name, own in figures.get("rivals", {}).items()]
    if rivals:
        body += ["<h2>Rival detectors</h2>", _table(("detector", *HEADS[1:7]), rivals)]
    areas = [
        [
            group,
            *(three_decimals(area[k]) for k in ("pooled", "low", "high", "mean")),
            three_decimals(figures["average_precision"][group]["pooled"]),
        ]
        for group, area in figures["auroc"].items()
        if area["pooled"] is not None
    ]
    if areas:
        heads = ("class against N", "AUROC", "95 % from", "to", "mean over records", "average precision")
        body += ["<h2>Score</h2>", _table(heads, areas)]
    body += _map(figures["map"])
    if figures["classes"]:
        lines = "\n".join(map(escape, class_lines(figures["classes"])))
        body += ["<h2>Classes of beats</h2>", f"<pre>{lines}</pre>"]
    alarms = [[rule, *(str(a[k]) for k in ("episodes", "found", "false"))] for rule, a in figures["alarms"].items()]
    body += ["<h2>Alarms</h2>", _table(("rule", "episodes", "detected", "false alarms"), alarms)]
    for head, rows, text in (
        ("Remarks", figures["remarks"], "remark"),
        ("Failed records", failures(figures), "reason"),
    ):
        if rows:
            items = "".join(f"<li>{escape(f['record'])}: {escape(f[text])}</li>" for f in rows)
            body.append(f"<h2>{head}</h2><ul>{items}</ul>")
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style><body>{''.join(body)}</body></html>\n"
    )


def _map(points_of: dict[str, list[list[float]]]) -> list[str]:
    """Return a scatter plot of the beats of each class in the 2-D projection of the latents."""
    every = [point for points in points_of.values() for point in points]
    if not every:
        return []
    (left, top), (right, bottom) = ([f(p[k] for p in every) for k in (0, 1)] for f in (min, max))
    groups = []
    for letter, points in points_of.items():
        scaled = (
            ((x - left) / max(right - left, 1e-9) * 580 + 10, (y - top) / max(bottom - top, 1e-9) * 380 + 10)
            for x, y in points
        )
        circles = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>' for x, y in scaled)
        groups.append(f'<g fill="{_COLOURS[letter]}" fill-opacity=".5">{circles}</g>')
    legend = ", ".join(f'<span style="color:{_COLOURS[k]}">{k} {len(v)}</span>' for k, v in points_of.items() if v)
    return [
        "<h2>Beats in the model's latent space</h2>",
        f"<p>A sample of each class: {legend}. Beats that are close have similar latents.</p>",
        f'<svg viewBox="0 0 600 400" width="600" role="img" aria-label="Map of the latents">{"".join(groups)}</svg>',
    ]


def _table(heads: Sequence[str], body: Sequence[Sequence[str]], sums: int = 0) -> str:
    """Return a table; the last ``sums`` rows are set off."""
    head = "".join(f"<th>{escape(h)}</th>" for h in heads)
    lines = []
    for k, row in enumerate(body):
        kind = ' class="sum"' if k >= len(body) - sums else ""
        lines.append(f"<tr{kind}>" + "".join(f"<td>{escape(v)}</td>" for v in row) + "</tr>")
    return f"<table><tr>{head}</tr>{''.join(lines)}</table>"
