"""A time column: which columns are one, its unit, the rate it shows, and its gaps.

The unit is the one it names, or the only one that makes a sampling rate of 50-4000 Hz: the steps
of seconds, milliseconds, microseconds and nanoseconds do not overlap in that range.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from beatwire.errors import UserError
from beatwire.recordings.record import MAX_RATE_HZ, MIN_RATE_HZ
from beatwire.tables import Column, array_module

TIME_NAMES = (
    "time", "times", "t", "timestamp", "timestamps", "time_s", "time_ms", "time_us", "t_s", "t_ms", "seconds",
    "milliseconds", "elapsed time", "elapsed_time", "elapsed", "datetime", "date_time", "time stamp", "ts",
)  # fmt: skip
INDEX_NAMES = ("", "index", "sample", "samples", "sample #", "sample number", "sample_number", "#", "n", "unnamed: 0")

_PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
_LONGEST_GAP_S = 86400.0
_COMMON_HZ = (100, 125, 128, 200, 250, 256, 257, 300, 360, 400, 480, 500, 512, 600, 977, 1000, 1024, 2000, 2048)


def bare(name: str) -> str:
    """Return a column's name without its unit in brackets."""
    return re.sub(r"\s*[\[(][^\])]*[\])]\s*$", "", name).strip()


def times_s(where: str, column: Column, name: str, unit: str, fs: float | None) -> Any:
    """Return a time column in seconds, or None where it only counts samples.

    Raises
    ------
    UserError
        where a time is missing, cannot be read, or does not rise.
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
    said = _named_unit(name, unit)
    if said is None and step == 1 and bool(xp.all(steps == xp.rint(steps))) and not (fs and abs(fs - 1000) < 1):
        return None
    if said is None:
        fits = [u for u, per in _PER_SECOND.items() if MIN_RATE_HZ * 0.9 <= per / step <= MAX_RATE_HZ * 1.1]
        said = fits[0] if fits else "s"
    return values / _PER_SECOND[said]


def place(where: str, name: str, seconds: Any, fs: float | None) -> tuple[float, Any, tuple[str, ...]]:
    """Find the rate of a time column and the sample that each row is.

    Returns
    -------
    rate_hz, position, notes
        position int64 [rows], rising, or None where every row follows the one before it.

    Raises
    ------
    UserError
        where ``fs`` contradicts the times, or two rows are one sample.
    """
    xp = array_module(seconds)
    steps = xp.diff(seconds)
    rising = steps[steps > 0]
    coarse = float(xp.median(steps)) == 0  # most rows share a time: its resolution is above the sampling interval
    if coarse:
        jump = xp.where(steps > 1.5 * float(xp.median(rising)), steps - float(xp.median(rising)), 0.0)
        rate_hz = len(steps) / float((steps - jump).sum())
        missing = xp.rint(jump * rate_hz).astype(xp.int64)
    else:
        over = min(32, len(steps))  # the median over windows minds neither jitter nor gaps
        rate_hz = over / float(xp.median(seconds[over:] - seconds[:-over]))
        missing = _missing(seconds, steps, rate_hz)
    over_s = float(seconds[-1] - seconds[0])
    rate_hz = _snap((len(steps) + int(missing.sum())) / over_s, (float(xp.median(rising)) if coarse else 1e-3) / over_s)
    if fs is not None:
        if abs(fs - rate_hz) > 0.01 * rate_hz:
            raise UserError(f"{where}: expected --fs {rate_hz:g}, as its time column {name!r} says; got --fs {fs:g}")
        rate_hz = fs
    gaps = xp.flatnonzero(missing)
    if len(gaps) == 0:
        return rate_hz, None, ()
    k = int(steps.argmax())
    if steps[k] > _LONGEST_GAP_S:
        got = f"{float(steps[k]):.0f} s after row {k + 1}"
        raise UserError(f"{where}: expected gaps of less than a day in column {name!r}; got {got}")
    position = xp.arange(len(seconds))
    position[1:] += xp.cumsum(missing)
    lost_s = int(missing.sum()) / rate_hz
    return rate_hz, position, (f"{len(gaps)} gap{'s'[: len(gaps) > 1]} in its times, {lost_s:.3g} s without samples",)


def _missing(seconds: Any, steps: Any, rate_hz: float) -> Any:
    """Count the samples missing before each row but the first.

    A late stamp that the next ones make up for is no gap: what the clock is ahead of the count, at
    least, over 16 rows before the step and 16 after it, must differ as well.
    """
    xp = array_module(steps)
    missing = xp.zeros(len(steps), xp.int64)
    at = xp.flatnonzero(xp.rint(steps * rate_hz) >= 2)
    ahead = (seconds - seconds[0]) * rate_hz - xp.arange(len(seconds))
    around = xp.arange(-15, 1)
    before = xp.min(ahead[xp.clip(at[:, None] + around, 0, None)], axis=1)
    after = xp.min(ahead[xp.clip(at[:, None] + 1 - around, None, len(ahead) - 1)], axis=1)
    missing[at] = xp.clip(xp.rint(after - before), 0, xp.rint(steps[at] * rate_hz) - 1)
    return missing


def _snap(rate_hz: float, tolerance: float) -> float:
    """Take the common or whole rate that the times cannot be told from."""
    near = min((*_COMMON_HZ, round(rate_hz)), key=lambda hz: abs(hz - rate_hz))
    return float(near) if abs(near - rate_hz) <= max(2e-4, tolerance) * rate_hz else rate_hz


def _named_unit(name: str, unit: str) -> str | None:
    inside = re.search(r"[\[(]\s*([^\])]*?)\s*[\])]", name)
    ending = re.search(r"[_ ](s|sec|seconds|ms|us|ns)$", name, flags=re.IGNORECASE)
    said = (unit or (inside[1] if inside else "") or (ending[1] if ending else "") or name).casefold()
    names = {"sec": "s", "seconds": "s", "second": "s", "milliseconds": "ms", "µs": "us", "μs": "us", "msec": "ms"}
    said = names.get(said, said)
    return said if said in _PER_SECOND else None


def _as_numbers(where: str, column: Column, name: str) -> Any:
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
