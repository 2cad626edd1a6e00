"""Objects of a JSON document as the rows of a table: packets, their leads and their counts."""

from typing import Any

import numpy as np

from beatwire.errors import UserError
from beatwire.recordings.columns.names import is_time_name
from beatwire.recordings.record import MAX_LEADS

_LARGER = 1.5  # than the steps of one lead are those to another one


def counted(columns: dict[str, list[Any]], lengths: list[int], samples: list[str]) -> dict[str, list[Any]]:
    """Return the columns of packets, in which a number of each packet, or of its first sample, counts."""
    found: dict[str, list[Any]] = {}
    first = np.cumsum([0, *lengths[:-1]])
    for name, values in columns.items():
        each = [values[k] for k in first]
        if name not in samples and not is_time_name(name) and all(type(one) is int for one in each):
            step = float(np.median(np.diff(each)))
            if step == np.median(lengths):  # of its first sample
                within = np.arange(len(values)) - np.repeat(first, lengths)
                found[f"sample {name}"] = (np.asarray(values) + within).tolist()
                continue
            name = "packet" if step == 1 and "packet" not in columns else name
        found[name] = values
    return found


def turned(where: str, rows: list[dict[str, Any]], leads: list[str] | None) -> set[str]:
    """Return the names of lists of lists in packets of which each is a moment: the more ones, unless names say so.

    Raises
    ------
    UserError
        There are few of either, and the numbers change less from lead to lead than from moment to moment.
    """
    found = set()
    for name, value in rows[0].items():
        if not _is_nested(value):
            continue
        shape = len(value), len(value[0])
        is_named = len(leads or ()) in shape
        is_turned = shape[1] == len(leads or ()) if is_named else shape[0] > shape[1]
        found |= {name} if is_turned else set()
        if not is_named and min(shape) > 1 and max(shape) <= MAX_LEADS:
            lists = [row[name] for row in rows if _is_nested(row.get(name))]
            alike = [one for one in lists if len(one) == shape[0] and all(len(each) == shape[1] for each in one)]
            over = [change_along(alike, axis) for axis in (1, 2)]
            if over[not is_turned] > over[is_turned]:
                got = f"{shape[0]} lists of {shape[1]}"
                raise UserError(f"{where}: expected the names of the leads, as 'leads', beside {name!r}; got {got}")
    return found


def _is_nested(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, list) for one in value)


def change_along(lists: Any, axis: int) -> float:
    """Return how much numbers, [..., lists, n], change from one to the next along an axis; 0 if they are none."""
    try:
        steps = np.abs(np.diff(np.array(lists, np.float64), axis=axis))
    except (ValueError, TypeError):
        return 0.0
    known = steps[np.isfinite(steps)]
    return float(known.mean()) if len(known) else 0.0


def moments_of(rows: list[dict[str, Any]], lists: list[str]) -> set[str]:
    """Return the names of lists in rows of which each is a moment: its few numbers are leads, not samples of one.

    From row to row they change less than within a row.

    >>> moments_of([{"x": [1, 50]}, {"x": [2, 51]}, {"x": [3, 52]}], ["x"])
    {'x'}
    """
    found = set()
    for name in lists:
        if _is_nested(rows[0].get(name)):
            continue
        written = [row.get(name) for row in rows]
        lengths = {len(one) if isinstance(one, list) else 0 for one in written}
        if len(lengths) == 1 and 1 < lengths.pop() <= MAX_LEADS:
            within, between = (change_along([written], axis) for axis in (2, 1))
            found |= {name} if within > _LARGER * between > 0 else set()
    return found


def with_leads(where: str, row: dict[str, Any], leads: list[str] | None, moments: set[str]) -> dict[str, Any]:
    """Return a packet whose list of lists of samples, one a lead or one a moment, is a list a lead; texts left out."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, list) and name in moments and not isinstance(value[0], list):
            names = leads if leads and len(leads) == len(value) else [f"{name} {k}" for k in range(len(value))]
            found |= dict(zip(names, value, strict=True))
        elif isinstance(value, list) and value and isinstance(value[0], list):
            count, length = len(value), len(value[0])
            if count == length or min(count, length) > MAX_LEADS or any(len(one) != length for one in value):
                raise UserError(f"{where}: expected a list for each lead in {name!r}; got {count} lists of {length}")
            columns = value if name not in moments else [list(column) for column in zip(*value, strict=True)]
            names = leads if leads and len(leads) == len(columns) else [f"{name} {k}" for k in range(len(columns))]
            found |= dict(zip(names, columns, strict=True))
        elif not (isinstance(value, list) and value and isinstance(value[0], str)):
            found[name] = value
    return found
