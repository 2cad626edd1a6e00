"""Columns and tables of either backend, and the RR statistics of a table of beats."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa

from beatwire.records import F64, I64
from beatwire.tables.arrays import array_module, host_array

Column: TypeAlias = Any  # float64 [n], NumPy or CuPy; or a pandas Series, if it holds text


def numbers(column: Column) -> F64:
    """Return a column of numbers as an array, NumPy or CuPy."""
    values: F64 = column.to_numpy(np.float64) if isinstance(column, pd.Series) else column
    return values


def rows_of(column: Column, rows: I64) -> Column:
    """Return rows of a column, in their order."""
    if isinstance(column, pd.Series):
        return column.iloc[rows].reset_index(drop=True)
    return column[array_module(column).asarray(rows)]


def frame(columns: Mapping[str, Any], xp: Any = np) -> Any:
    """Return columns of equal length as a DataFrame: pandas, or cuDF for CuPy; arrays on the device are not copied."""
    if xp is np:
        return pd.DataFrame(dict(columns), copy=False)
    import cudf

    return cudf.DataFrame(dict(columns))


def arrow(columns: Mapping[str, Any]) -> pa.Table:
    """Return columns of equal length as an Arrow table; NaN becomes null."""
    arrays = {}
    for name, values in columns.items():
        host = host_array(values)
        arrays[name] = pa.array(host, from_pandas=host.dtype.kind == "f")
    return pa.table(arrays)


def rr_statistics(stream: Any, rr_ms: Any, xp: Any = np) -> Any:
    """Return the RR statistics of each stream.

    Definitions as in the standards of the Task Force of the ESC and NASPE, Circulation 1996;93:1043-65, but over all
    RR intervals, those of ectopic beats included.

    Parameters
    ----------
    stream : [b]
        The stream of each beat; the beats of a stream are in order of time.
    rr_ms : float [b]
        The RR interval before each beat in milliseconds, NaN where there is none.
    xp
        The library of both arrays.

    Returns
    -------
    DataFrame
        One row per stream, in ascending order: ``beats``; ``mean_rr_ms``, ``median_rr_ms``; ``sdnn_ms``, the standard
        deviation; ``rmssd_ms``, the root mean square of the differences of successive intervals; ``pnn50``, the
        percentage of these differences above 50 ms.
    """
    table = frame({"stream": stream, "rr_ms": rr_ms}, xp)
    change = table.groupby("stream")["rr_ms"].diff()
    table["square"] = change * change
    table["above_50"] = (table["square"] > 2500.0).astype("float64").where(table["square"] >= 0.0)
    by_stream = table.groupby("stream", sort=True)
    interval, mean = by_stream["rr_ms"], by_stream[["square", "above_50"]].mean()
    columns = {
        "beats": by_stream.size(), "mean_rr_ms": interval.mean(), "median_rr_ms": interval.median(),
        "sdnn_ms": interval.std(), "rmssd_ms": mean["square"] ** 0.5, "pnn50": 100.0 * mean["above_50"],
    }  # fmt: skip
    return frame(columns, xp)
