"""Excel workbooks (``.xlsx``), by the package ``openpyxl``: the sheet that holds a table is read as a text table.

Of several ``column`` chooses one: ``Sheet1``, or ``Sheet1.ECG`` for a column of it.
"""

import csv
import datetime
import warnings
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from beatwire.errors import UserError
from beatwire.recordings.readers.several import is_of, within
from beatwire.recordings.record import Recording
from beatwire.recordings.text.dialect import is_number
from beatwire.recordings.text.recording import read_text

_FEWEST_ROWS = 50  # with a number: fewer are no recording


def read_xlsx(path: Path, fs: float | None, column: str | None, gain: float | None) -> Recording:
    """Read a table of a workbook; parameters as for :func:`beatwire.recordings.read_recording`.

    Raises
    ------
    UserError
        It is damaged, none of its sheets holds a table, or several do and ``column`` names none of them.
    """
    import openpyxl

    where = path.name
    with TemporaryDirectory() as folder:
        try:
            with warnings.catch_warnings(), path.open("rb") as content:  # whatever its ending
                warnings.simplefilter("ignore")
                book = openpyxl.load_workbook(content, read_only=True, data_only=True)
                sheets = [(sheet.title, Path(folder) / f"{k}" / where) for k, sheet in enumerate(book.worksheets)]
                rows = [_written(sheet, to) for sheet, (_, to) in zip(book.worksheets, sheets, strict=True)]
                book.close()
        except Exception as error:  # of its own kinds, and of XML
            got = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise UserError(f"{where}: expected an Excel workbook; got: {got}") from None
        tables = [(title, to) for (title, to), count in zip(sheets, rows, strict=True) if count >= _FEWEST_ROWS]
        chosen = [(title, to) for title, to in tables if len(tables) > 1 and column and is_of(title, column)]
        if len(chosen or tables) != 1:
            got = ", ".join(repr(title) for title, _ in tables) or "none of 50 rows or more"
            hint = f": choose with --column {tables[0][0]!r}" if tables else ""
            raise UserError(f"{where}: expected one sheet with a table; got {got}{hint}")
        ((title, to),) = chosen or tables
        recording = read_text(to, fs, within(title, column) if chosen and column else column, gain)
    others = (f"sheet {title!r}: the others hold no table",) if len(sheets) > 1 and not chosen else ()
    return replace(recording, name=path.stem, notes=(*others, *recording.notes))


def _written(sheet: Any, to: Path) -> int:
    """Write a sheet as text; return how many of its rows hold a number."""
    to.parent.mkdir()
    sheet.reset_dimensions()  # which may be stated wrong
    count = width = empty = 0
    left: int | None = None
    whole = to.with_name("sheet")
    with whole.open("w", encoding="utf-8", newline="") as file:
        written = csv.writer(file, delimiter="\t", lineterminator="\n")
        for row in sheet.iter_rows(values_only=True):
            filled = [k for k, cell in enumerate(row) if cell is not None]
            if not filled:
                empty += 1
                continue
            is_row = any(map(_is_number, row))
            file.write(("\t\n" if count and is_row else "\n") * empty)  # samples without a value
            empty = 0
            width = max(width, filled[-1] + 1)
            left = filled[0] if left is None else min(left, filled[0])
            written.writerow([_text(cell) for cell in row[: filled[-1] + 1]])
            count += is_row
    with whole.open(encoding="utf-8", newline="") as file, to.open("w", encoding="utf-8", newline="") as target:
        for line in file:  # without empty columns before the table, and with empty cells at its end
            cells = line.rstrip("\n")
            more = "\t" * (width - 1 - cells.count("\t")) if cells else ""
            target.write(f"{cells}{more}\n"[min(left or 0, len(cells + more)) :])
    whole.unlink()
    return count


def _is_number(cell: Any) -> bool:
    """Return True if a cell holds a number, or its text, or a time."""
    is_text = isinstance(cell, str) and (is_number(cell) or is_number(cell, ","))
    return is_text or isinstance(cell, int | float | datetime.date | datetime.time | datetime.timedelta)


def _text(cell: Any) -> str:
    """Return the text of a cell, a duration in seconds."""
    if cell is None:
        return ""
    if isinstance(cell, datetime.timedelta):
        return repr(cell.total_seconds())
    if isinstance(cell, datetime.datetime | datetime.date | datetime.time):
        return cell.isoformat()
    return " ".join(str(cell).split())
