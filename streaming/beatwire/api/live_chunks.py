"""A chunk of ``Live`` as rows: an array, a list, or a table, whose columns have names and perhaps a unit.

In:  a chunk, the names of the leads
Out: float64 or int16 [leads, n]; the unit that the names of the columns state, if they state one
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from beatwire.errors import UserError
from beatwire.recordings.columns.names import UV_PER, unit_of, without_unit
from beatwire.recordings.columns.tables import columns_of, floats
from beatwire.tables import host_array


def rows_of(chunk: Any, leads: Sequence[str], *, named: bool) -> tuple[Any, float | None]:
    """Return a chunk as an array, and microvolts per value by the names of its columns (None: no name has a unit).

    Parameters
    ----------
    chunk
        An array or a list [n] or [leads, n], or a table.
    leads
        Their names: the columns of a table are found by them, with a unit behind or without, or taken in order if no
        column has such a name.
    named
        Whether units in the names count.

    Raises
    ------
    UserError
        It holds no numbers, some leads are among the names of its columns and others are not, or units differ.
    """
    try:
        if hasattr(chunk, "__len__") and not len(chunk):
            return np.zeros((len(leads), 0), np.int16), None
        if getattr(chunk, "ndim", 1) == 2 and chunk.shape[1] == 0:
            return np.zeros((chunk.shape[0], 0), np.int16), None
        columns = columns_of(chunk)
    except UserError as error:
        raise UserError(f"push: {str(error).partition(': ')[2]}") from None
    rows = _columns_of_leads(columns.names, leads) or list(range(len(columns.values)))
    for k in rows:
        if columns.values[k] is None:
            raise UserError(f"push: expected numbers; got {columns.kinds[k]}")
    unit = _unit([columns.names[k] for k in rows]) if named and columns.names else None
    values = [host_array(columns.values[k]) for k in rows]
    if all(v.dtype == np.int16 for v in values):
        return (values[0][None] if len(values) == 1 else host_array(np.stack(values))), unit
    return np.stack([floats(v) for v in values]), unit


def _columns_of_leads(names: Sequence[str], leads: Sequence[str]) -> list[int]:
    """Return the columns of the leads by their names; none if no column has the name of a lead.

    >>> _columns_of_leads(["t", "V1 (mV)", "II (mV)"], ["II", "V1"]), _columns_of_leads(["a", "b"], ["II", "V1"])
    ([2, 1], [])
    """
    place = {without_unit(name): k for k, name in reversed([*enumerate(names)])}
    place |= {name: k for k, name in reversed([*enumerate(names)])}
    missing = [lead for lead in leads if lead not in place]
    if missing and len(missing) < len(leads):
        raise UserError(f"push: expected columns of all leads, {', '.join(leads)}; got none of {', '.join(missing)}")
    return [] if missing else [place[lead] for lead in leads]


def _unit(names: Sequence[str]) -> float | None:
    """Return microvolts per value by the units in names, 0 if they are none of voltage; None: no name has a unit."""
    units = [unit_of(name) for name in names]
    if len(set(units)) > 1:
        got = ", ".join(f"{unit or 'no unit'} in {name!r}" for name, unit in zip(names, units, strict=True))
        raise UserError(f"push: expected columns of one unit (or give units); got {got}")
    return UV_PER.get(units[0], 0.0) if units[0] else None
