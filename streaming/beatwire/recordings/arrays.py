"""A recording from numbers in memory: arrays, series, tables and data frames of any library, on the host or on a GPU.

In:  an array [n] or [leads, n]; or a table with one column a lead (``beatwire.recordings.columns.tables``); rate and
     unit
Out: :class:`Recording`

Which columns are leads, which is the clock and which counts samples is decided as for text files
(``beatwire.recordings.columns.roles``); of the rows of an array only those that rise evenly are no leads. int16 samples
in ADC units are used in place, on the host and on a GPU (NumPy, CuPy, cuDF, torch), if all leads are. Other numbers are
converted where they are.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from beatwire.errors import UserError
from beatwire.recordings.arguments import names as list_of_names
from beatwire.recordings.arguments import positive, shown
from beatwire.recordings.codes import without_codes, without_codes_of_int16
from beatwire.recordings.columns.behaviour import FEWEST_ROWS, RISING, Behaviour, behaviour
from beatwire.recordings.columns.count import beside_clock, positions_of
from beatwire.recordings.columns.evenrate import rate_and_positions
from beatwire.recordings.columns.kinds import uv_per_unit_of
from beatwire.recordings.columns.names import UV_PER, is_quantity, is_time_name, is_unscaled, without_unit
from beatwire.recordings.columns.parts import split_clock, with_parts
from beatwire.recordings.columns.roles import Roles, Table, roles_of
from beatwire.recordings.columns.roworder import row_order
from beatwire.recordings.columns.tables import Columns, columns_of, floats
from beatwire.recordings.columns.timecolumn import times_of
from beatwire.recordings.leads import find_leads, unique_names
from beatwire.recordings.record import MAX_LEADS, NO_VALUE, Recording, check_rate
from beatwire.recordings.units import to_units, unit_guess, unit_note, value_ranges
from beatwire.records import I64
from beatwire.tables import array_module

UNITS = ("V", "mV", "uV", "nV", "adc")
_UNKNOWN = "{} (give units or gain)"
_PLACES = ("array: ", "table: ")  # what an error begins with; in a file, with the name of the file


def from_array(
    source: Any,
    fs: float | None,
    *,
    leads: Sequence[str] | None = None,
    units: str | None = None,
    gain: float | None = None,
    column: str | None = None,
    where: str | None = None,
) -> Recording:
    """Return the recording of numbers in memory.

    Parameters
    ----------
    source : [n] or [leads, n]
        See :mod:`beatwire.recordings.columns.tables`. What is masked, None, NA, NaN or infinite is no value; nor is
        -32768 in int16. Of a table each column is a lead, but for a clock, a count, and other quantities.
    fs
        Sampling rate in Hz; None: by the clock of a table.
    leads
        Names of the leads; None: the names of the columns, or ``lead 0``, ``lead 1``, ...
    units
        ``V``, ``mV``, ``uV``, ``nV`` or ``adc``. None: ``adc`` if ``gain`` is given; else the units in the names of a
        table; else fractions of a plausible size are millivolts and other numbers are not calibrated.
    gain
        ADC units per millivolt.
    column
        The columns or rows to read as leads: names, or numbers counted from 0, separated by commas.
    where
        What an error begins with: the file that holds the table; None: ``analyze``.

    Raises
    ------
    UserError
        The rate is missing or out of range, the shape or the type is not one of these, the unit does not exist or
        contradicts the gain, or there is no value.
    """
    try:
        return _from_array(source, fs, leads, units, gain, column, where)
    except UserError as error:
        if where is None:
            raise
        text = str(error)
        begins = next((name for name in _PLACES if text.startswith(name)), "")
        raise UserError(f"{where}: {text.removeprefix(begins)}" if begins else text) from None


def _from_array(
    source: Any, fs: float | None, leads: Sequence[str] | None, units: str | None, gain: float | None,
    column: str | None, where: str | None,
) -> Recording:  # fmt: skip
    """Return the recording of numbers in memory; parameters as for :func:`from_array`."""
    rate_hz = None if fs is None else check_rate("fs", fs)
    uv = uv_per_value(units, gain)
    columns = columns_of(source)
    given = None if leads is None else list_of_names("leads", leads, max(MAX_LEADS, len(columns.values)))
    place = where or "analyze"
    try:
        table, roles = _roles(place, columns, given, column, rate_hz, in_file=where is not None)
        order, order_notes = row_order(table, roles)
        if order is not None:
            columns, table = columns.of_rows(order), table.of_rows(order)
        rate_hz, position, clock_notes = _clock(place, table, roles, rate_hz, in_file=where is not None)
    except UserError as error:
        if where is not None:
            raise
        raise UserError(str(error).replace("--fs", "fs").replace("--column", "column")) from None
    shift = len(table.names) - len(columns.values)  # an index stands before the columns
    rows = [k - shift for k in roles.leads]
    times = [table.names[k] for k, row in zip(roles.leads, rows, strict=True) if columns.kinds[row] == "s"]
    if times:
        raise UserError(f"array: expected numbers; got times in {times[0]!r}")
    names = _names(table, roles, given)
    notes = (*order_notes, *clock_notes, *roles.notes(table.names), *columns.notes)
    values = [columns.values[k] for k in rows]
    if uv is not None:
        said = f"units {units}" if gain is None else f"gain {gain:g}"
        notes += unit_note(said, uv[0], [(table.names[k], table.unit(k)) for k in roles.leads])
    elif columns.names:
        uv = _named_units(table, roles.leads)
    if all(v.dtype == np.int16 for v in values) and (uv is None or len(set(uv)) == 1):
        samples = _with_gaps_int16(_in_place(columns, values, rows), position)
        if not bool((samples[:, :1] != NO_VALUE).any()) and not bool((samples != NO_VALUE).any()):
            raise UserError(f"array: expected numbers; all {samples.shape[1]} values of {names[0]!r} are missing")
        samples, code_notes = without_codes_of_int16(samples)
        notes += code_notes
        why = () if uv is not None else (_UNKNOWN.format("integers without a unit"),)
        return Recording("array", rate_hz, names, uv[0] if uv else 0.0, samples, notes + why)
    columns64, code_notes = without_codes([_with_gaps(floats(v), position) for v in values])
    notes += code_notes
    ranges = value_ranges(columns64)
    if not any(r.any_valid for r in ranges):
        raise UserError(f"array: expected numbers; all {len(columns64[0])} values of {names[0]!r} are missing")
    if uv is None:
        guess, why_not = unit_guess(ranges)
        uv, notes = [guess], notes + ((_UNKNOWN.format(why_not),) if why_not else ())
    samples, uv_per_unit, scale_notes = to_units(columns64, uv if len(uv) == len(rows) else uv * len(rows), ranges)
    return Recording("array", rate_hz, names, uv_per_unit, samples, notes + scale_notes)


def on_device(source: Any) -> bool:
    """Return True if numbers are in the memory of a GPU."""
    source = getattr(source, "values", source) if type(source).__module__.startswith("cudf") else source
    return hasattr(source, "__cuda_array_interface__")


def uv_per_value(units: Any, gain: Any) -> list[float] | None:
    """Return the microvolts per value by ``units`` and ``gain``, one for all leads; 0: not calibrated. None: neither.

    Case and the spelling of a unit do not matter, as no two units differ by them.

    Raises
    ------
    UserError
        The unit does not exist, the gain is not positive, or they contradict each other.
    """
    found = None
    if units is not None:
        found = (uv_per_unit_of(units) or None) if isinstance(units, str) else None
        if found is None and not (isinstance(units, str) and is_unscaled(units.strip().casefold())):
            raise UserError(f"units: expected {', '.join(UNITS[:-1])} or {UNITS[-1]}; got {shown(units)}")
    if gain is None:
        return None if units is None else [found or 0.0]
    gain = positive("gain", gain, "a positive number of units per millivolt")
    if found is not None:
        raise UserError(f"gain: expected units 'adc' with a gain; got units {units!r} and gain {gain:g}")
    return [1000.0 / gain]


def _roles(
    place: str, columns: Columns, given: list[str] | None, column: str | None, fs: float | None, *, in_file: bool
) -> tuple[Table, Roles]:
    """Return the columns with an index before them, if there is one that rises, and their roles."""
    rows = len(columns.values)
    values = [v if rows == 1 or v is None else _judged(v) for v in columns.values]
    if not columns.names:
        names = given if given and len(given) == rows else [f"lead {k}" for k in range(rows)]
        length = next(len(v) for v in values if v is not None)
        if rows > MAX_LEADS >= length:
            raise UserError(f"array: expected the shape [leads, n]; got {[rows, length]}: give its transpose, x.T")
    else:
        names = [*columns.names]
    units = tuple("s" if kind == "s" else "" for kind in columns.kinds)
    index = columns.index
    if index is not None and (columns.index_kind == "s" or behaviour(index) in RISING):
        table = Table((columns.index_name or "index", *names), [index, *values], (columns.index_kind, *units))
        if columns.index_kind == "s" and behaviour(index) not in RISING:
            times_of(place, index, table.names[0], "s", fs)  # says where it falls
    else:
        if index is not None and is_time_name(columns.index_name):
            times_of(place, index, columns.index_name, columns.index_kind, fs)  # says where it falls
        table = Table(tuple(names), values, units)
    table = with_parts(table, split_clock(table))
    if columns.names or len(table.names) > rows:
        if len(table.names) > 1 or columns.kinds[0]:
            return table, roles_of(place, table, column=column, fs=fs)
        if column is None and in_file and is_quantity(names[0]):
            got = f"column {names[0]!r} is none (another quantity, by its name) (choose with --column)"
            raise UserError(f"{place}: expected a column of ECG; {got}")
        if column is not None:
            find_leads(place, [names[0] if column in names else without_unit(names[0])], column, "column")
        return table, Roles((0,), None, None)
    return table, _roles_of_rows(place, table, column, fs)


def _judged(column: Any) -> Any:
    """Return a column for its role: a signal of int16, which is most of the data, is not converted."""
    return column if column.dtype != np.int16 or behaviour(column) is Behaviour.SIGNAL else floats(column)


def _roles_of_rows(place: str, table: Table, column: str | None, fs: float | None) -> Roles:
    """Return the roles of the rows of an array: all but clocks and counts are leads."""
    for name, values in zip(table.names, table.columns, strict=True):
        if values is None:
            raise UserError(f"array: expected numbers in {name!r}; got values of another type")
    several = len(table.names) > 1 and len(table.columns[0]) >= FEWEST_ROWS
    rising = [k for k, v in enumerate(table.columns) if several and behaviour(v) in RISING]
    found = roles_of(place, table, fs=fs) if rising else Roles((), None, None)
    leads = tuple(k for k in range(len(table.names)) if k not in rising)
    if column is not None:
        leads = find_leads("array", table.names, column, "row")
        if set(leads) & set(rising):
            raise UserError(f"array: expected a row of ECG; {column!r} rises evenly: a clock or a count")
    if not 1 <= len(leads) <= MAX_LEADS:
        raise UserError(f"array: expected 1-{MAX_LEADS} leads; got {len(leads)}")
    left = {k: "another clock or count" for k in rising if k not in (found.clock, found.count)}
    return Roles(leads, found.clock, found.count, left)


def _clock(
    place: str, table: Table, roles: Roles, fs: float | None, *, in_file: bool
) -> tuple[float, I64 | None, tuple[str, ...]]:
    """Return the rate, the sample index of each row if there are gaps, and notes."""
    count = roles.count
    if roles.clock is not None:
        name, values = table.names[roles.clock], table.columns[roles.clock]
        times = times_of(place, values, name, table.unit(roles.clock), fs)
        if times is not None:
            rate_hz, position, notes = rate_and_positions(place, name, times.seconds, fs)
            notes = (f"times: column {name!r}; {rate_hz:.7g} Hz", *notes)
            if count is not None:
                counted = beside_clock(table.names[count], table.columns[count], times.seconds, position)
                position, notes = counted.position, (*notes, *counted.notes)
            return check_rate(place, rate_hz), position, notes
        count = roles.clock
    if fs is None:
        if in_file:
            raise UserError(f"{place}: expected a sampling rate; the table states none: give --fs, in Hz")
        raise UserError("analyze: expected the sampling rate of the array, fs, in Hz; got none")
    if count is None:
        return fs, None, ()
    position, notes = positions_of(table.names[count], table.columns[count])
    return fs, position, notes


def _names(table: Table, roles: Roles, given: list[str] | None) -> tuple[str, ...]:
    """Return the names of the leads."""
    own = [without_unit(table.names[k]) or f"lead {k}" for k in roles.leads]
    if given is not None and len(given) not in (len(own), len(table.names)):
        raise UserError(f"leads: expected a name for each of {len(own)} leads; got {', '.join(given)}")
    return unique_names(given if given is not None and len(given) == len(own) else own)


def _named_units(table: Table, leads: Sequence[int]) -> list[float] | None:
    """Return the microvolts per value of each lead by the units in the names; None if no name has one."""
    units = [table.unit(k) for k in leads]
    if all(unit in UV_PER for unit in units):
        return [UV_PER[unit] for unit in units]
    return [0.0] * len(units) if any(units) else None


def _in_place(columns: Columns, values: list[Any], rows: list[int]) -> Any:
    """Return int16 columns as [leads, n]: the memory of the source, unless its rows are not contiguous."""
    xp = array_module(values[0])
    if len(values) == 1:
        return xp.ascontiguousarray(values[0])[None]
    if columns.whole is not None and rows == list(range(len(columns.values))):
        return xp.ascontiguousarray(columns.whole)
    return xp.stack(values)


def _with_gaps(values: Any, position: I64 | None) -> Any:
    """Return values at their positions, NaN between them."""
    if position is None:
        return values
    out = array_module(values).full(int(position[-1]) + 1, np.nan)
    out[position] = values
    return out


def _with_gaps_int16(samples: Any, position: I64 | None) -> Any:
    """Return int16 [leads, n] at their positions, without a value between them."""
    if position is None:
        return samples
    out = array_module(samples).full((len(samples), int(position[-1]) + 1), NO_VALUE, np.int16)
    out[:, position] = samples
    return out
