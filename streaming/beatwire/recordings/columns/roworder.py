"""Rows that come twice, or late: each once, in the order of the clock.

In:  the columns of a table, and which of them is its clock or counts its samples
Out: the rows to read, int64 [n], on the host; notes. None: all of them as they are

Rows that share a time come twice only if they are equal in all numbers, and other neighbours hardly ever are: rows of a
coarse clock are not. A row is late only where the rows in the order of the clock are as dense as all others,
and the clock is even: neither jitter nor a clock that was set back is put in order.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from beatwire.recordings.columns.roles import Roles, Table
from beatwire.recordings.columns.timecolumn import risen_times
from beatwire.records import F64, I64
from beatwire.tables import array_module, host_array

_FEWEST_ROWS = 20
_EXAMINED = 65536  # rows that show how often neighbours are equal
_OFTEN = 0.5  # of neighbours are equal: a still signal, in which equal rows say nothing
_MOST_LATE = 0.1  # of the rows
_EVEN = 0.2  # steps: jitter of a clock that shows which rows are late
_LEAST_STEP, _MOST_DENSE = 0.45, 0.2  # steps between rows in order; by so much their density may differ
_BEFORE = 64  # steps: so much earlier than the first row another may be


class Ordered(NamedTuple):
    """The rows to read, in their order; None: all as they are. Notes, one sentence each."""

    rows: I64 | None
    notes: tuple[str, ...] = ()


def row_order(table: Table, roles: Roles) -> Ordered:
    """Return the rows of a table, each once, in the order of its clock or of the count of its samples."""
    k = roles.clock if roles.clock is not None else roles.count
    if k is None or len(table.columns[k]) < _FEWEST_ROWS:
        return Ordered(None)
    values = table.columns[k]
    xp = array_module(values)
    if not bool(xp.isfinite(values).all()) or not bool((xp.diff(values) <= 0).any()):
        return Ordered(None)
    others = [c for j, c in enumerate(table.columns) if j != k and c is not None]
    if _comes_again(cells := host_array(values), others):  # and has not turned, wherever it falls
        found = _ordered(table.names[k], cells, others)
        if found.rows is not None:
            return found
    return _ordered(table.names[k], host_array(risen_times(values, table.names[k], table.unit(k))), others)


def _comes_again(cells: F64, others: Sequence[Any]) -> bool:
    """Return True if rows that share a cell of the clock, ``_FEWEST_ROWS`` or more, are equal in all columns."""
    order: I64 = np.argsort(cells, kind="stable")
    again = np.flatnonzero(np.diff(cells[order]) == 0) + 1
    return (
        len(again) >= _FEWEST_ROWS
        and bool(_equal(others, order[again - 1], order[again]).all())
        and not _is_still(others, cells)
    )


def _ordered(name: str, times: F64, others: Sequence[Any]) -> Ordered:
    """Return the rows of times float64 [n] in order; ``others`` are the columns beside them."""
    order: I64 = np.argsort(times, kind="stable")
    again = np.flatnonzero(np.diff(times[order]) == 0) + 1  # in order, of the rows that share the time before them
    twice = np.zeros(len(times), np.bool_)
    if len(again):
        if not _equal(others, order[again - 1], order[again]).all() or _is_still(others, times):
            return Ordered(None)
        twice[order[again]] = True
    kept = order[~twice[order]]
    late = np.flatnonzero((times < np.maximum.accumulate(times)) & ~twice)
    if len(late) and not _fit(times, kept, late):  # only what comes twice in a row is left out
        twice[order[again]] = order[again] - order[again - 1] == 1
        kept, late = np.flatnonzero(~twice), late[:0]
    notes = []
    for rows, come, done in (
        (np.flatnonzero(twice), "twice", "read once"),
        (late, "late", f"in the order of {name!r}"),
    ):
        if len(rows):
            several = f"{len(rows)} rows come {come}, first row {rows[0] + 1}"
            notes.append(f"{several if len(rows) > 1 else f'row {rows[0] + 1} comes {come}'}: {done}")
    return Ordered(kept if notes else None, tuple(notes))


def _fit(times: F64, kept: I64, late: I64) -> bool:
    """Return True if late rows fit between the others: an even clock, and rows in order as dense as all."""
    steps = np.diff(times[kept])
    step = float(np.median(steps))
    jitter = 1.4826 * float(np.median(np.abs(steps - step)))
    if jitter > _EVEN * step or len(late) > _MOST_LATE * len(times) or times[kept[0]] < times[0] - _BEFORE * step:
        return False
    moved = np.flatnonzero(kept != np.sort(kept))
    around = np.unique(np.clip(np.r_[moved - 1, moved], 0, len(steps) - 1))
    dense = len(around) * step / float(steps[around].sum())
    return bool(steps[around].min() >= _LEAST_STEP * step and abs(dense - 1) <= _MOST_DENSE)


def _equal(columns: Sequence[Any], a: I64, b: I64) -> Any:
    """Return which rows ``a`` are equal to rows ``b`` in all columns; NaN is equal to NaN."""
    equal = np.ones(len(a), np.bool_)
    for column in columns:
        xp = array_module(column)
        one, other = column[xp.asarray(a)], column[xp.asarray(b)]
        equal &= host_array((one == other) | ((one != one) & (other != other)))
    return equal


def _is_still(columns: Sequence[Any], times: F64) -> bool:
    """Return True if neighbours of different times are often equal, in the first rows."""
    first = np.flatnonzero(np.diff(times[:_EXAMINED]) != 0)
    return len(first) == 0 or float(_equal(columns, first, first + 1).mean()) > _OFTEN
