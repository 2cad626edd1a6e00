"""Parquet files, by ``pyarrow``: a table whose columns are those of a data frame."""

import os
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
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
    where = path.name
    try:
        table = pa.parquet.read_table(pa.OSFile(os.fsencode(path))).to_pandas()  # its name may be any bytes
    except (pa.ArrowException, OSError, ValueError) as error:
        raise UserError(f"{where}: expected a Parquet table; got: {str(error).strip().splitlines()[0]}") from None
    return replace(from_array(table, fs, gain=gain, column=column, where=where), name=path.stem)
