"""The work of ``beatwire analyze``: read a recording, run the graph, write beats and alerts, summarize.

In:  the name of a source and the options of the command
Out: a summary, plain values by name: the object that ``--json`` prints; files, if ``out`` or ``alerts`` is given
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from beatwire.api.analyze import analyze
from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.cli.recordings.checks import STANDARD_OUTPUT, check_files
from beatwire.offline.results.exports import write_alert_lines, write_alerts, write_beats
from beatwire.wire.alerts import encode_alert


def run_analysis(
    source: str,
    *,
    lead: str = "all",
    fs: float | None = None,
    column: str | None = None,
    gain: float | None = None,
    chunk_ms: float | None = None,
    seed: int | None = None,
    out: Path | None = None,
    alerts: Path | None = None,
    model: Path | None = None,
    scorer: Path | None = None,
    backend: Backend = CPU,
    memory_bytes: int | None = None,
    progress: Callable[[float], None] = lambda _: None,
    notes: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Analyze a recording and return its summary.

    Parameters
    ----------
    source, lead, fs, column, gain
        See :func:`beatwire.recordings.read_recording`.
    chunk_ms, seed
        Process the recording in chunks of ``chunk_ms`` milliseconds; with ``seed``, in chunks and ticks of random
        length. Without both, in overlapping shards.
    out
        File for the beats; its ending selects the format. The alerts are written beside it. None: no files.
    alerts
        File for the alerts, one line of JSON each; ``STANDARD_OUTPUT`` prints them. None: no file.
    model
        The scoring model; None: the one in the package.
    scorer
        A network of the user in place of the model's reconstruction error; None: none.
    backend
        Where the graph runs.
    memory_bytes
        Limit of the device memory used. None: no limit.
    progress
        Called with the completed fraction, 0-1.
    notes
        Called with each remark about the recording, one line.

    Raises
    ------
    UserError
        The source, the lead, the output or the model cannot be used.
    """
    check_files(source, out, alerts, model)
    result = analyze(
        source, fs, column=column, lead=lead, gain=gain, chunk_ms=chunk_ms, seed=seed, model=model, scorer=scorer,
        backend=backend, memory_bytes=memory_bytes, progress=progress, notes=notes,
    )  # fmt: skip
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
