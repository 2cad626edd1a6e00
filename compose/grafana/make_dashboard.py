"""Write ``dashboards/beatwire.json``, the dashboard of the monitor: ``python compose/grafana/make_dashboard.py``.

A panel is one line of `PANELS`: title, unit, what it means, and its expressions with their legends. Expressions add up
the workers unless the panel compares them.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

FILE = Path(__file__).parent / "dashboards" / "beatwire.json"
SOURCE = {"type": "prometheus", "uid": "prometheus"}
RATE = "[$__rate_interval]"
COLUMNS = 24  # of Grafana's grid
PRIORITY_COLOURS = {"high": "red", "medium": "yellow", "low": "#5ab8c4"}  # IEC 60601-1-8
WORKER = "worker {{worker}}"
INTERRUPTION = "beatwire_interruption_duration_seconds"
SAMPLES = 'what=~"lost_samples|no_value"'  # the counts of beatwire_chunks_total that are samples
CHUNKS = SAMPLES.replace("=~", "!~")


class Panel(NamedTuple):
    """One panel.

    width    of 24 columns
    queries  (expression, legend) of each line
    kind     ``stat``, ``timeseries`` or ``state-timeline``
    stacked  lines are drawn on top of each other
    limits   (value, colour) from which a figure has another colour
    """

    title: str
    unit: str
    text: str
    queries: tuple[tuple[str, str], ...]
    width: int = 8
    kind: str = "timeseries"
    stacked: bool = False
    limits: tuple[tuple[float, str], ...] = ()


def quantile(q: float, metric: str, *labels: str) -> str:
    """Return the expression of a quantile of a histogram over all workers."""
    kept = ", ".join(("le", *labels))
    return f"histogram_quantile({q}, sum by ({kept}) (rate({metric}_bucket{RATE})))"


ROWS: tuple[tuple[str, tuple[Panel, ...]], ...] = (
    (
        "Now",
        (
            Panel("Workers ready", "none", "Workers that have partitions and publish.",
                  (("sum(beatwire_ready)", "ready"), ("count(beatwire_ready)", "of")), 4, "stat"),
            Panel("Lag", "s", "Age of the newest message of the last tick, of the worker that is furthest behind.",
                  (("max(beatwire_lag_seconds)", "lag"),), 4, "stat", limits=((2, "yellow"), (10, "red"))),
            Panel("Latency, p99", "s", "From the arrival of a message at the broker to the publication of its beats.",
                  ((quantile(0.99, "beatwire_latency_seconds"), "p99"),), 4, "stat",
                  limits=((0.5, "yellow"), (2, "red"))),
            Panel("Streams", "short", "Streams with state in memory.",
                  (("sum(beatwire_streams)", "streams"),), 4, "stat"),
            Panel("Alerts that are on", "short", "By priority.",
                  (("sum by (priority) (beatwire_alerts_active)", "{{priority}}"),), 4, "stat"),
            Panel("Dead letters, last hour", "short", "Messages that could not be used.",
                  (("sum(increase(beatwire_rejects_total[1h]))", "messages"),), 4, "stat"),
        ),
    ),
    (
        "Time",
        (
            Panel("Lag", "s", "Age of the newest message of the last tick; 0 if no more were waiting.",
                  (("beatwire_lag_seconds", WORKER),)),
            Panel("Latency", "s", "From the arrival of a message at the broker to its publication.",
                  tuple((quantile(q, "beatwire_latency_seconds"), f"p{q * 100:g}") for q in (0.5, 0.95, 0.99))),
            Panel("Time of a tick", "s", "From the beginning of a tick to its publication.",
                  tuple((quantile(q, "beatwire_tick_seconds"), f"p{q * 100:g}") for q in (0.5, 0.99))),
            Panel("Latency by stage, p99", "s", "Time of a stage in a tick; `send` is the transaction.",
                  ((quantile(0.99, "beatwire_stage_seconds", "stage"), "{{stage}}"),), 12),
            Panel("Time by stage", "percentunit",
                  "Share of the time, added up over workers; `send` is the transaction, mostly a wait for the broker.",
                  ((f"sum by (stage) (rate(beatwire_stage_seconds_sum{RATE}))", "{{stage}}"),), 12, stacked=True),
        ),
    ),
    (
        "Throughput",
        (
            Panel("Messages a second", "cps", "Sample messages processed and published.",
                  ((f"sum(rate(beatwire_messages_total{RATE}))", "messages"),)),
            Panel("Beats a second", "cps", "Heartbeats published.",
                  ((f"sum(rate(beatwire_beats_total{RATE}))", "beats"),)),
            Panel("Streams", "short", "Streams with state in memory, those whose drift is above the model's limit, and "
                  "those with mains hum: look at their electrodes.",
                  (("sum(beatwire_streams)", "streams"), ("sum(beatwire_streams_drifting)", "drifting"),
                   ("sum(beatwire_streams_with_hum)", "with mains hum"))),
        ),
    ),
    (
        "Alerts and input",
        (
            Panel("Alerts that are on, by rule", "short", "An alert is on, or latched until somebody acknowledges it.",
                  (("sum by (priority, rule) (beatwire_alerts_active) > 0", "{{priority}}: {{rule}}"),), 12,
                  stacked=True),
            Panel("Alerts by rule and state", "short", "Transitions of alerts published in a minute.",
                  (("sum by (priority, rule, state) (increase(beatwire_alert_transitions_total[1m])) > 0",
                    "{{priority}}: {{rule}}, {{state}}"),), 12),
            Panel("Dead letters by reason", "cps", "Messages a second that could not be used.",
                  ((f"sum by (reason) (rate(beatwire_rejects_total{RATE}))", "{{reason}}"),), stacked=True),
            Panel("Chunks by what happened to them", "cps", "Duplicates, overlaps, chunks in another order, restarts.",
                  ((f"sum by (what) (rate(beatwire_chunks_total{{{CHUNKS}}}{RATE}))", "{{what}}"),)),
            Panel("Samples without a value", "cps", "Samples that were lost, or had no value.",
                  ((f"sum by (what) (rate(beatwire_chunks_total{{{SAMPLES}}}{RATE}))", "{{what}}"),)),
        ),
    ),
    (
        "Workers",
        (
            Panel("Workers ready", "none", "1: the worker has partitions and publishes.",
                  (("beatwire_ready", WORKER),), kind="state-timeline"),
            Panel("Interrupted time", "percentunit", "Share of the time in which a worker publishes nothing.",
                  ((f"rate(beatwire_interrupted_seconds_total{RATE})", WORKER),)),
            Panel("Duration of hand-overs", "s",
                  "From a change of the assignment to the end of its replay, since the workers started.",
                  tuple((f"histogram_quantile({q}, sum by (le) ({INTERRUPTION}_bucket))", f"p{q * 100:g}")
                        for q in (0.5, 0.99))),
            Panel("Messages deleted by retention", "short",
                  "In the last hour: those that were never read, and those that a replay would have read.",
                  (("sum by (what) (increase(beatwire_expired_messages_total[1h]))", "{{what}}"),)),
            Panel("Partitions", "short", "Partitions of each worker.", (("beatwire_assigned_partitions", WORKER),)),
            Panel("Partitions that wait", "short", "Partitions that wait for an answer of the schema registry.",
                  (("beatwire_held_partitions", WORKER),)),
            Panel("Processor", "percentunit", "Cores in use.",
                  ((f'rate(process_cpu_seconds_total{{job="beatwire"}}{RATE})', WORKER),)),
            Panel("Memory", "bytes", "Resident memory.", (('process_resident_memory_bytes{job="beatwire"}', WORKER),)),
            Panel("GPU memory", "bytes", "The pool's memory in use, now and at most; nothing without a GPU.",
                  (("beatwire_gpu_memory_bytes", WORKER + ", {{what}}"),)),
        ),
    ),
)  # fmt: skip


def dashboard() -> dict[str, Any]:
    """Return the dashboard."""
    panels: list[dict[str, Any]] = []
    y = 0
    for title, row in ROWS:
        y = _place(panels, title, row, y)
    for number, panel in enumerate(panels, 1):
        panel["id"] = number
    return {
        "uid": "beatwire",
        "title": "beatwire",
        "description": "A streaming ECG monitor. Not a medical device.",
        "tags": ["beatwire"],
        "schemaVersion": 41,
        "version": 1,
        "editable": False,
        "refresh": "5s",
        "time": {"from": "now-15m", "to": "now"},
        "graphTooltip": 1,  # one crosshair for all panels
        "annotations": {"list": [_assignments()]},
        "templating": {"list": []},
        "panels": panels,
    }


def _place(panels: list[dict[str, Any]], title: str, row: tuple[Panel, ...], y: int) -> int:
    """Append a row with its panels; return the next free line of the grid."""
    panels.append({"type": "row", "title": title, "collapsed": False, "panels": [], "gridPos": _grid(0, y, COLUMNS, 1)})
    x, y = 0, y + 1
    height = 4 if row[0].kind == "stat" else 8
    for panel in row:
        if x + panel.width > COLUMNS:
            x, y = 0, y + height
        panels.append(_panel(panel) | {"gridPos": _grid(x, y, panel.width, height)})
        x += panel.width
    return y + height


def _grid(x: int, y: int, w: int, h: int) -> dict[str, int]:
    return {"x": x, "y": y, "w": w, "h": h}


def _panel(panel: Panel) -> dict[str, Any]:
    defaults: dict[str, Any] = {"unit": panel.unit, "min": 0, "thresholds": _thresholds(panel)}
    if panel.kind == "timeseries":
        custom: dict[str, Any] = {"lineWidth": 1, "fillOpacity": 25 if panel.stacked else 0, "showPoints": "never"}
        if panel.stacked:
            custom["stacking"] = {"mode": "normal", "group": "A"}
        defaults |= {"custom": custom, "color": {"mode": "palette-classic"}}
    else:
        defaults |= {"color": {"mode": "thresholds"}}
    return {
        "type": panel.kind,
        "title": panel.title,
        "description": panel.text,
        "datasource": SOURCE,
        "fieldConfig": {"defaults": defaults, "overrides": _priorities(panel)},
        "options": _options(panel.kind),
        "targets": [
            {"refId": chr(ord("A") + k), "datasource": SOURCE, "expr": expression, "legendFormat": legend}
            for k, (expression, legend) in enumerate(panel.queries)
        ],
    }


def _thresholds(panel: Panel) -> dict[str, Any]:
    if panel.kind == "state-timeline":
        steps: list[dict[str, Any]] = [{"color": "orange", "value": None}, {"color": "green", "value": 1}]
    else:
        steps = [{"color": "text", "value": None}, *({"color": colour, "value": at} for at, colour in panel.limits)]
    return {"mode": "absolute", "steps": steps}


def _priorities(panel: Panel) -> list[dict[str, Any]]:
    """Return the colours of alarms; they belong to alarms alone."""
    if not any("priority" in legend for _, legend in panel.queries):
        return []
    colours: dict[str, tuple[str, dict[str, Any]]] = {
        f"/^{priority}/": ("color", {"mode": "fixed", "fixedColor": colour})
        for priority, colour in PRIORITY_COLOURS.items()
    }
    dashed = {"/, (off|latched)$/": ("custom.lineStyle", {"fill": "dash", "dash": [6, 4]})}
    return [
        {"matcher": {"id": "byRegexp", "options": names}, "properties": [{"id": key, "value": value}]}
        for names, (key, value) in (colours | dashed).items()
    ]


def _options(kind: str) -> dict[str, Any]:
    if kind == "stat":
        calculation = {"calcs": ["lastNotNull"], "fields": "", "values": False}
        return {"reduceOptions": calculation, "graphMode": "none", "textMode": "auto", "colorMode": "value"}
    legend = {"displayMode": "list", "placement": "bottom", "showLegend": True}
    if kind == "state-timeline":
        return {"legend": legend | {"showLegend": False}, "showValue": "never", "mergeValues": True}
    return {"legend": legend, "tooltip": {"mode": "multi", "sort": "desc"}}


def _assignments() -> dict[str, Any]:
    """Return the marks at changes of the assignment of partitions."""
    return {
        "name": "Changes of the assignment",
        "datasource": SOURCE,
        "enable": True,
        "expr": "sum(increase(beatwire_assignments_total[1m])) > 0",
        "iconColor": "purple",
        "titleFormat": "partitions moved",
    }


def text() -> str:
    """Return the content of the file."""
    return json.dumps(dashboard(), indent=1) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
