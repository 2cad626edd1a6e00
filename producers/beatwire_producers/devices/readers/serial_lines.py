"""Lines of a serial port: the cells of each, and their numbers.

In:  lines, text
Out: cells, and numbers, float64 [rows, columns]

A comma parts columns, or it is a decimal sign: the first lines show which, by the rules for text files
(``beatwire.recordings.text.dialect``).
"""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from beatwire.errors import UserError
from beatwire.recordings.text.dialect import dialect_of, is_comma_twice
from beatwire.records import F64

from beatwire_producers.devices.learnt import seconds_of_text

OFF = "!"  # a lead is off
_NAMED = r"([^\W\d]\w*)[:=](?=[-+.\d!])"  # the name before a value
_LABEL, _LABELS = re.compile(f"^{_NAMED}"), re.compile(rf"(^|[\s,;|]){_NAMED}")  # of a cell, and of a line
_PARTED = re.compile(r"\s*[,;|\t]\s*|\s+")
_PARTED_BUT_BY_COMMAS = re.compile(r"\s*[;|\t]\s*|\s+")
_JUDGED = 512  # lines


class Lines:
    """How the lines of a port are read.

    Attributes
    ----------
    names : list of str
        Of the columns; empty if the lines say none.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self._decimal = "."

    def learn(self, where: str, lines: Sequence[str], before: str = "") -> F64:
        """Learn from lines of numbers, and the line of names before them; return the numbers [rows, columns].

        Raises
        ------
        UserError
            A comma is both the decimal sign and between the columns.
        """
        plain = [_unlabelled(line) for line in lines[:_JUDGED] if line != OFF]
        dialect = dialect_of(plain, before if "," in before else "") if plain else None  # one word may be no name
        if dialect is not None and is_comma_twice(plain, dialect):
            raise UserError(
                f"{where}: expected a delimiter other than the decimal sign; got {lines[-1][:40]!r}, in which a comma "
                "seems to be both"
            )
        self._decimal = "." if dialect is None else dialect.decimal
        rows = [row for line in lines if (row := self.cells(line)) != [OFF]]
        width = Counter(map(len, rows)).most_common(1)[0][0] if rows else 1
        labels = (self._labels(line) for line in reversed(lines))
        named = next(filter(None, labels), []) or _names_in(before)
        self.names = named if len(named) == width else []
        return self.numbers([row for row in rows if len(row) == width], width)

    def cells(self, line: str) -> list[str]:
        """Return the cells of a line without the names before values that the plotter of Arduino reads.

        >>> Lines().cells("12, 3.5"), Lines().cells("ecg:512 resp:3"), Lines().cells("!")
        (['12', '3.5'], ['512', '3'], ['!'])
        """
        return [_LABEL.sub("", cell) for cell in self._split(line)]

    def numbers(self, rows: Sequence[Sequence[str]], width: int) -> F64:
        """Return the numbers of rows of cells, float64 [rows, width]; NaN where there is none."""
        values = np.full((len(rows), width), np.nan)
        for k, row in enumerate(rows):
            for c, cell in enumerate(row[:width]):
                values[k, c] = _value(cell.replace(",", ".") if self._decimal == "," else cell)
        values[np.isinf(values)] = np.nan
        return values

    def _labels(self, line: str) -> list[str]:
        """Return the names before the values of a line; none if a value has none.

        >>> Lines()._labels("ecg:512, HR: 71"), Lines()._labels("ecg:512,3")
        (['ecg', 'HR'], [])
        """
        found = [_LABEL.match(cell) for cell in self._split(line)]
        return [label[1] for label in found if label] if all(found) else []

    def _split(self, line: str) -> list[str]:
        parted = _PARTED_BUT_BY_COMMAS if self._decimal == "," else _PARTED
        return [cell for cell in parted.split(_joined(line)) if cell]


def is_row(line: str) -> bool:
    """Return True for a line of numbers, whatever a comma is in it, or for one that says that a lead is off."""
    cells = Lines().cells(line)
    return cells == [OFF] or (bool(cells) and all(_value(cell) is not None for cell in cells))


def has_names(line: str) -> bool:
    """Return True if a line can be one of names: words, none of which is a number.

    >>> has_names("time, ecg (mV), Heart Rate"), has_names("12, ecg")
    (True, False)
    """
    cells = _names_in(line)
    return bool(cells) and cells != [OFF] and all(re.match(r"[^\W\d]", cell) for cell in cells)


def _names_in(line: str) -> list[str]:
    """Return the names of a line, which may have blanks within them where another sign parts them.

    >>> _names_in("time; ecg (mV); Heart Rate;"), _names_in("t ecg resp")
    (['time', 'ecg (mV)', 'Heart Rate'], ['t', 'ecg', 'resp'])
    """
    plain = line.strip().strip(",;|")
    return [cell for cell in re.split(r"\s*[,;|\t]\s*" if re.search(r"[,;|\t]", plain) else r"\s+", plain) if cell]


def _joined(line: str) -> str:
    """Return a line without blanks behind labels, and without a delimiter at its end."""
    return re.sub(r"([:=])\s+", r"\1", line.strip().strip(",;|"))


def _unlabelled(line: str) -> str:
    """Return a line without the names before its values.

    >>> _unlabelled("ecg: 0,512, HR: 71")
    '0,512, 71'
    """
    return _LABELS.sub(r"\1", _joined(line))


def _value(cell: str) -> float | None:
    """Return a number, or a time as seconds; ``nan`` and ``inf``, which a sketch prints where it has none, are numbers.

    A time has hours, minutes and seconds: ``1:51`` may be value 51 of channel 1.

    >>> _value("0.5"), _value("17:43:08.123"), _value("1970-01-01T00:00:01"), _value("1:51"), _value("ecg:on")
    (0.5, 63788.123, 1.0, None, None)
    """
    try:
        return float(cell)
    except ValueError:
        found = seconds_of_text(cell) if cell.count(":") >= 2 else None
        return found if isinstance(found, float) else None
