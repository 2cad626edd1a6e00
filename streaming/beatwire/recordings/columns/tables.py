"""The columns of numbers in memory: of arrays, series, tables and data frames of any library.

In:  an array [n] or [leads, n], masked or not; a structured array; a mapping of columns; a Series or DataFrame of
     pandas, polars, pyarrow or cuDF; a tensor; a sequence of numbers
Out: :class:`Columns`: each column as int16 or float64 [n], NumPy or CuPy

A value that is masked, None, NA, NaN or infinite is none: NaN, or -32768 in int16. Dates and durations are seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from beatwire.errors import UserError
from beatwire.recordings.arguments import shown
from beatwire.recordings.columns.behaviour import RISING, behaviour
from beatwire.recordings.columns.clocktext import is_date_in_digits, seconds_of
from beatwire.recordings.columns.count import falls_note
from beatwire.recordings.columns.names import Meaning, is_time_name, meaning
from beatwire.recordings.columns.stacked import check_rows
from beatwire.recordings.record import NO_VALUE
from beatwire.records import I64
from beatwire.tables import array_module, host_array, rows_of

_TABLES = ("polars", "pyarrow")  # their tables become those of pandas
_MOST_NAMED = 3  # of values that are no numbers, in an error


@dataclass(frozen=True)
class Columns:
    """Columns of numbers.

    names     of the columns; empty if they have none: rows of an array
    values    int16 or float64 [n] each; None for a column that holds something else
    kinds     what such a column holds, for errors and notes; ``"s"`` for times in seconds; else empty
    index     the times, or the numbers of the rows, that a table has beside its columns, float64 [n]; None if none
    index_kind  as ``kinds``
    whole     the array itself, if it is int16 [leads, n]; None otherwise
    notes     what was assumed of its rows, one sentence each
    """

    names: tuple[str, ...]
    values: tuple[Any, ...]
    kinds: tuple[str, ...]
    index: Any = None
    index_name: str = ""
    index_kind: str = ""
    whole: Any = None
    notes: tuple[str, ...] = ()

    def of_rows(self, rows: I64) -> Columns:
        """Return the same columns with these rows only, in their order."""
        values = tuple(None if v is None else rows_of(v, rows) for v in self.values)
        return replace(self, values=values, whole=None, index=None if self.index is None else rows_of(self.index, rows))


def columns_of(source: Any) -> Columns:
    """Return the columns of numbers in memory.

    Raises
    ------
    UserError
        It is none of these, it has another shape, its columns differ in length, or it holds no numbers.
    """
    source = as_pandas(source)
    if hasattr(source, "columns") and hasattr(source, "iloc"):
        names = [_name_of(name) for name in source.columns]
        return _table(names, [source.iloc[:, k] for k in range(len(names))], source)
    if getattr(getattr(source, "dtype", None), "names", None):
        source = fields_of(source)
    if isinstance(source, Mapping):
        return _table([str(name) for name in source], [_flat(values) for values in source.values()])
    if hasattr(source, "iloc") and hasattr(source, "index"):
        values, kind = _column(source)
        name = "" if source.name is None else str(source.name)
        is_named = meaning(name) in (Meaning.LEAD, Meaning.VOLTAGE)  # another name says little of one column
        check_rows("array", [name], [source])
        named = (name,) if is_named else ()
        index = _index(source)
        return _checked(Columns(named, (values,), (kind,), *index, notes=_falls(*index)), [name or "array"])
    array = as_array(source)
    if array.ndim not in (1, 2):
        raise UserError(f"array: expected the shape [n] or [leads, n]; got {list(array.shape)}")
    rows = [array] if array.ndim == 1 else list(array)
    found = [_column(row) for row in rows]
    whole = array if array.ndim == 2 and all(v is r for (v, _), r in zip(found, rows, strict=True)) else None
    made = Columns((), tuple(v for v, _ in found), tuple(k for _, k in found), whole=whole)
    return _checked(made, [f"lead {k}" for k in range(len(rows))])


def as_pandas(source: Any, also: tuple[str, ...] = ()) -> Any:
    """Convert a table of polars, pyarrow or a library in ``also`` to pandas; any other object is returned unchanged."""
    if type(source).__module__.split(".")[0] in (*_TABLES, *also) and hasattr(source, "to_pandas"):
        return source.to_pandas()
    return source


def as_array(source: Any) -> Any:
    """Return numbers as an array, NumPy (masked too) or CuPy, in place where the library allows it.

    Raises
    ------
    UserError
        It is no array of equal rows.
    """
    library = type(source).__module__.split(".")[0]
    if library == "torch":
        source = source.detach()
        if source.is_sparse:
            source = source.to_dense()
        if source.is_floating_point() and source.element_size() < 4:  # NumPy has no bfloat16
            source = source.float()
        if not source.is_cuda:
            return source.cpu().resolve_conj().resolve_neg().numpy()
        import cupy

        return cupy.from_dlpack(source)
    if library == "cudf":
        import cupy

        if source.has_nulls:
            source = source.astype("float64").fillna(float("nan"))
        return cupy.asarray(source)
    if library == "cupy" or isinstance(source, np.ma.MaskedArray):
        return source
    is_list = hasattr(source, "__len__") and not isinstance(source, str | bytes | bytearray | set | frozenset)
    if not is_list and not hasattr(source, "__array__"):
        raise UserError(f"array: expected an array, a table or a list of numbers; got {shown(source)}")
    try:
        masked = isinstance(source, list | tuple) and any(isinstance(row, np.ma.MaskedArray) for row in source)
        array = np.ma.stack([np.ma.asarray(row) for row in source]) if masked else np.asarray(source)
    except (ValueError, TypeError, OverflowError):  # rows of unequal length
        raise UserError("array: expected rows of equal length, one a lead; got rows of different lengths") from None
    if array.dtype == object and array.ndim == 1 and any(isinstance(row, list | tuple) for row in array[:100]):
        raise UserError("array: expected rows of equal length, one a lead; got rows of different lengths")
    return array


def _column(column: Any) -> tuple[Any, str]:
    """Return a column as int16 or float64 [n], or None; and what it is if it is no signal."""
    if type(column).__module__.startswith("cudf"):
        if column.dtype.kind in "Mm":
            return _column(column.to_pandas())
        return (None, "text") if column.dtype.kind not in "iuf" else _column(as_array(column))
    if isinstance(column, pd.Series):
        return _series(column)
    kind = column.dtype.kind
    if kind == "i" and column.dtype.itemsize == 2:
        column = column.astype(np.int16, copy=False)  # of any order of bytes
    if kind in "iu" and len(column) and column.dtype.itemsize == 8 and is_date_in_digits(str(column[0])):
        return _series(pd.Series(host_array(column)))
    if kind in "iu" and column.dtype == np.int16:
        return (column.filled(NO_VALUE) if isinstance(column, np.ma.MaskedArray) else column), ""
    if kind in "iuf":
        values = column.astype(np.float64, copy=False)
        return (values.filled(np.nan) if isinstance(values, np.ma.MaskedArray) else values), ""
    if kind == "O":
        return _series(pd.Series(np.ma.getdata(column), dtype=object).mask(np.ma.getmaskarray(column), None))
    if kind in "Mm":
        return _series(pd.Series(np.ma.getdata(column)).mask(np.ma.getmaskarray(column)))
    return None, {"b": "true and false", "c": "complex numbers"}.get(kind, "text")


def _series(column: pd.Series) -> tuple[Any, str]:
    """Return a Series of pandas as :func:`_column` does."""
    dtype = column.dtype
    if isinstance(dtype, pd.PeriodDtype):
        column, dtype = column.dt.to_timestamp(), np.dtype("M8[ns]")
    arrow_kind = str(dtype)
    if pd.api.types.is_datetime64_any_dtype(dtype) or arrow_kind.startswith(("timestamp[", "date32", "date64")):
        column = pd.to_datetime(column)
        first = column.min().tz_localize(None)  # NaT if there is none
        of_day_s = 0.0 if pd.isna(first) else (first - first.normalize()).total_seconds()
        return ((column - column.min()).dt.total_seconds() + of_day_s).to_numpy(np.float64), "s"
    if pd.api.types.is_timedelta64_dtype(dtype) or arrow_kind.startswith("duration["):
        return pd.to_timedelta(column).dt.total_seconds().to_numpy(np.float64), "s"
    if len(column) and dtype.kind not in "fb" and is_date_in_digits(str(column.iloc[0])):
        return seconds_of(column.astype(str)), "s"
    if pd.api.types.is_bool_dtype(dtype):
        return None, "true and false"
    if pd.api.types.is_complex_dtype(dtype):
        return None, "complex numbers"
    if pd.api.types.is_numeric_dtype(dtype):
        if dtype == np.int16:
            return column.to_numpy(), ""
        return column.to_numpy(np.float64, na_value=np.nan), ""
    plain = column.astype(object)
    if any(isinstance(value, bool | np.bool_ | complex) for value in plain.iloc[:100]):
        return None, "true and false" if not isinstance(plain.iloc[0], complex) else "complex numbers"
    found = pd.to_numeric(plain, errors="coerce").astype(np.float64)
    if int(found.notna().sum()) >= max(
        1, int(plain.notna().sum()) - int((plain.astype(str).str.lower() == "nan").sum())
    ):
        return found.to_numpy(np.float64), ""
    if not plain.notna().any():
        return found.to_numpy(np.float64), ""
    if isinstance(plain.iloc[0], list | tuple | np.ndarray):
        return None, "lists"
    return (None, "text") if (seconds := seconds_of(plain.astype(str))) is None else (seconds, "s")


def _index(table: Any) -> tuple[Any, str, str]:
    """Return the index of a table as numbers, its name and its kind; None if it only numbers the rows."""
    index = getattr(table, "index", None)
    index = _level(index) if isinstance(index, pd.MultiIndex) else index
    if index is None or type(index).__module__.startswith("cudf") or isinstance(index, pd.RangeIndex):
        return None, "", ""
    values, kind = _column(index.to_series().reset_index(drop=True))
    if values is None:
        return None, "", ""
    return values.astype(np.float64), "index" if index.name is None else str(index.name), kind


def _level(index: pd.MultiIndex) -> pd.Index | None:
    """Return the level of an index that is a clock, by its type or its name; else the last one that rises evenly."""
    levels = [index.get_level_values(k) for k in range(index.nlevels)]
    dated = [level for level in levels if level.dtype.kind in "mM" or isinstance(level.dtype, pd.DatetimeTZDtype)]
    called = [level for level in levels if is_time_name(str(level.name))]
    counts = [
        level for level in levels if level.dtype.kind in "iuf" and behaviour(level.to_numpy(np.float64)) in RISING
    ]
    return next((found[-1] for found in (dated, called, counts) if found), None)


def _falls(index: Any, name: str, kind: str) -> tuple[str, ...]:
    """Return a note about an index that counts rows in another order than theirs."""
    if index is None or kind or is_time_name(name) or behaviour(index) in RISING:
        return ()
    rows = np.flatnonzero(np.diff(index) < 0) + 1
    return (falls_note(name, index, rows),) if len(rows) else ()


def _table(names: list[str], written: list[Any], source: Any = None) -> Columns:
    """Return the columns of a table; ``source`` has its index."""
    if not names:
        raise UserError("table: expected a column of numbers; it has no column")
    found = [_column(column) for column in written]
    index, levels = getattr(source, "index", None), list[Any]()
    if isinstance(index, pd.MultiIndex):
        levels = [index.get_level_values(k).to_series() for k in range(index.nlevels)]
    notes = check_rows("table", [*names, *(str(level.name) for level in levels)], [*written, *levels])
    values, kinds = zip(*found, strict=True)
    found_index = _index(source)
    return _checked(Columns(tuple(names), values, kinds, *found_index, notes=notes + _falls(*found_index)), names)


def _checked(columns: Columns, names: list[str]) -> Columns:
    """Return columns that hold numbers and have one length."""
    kept = [(name, v) for name, v in zip(names, columns.values, strict=True) if v is not None]
    if not kept:
        kinds = zip(names[:_MOST_NAMED], columns.kinds, strict=False)
        got = ", ".join(f"{kind} in {name!r}" for name, kind in kinds)
        raise UserError(f"array: expected numbers; got {got or 'nothing'}")
    lengths = {len(v) for _, v in kept}
    if len(lengths) > 1:
        got = ", ".join(f"{len(v)} in {name!r}" for name, v in kept[:_MOST_NAMED])
        raise UserError(f"array: expected columns of equal length; got {got}")
    if lengths == {0}:
        raise UserError("array: expected samples; got none")
    return columns


def fields_of(table: Any) -> dict[str, Any]:
    """Return the columns of a structured array: a field with several values in a row is as many columns."""
    found: dict[str, Any] = {}
    for name in table.dtype.names:
        values = table[name]
        if values.dtype.names:
            found |= {f"{name}.{key}": column for key, column in fields_of(values).items()}
        elif values.ndim == 2 and values.shape[1] > 1:
            found |= {f"{name} {k}": values[:, k] for k in range(values.shape[1])}
        else:
            found[name] = values[:, 0] if values.ndim == 2 else values
    return found


def _flat(values: Any) -> Any:
    """Return a column of a mapping or of a structured array, [n]."""
    array = values if hasattr(values, "iloc") else as_array(values)
    if array.ndim != 1:
        raise UserError(f"array: expected columns of the shape [n]; got {list(array.shape)}")
    return array


def _name_of(name: Any) -> str:
    """Return the name of a column: of several levels, those that are not empty."""
    return " ".join(str(part) for part in name if str(part)) if isinstance(name, tuple) else str(name)


def floats(column: Any) -> Any:
    """Return a column as float64, NaN where there is no value."""
    if column.dtype != np.int16:
        return column
    xp = array_module(column)
    return xp.where(column == NO_VALUE, np.nan, column.astype(np.float64))
