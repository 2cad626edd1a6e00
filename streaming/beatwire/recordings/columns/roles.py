"""The roles of columns: which are leads, which is the clock, which counts samples, and which are left out, and why.

In:  columns of numbers, their names and units: of a text table, a data frame or a file of another format
Out: :class:`Roles`

Numbers decide what a column is (``beatwire.recordings.columns.behaviour``): one that rises evenly, or counts in turns,
is a clock or a count and never a lead, whatever its name. Names and units are a preference among the rest: columns
called like a lead come before those with a unit of voltage, and these before those whose name says nothing; a heart
rate, an acceleration, a battery or a label is no lead. What is left out is said once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from beatwire.errors import UserError
from beatwire.recordings.columns.behaviour import (
    CLOCK_TURNS,
    FEWEST_ROWS,
    RISING,
    Behaviour,
    behaviour,
    is_flag,
    turn_of,
    typical_step,
    without_turns,
)
from beatwire.recordings.columns.count import counts_packets
from beatwire.recordings.columns.names import (  # fmt: skip
    PER_SECOND,
    UV_PER,
    Meaning,
    bare_lead,
    is_count_name,
    is_index_name,
    is_quantity,
    is_setting_name,
    is_time_name,
    is_unscaled,
    meaning,
    time_unit,
    unit_of,
    without_unit,
)
from beatwire.recordings.leads import find_leads
from beatwire.recordings.record import MAX_LEADS, MAX_RATE_HZ, MIN_RATE_HZ
from beatwire.records import F64, I64
from beatwire.tables import array_module, rows_of

_NEVER_A_LEAD = (*RISING, Behaviour.FALLS, Behaviour.EMPTY, Behaviour.STEPS)
_BY_NAME = "another quantity, by its name"
_SHARED = 4.5  # jitter of a clock whose times two rows have, each
_CHOOSE = " (choose with --column)"


@dataclass(frozen=True)
class Table:
    """Columns whose roles are wanted.

    names     of the columns
    columns   float64 [n] each, NumPy or CuPy, NaN where there is no value; None for text that is no time
    units     of the columns; empty if unknown
    sensors   what the head of the file says of a column: ``ecg``, another sensor, or nothing
    """

    names: tuple[str, ...]
    columns: Sequence[Any]
    units: tuple[str, ...] = ()
    sensors: tuple[str, ...] = ()

    def of_rows(self, rows: I64) -> Table:
        """Return the same table with these rows only, in their order."""
        return replace(self, columns=[None if c is None else rows_of(c, rows) for c in self.columns])

    def unit(self, k: int) -> str:
        """Return the unit of a column; ``""`` if it is unknown."""
        return unit_of(self.names[k], self.units[k] if self.units else "")

    def meaning(self, k: int) -> Meaning:
        """Return what a column is called like."""
        sensor = self.sensors[k] if self.sensors else ""
        if sensor:
            return Meaning.LEAD if sensor == "ecg" else Meaning.OTHER
        return meaning(self.names[k], self.unit(k))

    def is_quantity(self, k: int) -> bool:
        """Return True if a column is called like another physical quantity, not only like a person or a session."""
        sensor = self.sensors[k] if self.sensors else ""
        return sensor != "ecg" if sensor else is_quantity(self.names[k], self.unit(k))


@dataclass(frozen=True)
class Roles:
    """The roles of the columns of a table, as indices.

    leads      the leads
    clock      the column of times; None if there is none
    count      a column that counts samples; None if there is none
    left_out   the other columns, each with the reason in a few words
    """

    leads: tuple[int, ...]
    clock: int | None
    count: int | None
    left_out: dict[int, str] = field(default_factory=dict)

    def notes(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the note about the columns that are left out; none if there are none."""
        listed = [
            f"{names[k]!r} ({why})"
            for k, why in sorted(self.left_out.items())
            if names[k] or why != Behaviour.EMPTY.value  # a delimiter at the end of rows makes no column
        ]
        return (f"left out: {', '.join(listed)}",) if listed else ()


def roles_of(where: str, table: Table, *, column: str | None = None, fs: float | None = None) -> Roles:
    """Return the roles of the columns of a table.

    Parameters
    ----------
    where
        The file, for error messages.
    column
        The columns that the user wants as leads: names, or numbers counted from 0, separated by commas.
    fs
        The sampling rate that the user gave, in Hz: of several clocks one that agrees is preferred.

    Raises
    ------
    UserError
        There is no lead, there are more than 12, or ``column`` is no column, or is a clock.
    """
    found = [behaviour(c) if c is not None else None for c in table.columns]
    rising = [k for k, b in enumerate(found) if b in RISING] if len(found) > 1 else []
    clock, count = _clock_and_count(table, rising, found, fs)
    by_name = _times_by_name(table, found) if clock is None and count is None else []
    clock = by_name[0] if by_name else clock
    if not rising and not by_name and len(found) > 1 and _first_counts(table):
        count = 0
    down = [k for k, b in enumerate(found) if b is Behaviour.FALLS and is_index_name(table.names[k]) and len(found) > 1]
    if down and clock is None and count is None:
        got = f"column {table.names[down[0]]!r} counts down"
        raise UserError(f"{where}: expected rows from the first sample to the last; {got}: turn the table round")
    if column is not None:
        return Roles(_requested(where, table, column, found), clock, count)
    left_out: dict[int, str] = {}
    candidates: dict[int, Meaning] = {}
    for k, b in enumerate(found):
        if k not in (clock, count):
            why = _no_lead(table, k, b, is_sole=len(found) == 1 + (clock is not None) + (count is not None))
            if why is None:
                candidates[k] = table.meaning(k)
            else:
                left_out[k] = why
    flags = [k for k in candidates if is_flag(table.columns[k])]
    if len(flags) < len(candidates):
        left_out |= {k: "a flag" if found[k] is Behaviour.SIGNAL else Behaviour.HELD.value for k in flags}
        candidates = {k: called for k, called in candidates.items() if k not in flags}
    leads = _preferred(candidates, found, left_out)
    leads = _in_volts(table, leads, left_out)
    if leads and _are_settings(leads, candidates, found, left_out):
        left_out |= dict.fromkeys(leads, Behaviour.CONSTANT.value)
        leads = []
    if not leads:
        k, why = next(iter(left_out.items()), (clock if clock is not None else 0, "a clock"))
        raise UserError(
            f"{where}: expected a column of ECG; column {table.names[k]!r} is none ({why}){_CHOOSE * (why == _BY_NAME)}"
        )
    if len(leads) > MAX_LEADS:
        raise UserError(f"{where}: expected 1-{MAX_LEADS} leads; got {len(leads)} columns (choose with --column)")
    return Roles(tuple(leads), clock, count, left_out)


def risen(values: F64) -> F64:
    """Return the values of a clock or a count without its turns."""
    turn = turn_of(values) if len(values) >= FEWEST_ROWS else None
    return values if turn is None else without_turns(values, turn)


def _clock_and_count(
    table: Table, rising: list[int], found: list[Behaviour | None], fs: float | None
) -> tuple[int | None, int | None]:
    """Return the best clock and the best count among columns that rise evenly."""
    ranks: dict[int, tuple[float, ...]] = {}
    counts: list[int] = []
    for k in rising:
        rate_hz, jitter = _rate_and_jitter(table, k)
        usable = rate_hz is not None and MIN_RATE_HZ * 0.9 <= rate_hz <= MAX_RATE_HZ * 1.1
        named = is_time_name(table.names[k]) or table.unit(k) in PER_SECOND
        agrees = rate_hz is None or fs is None or abs(rate_hz / fs - 1) < 0.01
        is_other = table.meaning(k) is Meaning.OTHER and not is_index_name(table.names[k])
        is_cycle = found[k] is Behaviour.TURNS and not named
        is_phase = is_cycle and rate_hz is not None and turn_of(table.columns[k]) not in CLOCK_TURNS  # of a heartbeat
        is_measured = table.is_quantity(k) and not named  # a temperature rises evenly for a while, too
        is_part = not named and jitter >= _SHARED  # the number of a segment
        if is_phase or is_measured or (is_other and (not usable or not agrees or is_cycle or is_part)):
            continue
        if rate_hz is None:
            counts.append(k)
        else:
            ranks[k] = (not usable, is_other, not agrees, round(min(jitter, 9.0), 1), not named, k)
    return min(ranks, key=ranks.__getitem__, default=None), min(counts, default=None)


def _rate_and_jitter(table: Table, k: int) -> tuple[float | None, float]:
    """Return the rough rate of a column that rises evenly, None if it only counts; and how unequal its steps are."""
    values = risen(table.columns[k][:65536])
    xp = array_module(values)
    steps = xp.diff(values[xp.isfinite(values)])
    step = typical_step(values[xp.isfinite(values)])
    jitter = float(xp.median(xp.abs(steps - step))) / step + 2 * _SHARED * float((steps == 0).mean())
    is_count = not table.unit(k) and counts_packets(table.names[k], values)
    unit = None if is_count else time_unit(table.names[k], table.unit(k), step, None)
    return (None, jitter) if unit is None else (PER_SECOND[unit] / step, jitter)


def _times_by_name(table: Table, found: list[Behaviour | None]) -> list[int]:
    """Return the columns that are called like a time, in a table in which no column rises evenly."""
    return [
        k for k, b in enumerate(found)
        if len(found) > 1 and b not in (Behaviour.EMPTY, Behaviour.CONSTANT) and table.columns[k] is not None
        and table.meaning(k) is Meaning.TIME and (is_time_name(table.names[k]) or table.unit(k) in PER_SECOND)
    ]  # fmt: skip


def _first_counts(table: Table) -> bool:
    """Return True if the first column of a short table is called like an index, or has no name, and rises evenly."""
    first = table.columns[0]
    is_named = is_index_name(table.names[0]) or table.names[0] == "0"
    if first is None or not 3 <= len(first) < FEWEST_ROWS or not is_named:
        return False
    steps = array_module(first).diff(first)
    return bool(steps.min() > 0 and float(steps.max() - steps.min()) <= 0.51 * float(steps.max()))


def _no_lead(table: Table, k: int, found: Behaviour | None, *, is_sole: bool) -> str | None:
    """Return why a column is no lead; None if it may be one.

    Behaviour does not exclude the only column. One that is sole but for a clock and a count may be called after a
    person, a session or a device; a physical quantity it may not be.
    """
    if found is None:
        return "text"
    is_setting = found is Behaviour.CONSTANT and not is_sole and is_setting_name(table.names[k])
    if len(table.names) > 1 and (found in _NEVER_A_LEAD or is_setting):
        return "another clock or count" if found in RISING else found.value
    if not is_sole and is_count_name(table.names[k]):
        return "a count, by its name"
    is_other = table.meaning(k) is Meaning.OTHER and (not is_sole or table.is_quantity(k))
    return _BY_NAME if is_other else None


def _preferred(candidates: dict[int, Meaning], found: list[Behaviour | None], left_out: dict[int, str]) -> list[int]:
    """Return the leads among candidates: the best by name; the others are added to ``left_out``."""
    varying = {k: m for k, m in candidates.items() if found[k] not in (Behaviour.CONSTANT, Behaviour.HELD)}
    best = max((varying or candidates).values(), default=Meaning.NOTHING)
    leads = []
    for k, called in candidates.items():
        is_still = bool(varying) and k not in varying
        if called >= best and not (is_still and called is Meaning.NOTHING):
            leads.append(k)
        else:
            state = found[k]
            left_out[k] = state.value if is_still and state else "others are called like a lead"
    return leads


def _in_volts(table: Table, leads: list[int], left_out: dict[int, str]) -> list[int]:
    """Return the leads without those in units of a converter that others in volts, by their names, are again.

    A name that tells no lead, as "ecg_raw", is that of the only lead in volts.
    """
    units = {k: table.unit(k) for k in leads}
    volts = [bare_lead(table.names[k]) for k in leads if units[k] in UV_PER]
    same = {*volts, *([""] if len(volts) == 1 else [])}
    raw = [k for k in leads if is_unscaled(units[k], table.names[k]) and bare_lead(table.names[k]) in same]
    left_out |= dict.fromkeys(raw, "the same lead is there in volts")
    return [k for k in leads if k not in raw]


def _are_settings(
    leads: list[int], candidates: dict[int, Meaning], found: list[Behaviour | None], left_out: dict[int, str]
) -> bool:
    """Return True if what is left are unnamed constants, and a column that varies was left out by its name."""
    varies = any(found[k] is Behaviour.SIGNAL for k in left_out)
    return varies and all(found[k] is Behaviour.CONSTANT and candidates[k] is Meaning.NOTHING for k in leads)


def _requested(where: str, table: Table, column: str, found: list[Behaviour | None]) -> tuple[int, ...]:
    """Return the columns that the user wants as leads."""
    names = [without_unit(n) if column not in table.names else n for n in table.names]
    leads = find_leads(where, names, column, "column")
    for k in leads:
        b = found[k]
        if b in RISING and len(found) > 1:
            raise UserError(f"{where}: expected a column of ECG; column {table.names[k]!r} {b.value}: a clock")
    return leads
