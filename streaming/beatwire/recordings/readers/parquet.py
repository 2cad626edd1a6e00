"""Parquet, Feather and Arrow files, by ``pyarrow``: a table whose columns are those of a data frame.

Units and the rate may be stated beside the columns. Rows that hold lists of samples are packets.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from beatwire.errors import UserError
from beatwire.recordings.arrays import from_array
from beatwire.recordings.columns.names import canonical_unit, unit_of
from beatwire.recordings.readers.documents import MOST_BYTES, recording_of
from beatwire.recordings.readers.paths import short_names
from beatwire.recordings.readers.stated import stated_rate, stated_units
from beatwire.recordings.record import Recording

_UNIT = ("unit", "units")


def read_parquet(path: Path, fs: float | None, column: str | None, gain: float | None) -> Recording:
    """Read a table; parameters as for :func:`beatwire.recordings.read_recording`.

    Raises
    ------
    UserError
        The file is damaged, there is no such column, or it is no recording.
    """
    return _read(path, "a Parquet table", pa.parquet.read_table, fs, column, gain)


def read_arrow(path: Path, fs: float | None, column: str | None, gain: float | None) -> Recording:
    """Read a file or a stream of Arrow, as Feather is one; parameters and errors as for :func:`read_parquet`."""
    return _read(path, "an Arrow table", _arrow, fs, column, gain)


def _arrow(file: pa.NativeFile) -> pa.Table:
    is_file = file.read(6) == b"ARROW1"
    file.seek(0)
    table = pa.ipc.open_file(file).read_all() if is_file else pa.ipc.open_stream(file).read_all()
    table.validate(full=True)  # the bytes of a damaged file are used as they are
    return table


def _read(
    path: Path, what: str, reader: Callable[[pa.NativeFile], pa.Table], fs: float | None, column: str | None,
    gain: float | None,
) -> Recording:  # fmt: skip
    where = path.name
    try:
        found = _plain(reader(pa.OSFile(os.fsencode(path))))  # its name may be any bytes
        if any(pa.types.is_nested(field.type) for field in found.schema):
            return _of_lists(path, found, fs, column, gain)
        table = found.to_pandas()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise UserError(f"{where}: expected {what}; got: {str(error).strip().splitlines()[0]}") from None
    stated = {key: np.asarray(text) for key, text in _texts(found.schema.metadata).items()}
    units = stated_units(stated) if gain is None else []
    unit = units[0] if len(units) == 1 and not any(map(unit_of, found.column_names)) else None
    notes: list[str] = []
    try:
        recording = from_array(table, fs, units=unit, gain=gain, column=column, where=where)
    except UserError:
        hz, notes = stated_rate(where, stated, fs)
        if hz == fs:
            raise
        recording = from_array(table, hz, units=unit, gain=gain, column=column, where=where)
    return replace(recording, name=path.stem, leads=short_names(recording.leads), notes=(*notes, *recording.notes))


def _plain(table: pa.Table) -> pa.Table:
    """Return a table whose structures are columns, with the units that fields state in their names."""
    while any(pa.types.is_struct(field.type) for field in table.schema):
        table = table.flatten()
    names = []
    for field in table.schema:
        unit = next((text for key, text in _texts(field.metadata).items() if key.casefold() in _UNIT), "")
        names.append(f"{field.name} ({unit})" if canonical_unit(unit) and not unit_of(field.name) else field.name)
    return table if names == table.column_names else table.rename_columns(names)


def _texts(metadata: Mapping[bytes, bytes] | None) -> dict[str, str]:
    """Return what is stated beside a table, or a column, as text."""
    return {key.decode("utf-8", "replace"): text.decode("utf-8", "replace") for key, text in (metadata or {}).items()}


def _of_lists(path: Path, table: pa.Table, fs: float | None, column: str | None, gain: float | None) -> Recording:
    """Return the recording of a table with lists of samples: its rows are packets, as in JSON."""
    if table.nbytes > MOST_BYTES:
        got = f"{table.nbytes >> 20} MiB: write a row for each sample"
        raise UserError(f"{path.name}: expected lists of samples in at most {MOST_BYTES >> 20} MiB; got {got}")
    dated = [k for k, field in enumerate(table.schema) if pa.types.is_temporal(field.type)]
    for k in dated:
        table = table.set_column(k, table.column_names[k], table.column(k).cast(pa.string()))
    return recording_of(path, {**_texts(table.schema.metadata), "rows": table.to_pylist()}, (), fs, column, gain)
