"""The chunks of ``Live`` as rows: arrays, lists, or tables, whose columns have names and perhaps a unit.

In:  chunks; the names of the leads
Out: float64 or int16 [leads, n]; the unit that the names of the columns state, if they state one
State: the names of columns that are taken as the leads in their order, as none has the name of a lead; the least and
       the largest step of each lead in the first samples
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from beatwire.errors import UserError
from beatwire.recordings.columns.behaviour import FEWEST_ROWS
from beatwire.recordings.columns.names import (
    UV_PER,
    Meaning,
    bare_lead,
    is_index_name,
    is_time_name,
    is_unscaled,
    meaning,
    unit_of,
    without_unit,
)
from beatwire.recordings.columns.tables import Columns, columns_of, floats
from beatwire.recordings.record import MAX_LEADS
from beatwire.recordings.remarks import few
from beatwire.recordings.units import unit_note
from beatwire.tables import host_array

_SHOWN = 12  # names in an error
_EVEN = 2.0  # steps of a clock differ by less, as a factor


class ChunkColumns:
    """Finds the leads in the chunks of one stream.

    Parameters
    ----------
    leads
        Their names.
    given
        What the user states of the unit, and microvolts per value by it; None: units in the names of columns count.
    notes
        Called with each remark, one line.
    """

    def __init__(self, leads: Sequence[str], given: tuple[str, float] | None, notes: Callable[[str], None]) -> None:
        self._leads, self._given, self._say = leads, given, few(notes)
        self._taken: tuple[str, ...] = ()
        self._seen, self._least, self._most = 0, np.full(len(leads), np.inf), np.full(len(leads), -np.inf)  # steps
        self._last: tuple[tuple[str, ...], list[int], float | None] = (), [], None  # of a table: names, leads, unit

    def rows_of(self, chunk: Any) -> tuple[Any, float | None]:
        """Return a chunk as an array, and microvolts per value by the names of its columns (None: no name has a unit).

        Parameters
        ----------
        chunk
            An array or a list [n] or [leads, n], or a table. The columns of a table are found by the names of the
            leads, with a unit behind, in any case, or with ``ECG`` or ``lead`` before them. If no column has such a
            name, they are taken in order: all but clocks and counts.

        Raises
        ------
        UserError
            It holds no numbers, its rows are called like leads, some leads are among the names of its columns and
            others are not, or twice, there are more or fewer columns than leads, or units differ.
        """
        if _is_empty(chunk):
            return np.zeros((len(self._leads), 0), np.int16), None
        try:
            if getattr(chunk, "ndim", 1) == 2 and chunk.shape[1] == 0:
                return np.zeros((chunk.shape[0], 0), np.int16), None
            _check_labels(chunk)
            columns = columns_of(chunk)
        except UserError as error:
            raise UserError(f"push: {str(error).partition(': ')[2]}") from None
        names, rows, unit = columns.names, list(range(len(columns.values))), None
        if names:
            rows, unit = self._last[1:] if names == self._last[0] else self._leads_of(columns)
            self._last = names, rows, unit
        for k in rows:
            if columns.values[k] is None:
                raise UserError(f"push: expected numbers; got {columns.kinds[k]}")
        values = [host_array(columns.values[k]) for k in rows]
        are_int16 = all(v.dtype == np.int16 for v in values)
        array = (
            values[0][None]
            if are_int16 and len(values) == 1
            else np.stack(values if are_int16 else [*map(floats, values)])
        )
        self._look_for_clocks(array)
        return array, unit

    def _look_for_clocks(self, array: Any) -> None:
        """Say which leads rise evenly from the first sample on, as a clock or a count does."""
        if self._seen >= FEWEST_ROWS or len(array) != len(self._leads) or array.shape[1] < 2:
            return
        steps = np.diff(array.astype(np.float64), axis=1)
        self._least, self._most = np.minimum(self._least, steps.min(axis=1)), np.maximum(self._most, steps.max(axis=1))
        self._seen += array.shape[1]
        if self._seen >= FEWEST_ROWS:
            for k in np.flatnonzero((self._least > 0) & (self._most < _EVEN * self._least)).tolist():
                self._say(f"{self._leads[k]!r} rises evenly, as a clock or a count: is it a lead?")

    def _leads_of(self, columns: Columns) -> tuple[list[int], float | None]:
        """Return the columns of the leads in a table, and their unit; say what is assumed."""
        rows = self._rows(columns)
        names = [columns.names[k] for k in rows]
        if self._given is None:
            return rows, _unit(names)
        for note in unit_note(*self._given, [(name, unit_of(name)) for name in names]):
            self._say(note)
        return rows, None

    def _rows(self, columns: Columns) -> list[int]:
        """Return the columns of the leads in a table."""
        names, count = columns.names, len(self._leads)
        found = columns_of_leads(names, self._leads) or columns_of_leads(names, self._taken)
        if found:
            return found
        are_clocks = [
            columns.kinds[k] == "s" or is_time_name(name) or (name != "" and is_index_name(name))
            for k, name in enumerate(names)
        ]
        rows = [k for k, is_clock in enumerate(are_clocks) if not is_clock]
        if len(rows) != count:
            got = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
            expected = f"columns of the leads, {', '.join(self._leads)}, or {count} without clocks and counts"
            raise UserError(f"push: expected {expected}; got {got}")
        taken = [names[k] for k in rows]
        self._taken = tuple(taken) if len(set(taken)) == count else ()
        if not all(name.isdecimal() for name in taken) and (count > 1 or _is_other(taken[0], self._leads[0])):
            pairs = ", ".join(f"{name!r} as {lead!r}" for name, lead in zip(taken, self._leads, strict=True))
            self._say(f"columns are taken as the leads in their order: {pairs}")
        return rows


def columns_of_leads(names: Sequence[str], leads: Sequence[str]) -> list[int]:
    """Return the columns of the leads by their names; none if no column has the name of a lead.

    >>> columns_of_leads(["t", "V1 (mV)", "II (mV)"], ["II", "V1"]), columns_of_leads(["a", "b"], ["II", "V1"])
    ([2, 1], [])
    >>> columns_of_leads(["v1", "ECG II"], ["II", "V1"])
    [1, 0]
    """
    found = [_columns_of(names, lead) for lead in leads]
    missing = [lead for lead, rows in zip(leads, found, strict=True) if not rows]
    if missing and len(missing) < len(leads):
        raise UserError(f"push: expected columns of all leads, {', '.join(leads)}; got none of {', '.join(missing)}")
    for lead, rows in zip(leads, found, strict=True):
        if len(rows) > 1:
            got = ", ".join(repr(names[k]) for k in rows[:_SHOWN])
            raise UserError(f"push: expected one column of the lead {lead!r}; got {got}")
    return [] if missing else [rows[0] for rows in found]


def _columns_of(names: Sequence[str], lead: str) -> list[int]:
    """Return the columns of a lead: by its name, else with a unit behind it, else in any style."""
    bare = bare_lead(lead)
    found = [k for k, name in enumerate(names) if name == lead]
    found = found or [k for k, name in enumerate(names) if without_unit(name) == lead]
    return found or [
        k for k, name in enumerate(names) if bare and bare_lead(name) == bare and not is_unscaled("", name)
    ]


def _check_labels(chunk: Any) -> None:
    """Raise UserError if the rows of a table are called like leads: it has to be turned."""
    index = getattr(chunk, "index", None)
    if isinstance(index, pd.Index) and index.dtype == object:
        labels = [label for label in index[:MAX_LEADS] if isinstance(label, str)]
        if len(labels) == len(index) and all(meaning(label) is Meaning.LEAD for label in labels):
            raise UserError(
                f"push: expected a row for each sample; got rows called {', '.join(labels)}: turn the table"
            )


def _is_other(name: str, lead: str) -> bool:
    """Return True if a column is called like another lead than the one it is taken as, or like no lead."""
    found = meaning(name)
    return found is Meaning.OTHER or (found is Meaning.LEAD and "" not in (bare_lead(name), bare_lead(lead)))


def _is_empty(chunk: Any) -> bool:
    """Return True if a chunk has no sample, as an array, a table, or a list or mapping of empty ones."""
    if isinstance(chunk, Mapping | list | tuple):
        return all(map(_is_empty, chunk.values() if isinstance(chunk, Mapping) else chunk))
    return hasattr(chunk, "__len__") and not isinstance(chunk, str) and np.ndim(chunk) > 0 and not len(chunk)


def _unit(names: Sequence[str]) -> float | None:
    """Return microvolts per value by the units in names, 0 if they are none of voltage; None: no name has a unit."""
    units = [unit_of(name) for name in names]
    if len(set(units)) > 1:
        got = ", ".join(f"{unit or 'no unit'} in {name!r}" for name, unit in zip(names, units, strict=True))
        raise UserError(f"push: expected columns of one unit (or give units); got {got}")
    return UV_PER.get(units[0], 0.0) if units[0] else None
