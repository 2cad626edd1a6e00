"""How the rows of a text table are written: the delimiter and the decimal sign, decided together from many rows.

In:  rows of a table, text
Out: :class:`Dialect`; the cells of a row and what each is

The best dialect splits the most rows into equally many cells that are numbers or times, by their length. A comma
between two digits can separate columns or be a decimal sign: names, signs and leading zeros decide.
"""

import csv
import re
from collections import Counter
from collections.abc import Sequence
from operator import mul
from typing import NamedTuple

import numpy as np

from beatwire.recordings.columns.behaviour import Behaviour, behaviour
from beatwire.tables import cells_at_blanks

MISSING_CELLS = (
    "", "-", "--", "na", "nan", "n/a", "#n/a", "null", "none", "inf", "-inf", "+inf", "infinity", "-infinity", "?", "*",
    "<na>", "nil", "missing", "undefined", "---", ".", "!", "\\n", "#nv", "#value!", "#div/0!", "#ref!", "#num!",
    "#name?", "1.#qnan", "-1.#ind", "1.#inf", "-1.#inf", "nan(ind)", "-nan(ind)", "-nan", "+nan",
)  # fmt: skip
"""Cells of a sample without a value, case-folded."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
GROUPED = {
    ".": re.compile(r"[+-]?[1-9]\d{0,2}(([,' \u2019\u00a0\u2009\u202f])\d{3})(\2\d{3})*(\.\d*)?"),
    ",": re.compile(r"[+-]?[1-9]\d{0,2}(([.' \u2019\u00a0\u2009\u202f])\d{3})(\2\d{3})*(,\d*)?"),
}  # numbers with a sign between thousands, by the decimal sign
_GROUPED_SCORE = 0.9  # of such a cell: one that is a number without a sign between thousands is likelier
_TIME = re.compile(
    r"\[?((\d{1,3}:)?\d{1,2}:\d{1,2}([.,:]\d+)?(\s*[AaPp]\.?[Mm]\.?)?([ T]+\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4})?"
    r"|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T_]+[\d:.,]+(\s?[AaPp]\.?[Mm]\.?)?\s?(Z|UTC|[+-]\d\d:?\d\d)?)?"
    r"|([A-Za-z]{3,9},? )?([A-Za-z]{3,9}\.? +\d{1,2}|\d{1,2}[ -][A-Za-z]{3,9}\.?)[ ,-]+(\d{4},? )?[\d:.,]+"
    r"( [A-Z]{3,4})?( \d{4})?"
    r"|-?\d+ days?,? [+]?[\d:.,]+)\]?"
)
_REMARK = re.compile(r"\s*(#|%|//|<|\[.*\]\s*$|[-=*_~+#.]{2,}\s*$|\x1a\s*$)")
_DELIMITERS = ("\t", ";", "|", ",", " ")
_FEWEST_ROWS = 50  # in so many rows of decimals one has a leading zero


class Dialect(NamedTuple):
    """A delimiter, a blank for any run of blanks; a decimal sign; and the number of cells in most rows."""

    delimiter: str
    decimal: str
    width: int


_PLAIN = Dialect(",", ".", 1)


def is_number(cell: str, decimal: str = ".") -> bool:
    """Return True if a cell holds a finite number."""
    text = cell.strip().replace("\u2212", "-")
    if decimal == ",":
        text = text.replace(",", ".")
    return _NUMBER.fullmatch(text) is not None


def is_grouped(cell: str, decimal: str = ".") -> bool:
    """Return True if a cell holds a number with a sign between thousands.

    >>> is_grouped("1,114.5"), is_grouped("-12.345.000", ","), is_grouped("0,114"), is_grouped("1,5")
    (True, True, False, False)
    """
    return GROUPED[decimal].fullmatch(cell.replace("\u2212", "-")) is not None


def without_groups(cell: str, decimal: str) -> str:
    """Return a number without the signs between its thousands; another cell as it is.

    >>> without_groups("1,114.5", "."), without_groups("-12.345.000", ","), without_groups("0,114", ".")
    ('1114.5', '-12345000', '0,114')
    """
    keep = rf"[^\d{re.escape(decimal)}+-]"
    return re.sub(keep, "", cell.replace("\u2212", "-")) if is_grouped(cell, decimal) else cell


def is_missing(cell: str) -> bool:
    """Return True if a cell stands for a missing number: empty, ``NaN``, ``-`` and the like."""
    return cell.casefold() in MISSING_CELLS


def is_remark(line: str) -> bool:
    """Return True if a line begins with the sign of a comment, is in brackets, or consists of signs alone."""
    return _REMARK.match(line) is not None


def kind_of(cell: str, decimal: str) -> str:
    """Return what a cell is: ``number``, ``missing``, ``time`` or ``text``."""
    if is_number(cell, decimal) or is_grouped(cell, decimal):
        return "number"
    if is_missing(cell):
        return "missing"
    return "time" if _TIME.fullmatch(cell) else "text"


def kinds_of(rows: Sequence[str], dialect: Dialect) -> list[str]:
    """Return what most cells of each column are; missing ones do not count."""
    cells = [c for c in (split_row(row, dialect.delimiter) for row in rows) if len(c) == dialect.width]
    found = []
    for column in zip(*cells, strict=True):
        counts = Counter(kind_of(cell, dialect.decimal) for cell in column)
        counts.pop("missing", None)
        kind = max(("number", "time"), key=lambda k: counts[k])
        found.append(kind if counts[kind] >= 0.25 * counts.total() > 0 else "text" if counts else "missing")
    return found


def split_row(row: str, delimiter: str) -> list[str]:
    """Return the cells of a row, without blanks and quotes around them.

    >>> split_row("[10:00:00.004 03/02/2024]  -0.12", " ")
    ['[10:00:00.004 03/02/2024]', '-0.12']
    """
    try:
        cells = (
            cells_at_blanks(row) if delimiter == " "
            else next(csv.reader([row], delimiter=delimiter, skipinitialspace=True), [""])
        )  # fmt: skip
    except csv.Error:  # a quote that does not end
        cells = [row]
    return [cell.strip().strip("'\"").strip() for cell in cells]


def dialect_of(rows: Sequence[str], before: str = "") -> Dialect:
    """Return the dialect of the rows of a table.

    Parameters
    ----------
    rows
        Rows of the table, without its head.
    before
        The line before them: their names, or empty.

    >>> dialect_of(["0,1;-0,2", "0,2;0,3"]), dialect_of(["0.1", "-0.2"])
    (Dialect(delimiter=';', decimal=',', width=2), Dialect(delimiter=',', decimal='.', width=1))
    """
    text = "\n".join(rows)
    found: list[tuple[float, Dialect]] = []
    is_parted = False  # by a delimiter that is no blank, into numbers alone
    for delimiter in (*(d for d in _DELIMITERS if d in text), ""):
        for decimal in ".,":
            if decimal == "," and ("," not in text or (delimiter == "," and '"' not in text)):
                continue
            split = [split_row(row, delimiter) if delimiter else [row.strip().strip("'\"")] for row in rows]
            width = Counter(map(len, split)).most_common(1)[0][0]
            if width == 1 and delimiter:
                continue
            whole = [cells for cells in split if len(cells) == width]
            scores = [_score(cell, decimal) for cells in whole for cell in cells]
            sizes = [max(1, len(cell)) for cells in whole for cell in cells]
            known = sum(map(mul, scores, sizes)) / sum(sizes)
            if delimiter == " " and is_parted:
                continue  # blanks between thousands
            is_parted = is_parted or (delimiter in ("\t", ";", "|") and min(scores) > 0 and len(whole) == len(rows))
            found.append((known * len(whole) / len(rows), Dialect(delimiter, decimal, width)))
    best = max(score for score, _ in found)
    likely = [dialect for score, dialect in found if score >= best - 1e-9]
    chosen = likely[0]
    if chosen.delimiter == "," and Dialect("", ",", 1) in likely and _is_decimal_comma(rows, before):
        chosen = Dialect("", ",", 1)
    single = ";" if ";" not in text else "\t"
    return chosen if chosen.delimiter else chosen._replace(delimiter="," if chosen.decimal == "." else single)


def with_groups(rows: Sequence[str], dialect: Dialect) -> Dialect:
    """Return a dialect with the other decimal sign if its own only parts thousands, as in ``998`` and then ``1,002``.

    Every cell with that sign has three digits after it and no leading zero; and its column holds integers of three
    digits too, or another cell has a decimal with the other sign.

    >>> with_groups(["0,5;998", "0,6;1.002"], Dialect(";", ".", 2)).decimal, with_groups(["1.25", "2"], _PLAIN).decimal
    (',', '.')
    """
    sign, other = dialect.decimal, "." if dialect.decimal == "," else ","
    group = re.compile(rf"[+-]?[1-9]\d{{0,2}}{re.escape(sign)}\d{{3}}")
    cells = [c for c in (split_row(row, dialect.delimiter) for row in rows) if len(c) == dialect.width]
    columns = [[c for c in column if is_number(c, ",")] for column in zip(*cells, strict=True)]
    parted = [column for column in columns if any(sign in c for c in column)]
    if not parted or not all(group.fullmatch(c) for column in parted for c in column if sign in c):
        return dialect
    below = any(re.fullmatch(r"[+-]?[1-9]\d\d", c) for column in parted for c in column)
    decimals = any(other in c and not is_grouped(c, sign) for column in columns for c in column)
    return dialect._replace(decimal=other) if below or decimals else dialect


def _score(cell: str, decimal: str) -> float:
    """Return how well a cell fits a decimal sign, 0-1."""
    if is_number(cell, decimal) or is_missing(cell) or _TIME.fullmatch(cell):
        return 1.0
    return _GROUPED_SCORE if is_grouped(cell, decimal) else 0.0


def is_comma_twice(rows: Sequence[str], dialect: Dialect) -> bool:
    """Return True if a comma seems to be both the delimiter and the decimal sign, as in ``0,005,-0,012``.

    An integer that was rounded to -0 is a number: what follows it has a sign somewhere, as no fraction has.
    """
    if dialect[:2] != (",", ".") or dialect.width < 3 or any("." in row for row in rows) or '"' in rows[-1]:
        return False  # each cell may stand in quotes
    cells = [split for split in (split_row(row, ",") for row in rows) if len(split) == dialect.width]
    fractions = range(1, dialect.width)
    zeros = [sum(c[k][:1] == "0" and len(c[k]) > 1 and c[k].isdigit() for c in cells) for k in fractions]
    unsigned = [k for k in fractions if all(c[k].isdigit() for c in cells)]
    return any(z > 0.02 * len(cells) for z in zeros) or any(c[k - 1] == "-0" for c in cells for k in unsigned)


def _is_decimal_comma(rows: Sequence[str], before: str) -> bool:
    """Return True if rows as ``12,034`` are one column of decimals rather than two of integers."""
    names = split_row(before, ",")
    if before and not any(is_number(name) for name in names):
        return len(names) == 1
    cells = [row.strip().strip("'\"").split(",") for row in rows]
    if not all(len(c) == 2 and re.fullmatch(r"[+-]?\d+", c[0]) and c[1].isdigit() for c in cells):
        return False
    whole, part = np.array([float(c[0]) for c in cells]), np.array([float(c[1]) for c in cells])
    if behaviour(whole) in (Behaviour.CLOCK, Behaviour.TURNS) or _counts(whole):
        return False
    if any(c[0] == "-0" or (c[1][0] == "0" and len(c[1]) > 1) for c in cells):
        return True
    if len(cells) < _FEWEST_ROWS:
        return bool(np.abs(whole).max() <= 5 and len({len(c[1]) for c in cells}) == 1 and len(cells[0][1]) > 1)
    steps = np.diff(whole) != 0
    if any(len(c[1]) > 1 for c in cells) or len(set(part)) < 8 or np.count_nonzero(steps) < 8:
        return False
    return bool(np.corrcoef(np.diff(whole)[steps], np.diff(part)[steps])[0, 1] < -0.3)  # 2,9 and then 3,1


def _counts(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> bool:
    return len(values) > 2 and bool((np.diff(values) == 1).all())
