"""Write the report of a recording: one HTML file that needs no network.

In:  Recording, Analysis, annotations, a path
Out: the file, written completely or not at all
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from beatwire.errors import UserError
from beatwire.evaluation.records import AnnotatedRecord
from beatwire.model.checkpoint import load_model
from beatwire.offline.analyze import Analysis
from beatwire.recordings import Recording
from beatwire.report.document import report_html
from beatwire.report.study import Study, study_of
from beatwire.tables import host_array


@dataclass(frozen=True, slots=True)
class Written:
    """What was written: the path, its size in bytes, and the study that it shows."""

    path: Path
    size: int
    study: Study


def check_report(path: Path) -> Path:
    """Return the path of a report, with ``~`` expanded, if a report can be written to it.

    Raises
    ------
    UserError
        Bokeh is not installed, the path is a folder, or its folder does not exist or cannot be written to.
    """
    if importlib.util.find_spec("bokeh") is None:
        raise UserError("report: expected bokeh; it is not installed (pip install 'beatwire[report]')")
    path = path.expanduser()
    if path.is_dir():
        raise UserError(f"--out: expected a file for one recording; got the folder {str(path)!r}")
    if not path.parent.is_dir():
        raise UserError(f"--out: expected a file in an existing folder; there is no folder {str(path.parent)!r}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UserError(f"--out: expected a file that can be written; {str(path)!r} cannot")
    return path


def write_report(
    recording: Recording,
    analysis: Analysis,
    path: str | Path,
    *,
    annotations: AnnotatedRecord | None = None,
    model: Path | None = None,
    progress: Callable[[float], None] | None = None,
) -> Written:
    """Write the report of a recording as one HTML file.

    Parameters
    ----------
    recording, analysis
        The recording, and what was found in it.
    path
        The file; one that exists is replaced.
    annotations
        Beats and rhythms that the record itself has; None: none.
    model
        The scoring model of the analysis; None: the one in the package. Beats are decoded by it if it has the name of
        the model of the analysis.
    progress
        Called with the completed fraction, 0-1.

    Raises
    ------
    UserError
        Bokeh is not installed, the file cannot be written, or the model cannot be used.
    """
    path = check_report(Path(path))
    advance = progress or (lambda _: None)
    study = study_of(
        replace(recording, samples=host_array(recording.samples)), analysis, load_model(model), annotations
    )
    html = report_html(study, advance)
    beside = path.with_name(path.name + ".part")
    try:
        beside.write_text(html, encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise UserError(f"--out: expected to write {path}; got: {error.strerror or error}") from None
    advance(1.0)
    return Written(path, path.stat().st_size, study)
