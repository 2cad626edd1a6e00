"""The index of several reports: a table with a row and a link for each recording."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from beatwire.alerts.rule import PRIORITIES
from beatwire.errors import escape
from beatwire.offline.results.clock import length
from beatwire.offline.results.summary import rates
from beatwire.outputs import write_output
from beatwire.report.files import INDEX
from beatwire.report.html import Column, Html, note, page, program, table
from beatwire.report.write import Written


def write_index(folder: Path, reports: Sequence[Written], sources: Sequence[str]) -> Path:
    """Write the index of reports into their folder; return its path.

    Recordings of one name are listed by their sources.
    """
    names = Counter(report.study.recording.name for report in reports)
    rows = [
        _row(report, source if names[report.study.recording.name] > 1 else report.study.recording.name)
        for report, source in zip(reports, sources, strict=True)
    ]
    heads = ("recording", "leads", "length", "beats", "median rate /min", "anomalous", *PRIORITIES)
    columns = [Column(name, is_text=k < 2) for k, name in enumerate(heads)]
    body = (
        f"<h1>{len(reports)} recordings</h1><p>Analysed by {escape(program())}. "
        "<strong>Not a medical device.</strong></p>"
        + table(columns, rows)
        + note("High, medium, low: alerts of this priority.")
    )
    return write_output("--out", folder / INDEX, page("ECG reports", body))


def _row(report: Written, name: str) -> list[str]:
    study = report.study
    rate = rates(study.beats)["median_rate_bpm"]
    alerts = Counter(e.priority for e in study.episodes)
    return [
        Html(f'<a href="{quote(report.path.name)}">{escape(name)}</a>'),
        ", ".join(study.recording.leads),
        length(study.recording.seconds),
        f"{len(study.sample):,}",
        "-" if rate is None else f"{rate:.0f}",
        f"{int(study.anomalous.sum()):,}",
        *(f"{alerts[priority]:,}" for priority in PRIORITIES),
    ]
