"""The work of ``beatwire report``: read and analyze recordings, write their reports.

In:  names of sources, the options of the command
Out: one file for one source; for several a folder with a file each and an index
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from beatwire.api.analyze import analyze
from beatwire.errors import UserError
from beatwire.model.storage import model_files
from beatwire.recordings.wfdb.annotations import checked_ending
from beatwire.report.annotations import annotations_of
from beatwire.report.files import report_files
from beatwire.report.index import write_index
from beatwire.report.write import Written, write_report

_ANALYZED = 0.5  # of the time


def report_sources(
    sources: Sequence[str],
    out: Path | None,
    *,
    annotations: str | None = None,
    progress: Callable[[float], None] = lambda _: None,
    notes: Callable[[str], None] = lambda _: None,
    **how: Any,
) -> dict[str, Any]:
    """Write the reports of recordings and return what was written; of several, one that cannot be read stops no other.

    Parameters
    ----------
    sources, how
        See :func:`beatwire.analyze`.
    out
        A file for one source; for several a folder, made if it does not exist. None: NAME.html for one source, in the
        working folder.
    annotations
        Ending of the annotation files of WFDB records; None: ``atr``, where there is one.
    progress
        Called with the completed fraction, 0-1.
    notes
        Called with each remark, one line.

    Raises
    ------
    UserError
        The only source, the output or the model cannot be used, or Bokeh is not installed.
    """
    model = how.get("model")
    ending = None if annotations is None else checked_ending(annotations)
    paths = report_files(sources, out, model_files(model))
    start_s = time.perf_counter()
    written: dict[str, Written] = {}
    failed: dict[str, str] = {}
    for k, (source, path) in enumerate(zip(sources, paths, strict=True)):

        def advance(done: float, k: int = k) -> None:
            progress((k + done) / len(sources))

        try:
            result = analyze(source, progress=lambda done: advance(_ANALYZED * done), notes=notes, **how)
            found = annotations_of(source, result.recording, notes, ending)
        except UserError as error:
            if len(sources) == 1:
                raise
            failed[source] = str(error)
            continue
        written[source] = write_report(
            result.recording, result.analysis, path, annotations=found, model=model,
            progress=lambda done: advance(_ANALYZED + (1 - _ANALYZED) * done),
        )  # fmt: skip
    index = write_index(paths[0].parent, [*written.values()], [*written]) if written and len(sources) > 1 else None
    return {
        "reports": [
            {"source": source, "path": str(w.path), "bytes": w.size, "beats": len(w.study.sample)}
            for source, w in written.items()
        ],
        "index": None if index is None else str(index),
        "failed": failed,
        "seconds": round(time.perf_counter() - start_s, 3),
    }
