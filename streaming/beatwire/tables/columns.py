"""Columns and tables of either backend: which library they are of, and what is told of a table of beats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

Column = Any  # float64 [n] of xp, or a pandas Series


def library(backend: Any) -> Any:
    """Return the array library of a backend: NumPy, or CuPy on a GPU."""
    if backend.name == "cpu":
        return np
    import cupy

    return cupy


def array_module(array: Any) -> Any:
    """Return NumPy or CuPy: where an array lives."""
    if isinstance(array, np.ndarray):
        return np
    import cupy

    return cupy.get_array_module(array)


def host_array(array: Any) -> Any:
    """Return an array as NumPy's, brought from the device where it is there."""
    return np.asarray(array.get() if hasattr(array, "__cuda_array_interface__") else array)


def numbers(column: Column) -> Any:
    """Return a column of numbers as an array."""
    return column.to_numpy(np.float64) if isinstance(column, pd.Series) else column


def frame(columns: Mapping[str, Any], xp: Any = np) -> Any:
    """Return columns of one length as a table of the backend: pandas, or cuDF without a copy of what is there."""
    if xp is np:
        return pd.DataFrame(dict(columns), copy=False)
    import cudf

    return cudf.DataFrame(dict(columns))


def arrow(columns: Mapping[str, Any]) -> pa.Table:
    """Return columns as an Arrow table; NaN stands for no value and becomes null."""
    made = {}
    for name, values in columns.items():
        host = host_array(values)
        made[name] = pa.array(host, from_pandas=host.dtype.kind == "f")
    return pa.table(made)


def rr_statistics(stream: Any, rr_ms: Any, xp: Any = np) -> Any:
    """Tell of each stream how its heart beats: a row a stream, in order of ``stream``.

    Parameters
    ----------
    stream : [b]
        Whose beat it is; those of a stream in order of time.
    rr_ms : float [b]
        The interval before each beat, NaN where there is none.

    Returns
    -------
    table
        ``beats``; ``mean_rr_ms``, ``median_rr_ms``, ``sdnn_ms`` (their standard deviation), ``rmssd_ms`` (root mean
        square of the change from one interval to the next), ``pnn50`` (per cent of changes beyond 50 ms). All
        intervals count, those of ectopic beats too.
    """
    table = frame({"stream": stream, "rr_ms": rr_ms}, xp)
    change = table.groupby("stream")["rr_ms"].diff()
    table["square"] = change * change
    table["beyond"] = (table["square"] > 2500.0).astype("float64").where(table["square"] >= 0.0)
    by_stream = table.groupby("stream", sort=True)
    interval, mean = by_stream["rr_ms"], by_stream[["square", "beyond"]].mean()
    columns = {
        "beats": by_stream.size(), "mean_rr_ms": interval.mean(), "median_rr_ms": interval.median(),
        "sdnn_ms": interval.std(), "rmssd_ms": mean["square"] ** 0.5, "pnn50": 100.0 * mean["beyond"],
    }  # fmt: skip
    return frame(columns, xp)
