"""The times in tables that are chunks of ``Live``: where they contradict the count of samples, it is said.

In:  a chunk, and the index of its first sample
Out: a note, where the times from one chunk to the next are not those of the samples between them
State: the times and the indices of the first rows of the last chunk and of one some seconds before

Of a date alone nobody knows whether 05/10 is in May; of two the nearer ones count.
"""

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

import numpy as np
import pandas as pd

from beatwire.recordings.columns.clocktext import seconds_of
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
        self._before: list[tuple[float | str, int]] = []  # first rows of a chunk some seconds ago, and of the last one

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
        name, time = found
        if self._name != name:
            self._name, self._before = name, []
        for time_before, before in reversed(self._before):
            by_time, by_count = _seconds_between(time_before, time), (first - before) / self._fs
            if abs(by_time - by_count) > max(_LEAST_S, _LEAST * by_count):
                self._say(
                    f"from sample {before} to {first} the times of {name!r} advance {by_time:.4g} s, the samples "
                    f"{by_count:.4g} s at {self._fs:g} Hz: samples count (where some are missing, give first)"
                )
                self._before = []
                break
        is_recent = self._before and first - self._before[0][1] < _AROUND_S * self._fs
        self._before = [self._before[0 if is_recent else -1] if self._before else (time, first), (time, first)]


def _table(chunk: Any) -> Any:
    """Return a chunk as a DataFrame or a Series of pandas; None if it is no table."""
    chunk = as_pandas(chunk, also=("cudf",))
    if isinstance(chunk, Mapping) or getattr(getattr(chunk, "dtype", None), "names", None):
        names = list(chunk) if isinstance(chunk, Mapping) else list(chunk.dtype.names)
        return pd.DataFrame({name: chunk[name] for name in names if is_time_name(str(name))})
    return chunk if isinstance(chunk, pd.DataFrame | pd.Series) else None


def _first_time(table: Any, fs: float) -> tuple[str, float | str] | None:
    """Return the name of the times of a table, and the first in seconds, or its text; None if it has none."""
    if table is None or not len(table):
        return None
    index = table.index
    levels = [index.get_level_values(k) for k in range(index.nlevels)]
    columns = [table.iloc[:, k] for k in range(table.shape[1])] if isinstance(table, pd.DataFrame) else []
    named = [("index" if level.name is None else str(level.name), level) for level in levels]
    named += [(str(column.name), column) for column in columns]
    dated = [(name, times) for name, times in named if _is_dated(times)]
    for name, times in [*dated, *((name, times) for name, times in named if is_time_name(name))]:
        time = _time_of(name, times, fs)
        if time is not None:
            return name, time
    return None


def _is_dated(times: Any) -> bool:
    return bool(pd.api.types.is_datetime64_any_dtype(times.dtype) or pd.api.types.is_timedelta64_dtype(times.dtype))


def _time_of(name: str, times: Any, fs: float) -> float | str | None:
    """Return the first of some times in seconds, or its text; None if it is unknown."""
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
        text = str(values.iloc[0]) if isinstance(values.iloc[0], str | date) else ""
        return text if np.isfinite(_seconds_between(text, text)) else None
    return found if np.isfinite(found) else None


def _seconds_between(before: float | str, after: float | str) -> float:
    """Return the seconds from one time to another, numbers or texts; NaN if it is unknown.

    >>> _seconds_between("31/12/26 23:59:59", "01/01/27 00:00:00"), _seconds_between("05/10/26 8:00", "05/11/26 8:00")
    (1.0, 86400.0)
    """
    if isinstance(before, str) or isinstance(after, str):
        found = seconds_of(pd.Series([str(before), str(after)]))
        return np.nan if found is None else float(found[1] - found[0])
    return after - before
