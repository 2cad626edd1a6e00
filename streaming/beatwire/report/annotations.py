"""The annotations beside the beats of a report, from the annotation file of a WFDB record."""

from collections.abc import Callable
from pathlib import Path

from beatwire.errors import UserError
from beatwire.evaluation.records import AnnotatedRecord, annotate
from beatwire.recordings import Recording
from beatwire.recordings.places import wfdb_record
from beatwire.recordings.wfdb.annotations import ENDING, annotation_file, checked_ending


def annotations_of(
    source: str, recording: Recording, notes: Callable[[str], None], ending: str | None = None
) -> AnnotatedRecord | None:
    """Return the annotations of a WFDB record.

    Parameters
    ----------
    ending
        Of the annotation file; None: ``atr``, if there is one.

    Raises
    ------
    UserError
        ``ending`` is given, and there is no annotation file of it.
    """
    ending = None if ending is None else checked_ending(ending)
    path = Path(source).expanduser()
    try:
        record = wfdb_record(path)
    except UserError:  # an address, or synthetic
        record = None
    found = None if record is None else annotation_file(record, ending or ENDING)
    if record is None or found is None or not found.exists():
        if ending is None:
            return None
        name = path.name if found is None else found.name
        raise UserError(f"--annotations: expected annotations of {source} in files .{ending}; there is no such {name}")
    try:
        return annotate(recording, record, ending or ENDING)
    except UserError as error:
        notes(f"report without annotations: {error}")
        return None
