"""Text tables whose rows are leads, as MATLAB and NumPy write a vector: turned, so that columns are leads.

In:  the path of a text file
Out: the path of a table whose columns are leads: the file itself, or a temporary one of the same name

Rows of several samples of one lead are of ``packed_rows``, labelled cells of ``labels``.

A table is turned if it has few rows and many more columns. Names before the numbers of a row become names of columns,
and brackets around a row are left out. Lines before the rows stay before them. Of a file that is no such table only the
beginning of its first lines is read.
"""

import csv
import io
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from beatwire.errors import UserError, reason
from beatwire.recordings.record import MAX_LEADS
from beatwire.recordings.text.dialect import dialect_of, kind_of, split_row
from beatwire.recordings.text.labels import are_labelled, write_unlabelled
from beatwire.recordings.text.packed_rows import packed_rows, write_one_a_row
from beatwire.tables import open_text

FEWEST_COLUMNS = 100  # no table has so many leads, and no recording so few samples
MOST_CHARACTERS = 1 << 25  # of the rows, which are kept in memory
_MOST_LINES = 100  # with a head
_SAMPLE = 16384  # characters of a row by which its dialect is found
_OPENING = re.compile(r"\s*(\w+\s*=\s*)?[\[({]+")
_CLOSING = re.compile(r"[\])}]+\s*[;,]?\s*$")


@contextmanager
def leads_in_columns(path: Path) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Yield the path of a table whose columns are leads, and notes.

    Raises
    ------
    UserError
        The rows are too long, or there is no space for a temporary file.
    """
    text = _turned(path)
    is_labelled = text is None and are_labelled(path)
    packed = packed_rows(path) if text is None and not is_labelled else None
    if text is None and not is_labelled and packed is None:
        yield path, ()
        return
    note = "the labels in each row are read as names" if is_labelled else "each row is read as a lead"
    cut: tuple[str, ...] = ()
    note = f"each row is read as {packed.count} samples of one lead" if packed is not None else note
    with TemporaryDirectory() as folder:
        turned = Path(folder) / path.name
        try:
            if packed is not None:
                cut = write_one_a_row(path, turned, packed)
            elif text is None:
                write_unlabelled(path, turned)
            else:
                turned.write_text(text, "utf-8")
        except OSError as error:
            raise UserError(f"{path.name}: expected space for a temporary file; {reason(error)}") from None
        yield turned, (note, *cut)


def _turned(path: Path) -> str | None:
    """Return a table whose rows are leads, turned; None if it is no such table, or cannot be read."""
    try:
        with open_text(path) as text:
            found = _head_and_rows(path.name, text)
        if found is None:
            return None
        head, rows = found
        delimiter = dialect_of([_beginning(row) for row in rows]).delimiter
        cells = [split_row(row, delimiter) for row in rows]
    except (OSError, EOFError, zlib.error):
        return None  # the reader of tables says what is wrong
    if all(row and not row[-1] for row in cells):
        cells = [row[:-1] for row in cells]  # a delimiter ends the rows
    width = len(cells[0])
    if len(rows) > MAX_LEADS + 1 or width < FEWEST_COLUMNS or any(len(row) != width for row in cells):
        return None
    written = io.StringIO()
    if len(rows) == 1 or delimiter == " ":
        written.writelines(f"{' '.join(column)}\n" for column in zip(*cells, strict=True))
    else:
        csv.writer(written, delimiter=delimiter, lineterminator="\n").writerows(zip(*cells, strict=True))
    return "".join(f"{line}\n" for line in head) + written.getvalue()


def _head_and_rows(where: str, text: io.TextIOWrapper) -> tuple[list[str], list[str]] | None:
    """Return the lines before the first row, and the rows without brackets; None if the file is no table of rows."""
    head: list[str] = []
    rows: list[str] = []
    left = MOST_CHARACTERS
    while begin := text.readline(_SAMPLE):
        is_row = len(begin) > 2 * FEWEST_COLUMNS and _is_row(begin)
        is_long = not begin.endswith("\n") and len(begin) == _SAMPLE
        if len(head) + len(rows) == _MOST_LINES or (is_long and not is_row) or (rows and begin.strip() and not is_row):
            return None
        line = begin + text.readline(left) if is_long else begin
        left -= len(line)
        if left <= 0:
            raise UserError(
                f"{where}: expected at most {MOST_CHARACTERS >> 20} million characters where rows are leads; got more: "
                "write one sample a line"
            )
        if is_row:
            rows.append(_without_brackets(line))
        elif not rows:
            head.append(line.rstrip("\r\n"))
    return (head, rows) if rows else None


def _is_row(line: str) -> bool:
    """Return True if most cells at the beginning of a line are numbers, and there are many."""
    beginning = _beginning(_without_brackets(line))
    dialect = dialect_of([beginning])
    cells = split_row(beginning, dialect.delimiter)
    kinds = [kind_of(cell, dialect.decimal) for cell in cells]
    if len(cells) < FEWEST_COLUMNS:
        return False
    if kinds[0] == "text" and re.search(r"[,;\t|\[]", cells[0]):
        return False  # several cells, of which one is a list
    numbers = sum(kind in ("number", "time") for kind in kinds)
    return numbers > 0 and numbers + kinds.count("missing") > 0.9 * len(kinds)


def _without_brackets(line: str) -> str:
    """Return a row without brackets around it, and without a name before them, as in ``ecg = [1 2 3];``."""
    return _CLOSING.sub(
        "", _OPENING.sub("", line.strip("\r\n"), count=1) if _OPENING.match(line) else line.strip("\r\n")
    )


def _beginning(row: str) -> str:
    """Return the first cells of a row, complete."""
    row = row.strip(" ")
    return row if len(row) < _SAMPLE // 2 else re.sub(r"[^,;\t| ]*$", "", row[: _SAMPLE // 2]).rstrip(",;\t| ")
