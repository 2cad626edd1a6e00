"""Tables whose rows are not samples: a row for each lead or recording, or recordings one after the other.

In:  the columns of a table as they were read, and their names
Out: an error for rows of several leads, which no column of numbers tells apart, and for rows that hold the samples of a
     recording, or of several that take turns; a note for rows of several recordings one after the other

A column tells the rows of leads apart if its values are names of leads and signals, if it is called like a lead or a
channel and has few values, or if its values take turns row by row and another column is the same in each turn, as a
time is.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from beatwire.errors import UserError
from beatwire.recordings.columns.names import Meaning, is_quantity, meaning, without_unit
from beatwire.tables import host_array

_LEADS = {
    "lead", "leads", "leadname", "leadid", "channel", "channels", "channelname", "channelid", "chan", "ch", "signal",
    "signalname", "signame", "sensor", "sensorname", "variable", "derivation", "dérivation", "derivación", "ableitung",
    "kanal", "electrode", "elektrode",
}  # fmt: skip
_RECORDINGS = {
    "subject", "subjectid", "subj", "patient", "patientid", "participant", "participantid", "person", "personid",
    "record", "recordid", "recordname", "recording", "recordingid", "file", "filename", "study", "studyid", "ecgid",
    "id", "device", "deviceid", "devicename", "serialnumber", "mac", "macaddress", "bed", "bedid",
}  # fmt: skip
_FEWEST_ROWS = 20
_FEWEST_SAMPLES = 50  # in one cell: a second at the lowest rate
_MOST_VALUES = 64
_EXAMINED = 4096  # rows that show whether a column has few values
_RARELY = 0.02  # of the rows: a recording lasts longer
_SELDOM = 0.1  # of the rows: what a column called like a lead does not exceed, if it is no signal
_AGAIN = 2  # times that each recording begins: then their rows take turns
_FILLED = 0.9  # of the rows have a label; a remark stands in few
_SHOWN = 4  # values in a message


def check_rows(where: str, names: Sequence[str], columns: Sequence[Any]) -> tuple[str, ...]:
    """Return notes about rows of several recordings.

    Parameters
    ----------
    where
        The file, for error messages.
    names, columns
        Of the table; a column is an array or a Series [n] of numbers or text.

    Raises
    ------
    UserError
        There is a row for each lead, or for each recording, or rows of several recordings take turns.

    >>> check_rows("x.csv", ["subject", "ecg"], [np.repeat([1.0, 2.0], 100), np.zeros(200)])
    ("column 'subject' changes 1 time: the rows of 2 are read as one recording",)
    """
    notes: list[str] = []
    columns = [_by_rows(column) for column in columns]
    for name, column in zip(names, columns, strict=True):
        called = "".join(letter for letter in without_unit(name).casefold() if letter.isalnum())
        is_text = column.dtype.kind not in "biufcmM"
        if is_text and (most := _longest_cell(column)) is not None:
            if most >= _FEWEST_SAMPLES:
                got = f"{most} in one row of column {name!r}"
                raise UserError(f"{where}: expected a row for each sample; got {got}: give one recording of it")
            continue
        if len(column) < _FEWEST_ROWS or not (is_text or column.dtype.kind in "iuf"):
            continue
        if called in _RECORDINGS:
            codes, values = _coded(column)
            changes = int(np.count_nonzero(np.diff(codes)))
            if 1 < len(values) <= _MOST_VALUES and changes > _AGAIN * len(values) and _is_filled(codes):
                got = f"those of {len(values)}, by column {name!r} ({_listed(values)})"
                raise UserError(f"{where}: expected rows of one recording; got {got}: give one recording of it")
            if 0 < changes < _RARELY * len(codes):
                times = f"{changes} time{'s'[: changes > 1]}"
                notes.append(f"column {name!r} changes {times}: the rows of {len(values)} are read as one recording")
        elif (is_text or called in _LEADS or _turn(column) is not None) and _has_few_values(column):
            codes, values = _coded(column)
            if _tells_leads_apart(name, called in _LEADS, is_text, codes, values, column, columns):
                got = f"a row for each, by column {name!r} ({_listed(values)})"
                raise UserError(f"{where}: expected a column for each lead; got {got}: bring it to columns (pivot)")
    return tuple(notes)


def _by_rows(column: Any) -> Any:
    """Return a column as an array, or as a Series whose index counts its rows."""
    if type(column).__module__.startswith("cudf"):
        return (
            column.to_pandas().reset_index(drop=True) if column.dtype.kind not in "iuf" else column.to_cupy(na_value=0)
        )
    column = column.reset_index(drop=True) if isinstance(column, pd.Series) else column
    is_turned = isinstance(column.dtype, np.dtype) and not column.dtype.isnative
    return column.astype(column.dtype.newbyteorder("=")) if is_turned else column


def _longest_cell(column: Any) -> int | None:
    """Return the most values that a cell holds, of some rows; None if cells are single values."""
    cells = [cell for cell in column[:_FEWEST_ROWS] if isinstance(cell, list | tuple | dict | set | np.ndarray)]
    return max((len(cell) for cell in cells if getattr(cell, "ndim", 1)), default=0) if cells else None


def _tells_leads_apart(
    name: str, is_called: bool, is_text: bool, codes: Any, values: Sequence[Any], column: Any, columns: Sequence[Any]
) -> bool:
    """Return True if a column with few values says of which lead, or signal, its row is."""
    if not 2 <= len(values) <= _MOST_VALUES or not _is_filled(codes):
        return False
    if is_text and meaning(name) is not Meaning.OTHER and _are_signals(values):
        return True
    if is_called:
        changes = int(np.count_nonzero(np.diff(codes)))
        return _period(codes) == len(values) or changes < _SELDOM * len(codes)
    turn = _period(codes) if is_text else _turn(column)
    return turn is not None and any(_is_equal_in_turns(other, turn) for other in columns if other is not column)


def _are_signals(values: Sequence[Any]) -> bool:
    """Return True if all values are names of leads or of other signals, and one is that of a lead."""
    called = [meaning(str(value)) for value in values]
    others = [str(value) for value, of in zip(values, called, strict=True) if of is not Meaning.LEAD]
    return Meaning.LEAD in called and all(map(is_quantity, others))


def _coded(column: Any) -> tuple[Any, list[Any]]:
    """Return the number of the value of each row, -1 where there is none, and the values."""
    series = column if isinstance(column, pd.Series) else pd.Series(host_array(column))
    codes, values = pd.factorize(series)
    return codes, list(values)


def _has_few_values(column: Any) -> bool:
    """Return True if a column may have few values, by some of its rows."""
    some = column[:: max(1, len(column) // _EXAMINED)]
    series = some if isinstance(some, pd.Series) else pd.Series(host_array(some))
    return int(series.nunique()) <= _MOST_VALUES


def _period(codes: Any) -> int | None:
    """Return after how many rows the values of a column begin again, in all of its rows; None if they do not."""
    again = np.flatnonzero(codes[1 : _MOST_VALUES + 1] == codes[0])
    period = int(again[0]) + 1 if len(again) else 0
    return period if period > 1 and bool((codes[period:] == codes[:-period]).all()) else None


def _turn(column: Any) -> int | None:
    """Return after how many rows whole numbers begin again, in all rows; None if they do not."""
    first = host_array(column[: 2 * _MOST_VALUES])
    if not bool(np.isfinite(first).all()) or bool((first != np.rint(first)).any()) or _period(first) is None:
        return None
    return _period(host_array(column))


def _is_equal_in_turns(column: Any, turn: int) -> bool:
    """Return True if a column of numbers has one value in all rows of a turn, and mostly another one in the next."""
    if len(column) < 4 * turn:
        return False
    values = host_array(column) if column.dtype.kind in "iuf" else _coded(column)[0]
    rows = values[: len(values) // turn * turn].reshape(-1, turn)
    return bool((rows == rows[:, :1]).all()) and float((np.diff(rows[:, 0]) != 0).mean()) > 0.5


def _is_filled(codes: Any) -> bool:
    """Return True if most rows have a value."""
    return int(np.count_nonzero(codes >= 0)) >= _FILLED * len(codes)


def _listed(values: Sequence[Any]) -> str:
    return ", ".join(map(_shown, values[:_SHOWN])) + (", ..." if len(values) > _SHOWN else "")


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float | np.floating) else str(value)[:20]
