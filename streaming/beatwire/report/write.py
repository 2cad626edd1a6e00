"""Write the report of a recording: one HTML file that needs no network.

In:  Recording, Analysis, annotations, a path
Out: the file, written completely or not at all
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from beatwire.evaluation.records import AnnotatedRecord
from beatwire.model.checkpoint import load_model
from beatwire.offline.analyze import Analysis
from beatwire.outputs import write_output
from beatwire.recordings import Recording
from beatwire.report.document import report_html
from beatwire.report.files import check_report
from beatwire.report.study import Study, study_of
from beatwire.tables import host_array


@dataclass(frozen=True, slots=True)
class Written:
    """What was written: the path, its size in bytes, and the study that it shows."""

    path: Path
    size: int
    study: Study


def write_report(
    recording: Recording,
    analysis: Analysis,
    path: str | Path,
    *,
    annotations: AnnotatedRecord | None = None,
    model: Path | None = None,
    progress: Callable[[float], None] | None = None,
    option: str = "--out",
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
    option
        What an error message about the file begins with.

    Raises
    ------
    UserError
        Bokeh is not installed, the file cannot be written, or the model cannot be used.
    """
    path = check_report(path, option=option)
    advance = progress or (lambda _: None)
    study = study_of(
        replace(recording, samples=host_array(recording.samples)), analysis, load_model(model), annotations
    )
    html = report_html(study, advance)
    write_output(option, path, html)
    advance(1.0)
    return Written(path, path.stat().st_size, study)
