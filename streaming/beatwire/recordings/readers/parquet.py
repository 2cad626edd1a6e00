"""Parquet, Feather and Arrow files, by ``pyarrow``: a table whose columns are those of a data frame."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from beatwire.errors import UserError
from beatwire.recordings.arrays import from_array
from beatwire.recordings.record import Recording


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
        table = reader(pa.OSFile(os.fsencode(path))).to_pandas()  # its name may be any bytes
    except (pa.ArrowException, OSError, ValueError) as error:
        raise UserError(f"{where}: expected {what}; got: {str(error).strip().splitlines()[0]}") from None
    return replace(from_array(table, fs, gain=gain, column=column, where=where), name=path.stem)
