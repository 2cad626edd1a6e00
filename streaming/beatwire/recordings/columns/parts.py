"""A clock in two columns: whole seconds, and the milliseconds, micro- or nanoseconds of each second.

In:  a table
Out: which two columns these are; the table with parts of seconds in the first of them. The second is no clock then
"""

from dataclasses import replace
from typing import Any

from beatwire.recordings.columns.names import PER_SECOND, is_time_name
from beatwire.recordings.columns.roles import Table
from beatwire.tables import array_module

_PARTS = ("ms", "us", "ns")
_MOST_STRAY = 0.2  # of the places where the parts fall: there the seconds have not risen, as rows come late


def split_clock(table: Table) -> tuple[int, ...]:
    """Return the columns of whole seconds and of their parts; none if a table has no such columns."""
    for k, parts in enumerate(table.columns):
        if parts is None or table.unit(k) not in _PARTS:
            continue
        per = PER_SECOND[table.unit(k)]
        for j, seconds in enumerate(table.columns):
            is_clock = table.unit(j) == "s" or (not table.unit(j) and is_time_name(table.names[j]))
            if j != k and is_clock and seconds is not None and len(seconds) and _belong(seconds, parts, per):
                return j, k
    return ()


def with_parts(table: Table, columns: tuple[int, ...]) -> Table:
    """Return a table whose whole seconds have their parts; ``columns`` are of :func:`split_clock`.

    >>> import numpy as np
    >>> times = Table(("time", "ms"), [np.array([7.0, 7.0, 7.0, 8.0]), np.array([0.0, 400.0, 800.0, 200.0])])
    >>> with_parts(times, split_clock(times)).columns[0].tolist()
    [7.0, 7.4, 7.8, 8.2]
    """
    if not columns:
        return table
    j, k = columns
    joined = table.columns[j] + table.columns[k] / PER_SECOND[table.unit(k)]
    sensors = list(table.sensors or ("",) * len(table.names))
    sensors[k] = "parts of seconds"
    return replace(table, columns=[*table.columns[:j], joined, *table.columns[j + 1 :]], sensors=tuple(sensors))


def _belong(seconds: Any, parts: Any, per: float) -> bool:
    """Return True if whole seconds change where their parts begin again, and in few other rows."""
    xp = array_module(seconds)
    if not bool((seconds == xp.rint(seconds)).all()) or not bool(((parts >= 0) & (parts < per)).all()):
        return False
    changed, again = xp.diff(seconds) != 0, xp.diff(parts) < -0.5 * per  # at midnight seconds fall
    falls = int(again.sum())
    return 0 < 2 * int(changed.sum()) < len(changed) and 0 < (1 - _MOST_STRAY) * falls <= int((again & changed).sum())
