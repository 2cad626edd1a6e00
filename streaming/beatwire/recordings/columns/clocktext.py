"""Times written as text, in seconds: clock times (``0:01.004``, ``10:00:00,123 PM``), durations, dates of any order.

In:  a pandas Series of text or of dates
Out: float64 [n], seconds from an arbitrary origin, NaN where a cell is no time; None if the column holds no times
"""

import math
import re
import warnings

import numpy as np
import pandas as pd

from beatwire.records import F64
from beatwire.tables import array_module

_CLOCK = r"(?:(\d{1,3}):)?(\d{1,2}):(\d{1,2}(?:[.,:]\d+)?)\s*([AaPp]\.?[Mm]\.?)?"
_CLOCK_ALONE = re.compile(rf"(?:(-?\d+) days?,? \+?)?{_CLOCK}")
_DATE = r"(\d{1,4})[-/.](\d{1,2})[-/.](\d{1,4})"
_DIGITS = r"((?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01]))((?:[01]\d|2[0-3])[0-5]\d)([0-5]\d)"
_DAY_S = 86400.0
_EXAMINED = 200  # cells by which a column is judged
_MOST_UNREADABLE = 0.1


def seconds_of(column: pd.Series) -> F64 | None:
    """Return a column of times as seconds; see the module.

    >>> seconds_of(pd.Series(["0:00.996", "0:01.000", "0:01.004"])).round(3).tolist()
    [0.996, 1.0, 1.004]
    >>> seconds_of(pd.Series(["N", "V", "N"])) is None
    True
    """
    if column.dtype.kind in "mM":
        return _of_dates(column)
    text = column.astype(str).str.strip(" '\"[]")
    some = text[: 4 * _EXAMINED]
    some = some[column[: len(some)].notna() & (some != "")][:_EXAMINED]
    if len(some) and some.map(is_date_in_digits).mean() > 1 - _MOST_UNREADABLE:
        return _of_digits(text)
    for read in (_of_clock, _of_iso, _of_date_and_clock, _of_any_date):
        if len(some) and bool((some.str.contains(r"\d\D+\d")).mean() > 0.5):
            values = read(some)
            if values is not None and np.isnan(values).mean() <= _MOST_UNREADABLE:
                return read(text)
    return None


def seconds_after(before: pd.Series, before_s: float, column: pd.Series) -> F64 | None:
    """Return a column of times as :func:`seconds_of` does, by a clock by which the cell before it had ``before_s``.

    One day alone does not say whether 05/10 is in May, and is read as in October; the next one does.

    >>> seconds_after(pd.Series(["05/10/26 23:59:59"]), 7.0, pd.Series(["05/11/26 00:00:00"])).tolist()
    [8.0]
    """
    found = seconds_of(pd.concat([before, column], ignore_index=True))
    if found is None or not math.isfinite(shift_s := before_s - found[0]):
        return seconds_of(column)
    values: F64 = found[1:] + shift_s
    return values


def is_date_in_digits(cell: str) -> bool:
    """Return True if a cell is a date in digits with parts of a second, which has more digits than float64.

    >>> is_date_in_digits("20260305095955.004"), is_date_in_digits("20260305095955")
    (True, False)
    """
    return re.fullmatch(rf"{_DIGITS}[.,]?\d+", cell) is not None


def seconds_of_digits(values: F64) -> F64 | None:
    """Return numbers that are dates, ``20260305095955`` and three digits of milliseconds, as seconds; None if not.

    Of 17 digits float64 keeps steps of 4 ms.

    >>> seconds_of_digits(np.array([20260305095959.0, 20260305100000.0])).tolist()
    [35999.0, 36000.0]
    """
    xp = array_module(values)
    per = 1e3 if len(values) and float(values[0]) > 1e15 else 1.0
    if not len(values) or not bool(((values >= 1.9e13 * per) & (values < 2.1e13 * per)).all()):
        return None
    digits = xp.floor(values / per)
    s, m, h, day, month = (xp.floor(digits / 100.0**k) % 100 for k in range(5))
    if not bool(((s < 60) & (m < 60) & (h < 24) & (day >= 1) & (day <= 31) & (month >= 1) & (month <= 12)).all()):
        return None
    turned = xp.cumsum(xp.concatenate([xp.zeros(1), xp.diff(day) != 0]))
    seconds: F64 = turned * _DAY_S + h * 3600 + m * 60 + s + (values - digits * per) / per
    return seconds


def _of_digits(text: pd.Series) -> F64:
    """Return the seconds of dates as ``20260305095955.004`` or ``20260305095955004``."""
    parts = text.str.extract(rf"^{_DIGITS}[.,]?(\d*)$")
    days = pd.to_datetime(parts[0], format="%Y%m%d", errors="coerce")
    h, s = (pd.to_numeric(parts[k]).to_numpy(np.float64) for k in (1, 2))
    part = pd.to_numeric("0." + parts[3], errors="coerce").to_numpy(np.float64)
    values: F64 = _of_dates(days) + np.floor(h / 100) * 3600 + h % 100 * 60 + s + part
    return values


def _of_dates(column: pd.Series) -> F64:
    since = column if column.dtype.kind == "m" else column - pd.Timestamp(0, tz=column.dt.tz)
    values: F64 = since.dt.total_seconds().to_numpy(np.float64)
    return values


def seconds_of_clock(cell: str) -> float:
    """Return the seconds of a clock time or a duration, NaN for another text.

    >>> seconds_of_clock("17:43:08.123"), seconds_of_clock("1 day, 00:00:01"), seconds_of_clock("12:00:01 am")
    (63788.123, 86401.0, 1.0)
    """
    found = _CLOCK_ALONE.fullmatch(cell)
    if found is None:
        return math.nan
    days, h, m, s, half = found.groups()
    hours = float(h or 0) if half is None else float(h or 0) % 12 + 12 * (half[0] in "Pp")
    return float(days or 0) * _DAY_S + hours * 3600 + float(m) * 60 + float(re.sub("[,:]", ".", s))


def _of_clock(text: pd.Series) -> F64:
    values: F64 = text.map(seconds_of_clock, na_action="ignore").to_numpy(np.float64)
    return values


def _of_iso(text: pd.Series) -> F64 | None:
    """Return the seconds of dates in the form of ISO 8601; 59.9996 may be written as second 60.

    >>> _of_iso(pd.Series(["1970-01-01 00:00:59.9", "1970-01-01T00:00:60.0Z", "1970-01-01 00:01:00.1"])).tolist()
    [59.9, 60.0, 60.1]
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stamps = pd.to_datetime(text.str.replace(",", "."), errors="coerce", format="ISO8601", utc=True)
        if not stamps.notna().any():
            return None
        values = _of_dates(stamps)
        if (unread := stamps.isna()).any():
            by_59 = text[unread].str.replace(",", ".").str.replace(r"(:\d\d):60(?!\d)", r"\1:59", regex=True)
            changed = pd.to_datetime(by_59, errors="coerce", format="ISO8601", utc=True)
            values[unread.to_numpy()] = _of_dates(changed) + 1.0
    return values


def _of_date_and_clock(text: pd.Series) -> F64 | None:
    """Return the seconds of dates as ``03.02.2024 10:00:00,123``, ``2/3/2024 10:00 PM`` or ``10:00:00 03/02/2024``."""
    for order, (date, clock) in ((rf"^{_DATE}[ T]+({_CLOCK})", (0, 3)), (rf"^({_CLOCK})[ T]+{_DATE}$", (5, 0))):
        parts = text.str.extract(order)
        if parts[date].notna().any():
            first, second, third = (pd.to_numeric(parts[date + k]).to_numpy(np.float64) for k in range(3))
            return _days(first, second, third, parts[clock + 4].notna().any()) * _DAY_S + _of_clock(parts[clock])
    return None


def _days(first: F64, second: F64, third: F64, by_twelve: bool) -> F64:
    """Return days since 1970 of dates whose order is found from their numbers: of two orders the shorter one counts."""
    if np.nanmax(first) > 31:
        return _days_of(first, second, third)
    if np.nanmax(second) > 12 or (by_twelve and np.nanmax(first) <= 12):
        return _days_of(third, first, second)
    by_day = _days_of(third, second, first)
    if np.nanmax(first) > 12 or np.nanmax(by_day) == np.nanmin(by_day):
        return by_day
    return min(by_day, _days_of(third, first, second), key=lambda days: float(np.nanmax(days) - np.nanmin(days)))


def _days_of(year: F64, month: F64, day: F64) -> F64:
    """Return days since 1970, NaN for what is no date."""
    year = np.where(year < 100, year + 2000, year)
    dates = pd.to_datetime(pd.DataFrame({"year": year, "month": month, "day": day}), errors="coerce")
    values: F64 = ((dates - pd.Timestamp("1970-01-01")).dt.total_seconds() / _DAY_S).to_numpy(np.float64)
    return values


def _of_any_date(text: pd.Series) -> F64 | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stamps = pd.to_datetime(text, errors="coerce", format="mixed", utc=True)
    return _of_dates(stamps) if stamps.notna().any() else None
