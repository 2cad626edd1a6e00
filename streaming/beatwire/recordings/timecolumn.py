"""The time column of a table: its unit, the sampling rate, and the gaps.

In:  a column of numbers, clock times (``0:01.004``) or ISO 8601 dates
Out: the rate in Hz; int64 [rows], the sample index of each row, if there are gaps

The unit is the one that the column names, or the only one that gives a sampling rate of 50-4000 Hz: in that range the
steps of seconds, milliseconds, microseconds and nanoseconds do not overlap.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from beatwire.errors import UserError
from beatwire.recordings.layout import unit_of
from beatwire.recordings.record import MAX_RATE_HZ, MIN_RATE_HZ
from beatwire.records import F64, I64
from beatwire.tables import Column, array_module

TIME_NAMES = (
    "time", "times", "t", "timestamp", "timestamps", "time_s", "time_ms", "time_us", "t_s", "t_ms", "seconds",
    "milliseconds", "elapsed time", "elapsed_time", "elapsed", "datetime", "date_time", "time stamp", "ts",
)  # fmt: skip
INDEX_NAMES = ("", "index", "sample", "samples", "sample #", "sample number", "sample_number", "#", "n", "unnamed: 0")

_PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
_UNIT_SUFFIXES = "s|sec|seconds|ms|us|ns"
_SYNONYMS = {"sec": "s", "seconds": "s", "second": "s", "milliseconds": "ms", "µs": "us", "μs": "us", "msec": "ms"}
_LONGEST_GAP_S = 86400.0  # a day without samples is another recording
_COMMON_HZ = (100, 125, 128, 200, 250, 256, 257, 300, 360, 400, 480, 500, 512, 600, 977, 1000, 1024, 2000, 2048)


def times_s(where: str, column: Column, name: str, unit: str, fs: float | None) -> F64 | None:
    """Return a time column in seconds, or None if it only counts samples.

    Parameters
    ----------
    where
        The file, for error messages.
    column, name, unit
        The column, its name, and its cell in the row of units.
    fs
        The sampling rate that the user gave, in Hz. About 1000 Hz, a column that rises by 1 is in milliseconds.

    Raises
    ------
    UserError
        A time is missing or cannot be read, or the times do not rise.
    """
    values = _as_numbers(where, column, name)
    if len(values) < 2:
        raise UserError(f"{where}: expected at least 2 rows; got {len(values)}")
    xp = array_module(values)
    steps = xp.diff(values)
    if not bool(xp.all(steps >= 0)) or values[-1] == values[0]:
        k = int(xp.argmin(steps)) if xp.isfinite(steps).all() else int(xp.flatnonzero(~xp.isfinite(steps))[0])
        got = f"{float(values[k]):.10g} then {float(values[k + 1]):.10g} (rows {k + 1} and {k + 2})"
        raise UserError(f"{where}: expected times that rise in column {name!r}; got {got}")
    if column.dtype.kind != "f":
        return values
    step = float(xp.median(steps)) or float(values[-1] - values[0]) / (len(values) - 1)
    named = _named_unit(name, unit)
    if named is None and step == 1 and bool(xp.all(steps == xp.rint(steps))) and not (fs and abs(fs - 1000) < 1):
        return None
    if named is None:
        fits = [u for u, per in _PER_SECOND.items() if MIN_RATE_HZ * 0.9 <= per / step <= MAX_RATE_HZ * 1.1]
        named = fits[0] if fits else "s"
    return values / _PER_SECOND[named]


def rate_and_positions(
    where: str, name: str, seconds: F64, fs: float | None
) -> tuple[float, I64 | None, tuple[str, ...]]:
    """Return the sampling rate of a time column and the sample index of each row.

    Returns
    -------
    rate_hz, position, notes
        ``position`` is int64 [rows], strictly rising; None if there is no gap.

    Raises
    ------
    UserError
        ``fs`` differs from the rate of the times by more than 1 %, or a gap is longer than a day.
    """
    xp = array_module(seconds)
    steps = xp.diff(seconds)
    rising = steps[steps > 0]
    coarse = float(xp.median(steps)) == 0  # most rows share a time: the clock is coarser than the sampling interval
    if coarse:
        jump = xp.where(steps > 1.5 * float(xp.median(rising)), steps - float(xp.median(rising)), 0.0)
        rate_hz = len(steps) / float((steps - jump).sum())
        missing = xp.rint(jump * rate_hz).astype(xp.int64)
    else:
        window = min(32, len(steps))  # the median over windows is robust to jitter and gaps
        rate_hz = window / float(xp.median(seconds[window:] - seconds[:-window]))
        missing = _missing(seconds, steps, rate_hz)
    duration_s = float(seconds[-1] - seconds[0])
    resolution_s = float(xp.median(rising)) if coarse else 1e-3
    rate_hz = _nominal_rate((len(steps) + int(missing.sum())) / duration_s, resolution_s / duration_s)
    if fs is not None:
        if abs(fs - rate_hz) > 0.01 * rate_hz:
            raise UserError(
                f"{where}: expected --fs {rate_hz:g}, the rate of its time column {name!r}, or no --fs; got --fs {fs:g}"
            )
        rate_hz = fs
    gaps = xp.flatnonzero(missing)
    if len(gaps) == 0:
        return rate_hz, None, ()
    k = int(steps.argmax())
    if steps[k] > _LONGEST_GAP_S:
        got = f"{float(steps[k]):.0f} s after row {k + 1}"
        raise UserError(f"{where}: expected gaps shorter than a day in column {name!r}; got {got}")
    position = xp.arange(len(seconds))
    position[1:] += xp.cumsum(missing)
    lost_s = int(missing.sum()) / rate_hz
    return rate_hz, position, (f"{len(gaps)} gap{'s'[: len(gaps) > 1]} in its times, {lost_s:.3g} s without samples",)


def _missing(seconds: F64, steps: F64, rate_hz: float) -> I64:
    """Return the number of missing samples before each row but the first, int64 [rows - 1].

    A late time that later rows make up for is no gap. So a step counts only as far as the lead of the clock over the
    row count has grown: the difference of its minimum over the 16 rows after the step and over the 16 rows before it.
    """
    xp = array_module(steps)
    missing: I64 = xp.zeros(len(steps), xp.int64)
    at = xp.flatnonzero(xp.rint(steps * rate_hz) >= 2)
    ahead = (seconds - seconds[0]) * rate_hz - xp.arange(len(seconds))
    around = xp.arange(-15, 1)
    before = xp.min(ahead[xp.clip(at[:, None] + around, 0, None)], axis=1)
    after = xp.min(ahead[xp.clip(at[:, None] + 1 - around, None, len(ahead) - 1)], axis=1)
    missing[at] = xp.clip(xp.rint(after - before), 0, xp.rint(steps[at] * rate_hz) - 1)
    return missing


def _nominal_rate(rate_hz: float, tolerance: float) -> float:
    """Return the nearest common or integer rate if the times cannot tell the two apart, else the measured rate."""
    near = min((*_COMMON_HZ, round(rate_hz)), key=lambda hz: abs(hz - rate_hz))
    return float(near) if abs(near - rate_hz) <= max(2e-4, tolerance) * rate_hz else rate_hz


def _named_unit(name: str, unit: str) -> str | None:
    """Return the unit that a time column names, a key of ``_PER_SECOND``; None if it names none."""
    named = (unit_of(name, unit, _UNIT_SUFFIXES) or name).casefold()
    named = _SYNONYMS.get(named, named)
    return named if named in _PER_SECOND else None


def _as_numbers(where: str, column: Column, name: str) -> F64:
    """Return a time column as numbers: clock times and dates become seconds."""
    values: F64
    if not isinstance(column, pd.Series):
        values = column
    else:
        text = column.astype(str).str.strip(" '\"[]")
        number = pd.to_numeric(text, errors="coerce")
        clock = text.str.extract(r"^(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)$")
        if number.notna().mean() > 0.5:
            values = number.to_numpy(np.float64)
        elif clock[2].notna().all():
            h, m, s = (pd.to_numeric(clock[k]).fillna(0).to_numpy(np.float64) for k in range(3))
            values = h * 3600 + m * 60 + s
        else:
            stamps = pd.to_datetime(text, errors="coerce", format="ISO8601", utc=True)
            values = (stamps - stamps.min()).dt.total_seconds().to_numpy(np.float64)
    xp = array_module(values)
    if not xp.isfinite(values).all():
        k = int(xp.flatnonzero(~xp.isfinite(values))[0])
        got = column.iloc[k] if isinstance(column, pd.Series) else float(values[k])
        raise UserError(f"{where}: expected a time in every row of column {name!r}; row {k + 1} has {got!r}")
    return values
