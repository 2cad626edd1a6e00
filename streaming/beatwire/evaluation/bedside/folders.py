"""Which records a folder of alarm references has.

A folder has WFDB records, or folders of them. Records whose header has comments need no annotations.
"""

from pathlib import Path

from beatwire.errors import UserError
from beatwire.evaluation.bedside.watched import comments_of, half_of, person_of
from beatwire.recordings.places import check_folder
from beatwire.recordings.wfdb.annotations import ENDING, annotation_file

_KNOWN_COMMENTS = frozenset({"True alarm", "False alarm", "af", "sinus", "noisy", "normal"})


def is_reference(path: Path, ending: str = ENDING) -> bool:
    """Return True if a record has annotations, or a comment that says what it shows."""
    if annotation_file(path, ending).exists():
        return True
    return bool(_KNOWN_COMMENTS.intersection(comments_of(path)))


def is_alarm_folder(folder: Path) -> bool:
    """Return True if the first record of a folder says in a comment what it shows."""
    first = min(folder.glob("*.hea"), default=None)
    return first is not None and bool(_KNOWN_COMMENTS.intersection(comments_of(first.with_suffix(""))))


def find_references(folder: Path, people: str = "all", ending: str = ENDING) -> list[Path]:
    """Return the records of a folder, or of the folders in it, without suffix, in order.

    Parameters
    ----------
    people
        ``development``, ``held back`` or ``all``.
    ending
        Of the annotation files.

    Raises
    ------
    UserError
        There is no such folder, or no such record in it.
    """
    check_folder(folder)
    headers = sorted(folder.glob("*.hea")) or sorted(folder.glob("*/*.hea"))
    paths = [path for h in headers if is_reference(path := h.with_suffix(""), ending)]
    if not paths:
        raise UserError(f"{folder}: expected WFDB records with annotations or comments; there are none")
    return [p for p in paths if people in ("all", half_of(person_of(p)))]
