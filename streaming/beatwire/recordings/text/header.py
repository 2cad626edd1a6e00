"""The rows above a table that belong to its columns: names, units and formats.

In:  lines of text before the first row, and the dialect of the table
Out: names and units of the columns; UserError if rows have more or fewer cells than the names
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from beatwire.errors import UserError
from beatwire.recordings.columns.names import PER_SECOND, Meaning, canonical_unit, is_time_name, meaning
from beatwire.recordings.text.dialect import Dialect, is_missing, is_number, kind_of, split_row
from beatwire.recordings.text.head import Facts, is_statement, units_in_remark, without_comment

_VALUE = re.compile(
    r"[+-]?\d+([.,]\d+)?((\s*-\s*|\s+)\d+([.,]\d+)?)*\s*(k?hz|[mun]?s|[mun\u00b5\u03bc]?v|bpm|%|years?|kg|cm|mmhg|samples)",
    re.IGNORECASE,
)  # of a statement: a number or a range with a unit
_LIST = 50  # numbers in a cell that are a recording rather than a date or a time
_FORMATS = {"cal", "raw", "uncal", "calibrated", "float", "double", "int", "string", "f8", "f4"}


def names_in(line: str, dialect: Dialect) -> tuple[str, ...] | None:
    """Return the cells of a line that can be the names of columns, or their units; None if it is another line."""
    if units_in_remark(line):
        return None
    text = line.strip("\n ") if dialect.delimiter != "\t" else line
    is_comment = not text.startswith(dialect.delimiter) and without_comment(text) != text.strip()
    text = without_comment(text) if is_comment else text
    for cells in (split_row(text, dialect.delimiter), *_by_wide_blanks(text, dialect)):
        while len(cells) > dialect.width and cells[-1] == "":
            cells.pop()
        if is_comment and len(cells) == dialect.width - 1 and _is_number_sign(line, cells, dialect):
            cells, is_comment = ["#", *cells], False
        fits = len(cells) == dialect.width or (len(cells) == dialect.width - 1 > 0 and not is_comment)
        if not text or not fits or any(_is_value(c, dialect, cells) for c in cells if c):
            continue
        if is_comment or len(cells) < dialect.width:
            known = [c for c in cells if meaning(c) not in (Meaning.NOTHING, Meaning.OTHER) or canonical_unit(c)]
            if (is_comment and not known) or (len(cells) == 1 and len(cells[0].split()) > (3 if known else 1)):
                continue
        if _states(text, cells) and len(cells) < 3:
            continue
        if not is_statement(text) or (
            len(cells) > 1
            and all(canonical_unit(c) or meaning(c) is not Meaning.NOTHING or is_missing(c) for c in cells)
        ):
            return tuple(cells)
    return None


def _is_value(cell: str, dialect: Dialect, cells: Sequence[str]) -> bool:
    """Return True if a cell is a number, a time, or a number with a unit; the number of a column is a name."""
    if is_column_number(cell, cells):
        return len(cells) < 3 and not is_time_or_lead(cells)
    return kind_of(cell, dialect.decimal) in ("number", "time") or _VALUE.fullmatch(cell) is not None


def _is_number_sign(line: str, cells: Sequence[str], dialect: Dialect) -> bool:
    """Return True if the sign of a comment is the name of a column of row numbers, before other names."""
    known = sum(meaning(c) is not Meaning.NOTHING for c in cells)
    is_remark = dialect.delimiter == " " and known <= 0.5 * len(cells)
    return not is_remark and is_time_or_lead(cells) and line.strip()[:2] in (f"#{dialect.delimiter}", "#\t")


def is_column_number(cell: str, cells: Sequence[str]) -> bool:
    """Return True if a cell may be the number of a column beside names: as pandas writes it where some have none."""
    is_small = re.fullmatch(r"\d{1,2}", cell) is not None and int(cell) < len(cells)
    return is_small and any(re.search(r"[^\W\d_]", c) is not None for c in cells)


def is_time_or_lead(cells: Sequence[str]) -> bool:
    """Return True if one of the cells is called like a time or a lead, or has a unit."""
    return any(meaning(c) not in (Meaning.NOTHING, Meaning.OTHER) for c in cells)


def _by_wide_blanks(text: str, dialect: Dialect) -> list[list[str]]:
    return [re.split(r"\s{2,}", text)] if dialect.delimiter == " " else []


def are_units(cells: Sequence[str], above: Sequence[str] | None = None) -> bool:
    """Return True if the cells of a row are units: most of those that are filled; ``-`` is none.

    A single cell is a name, unless it is below one; so are cells of which most are below none, as below a title.

    >>> are_units(["s", "mV"]), are_units(["V"]), are_units(["V"], ["ECG"]), are_units(["mV"], ["made by hand"])
    (True, False, True, False)
    >>> are_units(["ms", "V", "hr"], ["ECG of A", "", ""])
    False
    """
    filled = [c for c in cells if not is_missing(c) or canonical_unit(c)]
    bare = [c for c, name in zip(cells, above or (), strict=False) if c and not name]
    if above is not None and len(above) == len(cells) and len(bare) > 0.5 * len(filled):
        return False
    if len(cells) == 1 and not (above is not None and len(above) == 1 and _is_name(above[0])):
        return False
    return len(filled) > 0 and sum(bool(canonical_unit(c)) for c in filled) > 0.5 * len(filled)


def _is_name(cell: str) -> bool:
    """Return True if a cell alone in its row names a column: no unit, and one word, or called like a time or a lead."""
    return not canonical_unit(cell) and (len(cell.split()) <= 1 or is_time_or_lead([cell]))


def are_formats(cells: Sequence[str]) -> bool:
    """Return True if a row says how columns are stored, or names the same device for each."""
    filled = [c.casefold() for c in cells if c]
    is_same = len(filled) > 1 and len(set(filled)) == 1 and not is_time_or_lead(cells)
    return is_same or (len(filled) > 0 and all(c in _FORMATS for c in filled))


def aligned(cells: Sequence[str], width: int) -> list[str]:
    """Return the cells of a head with an empty one before them if the first column, of row numbers, has none."""
    return ["", *cells] if len(cells) == width - 1 else list(cells)


def names_of_facts(
    facts: Facts, width: int, first: str, *, is_empty_last: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return names and units by statements of the head: of all columns, or of those beside the first, a time.

    Parameters
    ----------
    first
        The first name in a row of names, empty if there is none.
    is_empty_last
        True if rows end with a delimiter.
    """
    missing = width - is_empty_last - len(facts.names)
    if missing not in (0, 1):
        return (), ("",) * width
    before = (first if is_time_name(first) or canonical_unit(first) in PER_SECOND else "time",) * missing
    units = facts.units if len(facts.units) == len(facts.names) else ("",) * len(facts.names)
    after = ("",) * is_empty_last
    return (*before, *facts.names, *after), (*("",) * len(before), *units, *after)


def check_width(where: str, lines: list[str], begin: int, dialect: Dialect) -> None:
    """Raise UserError if the line before the rows is a row of names of another width."""
    line = lines[begin - 1]
    names = split_row(line, dialect.delimiter)
    most = 2 if is_time_or_lead(names) else 1  # words of a name
    is_title = dialect.delimiter == " " or (len(names) == 1 and (len(line.split()) > most or dialect.width > 2))
    is_title = is_title or len(names) == dialect.width
    if is_title or _states(line, names) or is_statement(without_comment(line)) or without_comment(line) != line.strip():
        return
    if not any(is_number(n, dialect.decimal) for n in names):
        raise UserError(
            f"{where}: expected {len(names)} columns in every line; line {begin + 1} has {dialect.width}"
        )  # fmt: skip


def _states(line: str, cells: Sequence[str]) -> bool:
    """Return True if a line is a key and a value, a path, or the name of a section, and not a row of names."""
    if len(cells) == 1 and canonical_unit(cells[0]):
        return False
    if len(cells) == 1 and re.fullmatch(r"\s*[\[<{(].*[\]>})]\s*|.*([,;|=]\s*[+-]?\d|\\).*", line):
        return True
    has_value = len(cells) == 2 and _VALUE.fullmatch(cells[1]) is not None
    return has_value or re.match(r"[^\[({,;\t:=]+\s*(=|:(\s|$))", line) is not None


def has_index(where: str, lines: list[str], begin: int, dialect: Dialect, names: tuple[str, ...]) -> bool:
    """Return True if rows begin with a number of the row that has no name; False if they end with an empty cell.

    Raises
    ------
    UserError
        Rows have another cell more than names.
    """
    rows = [split_row(line, dialect.delimiter) for line in lines[begin : begin + 50] if line.strip()]
    firsts = [row[0] for row in rows]
    if names[-1] and all(row[-1] == "" for row in rows):  # a delimiter ends the rows, but not the names
        return False
    if all(re.fullmatch(r"\d+", c) for c in firsts) and all(int(b) - int(a) == 1 for a, b in pairwise(firsts)):
        return True
    if all(row[-1] == "" for row in rows):
        return False
    raise UserError(f"{where}: expected {len(names)} columns in every line; line {begin + 1} has {dialect.width}")


def check_cells(where: str, cells: list[str], names: tuple[str, ...]) -> None:
    """Check that no cell is a list of samples, as some programs write a whole recording."""
    for cell, name in zip(cells, names, strict=False):
        listed = re.split(r"[,;\s]+", cell.strip("[](){} "))
        if len(listed) >= _LIST and kind_of(cell, ".") == "text" and all(is_number(one) for one in listed):
            raise UserError(
                f"{where}, column {name!r}: expected a number; got a list of {len(listed):,}: write one a line"
            )
