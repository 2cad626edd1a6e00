"""The clock of a table in seconds: its unit, its turns, and what it does at midnight.

In:  a column of numbers that rise, float64 [n], NumPy or CuPy; dates and clock times as seconds
     (``beatwire.recordings.columns.clocktext``)
Out: float64 [n], seconds that rise but for jitter; the sampling rate and the gaps are those of
     ``beatwire.recordings.columns.evenrate``
"""

from typing import Any, NamedTuple

from beatwire.errors import UserError
from beatwire.recordings.columns.behaviour import FEWEST_ROWS, turn_of, typical_step, without_turns
from beatwire.recordings.columns.count import across_turns, counts_packets
from beatwire.recordings.columns.names import PER_SECOND, time_unit
from beatwire.records import F64
from beatwire.tables import array_module

_HOUR_S = 3600.0  # also at the end of summer time
_TURNS_S = (60.0, _HOUR_S, 43200.0, 86400.0)  # of a minute, an hour, half a day, a day
_TURNS = (1e4, 1e5, 1e6, 1e9, *(2.0**k for k in range(8, 65)))  # of counters, in their own unit
_LONGEST_HOLE_S = 2.0  # between the row before a turn and the row after it
_JITTER_S = 0.25  # a time may be so much earlier than one before it


class Times(NamedTuple):
    """The times of a table: seconds, float64 [n], and the unit in which they were written."""

    seconds: F64
    unit: str


def times_of(
    where: str, values: F64, name: str, unit: str, fs: float | None, *, turn: float | None = None, written: Any = None
) -> Times | None:
    """Return a column of times in seconds, or None if it only counts samples.

    Parameters
    ----------
    where
        The file, for error messages.
    values, name, unit
        The column, its name, and its unit (``s`` for clock times and dates); ``""`` if it is unknown.
    fs
        The sampling rate that the user gave, in Hz. About 1000 Hz, a column that rises by 1 is in milliseconds.
    turn
        After how much the column begins again, if it is known; None: it is found from the column.
    written
        The column as it was read, for error messages; None: ``values``.

    Raises
    ------
    UserError
        A time is missing, or the times do not rise.
    """
    if len(values) < 2:
        raise UserError(f"{where}: expected at least 2 rows; got {len(values)}")
    xp = array_module(values)
    if not bool(xp.isfinite(values).all()):
        k = int(xp.flatnonzero(~xp.isfinite(values))[0])
        got = written.iloc[k] if hasattr(written, "iloc") else float(values[k])
        raise UserError(f"{where}: expected a time in every row of column {name!r}; row {k + 1} has {got!r}")
    risen = _risen(values, turn)
    step = typical_step(risen)
    found = None if not unit and counts_packets(name, risen) else time_unit(name, unit, step, fs)
    if found is None:
        if not bool((across_turns(risen, xp.diff(risen), step) < 0).any()):
            return None
        _check_that_it_rises(where, name, risen, values, written)
        return None
    seconds = _without_turns_at(risen / PER_SECOND[found], 1.0 / PER_SECOND[found])
    _check_that_it_rises(where, name, seconds, values, written)
    return Times(seconds, found)


def risen_times(values: F64, name: str, unit: str) -> F64:
    """Return a column of times, or one that counts, without its turns; parameters as for :func:`times_of`."""
    risen = _risen(values, None)
    unit_s = 1.0 / PER_SECOND[time_unit(name, unit, max(typical_step(risen), 1e-9), None) or "s"]
    return _without_turns_at(risen * unit_s, unit_s)


def _risen(values: F64, turn: float | None) -> F64:
    turn = turn_of(values) if turn is None and len(values) >= FEWEST_ROWS else turn
    return values if turn is None else without_turns(values, turn)


def _without_turns_at(seconds: F64, unit_s: float) -> F64:
    """Return times that go on where a clock begins again: at midnight, or after the last number of a counter.

    A clock that begins again after so much has no two numbers that are further apart: else a row only comes late.
    """
    xp = array_module(seconds)
    steps = xp.diff(seconds)
    span_s = float(seconds.max() - seconds.min())
    turns = [
        turn for turn in (*_TURNS_S, *(t * unit_s for t in _TURNS))
        if turn > 2 * _LONGEST_HOLE_S and (turn >= span_s or turn == _HOUR_S)
    ]  # fmt: skip
    changed = False
    for k in xp.flatnonzero(steps < -_JITTER_S).tolist():
        fallen = float(steps[k])
        turn = next((turn for turn in turns if 0 <= fallen + turn <= _LONGEST_HOLE_S), None)
        if turn is not None:
            steps[k] += turn
            changed = True
    return xp.concatenate([seconds[:1], seconds[0] + xp.cumsum(steps)]) if changed else seconds


def _check_that_it_rises(where: str, name: str, values: F64, numbers: F64, written: Any) -> None:
    """Raise UserError if times fall, by more than a jitter in a column that is not short."""
    xp = array_module(values)
    steps = xp.diff(values)
    jitter = _JITTER_S if len(values) >= FEWEST_ROWS else 0.0
    if float(steps.min()) < -jitter or float(values[-1]) <= float(values[0]):
        k = int(xp.argmin(steps))
        cells = [written.iloc[i] if hasattr(written, "iloc") else f"{float(numbers[i]):.10g}" for i in (k, k + 1)]
        got = f"{cells[0]} then {cells[1]} (rows {k + 1} and {k + 2})"
        raise UserError(f"{where}: expected times that rise in column {name!r}; got {got}")
