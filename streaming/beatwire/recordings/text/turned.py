"""Text tables whose rows are leads, as MATLAB and NumPy write a vector: turned, so that columns are leads.

In:  the path of a text file
Out: the path of a table whose columns are leads: the file itself, or a temporary one of the same name

A table is turned if it has few rows and many more columns. Names before the numbers of a row become names of columns,
and brackets around a row are left out. Lines before the rows stay before them.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from beatwire.recordings.record import MAX_LEADS
from beatwire.recordings.text.dialect import dialect_of, kind_of, split_row
from beatwire.tables import open_text

FEWEST_COLUMNS = 100  # no table has so many leads, and no recording so few samples
_MOST_LINES = 100  # with a head
_SAMPLE = 4096  # characters of a row by which its dialect is found
_BRACKETS = " \t\r\n[](){};,"


@contextmanager
def leads_in_columns(path: Path) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Yield the path of a table whose columns are leads, and notes."""
    lines = _turned(path)
    if lines is None:
        yield path, ()
        return
    with TemporaryDirectory() as folder:
        turned = Path(folder) / path.name
        turned.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        yield turned, ("each row is read as a lead",)


def _turned(path: Path) -> list[str] | None:
    """Return the lines of a table whose rows are leads, turned; None if it is no such table."""
    lines: list[str] = []
    try:
        with open_text(path) as text:
            while len(lines) < _MOST_LINES and (line := text.readline()):
                lines.append(line)
            if text.read(1):
                return None
    except (OSError, EOFError):
        return None  # the reader says what is wrong with it
    first = next((k for k, line in enumerate(lines) if len(line) > 2 * FEWEST_COLUMNS and _is_row(line)), None)
    if first is None:
        return None
    rows = [row for line in lines[first:] if (row := line.strip(_BRACKETS))]
    delimiter = dialect_of([_beginning(row) for row in rows]).delimiter
    cells = [split_row(row, delimiter) for row in rows]
    width = len(cells[0])
    if len(rows) > MAX_LEADS + 1 or width < FEWEST_COLUMNS or any(len(row) != width for row in cells):
        return None
    columns = zip(*cells, strict=True)
    return [*(line.rstrip("\r\n") for line in lines[:first]), *(delimiter.join(column) for column in columns)]


def _is_row(line: str) -> bool:
    """Return True if most cells at the beginning of a line are numbers, and there are many."""
    beginning = _beginning(line.strip(_BRACKETS))
    dialect = dialect_of([beginning])
    cells = split_row(beginning, dialect.delimiter)
    kinds = [kind_of(cell, dialect.decimal) for cell in cells]
    if kinds[0] == "text" and re.search(r"[,;\t|\[]", cells[0]):
        return False  # several cells, of which one is a list
    return len(kinds) >= FEWEST_COLUMNS and sum(kind in ("number", "missing", "time") for kind in kinds) > 0.9 * len(
        kinds
    )


def _beginning(row: str) -> str:
    """Return the first cells of a row, complete."""
    return row if len(row) <= _SAMPLE else re.sub(r"[^,;\t| ]*$", "", row[:_SAMPLE]).rstrip(_BRACKETS)
