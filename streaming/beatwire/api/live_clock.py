"""The times in tables that are chunks of ``Live``: where they contradict the count of samples, it is said.

In:  a chunk, and the index of its first sample
Out: a note, where the times from one chunk to the next are not those of the samples between them
State: the times and the indices of the first rows of the last chunk and of one some seconds before
"""

import warnings
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

import numpy as np
import pandas as pd

from beatwire.recordings.columns.names import PER_SECOND, is_time_name, time_unit, unit_of
from beatwire.recordings.columns.tables import as_pandas
from beatwire.recordings.remarks import few

_LEAST_S, _LEAST = 0.1, 0.02  # by which times differ, in seconds and of what the samples last: arrival is not even
_AROUND_S = 10.0  # over which small holes add up


class ChunkClock:
    """Compares the times of chunks with the count of their samples.

    Parameters
    ----------
    fs
        Sampling rate in Hz.
    notes
        Called with each remark, one line.
    """

    def __init__(self, fs: float, notes: Callable[[str], None]) -> None:
        self._fs, self._say = fs, few(notes)
        self._name = ""
        self._before: list[tuple[float, int]] = []  # first rows of a chunk some seconds ago, and of the last one

    def compare(self, chunk: Any, first: int) -> None:
        """Look at the next chunk, whose first sample has this index; arrays and lists have no times."""
        if (
            isinstance(chunk, np.ndarray | list | tuple)
            and getattr(getattr(chunk, "dtype", None), "names", None) is None
        ):
            return
        found = _first_time(_table(chunk), self._fs)
        if found is None:
            return
        name, time_s = found
        if self._name != name:
            self._name, self._before = name, []
        for before_s, before in reversed(self._before):
            by_time, by_count = time_s - before_s, (first - before) / self._fs
            if abs(by_time - by_count) > max(_LEAST_S, _LEAST * by_count):
                self._say(
                    f"from sample {before} to {first} the times of {name!r} advance {by_time:.4g} s, the samples "
                    f"{by_count:.4g} s at {self._fs:g} Hz: samples count (where some are missing, give first)"
                )
                self._before = []
                break
        is_recent = self._before and first - self._before[0][1] < _AROUND_S * self._fs
        self._before = [self._before[0 if is_recent else -1] if self._before else (time_s, first), (time_s, first)]


def _table(chunk: Any) -> Any:
    """Return a chunk as a DataFrame or a Series of pandas; None if it is no table."""
    chunk = as_pandas(chunk, also=("cudf",))
    if isinstance(chunk, Mapping) or getattr(getattr(chunk, "dtype", None), "names", None):
        names = list(chunk) if isinstance(chunk, Mapping) else list(chunk.dtype.names)
        return pd.DataFrame({name: chunk[name] for name in names if is_time_name(str(name))})
    return chunk if isinstance(chunk, pd.DataFrame | pd.Series) else None


def _first_time(table: Any, fs: float) -> tuple[str, float] | None:
    """Return the name of the times of a table, and the first in seconds; None if it has none."""
    if table is None or not len(table):
        return None
    index = table.index
    levels = [index.get_level_values(k) for k in range(index.nlevels)]
    columns = [table.iloc[:, k] for k in range(table.shape[1])] if isinstance(table, pd.DataFrame) else []
    named = [("index" if level.name is None else str(level.name), level) for level in levels]
    named += [(str(column.name), column) for column in columns]
    dated = [(name, times) for name, times in named if _is_dated(times)]
    for name, times in [*dated, *((name, times) for name, times in named if is_time_name(name))]:
        seconds = _seconds(name, times, fs)
        if seconds is not None:
            return name, seconds
    return None


def _is_dated(times: Any) -> bool:
    return bool(pd.api.types.is_datetime64_any_dtype(times.dtype) or pd.api.types.is_timedelta64_dtype(times.dtype))


def _seconds(name: str, times: Any, fs: float) -> float | None:
    """Return the first of some times in seconds; None if it is unknown."""
    values = times.to_series() if isinstance(times, pd.Index) else times
    if pd.api.types.is_timedelta64_dtype(values.dtype):
        found = float(values.iloc[0].total_seconds())
    elif values.dtype.kind == "c":
        found = np.nan
    elif pd.api.types.is_numeric_dtype(values.dtype):
        steps = np.diff(values.to_numpy(np.float64, na_value=np.nan))
        step = float(np.median(steps)) if len(steps) else 0.0
        unit = time_unit(name, unit_of(name), step, fs) if step > 0 else None
        found = float(values.iloc[0]) / PER_SECOND[unit] if unit else np.nan
    else:
        found = _date_s(values.iloc[0])
    return found if np.isfinite(found) else None


def _date_s(value: Any) -> float:
    """Return a date, or a text that is one, in seconds since 1970; NaN if it is none."""
    if not isinstance(value, str | date):
        return np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a day before a month
        found = pd.to_datetime(value, errors="coerce")
    return float(found.timestamp()) if found is not pd.NaT else np.nan
