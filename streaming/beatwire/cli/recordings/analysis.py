"""The work of ``beatwire analyze``: read a recording, run the graph, write beats and alerts, summarize.

In:  the name of a source and the options of the command
Out: a summary, plain values by name: the object that ``--json`` prints; files, if ``out`` or ``alerts`` is given
"""

from pathlib import Path
from typing import Any

import typer

from beatwire.api.analyze import analyze
from beatwire.cli.recordings.checks import STANDARD_OUTPUT, check_files
from beatwire.offline.results.exports import write_alert_lines, write_alerts, write_beats
from beatwire.wire.alerts import encode_alert


def run_analysis(source: str, *, out: Path | None = None, alerts: Path | None = None, **how: Any) -> dict[str, Any]:
    """Analyze a recording and return its summary.

    Parameters
    ----------
    source, how
        See :func:`beatwire.analyze`.
    out
        File for the beats; its ending selects the format. The alerts are written beside it. None: no files.
    alerts
        File for the alerts, one line of JSON each; ``STANDARD_OUTPUT`` prints them. None: no file.

    Raises
    ------
    UserError
        The source, the lead, the output or the model cannot be used.
    """
    check_files(source, out, alerts, how.get("model"))
    result = analyze(source, **how)
    written: dict[str, str] = {}
    if out is not None:
        written["out"] = str(write_beats(out, result.analysis.beats, rate_hz=result.fs))
        written["alerts_out"] = str(write_alerts(out, result.analysis.alerts))
    if alerts == STANDARD_OUTPUT:
        for alert in result.analysis.alerts:
            typer.echo(encode_alert(alert))
    elif alerts is not None:
        written["alerts_file"] = str(write_alert_lines(alerts, result.analysis.alerts))
    return {"source": source, **result.summary, "took_s": round(result.took_s, 3), **written}
