"""The tables of an archive: Parquet, one file and one row group a recording, partitioned by recording.

In:    tables of a recording
Out:   ``OUT/beats/recording=NAME/0.parquet``; the same of ``alerts``, ``quality`` and ``recordings``; ``OUT/reports``
State: the folder OUT, of this machine or at an address of fsspec

The row of ``recordings`` is written last and removed first: a recording that has it is done or has failed, and all of
its tables are of one analysis. Every file is complete or not there.
"""

import hashlib
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import fsspec
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from beatwire.errors import UserError
from beatwire.outputs import write_output
from beatwire.recordings.places import is_address

_INT, _FLOAT, _SINGLE, _TEXT, _BOOL = pa.int64(), pa.float64(), pa.float32(), pa.string(), pa.bool_()
# The columns of the tables of ``beatwire.Result``, and those of a recording.
SCHEMAS = {
    "beats": {
        "sample": _INT, "time_s": _FLOAT, "rr_ms": _FLOAT, "quality": _SINGLE, "score": _SINGLE, "rate_bpm": _FLOAT,
        "response": _SINGLE, "prematurity": _SINGLE, "scored_by": _TEXT, "decided": _INT, "map_x": _SINGLE,
        "map_y": _SINGLE, "expected_errors": _SINGLE, "beat_class": _TEXT, "class_probability": _SINGLE,
    },
    "alerts": {
        "rule": _TEXT, "priority": _TEXT, "state": _TEXT, "onset": _INT, "onset_s": _FLOAT, "decided": _INT,
        "decided_s": _FLOAT, "value": _FLOAT, "limit": _FLOAT, "text": _TEXT, "technical": _BOOL, "id": _TEXT,
        "stream": _TEXT, "session": _INT, "onset_us": _INT, "decided_us": _INT, "model": _TEXT,
    },
    "quality": {
        "time_s": _FLOAT, "seconds": _FLOAT, "with_signal": _FLOAT, "beats": _INT, "quality": _FLOAT,
        "expected_errors": _FLOAT,
    },
    "recordings": {
        "source": _TEXT, "state": _TEXT, "reason": _TEXT, "leads": _TEXT, "rate_hz": _FLOAT, "seconds": _FLOAT,
        "beats": _INT, "alerts": _INT, "median_rate_bpm": _FLOAT, "min_rate_bpm": _FLOAT, "max_rate_bpm": _FLOAT,
        "with_signal": _FLOAT, "good_signal": _FLOAT, "hum_mv": _FLOAT, "hum_share": _FLOAT, "notes": _TEXT,
        "report": _TEXT, "took_s": _FLOAT, "stamp": _TEXT, "made_with": _TEXT,
    },
}  # fmt: skip
RECORDINGS = "recordings"
RESULTS = ("beats", "alerts", "quality")
DONE, FAILED = "done", "failed"
_LONGEST = 200  # bytes of the name of a folder; file systems take 255
_FILE = "0.parquet"


class NotWrittenError(Exception):
    """The results cannot be written; the text is one line. No other recording's can be either, so the run ends."""


class Store:
    """The tables in a folder or at an address."""

    def __init__(self, out: str | Path) -> None:
        out = str(out)
        self.out = out.rstrip("/") if is_address(out) else str(Path(out).expanduser().absolute())

    def prepare(self) -> None:
        """Make the folder.

        Raises
        ------
        UserError
            It cannot be made, or it is a file.
        """
        try:
            files, root = fsspec.core.url_to_fs(self.out)
            if files.isfile(root):
                raise UserError(f"--out: expected a folder; got the file {self.out!r}")
            files.makedirs(root, exist_ok=True)
            for table in SCHEMAS:
                files.makedirs(f"{root}/{table}", exist_ok=True)
        except (OSError, ValueError, ImportError) as error:
            raise UserError(f"--out: expected a folder that can be written; got {self.out!r}: {error}") from None

    def path(self, table: str, name: str) -> str:
        """Return the path of a table of a recording."""
        return f"{self.out}/{table}/recording={_folder(name)}/{_FILE}"

    def report(self, name: str) -> str:
        """Return the path of the report of a recording."""
        return f"{self.out}/reports/{_folder(name)}.html"

    def write(self, table: str, name: str, columns: pd.DataFrame | Mapping[str, Iterable[Any]]) -> None:
        """Write a table of a recording.

        Raises
        ------
        NotWrittenError
            It cannot be written; an older one is as it was.
        """
        buffer = io.BytesIO()
        rows = as_arrow(table, columns)
        pq.write_table(rows, buffer, row_group_size=max(1, len(rows)), compression="zstd")
        self.put(self.path(table, name), buffer.getvalue())

    def put(self, path: str, content: bytes) -> None:
        """Write a file, completely or not at all; errors as of ``write``."""
        try:
            if is_address(path):
                files, at = fsspec.core.url_to_fs(path)
                files.makedirs(at.rpartition("/")[0], exist_ok=True)
                files.pipe_file(at, content)
            else:
                Path(path).parent.mkdir(parents=True, exist_ok=True)
                write_output("--out", path, content)
        except UserError as error:
            raise NotWrittenError(str(error)) from None
        except Exception as error:  # of any protocol
            raise NotWrittenError(f"--out: expected to write {path}; got: {_why(error)}") from None

    def remove(self, name: str) -> None:
        """Remove what there is of a recording, the row of ``recordings`` first; errors as of ``write``."""
        paths = [self.path(table, name) for table in (RECORDINGS, *RESULTS)]
        for path in [*paths, self.report(name)]:
            try:
                files, at = fsspec.core.url_to_fs(path)
                if files.exists(at):
                    files.rm(at)
            except Exception as error:
                raise NotWrittenError(f"--out: expected to remove {path}; got: {_why(error)}") from None

    def has(self, table: str) -> bool:
        """Return True if a table has a file of a recording."""
        files, root = fsspec.core.url_to_fs(f"{self.out}/{table}")
        return files.isdir(root) and any(path.endswith(f"/{_FILE}") for path in files.find(root))

    def row(self, name: str) -> dict[str, Any] | None:
        """Return the row of a recording; None if it has none."""
        files, at = fsspec.core.url_to_fs(self.path(RECORDINGS, name))
        try:
            rows = pq.ParquetFile(io.BytesIO(files.cat_file(at))).read().to_pylist()
        except (OSError, pa.ArrowInvalid):
            return None
        return rows[0] if rows else None

    def rows(self) -> dict[str, dict[str, Any]]:
        """Return the row of each recording, by name; a file that is torn has none.

        Raises
        ------
        UserError
            There are files of another kind.
        """
        files, root = fsspec.core.url_to_fs(f"{self.out}/{RECORDINGS}")
        paths = files.find(root) if files.isdir(root) else []
        paths = [path for path in paths if path.endswith(f"/{_FILE}")]
        contents = files.cat(paths) if paths else {}
        contents = contents if isinstance(contents, dict) else {paths[0]: contents}
        found: dict[str, dict[str, Any]] = {}
        for path, content in contents.items():
            try:
                file = pq.ParquetFile(io.BytesIO(content))
            except pa.ArrowInvalid:  # by a power cut: the recording is analyzed again
                continue
            try:
                (row,) = file.read(list(SCHEMAS[RECORDINGS])).to_pylist()
            except (pa.ArrowException, ValueError) as error:
                raise UserError(f"--out: expected the folder of an archive; {path} is no row of one: {error}") from None
            found[unquote(path.rpartition("/")[0].rpartition("recording=")[2])] = row
        return found


def as_arrow(table: str, columns: pd.DataFrame | Mapping[str, Iterable[Any]]) -> pa.Table:
    """Return a table with the types of ``SCHEMAS``, whatever the types of its columns are where it has no rows."""
    schema = pa.schema(list(SCHEMAS[table].items()))
    frame = columns if isinstance(columns, pd.DataFrame) else pd.DataFrame(dict(columns))
    arrays = [
        pa.array(frame[field.name], from_pandas=pa.types.is_string(field.type))
        if len(frame)
        else pa.array([], field.type)
        for field in schema
    ]
    return pa.table([array.cast(field.type) for array, field in zip(arrays, schema, strict=True)], schema=schema)


def shown(name: str) -> str:
    """Return the name under which the tables have a recording: a long one is cut, with a hash."""
    return unquote(_folder(name))


def _folder(name: str) -> str:
    """Return a name as part of the name of a folder.

    >>> _folder("ward/100"), len(_folder("x" * 1000))
    ('ward%2F100', 200)
    """
    if len(quote(name, safe="")) <= _LONGEST:
        return quote(name, safe="")
    cut = name[-_LONGEST:]
    while len(quote(cut, safe="")) > _LONGEST - 9:
        cut = cut[1:]
    return f"{hashlib.sha256(name.encode()).hexdigest()[:8]}~{quote(cut, safe='')}"


def _why(error: Exception) -> str:
    text = getattr(error, "strerror", None) or str(error).strip() or type(error).__name__
    return str(text).splitlines()[0]
