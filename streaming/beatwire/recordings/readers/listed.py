"""Text tables whose cells are lists of samples: ``2026-03-05T10:00:00,300,"[12, 13, 15]"``.

A row is a packet, or a whole recording: it is read as an object of JSON with these names. The numbers of a list are in
brackets, between commas, semicolons or blanks; nine or more are a list in quotes or between other delimiters, too.
Lines of two cells before the names state facts.
"""

import csv
import io
import re
import zlib
from pathlib import Path
from typing import Any

from beatwire.errors import UserError
from beatwire.recordings.leads import unique_names
from beatwire.recordings.readers.documents import MOST_BYTES, recording_of
from beatwire.recordings.record import Recording
from beatwire.tables import open_bytes, open_text

_BEGIN = 1 << 16  # characters by which such a table is found
_MARK = "\x01"  # stands for a list while rows are split
_LIST = re.compile(r'(?:"[ \t]*)?\[([^\[\]"]*(?:\[[^\[\]"]*\][^\[\]"]*)*)\](?:[ \t]*")?')
_NUMBER = r"(?:[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|nan|null|None)"
_CELL = re.compile(
    rf"(?:(?<=[,;\t|])\s*\"?|^\s*\")\s*\[[\[\s]*{_NUMBER}(?:\s*[,;\s]\s*{_NUMBER}[,;\s\]]|\s*\])", re.IGNORECASE
)
_BARE = re.compile(r'(?<![^,;\t|\n])"([-+.,; \t\deE]*)(?:"|\Z)|(?<=[;\t|])([-+.,\deE]*,[-+.,\deE]*)(?=[;\t|\n]|\Z)')
_FEWEST_BARE = 8  # signs between numbers: a cell with fewer may be one number
_REMARK = ("#", "%", "//")
_SHOWN = 40
_MISSING = ("", "nan", "null", "none")


def has_lists(path: Path) -> bool:
    """Return True if cells in the first rows of a text file are lists of numbers."""
    try:
        with open_text(path) as file:
            begin = _bracketed(file.read(_BEGIN))
    except (OSError, EOFError, zlib.error):
        return False
    lines = [line for line in begin.splitlines()[:100] if line.strip() and not line.lstrip().startswith(_REMARK)]
    cells = [bool(_CELL.search(line)) and len(re.findall(r"\d[\s,;]", line)) > 1 for line in lines]
    if True not in cells:
        return False
    rest = lines[cells.index(True) :]
    return sum("[" in line or "]" in line for line in rest) > 0.5 * len(rest)


def read_listed(path: Path, fs: float | None, column: str | None, gain: float | None) -> Recording:
    """Read such a table; parameters as for :func:`beatwire.recordings.read_recording`.

    Raises
    ------
    UserError
        A list holds something else than numbers, a row has another number of cells, or it is no recording.
    """
    where = path.name
    with open_bytes(path) as packed:
        size = len(packed.read(MOST_BYTES + 1))
    if size > MOST_BYTES:
        raise UserError(
            f"{where}: expected lists of samples in at most {MOST_BYTES >> 20} MiB: write one sample a line"
        )
    with open_text(path) as file:
        text = _bracketed(file.read())
    lists: list[list[Any]] = []

    def kept(found: re.Match[str]) -> str:
        lists.append(_numbers(where, found[1]))
        return f"{_MARK}{len(lists) - 1}"

    rows = _LIST.sub(kept, "\n".join(line for line in text.split("\n") if not line.lstrip().startswith(_REMARK)))
    first = next(line for line in rows.split("\n") if _MARK in line)
    beside = re.findall(rf"([,;\t|]) *{_MARK}|{_MARK}\d+ *([,;\t|])", first)
    delimiter = next((one for pair in beside for one in pair if one), ",")
    cells = [row for row in csv.reader(io.StringIO(rows), delimiter=delimiter) if any(cell.strip() for cell in row)]
    begin = next(k for k, row in enumerate(cells) if any(_MARK in cell for cell in row))
    facts = {
        re.sub(r"\W+", "_", row[0].strip()): _value(row[1], []) for row in cells[: max(0, begin - 1)] if len(row) == 2
    }
    names = unique_names(
        [name.strip() for name in cells[begin - 1]] if begin else [str(k) for k in range(len(cells[0]))]
    )
    table = []
    for number, row in enumerate(cells[begin:], 1):
        if len(row) != len(names):
            raise UserError(
                f"{where}: expected {len(names)} cells in each row; row {number} of the table has {len(row)}"
            )
        table.append({name: _value(cell, lists) for name, cell in zip(names, row, strict=True)})
    return recording_of(path, {**facts, "rows": table}, (), fs, column, gain)


def _bracketed(text: str) -> str:
    """Return a text with brackets around the lists that have none.

    >>> _bracketed('1;"1, 2, 3, 4, 5, 6, 7, 8, 9"'), _bracketed('1;"0,5"')
    ('1;"[1, 2, 3, 4, 5, 6, 7, 8, 9]"', '1;"0,5"')
    """

    def found(cell: re.Match[str]) -> str:
        numbers = cell[1] or cell[2] or ""
        if len(re.findall(r"\d *[,;\s] *(?=[-+.\d])", numbers)) < _FEWEST_BARE:
            return cell[0]
        return f'"[{numbers}]"'

    return re.sub(_BARE, found, text)


def _value(cell: str, lists: list[list[Any]]) -> Any:
    """Return a cell as a list, a number or its text."""
    text = cell.strip()
    if text.startswith(_MARK):
        return lists[int(text[1:])]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _numbers(where: str, text: str) -> list[Any]:
    """Return the numbers of a list, or its lists of numbers; NaN where there is no value."""
    inner = _LIST.findall(text)
    if inner:
        return [_numbers(where, one) for one in inner]
    parts = text.replace(",", ".").split(";") if ";" in text else re.split(r"[,\s]+", text.strip().rstrip(","))
    cells = [part.strip().casefold() for part in parts]
    try:
        return [float("nan") if cell in _MISSING else float(cell) for cell in cells] if cells != [""] else []
    except ValueError:
        odd = next(cell for cell in cells if re.fullmatch(r"[-+.\de]+|nan|null|none|", cell) is None or cell == "...")
        raise UserError(f"{where}: expected numbers in its lists; got {odd[:_SHOWN]!r}") from None
