"""An evaluation as lines of text for a terminal."""

from textwrap import wrap
from typing import Any

from beatwire.evaluation.alarms import load_line
from beatwire.evaluation.beats.classes import called_line, class_lines
from beatwire.evaluation.promise import promise_line

COLUMNS = ("record", "beats", "fn", "fp", "se", "ppv", "f1", "se_50ms", "ppv_50ms")
HEADS = (
    "record", "beats", "missed", "false", "Se %", "+P %", "F1 %", "Se 50 ms %", "+P 50 ms %", "R error ms",
    "max delay ms",
)  # fmt: skip
_HEAD = 6  # characters of a line of a head
_RESAMPLED = 2  # records, at least, of an interval


def cell(value: object) -> str:
    """Return a number with two decimals, a dash for None, and any other value as it is."""
    if value is None:
        return "-"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def three_decimals(value: float | None) -> str:
    """Return a number with three decimals, or a dash."""
    return "-" if value is None else f"{value:.3f}"


def interval(area: dict[str, Any]) -> str:
    """Return the 95 % interval of a figure; a dash if fewer than two records have enough beats to be resampled."""
    if area["records"] < _RESAMPLED:
        return "-"
    return f"{three_decimals(area['low'])}-{three_decimals(area['high'])}"


def record_rows(figures: dict[str, Any]) -> list[list[str]]:
    """Return the rows of the table of records, the sums last."""
    rows = []
    for r in figures["records"]:
        name = r["record"] + (" (paced)" if r["paced"] else "")
        counts = [cell(r[c]) for c in COLUMNS[1:]]
        rows.append([name, *counts, cell(r["timing_ms"]["median"]), cell(r["delay_ms"]["max"])])
    for name, key in (("all", "gross"), ("paced", "gross_paced")):
        if figures[key]["beats"]:
            unpaced = key == "gross"
            counts = [cell(figures[key][c]) for c in COLUMNS[1:]]
            error = cell(figures["timing_ms"]["median"]) if unpaced else "-"
            rows.append([name, *counts, error, cell(figures["delay_ms"]["max"]) if unpaced else "-"])
    return rows


def record_lines(figures: dict[str, Any]) -> list[str]:
    """Return the table of records, of 80 columns if names are short: a long head has several lines."""
    heads = [wrap(head, _HEAD) for head in HEADS]
    most = max(map(len, heads))
    upright = zip(*([""] * (most - len(head)) + head for head in heads), strict=True)
    table = [*map(list, upright), *record_rows(figures)]
    widths = [max(len(row[k]) for row in table) for k in range(len(HEADS))]
    return [
        " ".join(v.ljust(w) if k == 0 else v.rjust(w) for k, (v, w) in enumerate(zip(row, widths, strict=True)))
        for row in table
    ]


def as_text(figures: dict[str, Any]) -> str:
    """Return the figures of ``full_report`` as lines."""
    lines = record_lines(figures) + summary(figures)
    lines += [f"With {n['condition']}: F1 {cell(n['gross']['f1'])} %" for n in figures.get("noise", [])]
    for name, own in figures.get("rivals", {}).items():
        noisy = ", ".join(f"with {n['condition']} {cell(n['gross']['f1'])}" for n in own.get("noise", []))
        lines.append(f"Rival {name}: F1 {cell(own['gross']['f1'])} %" + (f" ({noisy})" if noisy else ""))
    if figures.get("rivals_missing"):
        missing = ", ".join(figures["rivals_missing"])
        lines.append(f"Rivals that are not installed: {missing} (pip install 'beatwire[bench]')")
    for group, area in figures["auroc"].items():
        if area["pooled"] is not None:
            lines.append(
                f"AUROC {group} against N: {area['pooled']:.3f} pooled (95 % interval {interval(area)}), "
                f"{three_decimals(area['mean'])} mean over {area['records']} records"
            )
    lines += class_lines(figures["classes"]) + called_line(figures["normal_called"])
    lines += [f"Alarm {rule}: {a['found']} of {a['episodes']} episodes detected, false alarms: {a['false']}"
              for rule, a in figures["alarms"].items()]  # fmt: skip
    lines += load_line(figures["load"])
    lines += [f"Remark: {f['record']}: {f['remark']}" for f in figures["remarks"]]
    lines += [f"Failed: {f['record']}: {f['reason']}" for f in failures(figures)]
    return "\n".join(lines)


def failures(figures: dict[str, Any]) -> list[dict[str, str]]:
    """Return the records that failed, ``record`` and ``reason``; those of added noise and of rivals say so."""
    runs = [figures, *figures.get("noise", [])]
    for rival in figures.get("rivals", {}).values():
        runs += [rival, *rival["noise"]]
    found = []
    for k, run in enumerate(runs):
        condition = f" ({run['condition']})" if k and run["condition"] != figures["condition"] else ""
        found += [failed | {"record": failed["record"] + condition} for failed in run["failed"]]
    return found


def summary(figures: dict[str, Any]) -> list[str]:
    """Return the figures that are not in the table, a line each."""
    later, timing, delay = figures["gross_after_5min"], figures["timing_ms"], figures["delay_ms"]
    after_5min = f"Se {cell(later['se'])} %, +P {cell(later['ppv'])} %, F1 {cell(later['f1'])} %"
    lines = [
        "Se: sensitivity, +P: positive predictivity, within 150 ms of the annotated beat unless stated otherwise",
        f"Without the first 5 min of each record: {after_5min}",
        f"R peak error: {cell(timing['median'])} ms (median), {cell(timing['p95'])} ms (95 % quantile)",
        f"Delay from R peak to decision: {cell(delay['median'])} ms (median), {cell(delay['max'])} ms (maximum)",
    ]
    if figures["false_positives_per_day"] is not None:
        lines.append(
            f"False positives per day at a score of {figures['threshold']:g} or more: "
            f"{figures['false_positives_per_day']:g}"
        )
        for rate, marked in figures["flagged_percent"].items():
            percentages = ", ".join(f"{letter} {cell(value)}" for letter, value in marked.items())
            lines.append(f"Marked at a nominal false-positive rate of {rate}, in % of beats: {percentages}")
        lines += promise_line(figures["promise"])
    if figures["unseen"]:
        lines.append(
            f"Records of the training data: {figures['unseen']}, each evaluated with a model that was not trained on it"
        )
    return lines
