"""Arrays in a file: NumPy's ``.npy`` and ``.npz``, and MATLAB's ``.mat``.

A file may hold one array of samples, or several of one length, one a lead; a number that is named like a sampling rate
or an interval; and names of the leads. Leads lie along the shorter side of an array, or are its cells. The rest is as
for arrays in memory.
"""

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
import pandas as pd

from beatwire.errors import UserError
from beatwire.recordings.arrays import from_array
from beatwire.recordings.columns.behaviour import RISING, behaviour
from beatwire.recordings.columns.clocktext import seconds_of
from beatwire.recordings.columns.kinds import uv_per_unit_of
from beatwire.recordings.columns.names import Meaning, is_quantity, meaning
from beatwire.recordings.columns.tables import fields_of
from beatwire.recordings.leads import unique_names
from beatwire.recordings.readers.labchart import of_one_block, signals_of_labchart
from beatwire.recordings.readers.paths import short_names, short_paths, telling
from beatwire.recordings.readers.several import one_of_several
from beatwire.recordings.readers.stated import converted, stated_names, stated_rate, stated_units
from beatwire.recordings.readers.structures import flat
from beatwire.recordings.record import MAX_LEADS, MIN_RATE_HZ, Recording
from beatwire.recordings.signals import Signals

_MOST = 200  # arrays that are looked at
_EXAMINED = 200  # texts, whether they are times
_FEWEST_ROWS = 250  # of a table that would be a recording alone


def read_numpy(path: Path, fs: float | None, column: str | None, gain: float | None) -> Recording:
    """Read a ``.npy`` or ``.npz`` file; parameters as for :func:`beatwire.recordings.read_recording`.

    Raises
    ------
    UserError
        The file is damaged, holds objects, or no array of samples.
    """
    try:
        with path.open("rb") as file:
            opened = np.load(file, allow_pickle=False)
            one = isinstance(opened, np.ndarray)
            arrays = {path.stem: opened} if one else _plain(opened)
            behind = path.stat().st_size - file.tell() if one else 0
    except (ValueError, OSError, EOFError, KeyError, TokenError, zipfile.BadZipFile) as error:
        raise UserError(f"{path.name}: expected arrays of numbers; got: {str(error).splitlines()[0]}") from None
    recording = recording_of_arrays(path, arrays, fs, column, gain)
    left = (f"left out: {behind} bytes behind the first array",) if behind > 0 else ()
    return replace(recording, notes=(*left, *recording.notes))


def _plain(opened: Any) -> dict[str, Any]:
    """Return the arrays of an ``.npz`` file without those of objects, if there are others."""
    arrays, refused = {}, None
    for name in opened.files[:_MOST]:
        try:
            arrays[name] = opened[name]
        except ValueError as error:  # objects: they are not unpickled
            refused = error
    if refused is not None and not any(a.size > 1 and a.dtype.kind in "iuf" for a in arrays.values()):
        raise refused
    return arrays


def read_matlab(path: Path, fs: float | None, column: str | None, gain: float | None) -> Recording | Signals:
    """Read a ``.mat`` file of MATLAB 4 to 7.2; parameters and errors as of :func:`read_numpy`."""
    import scipy.io

    try:
        with path.open("rb") as file:
            opened = scipy.io.loadmat(file, simplify_cells=True)
    except Exception as error:
        got = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UserError(f"{path.name}: expected a MATLAB file; got: {got}") from None
    named = {name: value for name, value in opened.items() if not name.startswith("__")}
    if (of_labchart := signals_of_labchart(path.name, path.stem, named)) is not None:
        return of_labchart
    chosen, column = one_of_several(path.name, named, column)
    return recording_of_arrays(path, dict(flat(chosen)), fs, column, gain)


def recording_of_arrays(
    path: Path, arrays: Mapping[str, Any], fs: float | None, column: str | None, gain: float | None
) -> Recording:
    """Return the recording of named arrays."""
    where = path.name
    arrays = of_one_block(where, arrays, column)
    fs, notes = stated_rate(where, arrays, fs)
    each = [] if gain is not None else stated_units(arrays)
    units = each[0] if len(each) == 1 and uv_per_unit_of(each[0]) is not None else None
    if gain is None:
        gain, gain_notes = converted(units, arrays)
        units, each = (units, each) if gain is None else (None, [])
        notes += gain_notes
    records = [a for a in arrays.values() if a.dtype.names and a.ndim == 1]
    if len(records) == 1:
        fields = fields_of(records[0])
        is_each = len(each) == len(fields) and units is None
        named = {f"{n} ({unit})": a for (n, a), unit in zip(fields.items(), each, strict=True)} if is_each else {}
        table = named or (_with_units(fields, each) if units is None and each else {}) or fields
        return replace(from_array(table, fs, units=units, gain=gain, column=column, where=where), name=path.stem)
    small = [n for n, a in arrays.items() if a.size <= MAX_LEADS]
    short = short_paths((n for n in arrays if n not in small), small)
    column = ",".join(short.get(one.strip(), one) for one in column.split(",")) if column else column
    named = {short.get(n, n): a for n, a in arrays.items()}
    numeric = {n: np.squeeze(a) for n, a in named.items() if a.dtype.kind in "iuf" and a.size > 1}
    numeric = {n: a for n, a in numeric.items() if a.ndim in (1, 2)}
    wanted = [name for name in (column or "").split(",") if name in numeric]
    best = wanted or _best_named(numeric)  # another array may be longer, or have more columns
    longest = max((max(numeric[name].shape) for name in best), default=0)
    beside = {n for n, a in numeric.items() if n not in best and a.ndim == 2}
    clocks = {n: np.ravel(a) for n, a in named.items() if _is_clock(a, longest)}
    clocks |= {n: np.ravel(a).astype(object) for n, a in named.items() if _is_clock_in_text(a, longest)}
    samples = {n: a for n, a in numeric.items() if max(a.shape) == longest and n not in beside}
    if not wanted:
        _check_that_it_is_one(where, named, samples)
    samples |= clocks if samples else {}
    notes += [*_no_clocks(named, clocks), *_left_out(numeric, samples, longest)]
    if any(numeric[name].ndim == 2 for name in wanted):  # the array, and what may be its clock
        samples = {n: a for n, a in samples.items() if n in wanted or (a.ndim == 1 and _rises(a))}
        column = None
    if not samples:
        got = ", ".join(_said(*one) for one in arrays.items())
        raise UserError(f"{where}: expected an array of numbers; got {got or 'nothing'}")
    tables = [name for name, a in samples.items() if a.ndim == 2]
    if len(tables) > 1:
        found = ", ".join(f"{name!r} {list(samples[name].shape)}" for name in tables)
        raise UserError(f"{where}: expected one array of samples; got {found} (choose with --column)")
    rows, given = None, None
    for name in tables:
        rows = samples.pop(name)
        _check_that_it_may_be_ecg(where, name, rows, (*wanted, path.stem))
        if rows.shape[0] > rows.shape[1]:
            rows = rows.T
            notes.append(f"leads are the {rows.shape[0]} columns of {name!r}")
        if len(rows) > MAX_LEADS and column is None:
            raise UserError(f"{where}: expected 1-{MAX_LEADS} leads; got {len(rows)} (choose with --column)")
        given = stated_names(arrays, len(rows))
        given = None if given is None else [*unique_names(given)]
    if each and units is None:
        if rows is not None and len(each) in (1, len(rows)):
            names = given or [f"lead {k}" for k in range(len(rows))]
            given = [f"{lead} ({unit})" for lead, unit in zip(names, each * (len(rows) // len(each)), strict=True)]
        elif rows is None and (named_units := _with_units(samples, each)):
            samples = named_units
        else:
            notes.append(f"its units, {', '.join(each)}, are not one for each lead: they are not used")
            each = []
    is_alike = len({meaning(name) for name in given or ()}) < 2  # else the names choose
    if rows is not None and not samples and len(rows) <= MAX_LEADS and (units or not each) and is_alike:
        recording = from_array(
            np.ascontiguousarray(rows), fs, leads=given, units=units, gain=gain, column=column, where=where
        )
    elif rows is None and len(samples) == 1 and (units or not each):
        recording = _of_one(path, samples, stated_names(arrays, 1), fs, units, gain, column)
    else:
        held = [] if rows is None else zip(given or [f"lead {k}" for k in range(len(rows))], rows, strict=True)
        recording = from_array({**samples, **dict(held)}, fs, units=units, gain=gain, column=column, where=where)
    return replace(recording, name=path.stem, leads=short_names(recording.leads), notes=(*notes, *recording.notes))


def _with_units(samples: Mapping[str, Any], each: list[str]) -> dict[str, Any]:
    """Return arrays with the unit of all, or of each that is no clock, in their names; none if there are others."""
    leads = [name for name, a in samples.items() if not _rises(a)]
    if len(each) not in (1, len(leads)):
        return {}
    units = dict(zip(leads, each * (len(leads) // len(each)), strict=True))
    return {f"{name} ({units[name]})" if name in units else name: a for name, a in samples.items()}


def _of_one(
    path: Path, samples: Mapping[str, Any], names: list[str] | None, fs: float | None, units: str | None,
    gain: float | None, column: str | None,
) -> Recording:  # fmt: skip
    """Return the recording of the only array, which has the name that is stated, or its own."""
    ((name, one),) = samples.items()
    _check_that_it_may_be_ecg(path.name, name, one, (path.stem, name if column else ""))
    column = None if column == name else column
    called = names[0] if names else _lead_name(path.stem, name)
    held = {called: one} if called else one
    return from_array(held, fs, units=units, gain=gain, column=column, where=path.name)


def _lead_name(stem: str, name: str) -> str:
    """Return the name of the only array if it is that of a lead or a voltage, and not that of its file; else none."""
    part = telling(name)
    return part if name != stem and meaning(part) in (Meaning.LEAD, Meaning.VOLTAGE) else ""


def _check_that_it_may_be_ecg(where: str, name: str, values: Any, but: Sequence[str]) -> None:
    """Raise UserError if the only array of a file is called like another quantity, or is a clock or a count by name.

    The name of one that is wanted, and that of a file, say nothing: those in ``but``.
    """
    part = "" if name in but else telling(name)
    is_clock = values.ndim == 1 and meaning(part) in (Meaning.TIME, Meaning.OTHER) and _rises(values)
    if is_clock or is_quantity(part):
        why = "a clock or a count" if is_clock else "another quantity, by its name: choose with --column"
        raise UserError(f"{where}: expected an array of ECG; got {name!r} alone ({why})")


def _check_that_it_is_one(where: str, arrays: Mapping[str, Any], samples: Mapping[str, Any]) -> None:
    """Raise UserError if an array of three dimensions holds more numbers than those that would be leads.

    So it does as [recordings, n, 1].
    """
    most = max((a.size for n, a in samples.items() if not _is_batch(arrays[n])), default=0)
    for name, a in arrays.items():
        if a.dtype.kind in "iuf" and _is_batch(a) and a.size > most:
            got = f"{name!r}, of the shape {list(a.shape)}"
            raise UserError(f"{where}: expected one recording, [leads, n]; got {got}: save one recording of it alone")


def _is_batch(values: Any) -> bool:
    """Return True if an array has three dimensions, of which the first is neither that of time nor a single one."""
    return bool(np.squeeze(values).ndim > 2 or (values.ndim > 2 and 1 < values.shape[0] < max(values.shape)))


def _no_clocks(arrays: Mapping[str, Any], clocks: Mapping[str, Any]) -> list[str]:
    """Return a note about arrays of times that are no clock."""
    left = [n for n, a in arrays.items() if a.dtype.kind in "Mm" and a.size > 1 and n not in clocks]
    return [f"left out: {', '.join(map(repr, left))} (times, but not one a sample that rises)"] if left else []


def _is_clock(times: Any, length: int) -> bool:
    """Return True if an array holds dates or durations, one a sample, each known and none before the last."""
    if times.dtype.kind not in "Mm" or times.size != length or max(times.shape) != length:
        return False
    if np.datetime_data(times.dtype)[0] in ("generic", "Y", "M") or bool(np.isnat(times).any()):
        return False
    steps = np.diff(np.ravel(times).astype(np.int64))
    return bool((steps >= 0).all() and (steps > 0).any())


def _is_clock_in_text(times: Any, length: int) -> bool:
    """Return True if an array holds dates or times of day in text, one a sample."""
    if times.dtype.kind not in "UO" or times.size != length or max(times.shape) != length:
        return False
    some = np.ravel(times)[:_EXAMINED].tolist()
    return all(isinstance(one, str | None) for one in some) and seconds_of(pd.Series(some)) is not None


def _left_out(numeric: Mapping[str, Any], samples: Mapping[str, Any], longest: int) -> list[str]:
    """Return notes about arrays that would be leads if they were longer, or called so."""
    short = [n for n, a in numeric.items() if n not in samples and _is_short(n, a, longest)]
    others = [n for n, a in numeric.items() if n not in samples and max(a.shape) >= longest]
    reasons = {f"fewer than the {longest:,} values of the others": short, "others are called like a lead": others}
    return [f"left out: {', '.join(map(repr, left))} ({why})" for why, left in reasons.items() if left]


def _is_short(name: str, values: Any, longest: int) -> bool:
    """Return True if an array would be a lead if it were longer."""
    is_lead = meaning(telling(name)) is Meaning.LEAD and max(values.shape) >= MIN_RATE_HZ
    is_table = values.ndim == 2 and min(values.shape) <= MAX_LEADS and max(values.shape) >= _FEWEST_ROWS
    return bool(
        max(values.shape) < longest and (is_lead or is_table or (values.ndim == 1 and 2 * values.size > longest))
    )


def _rises(values: Any) -> bool:
    """Return True if an array is a clock or a count."""
    return values.dtype.kind in "MmO" or behaviour(values) in RISING


def _said(name: str, value: Any) -> str:
    """Return the name of an array and what it is, for an error."""
    kinds = {"U": "text", "S": "text", "O": "cells or objects", "c": "complex numbers", "b": "true and false",
             "M": "dates", "m": "durations"}  # fmt: skip
    kind = kinds.get(value.dtype.kind, f"{list(value.shape)}" if value.size != 1 else "a number")
    return f"{name!r} ({kind})"


def _best_named(numeric: dict[str, Any]) -> list[str]:
    """Return the arrays that are called like a lead; else those that are not called like another quantity; else all.

    Where only clocks are left, a label, as ``trial`` is one, may be the name of the signals.
    """
    called = {name: meaning(telling(name)) for name in numeric}
    leads = [name for name, what in called.items() if what is Meaning.LEAD]
    others = [name for name, what in called.items() if what is not Meaning.OTHER]
    if others and not leads and all(called[n] is Meaning.TIME or numeric[n].size <= MAX_LEADS for n in others):
        others = [n for n, what in called.items() if what is Meaning.OTHER and not is_quantity(telling(n))] or others
    return leads or others or list(numeric)
