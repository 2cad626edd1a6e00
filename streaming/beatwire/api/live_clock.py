"""The times and counts in tables that are chunks of ``Live``: where they contradict the count of samples, it is said.

In:  a chunk, and the index of its first sample
Out: a note, where the times from one chunk to the next, or within one, are not those of the samples between them
State: the times and the indices of the first rows of the last chunk and of one some seconds before

Times may be whole seconds. Of a date alone nobody knows whether 05/10 is in May; of two the nearer ones count.
"""

import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from beatwire.api.live_count import HINT, ChunkCount
from beatwire.recordings.columns.clocktext import seconds_of
from beatwire.recordings.columns.names import PER_SECOND, is_index_name, is_time_name, time_unit, unit_of
from beatwire.recordings.columns.tables import as_pandas
from beatwire.recordings.remarks import few
from beatwire.records import F64

_LEAST_S, _LEAST = 0.1, 0.02  # by which times differ, in seconds and of what the samples last: arrival is not even
_FRACTION = re.compile(r":\d\d[.,]\d*[1-9]")  # of a second
_AROUND_S = 10.0  # over which small holes add up


class _Times(NamedTuple):
    """The times of a chunk.

    name       of the column or the index
    begin      the first time, in seconds, or its text
    since_s    seconds of each row since the first one; of texts those of the first two and the last
    """

    name: str
    begin: float | str
    since_s: F64

    @property
    def end_s(self) -> float:
        """Seconds from the first row to the last one."""
        return float(self.since_s[-1])

    @property
    def rounded_s(self) -> float:
        """Seconds by which a time may be early: 1 if all are written without fractions of a second, else 0."""
        is_whole = not _FRACTION.search(self.begin) if isinstance(self.begin, str) else self.begin % 1.0 == 0
        return 1.0 if is_whole and bool((self.since_s % 1.0 == 0).all()) else 0.0

    @property
    def fall_s(self) -> float:
        """How far a row is before one above it."""
        known = self.since_s[np.isfinite(self.since_s)]
        return float((np.maximum.accumulate(known) - known).max(initial=0.0))


class ChunkClock:
    """Compares the times and counts of chunks with the count of their samples.

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
        self._rounded_s = 1.0  # a clock that once had a part of a second has it always
        self._count = ChunkCount(self._say)

    def compare(self, chunk: Any, first: int) -> None:
        """Look at the next chunk, whose first sample has this index; arrays and lists have no times."""
        if (
            isinstance(chunk, np.ndarray | list | tuple)
            and getattr(getattr(chunk, "dtype", None), "names", None) is None
        ):
            return
        table = _table(chunk)
        if table is None or not len(table):
            return
        self._count.compare(table, first)
        found = _times(table, self._fs)
        if found is None:
            return
        if self._name != found.name:
            self._name, self._before = found.name, []
            self._rounded_s = 1.0
        time, rounded_s = found.begin, min(self._rounded_s, found.rounded_s)
        self._rounded_s = rounded_s
        for time_before, before in reversed(self._before):
            if self._differ(before, first, _seconds_between(time_before, time), rounded_s):
                self._before = []
                break
        is_recent = self._before and first - self._before[0][1] < _AROUND_S * self._fs
        self._before = [self._before[0 if is_recent else -1] if self._before else (time, first), (time, first)]
        last = first + len(table) - 1
        if found.fall_s > _LEAST_S:
            self._say(
                f"from sample {first} to {last} the times of {found.name!r} fall by {found.fall_s:.3g} s: rows are "
                "read in their order"
            )
            self._before = []
        elif self._differ(first, last, found.end_s, rounded_s):
            self._before = [] if isinstance(time, str) else [(time + found.end_s, last)]

    def _differ(self, before: int, after: int, by_time: float, rounded_s: float) -> bool:
        """Return True if times and count disagree about the seconds between two samples, and say so."""
        by_count = (after - before) / self._fs
        differ = abs(by_time - by_count) > max(_LEAST_S, _LEAST * by_count) + rounded_s
        if differ:
            self._say(
                f"from sample {before} to {after} the times of {self._name!r} advance {by_time:.4g} s, the samples "
                f"{by_count:.4g} s at {self._fs:g} Hz: {HINT}"
            )
        return differ


def _table(chunk: Any) -> Any:
    """Return a chunk as a DataFrame or a Series of pandas; None if it is no table."""
    chunk = as_pandas(chunk, also=("cudf",))
    if isinstance(chunk, Mapping) or getattr(getattr(chunk, "dtype", None), "names", None):
        names = list(chunk) if isinstance(chunk, Mapping) else list(chunk.dtype.names)
        return pd.DataFrame({n: chunk[n] for n in names if is_time_name(str(n)) or is_index_name(str(n))})
    return chunk if isinstance(chunk, pd.DataFrame | pd.Series) else None


def _times(table: Any, fs: float) -> _Times | None:
    """Return the times of a table; None if it has none."""
    index = table.index
    levels = [index.get_level_values(k) for k in range(index.nlevels)]
    columns = [table.iloc[:, k] for k in range(table.shape[1])] if isinstance(table, pd.DataFrame) else []
    named = [("index" if level.name is None else str(level.name), level) for level in levels]
    named += [(str(column.name), column) for column in columns]
    dated = [(name, times) for name, times in named if _is_dated(times)]
    for name, times in [*dated, *((name, times) for name, times in named if is_time_name(name))]:
        found = _times_of(name, times.to_series() if isinstance(times, pd.Index) else times, fs)
        if found is not None:
            return found
    return None


def _is_dated(times: Any) -> bool:
    return bool(pd.api.types.is_datetime64_any_dtype(times.dtype) or pd.api.types.is_timedelta64_dtype(times.dtype))


def _times_of(name: str, values: Any, fs: float) -> _Times | None:
    """Return times as they are in a column; None if the first one is unknown."""
    if pd.api.types.is_timedelta64_dtype(values.dtype):
        since = values.dt.total_seconds().to_numpy(np.float64)
        begin: float | str = float(since[0])
    elif values.dtype.kind == "c":
        return None
    elif pd.api.types.is_numeric_dtype(values.dtype):
        numbers = values.to_numpy(np.float64, na_value=np.nan)
        steps = np.diff(np.sort(numbers))
        step = float(np.median(steps)) if len(steps) else 0.0
        unit = time_unit(name, unit_of(name), step, fs) if step > 0 else None
        if unit is None:
            return None
        since = numbers / PER_SECOND[unit]
        begin = float(since[0])
    else:
        begin, end = (str(v) if isinstance(v, str | date) else "" for v in (values.iloc[0], values.iloc[-1]))
        if _is_dated(values):
            since = (values - values.iloc[0]).dt.total_seconds().to_numpy(np.float64)
        else:
            second = values.iloc[min(1, len(values) - 1)]
            since = np.array([0.0, _seconds_between(begin, str(second)), _seconds_between(begin, end)])
        return _Times(name, begin, since) if np.isfinite(_seconds_between(begin, begin)) else None
    return _Times(name, begin, since - begin) if np.isfinite(begin) else None


def _seconds_between(before: float | str, after: float | str) -> float:
    """Return the seconds from one time to another, numbers or texts; NaN if it is unknown.

    >>> _seconds_between("31/12/26 23:59:59", "01/01/27 00:00:00"), _seconds_between("05/10/26 8:00", "05/11/26 8:00")
    (1.0, 86400.0)
    """
    if isinstance(before, str) or isinstance(after, str):
        found = seconds_of(pd.Series([str(before), str(after)]))
        return np.nan if found is None else float(found[1] - found[0])
    return after - before
