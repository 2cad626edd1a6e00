"""JSON: a document, or one a line, whatever its shape.

A table is a list of objects, one a sample or one a packet; lists of one length by their names; or what pandas writes.
Numbers and texts beside it state the rate, units and leads, as in a file of arrays. Several lists of samples, each with
other fields beside it, are several recordings: refused.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from beatwire.errors import UserError
from beatwire.recordings.arrays import from_array
from beatwire.recordings.columns.names import Meaning, meaning
from beatwire.recordings.readers.arrays import recording_of_arrays
from beatwire.recordings.readers.fhir import signals_of
from beatwire.recordings.readers.objects import counted, moments_of, turned, with_leads
from beatwire.recordings.readers.paths import short_names
from beatwire.recordings.readers.several import channels_of, check_packets, one_of_several
from beatwire.recordings.readers.stated import converted, stated_rate, stated_units
from beatwire.recordings.record import Recording
from beatwire.recordings.signals import Signals

MOST_BYTES = 1 << 28
_FEWEST_PACKETS = 5
_DEEPEST = 5
_SHOWN = 40
_FEWEST_NUMBERS = 50  # of samples in a text
_SAME_RATE = 0.01
_SCALING = re.compile(r"(?:millivolts_?)?scaling_?factor", re.IGNORECASE)  # units in a millivolt
_WAVEFORM = re.compile(r"waveform_?samples", re.IGNORECASE)


def read_json(path: Path, fs: float | None, column: str | None, gain: float | None) -> Recording | Signals:
    """Read JSON; parameters as for :func:`beatwire.recordings.read_recording`.

    Raises
    ------
    UserError
        It is damaged, too large, or holds no samples or several recordings.
    """
    where, size = path.name, path.stat().st_size
    if size > MOST_BYTES:
        got = f"{size >> 20} MiB: save its samples as CSV or Parquet"
        raise UserError(f"{where}: expected JSON of at most {MOST_BYTES >> 20} MiB; got {got}")
    document, notes = _parsed(where, path.read_bytes())
    try:
        sampled = signals_of(path, document, fs)
        if sampled is not None:
            return sampled
        document, column = one_of_several(where, document, column)
        return recording_of(path, document, notes, fs, column, gain)
    except RecursionError:
        raise UserError(f"{where}: expected samples in JSON; got objects within objects, hundreds deep") from None


def recording_of(
    path: Path, document: Any, notes: tuple[str, ...], fs: float | None, column: str | None, gain: float | None
) -> Recording:
    """Return the recording of a document; parameters as for :func:`beatwire.recordings.read_recording`."""
    where = path.name
    facts: dict[str, Any] = {}
    table = _table(where, document, facts)
    arrays = {name: _as_array(where, name, value) for name, value in facts.items()}
    gain = _stated_gain(arrays) if gain is None else gain
    if table is None:
        if not any(a.ndim for a in arrays.values()):
            raise UserError(f"{where}: expected samples in JSON; got none: no list of numbers, and no list of objects")
        recording = recording_of_arrays(path, arrays, fs, column, gain)
    else:
        units = [] if gain is not None else stated_units(arrays)
        unit = units[0] if len(units) == 1 else None
        if gain is None:
            gain, factor_notes = converted(unit, arrays | _leads_in(table))
            unit, notes = unit if gain is None else None, (*notes, *factor_notes)
        hz = fs
        try:
            recording = from_array(table, fs, gain=gain, units=unit, column=column, where=where)
            if fs is None:
                with suppress(UserError):  # its times give the rate
                    hz, _ = stated_rate(where, arrays, None)
            if hz is not None and abs(recording.rate_hz / hz - 1) > _SAME_RATE:
                with suppress(UserError):  # unless the stated rate explains them, as they have few digits
                    recording = from_array(table, hz, gain=gain, units=unit, column=column, where=where)
        except UserError:
            hz, rate_notes = (fs, []) if fs is not None else stated_rate(where, arrays, None)
            if hz == fs:
                raise
            recording = from_array(table, hz, gain=gain, units=unit, column=column, where=where)
            notes += tuple(rate_notes)
        if hz is not None and abs(recording.rate_hz / hz - 1) > _SAME_RATE:
            notes += (f"it states {hz:g} Hz, its times give {recording.rate_hz:.7g} Hz",)
    return replace(recording, name=path.stem, leads=short_names(recording.leads), notes=(*notes, *recording.notes))


def _leads_in(table: pd.DataFrame) -> dict[str, Any]:
    """Return the columns of numbers that may be leads, by their names."""
    names = [name for name in table.columns if meaning(f"{name}") not in (Meaning.OTHER, Meaning.TIME)]
    return {f"{name}": table[name].to_numpy() for name in names if table[name].dtype.kind in "iuf"}


def _as_array(where: str, name: str, value: Any) -> Any:
    got = "lists among numbers, or lists of several lengths"
    with suppress(ValueError):
        found = np.asarray(value)
        if found.ndim <= _DEEPEST:
            return found
        got = f"lists within lists, {found.ndim} deep"
    raise UserError(f"{where}: expected a list of numbers in {name!r}; got {got}")


def _stated_gain(arrays: Mapping[str, Any]) -> float | None:
    """Return the units in a millivolt that a document of ours, or of Fitbit, Google Health or Kardia, states."""
    numbers = {name.rpartition(".")[2]: float(a) for name, a in arrays.items() if a.dtype.kind in "iuf" and a.ndim == 0}
    if numbers.get("uv_per_unit", 0.0) > 0:
        return 1000.0 / numbers["uv_per_unit"]
    if numbers.get("amplitudeResolution", 0.0) > 0 and "mainsFrequency" in numbers:  # of Kardia, in nanovolts
        return 1e6 / numbers["amplitudeResolution"]
    found = [number for name, number in numbers.items() if _SCALING.fullmatch(name) and number > 0]
    return found[0] if found and any(_WAVEFORM.fullmatch(name.rpartition(".")[2]) for name in arrays) else None


def _parsed(where: str, content: bytes) -> tuple[Any, tuple[str, ...]]:
    """Return a document, or the list of those of the lines, and a note if the last line is cut off."""
    try:
        text = content.decode(json.detect_encoding(content)).strip("\ufeff\0 \t\r\n")
        document, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: expected JSON; got: {str(error)[:200]}") from None
    if not text[end:].strip():
        return document, ()
    lines = [(k, line) for k, line in enumerate(text.splitlines(), 1) if line.strip()]
    found = []
    for number, line in lines:
        try:
            found.append(json.loads(line))
        except ValueError as error:
            if number == lines[-1][0] and len(found) > 1:
                return found, ("the last line is cut off: left out",)
            raise UserError(f"{where}: line {number}: expected JSON; got {line[:_SHOWN]!r}: {error}") from None
    return found, ()


def _table(where: str, document: Any, facts: dict[str, Any]) -> pd.DataFrame | None:
    """Return the table of a document, None if it has lists only; what is beside it is added to ``facts``."""
    tables: list[tuple[str, list[Any]]] = []
    for name, written in _flat("", document):
        value = _listed(written)
        if isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value):
            tables.append((name, value))
        elif isinstance(value, list):
            facts[name] = _array(value)
        elif isinstance(value, int | float | str) and not isinstance(value, bool):
            facts[name] = value
    if {"columns", "data"} <= facts.keys() and np.ndim(facts["data"]) == 2:  # of pandas
        return pd.DataFrame(facts.pop("data"), columns=facts.pop("columns"))
    if not tables:
        return None
    rows = max((rows for _, rows in tables), key=len)
    longest = max((max(value.shape) for value in facts.values() if isinstance(value, np.ndarray)), default=0)
    if longest > sum(max([len(v) for v in row.values() if isinstance(v, list)], default=1) for row in rows):
        return None  # they are remarks beside the samples
    if len(rows) > 1 and not rows[0].keys() & rows[1].keys():
        _table(where, rows[0], facts)  # a head before the rows
        rows = rows[1:]
    return _of_rows(where, [{name: _listed(value) for name, value in _flat("", row)} for row in rows], facts)


def _of_rows(where: str, rows: list[dict[str, Any]], facts: dict[str, Any]) -> pd.DataFrame | None:
    """Return objects as rows; those of packets as a row for each sample. One recording alone is added to ``facts``."""
    if (channels := channels_of(rows)) is not None:
        return _table(where, channels, facts)
    first = rows[0]
    if len(rows) == 1 and any(isinstance(value, list) for value in first.values()):
        facts |= {name: value for name, value in first.items() if not isinstance(value, list)}
        return _table(where, {name: value for name, value in first.items() if isinstance(value, list)}, facts)
    same = {name: value for name, value in first.items() if all(row.get(name) == value for row in rows)}
    facts |= {name: value for name, value in same.items() if isinstance(value, int | float | str)}
    leads = next((v for n, v in same.items() if isinstance(v, list) and v and isinstance(v[0], str)), None)
    moments = turned(where, rows, leads) | moments_of(rows, [*first])
    rows = [with_leads(where, row, leads, moments) for row in rows]
    lists = [name for name, value in rows[0].items() if isinstance(value, list)]
    if not lists and len(rows) == 1:
        return None
    if not lists:
        return pd.DataFrame(rows)
    lengths = [len(row[lists[0]]) if isinstance(row.get(lists[0]), list) else 0 for row in rows]
    if len(rows) < _FEWEST_PACKETS or sum(n != lengths[0] for n in lengths[:-1]) > len(lengths) // 2:
        raise UserError(f"{where}: expected one recording; got {len(rows)} lists of samples: save one of them alone")
    check_packets(where, rows, lists, lengths)
    found: dict[str, list[Any]] = {name: [] for name in rows[0]}
    for number, (row, length) in enumerate(zip(rows, lengths, strict=True), 1):
        for name, values in found.items():
            value = row.get(name)
            if name in lists and (not isinstance(value, list) or len(value) != length):
                raise UserError(f"{where}: expected lists of one length in each packet; packet {number} has others")
            values += value if isinstance(value, list) and name in lists else [value] * length
    return pd.DataFrame(counted(found, lengths, lists))


def _flat(prefix: str, document: Any) -> Iterator[tuple[str, Any]]:
    """Yield the values of a document by their names; those of objects within objects by names with a point."""
    if not isinstance(document, Mapping):
        yield prefix or "ecg", document
        return
    listed = list(document.values())
    if listed and all(str(key).isdigit() for key in document) and not isinstance(listed[0], list):  # rows by number
        yield prefix or "ecg", listed
        return
    for key, value in document.items():
        name = f"{prefix}.{key}" if prefix else str(key)
        if isinstance(value, Mapping) and name.count(".") < _DEEPEST:
            yield from _flat(name, value)
        else:
            yield name, value


def _listed(value: Any) -> Any:
    """Return a text of many numbers between blanks or commas, as their list."""
    if not isinstance(value, str) or len(value) < 2 * _FEWEST_NUMBERS:
        return value
    cells = re.split(r"[\s,;]+", value.strip(" [](){}"))
    try:
        return value if len(cells) < _FEWEST_NUMBERS else [float(cell) for cell in cells]
    except ValueError:
        return value


def _array(values: list[Any]) -> Any:
    """Convert a list of numbers, their texts or nulls to float64, a list of texts to an array; others unchanged."""
    first = next((one for one in values if one not in (None, "")), None)
    if isinstance(first, bool):
        return values
    try:
        return np.asarray([np.nan if one == "" else one for one in values], np.float64)
    except (ValueError, TypeError):
        return np.asarray(values, str) if isinstance(first, str) else values
