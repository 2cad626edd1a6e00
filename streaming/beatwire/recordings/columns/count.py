"""Columns that count samples, or the packets in which they came: where numbers are left out, samples are missing.

In:  a column of numbers that rise, float64 [n], NumPy or CuPy; after how much it begins again, if it does
Out: the sample index of each row, if numbers are left out; notes

A number that several rows share is that of a packet. A count that falls, or that leaves out numbers in most places,
shows no gaps; that is said.
"""

from typing import NamedTuple

import numpy as np

from beatwire.recordings.columns.behaviour import FEWEST_ROWS, first_rows, turn_of, without_turns
from beatwire.recordings.columns.names import is_index_name
from beatwire.records import F64, I64
from beatwire.tables import array_module

_FEWEST_PACKETS = 8
_NEAR_TURN = 8  # numbers before and after a turn: with so few, what falls there turns
_SELDOM = 0.01  # of the numbers: with so few places where some are left out, any number may be missing
_ALIKE = 0.02  # of what is missing by a count, a clock may find more or less
_MOST_MISSING = 1 << 26  # samples in one place: a day at 776 Hz


class Counted(NamedTuple):
    """What a count shows.

    position   int64 [n], the sample index of each row, strictly rising; None if no number is left out
    notes      one sentence each
    """

    position: I64 | None
    notes: tuple[str, ...] = ()


def positions_of(name: str, count: F64, turn: float | None = None) -> Counted:
    """Return what a column that counts shows.

    Parameters
    ----------
    name, count
        The column.
    turn
        After how much it begins again, if it is known; None: it is found.

    >>> positions_of("n", np.array([7.0, 8.0, 11.0, 12.0])).position.tolist()
    [0, 1, 4, 5]
    >>> positions_of("packet", np.repeat([1.0, 2.0, 3.0, 5.0], 2)).position.tolist()
    [0, 1, 2, 3, 4, 5, 8, 9]
    """
    xp = array_module(count)
    if len(count) < 3 or not bool(xp.isfinite(count).all()):
        return Counted(None)
    first = first_rows(count)  # of each number
    numbers = count[first]
    turn = turn_of(numbers) if turn is None and len(numbers) >= FEWEST_ROWS // 8 else turn
    risen = numbers if turn is None else without_turns(numbers, turn)
    steps = xp.diff(risen)
    step = float(xp.median(steps)) if len(steps) else 0.0
    if step <= 0:
        return Counted(None)
    if turn is None:
        steps = across_turns(numbers, steps, step)
    falls = xp.flatnonzero(steps <= 0)
    if len(falls):
        return Counted(None, (falls_note(name, count, first[falls + 1]),))
    left_out: I64 = xp.maximum(xp.rint(steps / step).astype(np.int64) - 1, 0)
    places = int((left_out > 0).sum())
    if places == 0:
        return Counted(None)
    together = int(xp.median(xp.diff(first)))
    missing = left_out * together
    lost, most = int(missing.sum()), int(missing.max())
    if (lost >= len(count) and places > max(1, _SELDOM * len(numbers))) or most > _MOST_MISSING:
        why = f"leaves out {lost} samples in {places} place{'s'[: places > 1]}"
        return Counted(None, (f"the count of {name!r} {why}: not taken for gaps",))
    added: I64 = xp.zeros(len(count), np.int64)
    added[first[1:]] = missing
    position: I64 = xp.arange(len(count)) + xp.cumsum(added)
    return Counted(position, (f"{lost} sample{'s are' if lost > 1 else ' is'} missing by the count of {name!r}",))


def falls_note(name: str, count: F64, rows: I64) -> str:
    """Return a note about a count that falls in some rows, which are counted from 0."""
    before, after = float(count[int(rows[0]) - 1]), float(count[int(rows[0])])
    times = f"{len(rows)} time{'s'[: len(rows) > 1]}, first from {before:.10g} to {after:.10g} in row {rows[0] + 1}"
    return f"the count of {name!r} falls {times}: rows are read in the order of the file"


def across_turns(numbers: F64, steps: F64, step: float) -> F64:
    """Return the steps of a count that begins again once or twice, at 0 behind the last number of so many bits."""
    xp = array_module(numbers)
    for k in xp.flatnonzero(steps < 0)[:_FEWEST_PACKETS].tolist():
        before, after = float(numbers[k]), float(numbers[k + 1])
        turn = next((float(1 << bits) for bits in range(4, 33) if before < 1 << bits), 0.0)
        if float(numbers.max()) < turn and before >= turn - _NEAR_TURN * step and after < _NEAR_TURN * step:
            steps[k] += turn
    return steps


def beside_clock(name: str, count: F64, seconds: F64, position: I64 | None) -> Counted:
    """Return what a column that counts shows beside a clock.

    Parameters
    ----------
    name, count
        The column that counts.
    seconds, position
        Of the rows, by the clock; no position if it shows no gap. Where rows share times, the count knows better where
        samples are missing.
    """
    turn = turn_of(count[first_rows(count)])
    counted = positions_of(name, count, turn)
    if counted.position is None or turn is not None:
        return Counted(position)
    by_count, by_clock = (0 if p is None else int(p[-1]) + 1 - len(count) for p in (counted.position, position))
    together = len(seconds) / len(first_rows(seconds))
    if abs(by_count - by_clock) <= 1 + _ALIKE * by_count + (together if together > 1.1 else 0):
        return counted if together > 1.1 else Counted(position)
    return Counted(position, (f"the count of {name!r} leaves out {by_count} samples, its times {by_clock}",))


def counts_packets(name: str, values: F64) -> bool:
    """Return True if a column is called like a count, and several rows in a row share each of its whole numbers.

    >>> counts_packets("packet", np.repeat(np.arange(20.0), 5)), counts_packets("time", np.repeat(np.arange(20.0), 5))
    (True, False)
    """
    if not (name and is_index_name(name)):
        return False
    xp = array_module(values)
    finite = values[xp.isfinite(values)]
    first = first_rows(finite)
    is_shared = len(finite) > 1.5 * len(first) and len(first) >= _FEWEST_PACKETS
    return bool(is_shared and (finite == xp.rint(finite)).all())
