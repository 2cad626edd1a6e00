"""The annotations beside the beats of a report, from the annotation file of a WFDB record."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from beatwire.errors import UserError
from beatwire.evaluation.records import AnnotatedRecord, annotate
from beatwire.recordings import Recording


def annotations_of(source: str, recording: Recording, notes: Callable[[str], None]) -> AnnotatedRecord | None:
    """Return the annotations of a WFDB record, from its file ``.atr``; None without one that can be read."""
    path = Path(source).expanduser()
    path = path.with_suffix("") if path.suffix in (".hea", ".dat", ".atr", ".mat") else path
    if not (path.with_name(path.name + ".atr").exists() and path.with_name(path.name + ".hea").exists()):
        return None
    try:
        return annotate(recording, path)
    except UserError as error:
        notes(f"report without annotations: {error}")
        return None
