"""Lines of a text table that are no rows: remarks, names that come again, blank ones, and what follows the last row.

In:  the path of a text table that cannot be read as it is
Out: the path of the same table without these lines, a temporary one of the same name; a note for each kind of line

A remark begins with the sign of a comment, is in brackets, or consists of signs alone. Names come again where tables
were joined: the line is one of the head. After the last row stands a text, of few lines, without a row of numbers. A
table with any other line is not read: what it means nobody knows.
"""

import io
import itertools
import mmap
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from beatwire.errors import UserError, reason
from beatwire.recordings.columns.roles import Roles
from beatwire.recordings.text.dialect import Dialect, is_remark, kind_of, kinds_of, split_row
from beatwire.recordings.text.layout import Layout
from beatwire.tables import is_plain, open_text

_NUMBERS = re.compile(r"(?=\D*\d)(?:[\d\W_eE])*")  # and signs: no letter but e
_MOST_AFTER = 50  # lines after the last row
_EXAMINED = 400  # rows that show what the cells of a column are
_SHOWN = 40  # characters of a line in a note
_BLANK = re.compile(rb"\n[^\S\n]*\n")


class _Strays(NamedTuple):
    """Numbers and texts of the lines that are no rows, of each kind, from 1."""

    remarks: list[tuple[int, str]]
    names: list[tuple[int, str]]
    after: list[tuple[int, str]]

    def notes(self) -> tuple[str, ...]:
        """Return a note for each kind of line."""
        found = []
        for lines, one, several in (
            (self.remarks, "line {} is a remark", "{} lines are remarks, first line {}"),
            (self.names, "the names come again in line {}", "the names come again {} times, first in line {}"),
            (self.after, "line {} after the last row is none", "{} lines after the last row are none, from line {}"),
        ):
            if lines:
                number, text = lines[0]
                said = one.format(number) if len(lines) == 1 else several.format(len(lines), number)
                found.append(f"{said} ({text.strip()[:_SHOWN]!r}): left out")
        return tuple(found)


@contextmanager
def without_strays(path: Path, layout: Layout) -> Iterator[tuple[Path, tuple[str, ...]] | None]:
    """Yield the path of a table without lines that are no rows, and notes; None if there are none, or others.

    Raises
    ------
    UserError
        There is no space for a temporary file.
    """
    try:
        strays = _strays_in(path, layout)
    except (OSError, EOFError, zlib.error):  # the file is damaged: the reader of its rows says it
        strays = None
    if strays is None:
        yield None
        return
    left_out = {number for lines in strays for number, _ in lines}
    with TemporaryDirectory() as folder:
        cleaned = Path(folder) / path.name
        try:
            with open_text(path) as text, cleaned.open("w", encoding="utf-8") as file:
                file.writelines(line for number, line in enumerate(text, 1) if number not in left_out)
        except OSError as error:
            raise UserError(f"{path.name}: expected space for a temporary file; {reason(error)}") from None
        yield cleaned, strays.notes()


def blank_lines(path: Path, layout: Layout, roles: Roles) -> tuple[str, ...]:
    """Return a note on blank lines between rows, which are left out: without a clock each may be a missing sample."""
    if not layout.skip_blank or roles.clock is not None or roles.count is not None:
        return ()
    if is_plain(path):
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as held:
            if _BLANK.search(held) is None:
                return ()
    found = since = 0
    with open_text(path) as text:
        for line in itertools.islice(text, layout.lines_before, None):
            is_blank = not line.strip() and not (
                layout.dialect.delimiter == "\t" and "\t" in line
            )  # a row without values
            found, since = (found, since + 1) if is_blank else (found + since, 0)
    return (f"{found:,} blank {'line' if found == 1 else 'lines'} between its rows: left out",) if found else ()


def _strays_in(path: Path, layout: Layout) -> _Strays | None:
    """Return the lines that are no rows; None if there are none, or one of which nobody knows what it means."""
    found = _Strays([], [], [])
    with open_text(path) as text:
        head = {line.strip() for line in _lines(text, layout.lines_before)} - {""}
        first = _lines(text, _EXAMINED)
        rows = [line.strip("\n") for line in first if line.strip() and not is_remark(line)]
        kinds = kinds_of(rows, layout.dialect)
        number = layout.lines_before
        for lines in (first, text):
            for line in lines:
                number += 1
                if not line.strip("\n \0") or (_is_row(line, layout.dialect, kinds) and not found.after):
                    continue
                if line.strip() in head:
                    found.names.append((number, line))
                elif is_remark(line):
                    found.remarks.append((number, line))
                elif _is_text(line, layout.dialect) and len(found.after) < _MOST_AFTER:
                    found.after.append((number, line))
                elif line.endswith("\n"):  # else it is cut off
                    return None
    return found if any(found) else None


def _lines(text: io.TextIOWrapper, count: int) -> list[str]:
    return [line for _ in range(count) if (line := text.readline())]


def _is_row(line: str, dialect: Dialect, kinds: list[str]) -> bool:
    """Return True if a line has the cells of a row, and each is what most cells of its column are."""
    if dialect.delimiter != " " and line.count(dialect.delimiter) == dialect.width - 1 and _NUMBERS.fullmatch(line):
        return not is_remark(line)
    cells = split_row(line.strip("\n"), dialect.delimiter)
    while len(cells) > dialect.width and cells[-1][:1] in ("", "#"):
        cells.pop()
    return len(cells) == dialect.width and not any(
        kind in ("number", "time") and kind_of(cell, dialect.decimal) == "text"
        for cell, kind in zip(cells, kinds, strict=True)
    )


def _is_text(line: str, dialect: Dialect) -> bool:
    """Return True if a line is no row of numbers: it has a word, or nothing at all."""
    cells = split_row(line.strip("\n"), dialect.delimiter)
    return not any(cells) or any(re.search(r"[^\W\d_]{2}", cell) for cell in cells)
