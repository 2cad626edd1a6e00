"""Read a recording from any source: choose the reader, and keep the leads that are wanted."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from beatwire.errors import UserError
from beatwire.recordings.arguments import lead_name, string
from beatwire.recordings.arrays import from_array
from beatwire.recordings.formats import open_file
from beatwire.recordings.objects import opened
from beatwire.recordings.one_heart import with_groups
from beatwire.recordings.opening import check_options
from beatwire.recordings.places import is_address, is_synthetic
from beatwire.recordings.record import Recording
from beatwire.recordings.remote import fetched
from beatwire.recordings.signals import Signals, recording_of
from beatwire.recordings.stated_size import with_remark
from beatwire.recordings.synthetic.person import synthetic_recording
from beatwire.recordings.text.recording import read_text


def read_recording(
    source: str | Path,
    *,
    fs: float | None = None,
    column: str | None = None,
    lead: str | int | None = None,
    gain: float | None = None,
    xp: Any = np,
) -> Recording:
    """Read a whole recording.

    Parameters
    ----------
    source
        A text table (comma, semicolon, tab or blanks; gzip too), a WFDB record (with or without ``.hea``), an EDF, BDF,
        DICOM, BIOPAC, ISHNE, Parquet, NumPy or MATLAB file, the address of one that fsspec can open
        (``s3://bucket/mitdb/100``), or ``synthetic[:key=value,...]``. The content decides, not the ending.
    fs
        Sampling rate in Hz. Required where the source has no rate and no time column; otherwise it must agree with the
        source within 1 %.
    column
        The columns or leads to read: names, or numbers counted from 0, separated by commas. None: all leads.
    lead
        The lead to keep of those: ``first``, a name, or a number counted from 0. None or ``all``: all.
    gain
        Units per millivolt of numbers whose unit the source does not state; in a table it counts before a stated one.
    xp
        NumPy, or CuPy: then a CSV file of numbers is parsed on the GPU and its samples stay there.

    Raises
    ------
    UserError
        The source, or an option, cannot be used.
    """
    name = str(source)
    fs, column, gain = check_options(fs, column, gain)
    if is_synthetic(name):
        recording = synthetic_recording(name, rate_hz=fs)
        recording = recording.pick(*column.split(",")) if column else recording
    elif is_address(name):
        with fetched(name) as path:
            return _read_file(path, fs, column, lead, gain, xp)
    else:
        return _read_file(Path(name).expanduser(), fs, column, lead, gain, xp)
    return recording if lead is None or lead == "all" else recording.pick(lead)


def as_recording(
    source: Any,
    fs: float | None = None,
    *,
    leads: Sequence[str] | None = None,
    units: str | None = None,
    gain: float | None = None,
    column: str | None = None,
    lead: str | int | None = None,
    xp: Any = np,
) -> Recording:
    """Return the recording of any source: a path, an address, a ``wfdb.Record``, an array or a data frame.

    Parameters
    ----------
    source
        See :func:`read_recording` and :func:`beatwire.recordings.arrays.from_array`; or a :class:`Recording`.
    fs, gain, column, lead, xp
        See :func:`read_recording`.
    leads, units
        Of an array or a data frame, see :func:`beatwire.recordings.arrays.from_array`.

    Raises
    ------
    UserError
        The source, or an option, cannot be used.
    """
    if column is not None:
        string("column", column, "names or numbers of columns, a text")
    lead = None if lead is None else lead_name(lead)
    if isinstance(source, os.PathLike) and not isinstance(source, Path):
        source = Path(source)
    if isinstance(source, str | Path):
        for name, value in (("leads", leads), ("units", units)):
            if value is not None:
                raise UserError(f"{name}: expected it with an array or a data frame; {str(source)!r} names its own")
        return _remarked(read_recording(source, fs=fs, column=column, lead=lead, gain=gain, xp=xp))
    source = opened(source)
    if isinstance(source, Signals):
        return _remarked(recording_of(source, fs, column, lead, gain))
    if isinstance(source, Recording):
        recording = source
    else:
        recording = from_array(source, fs, leads=leads, units=units, gain=gain, column=column)
    return _remarked(recording if lead is None or lead == "all" else recording.pick(lead))


def _remarked(recording: Recording) -> Recording:
    """Return a recording with notes on what can hardly be: its size, its length, or leads of several hearts."""
    return with_groups(with_remark(recording))


def _read_file(
    path: Path, fs: float | None, column: str | None, lead: str | int | None, gain: float | None, xp: Any
) -> Recording:
    found = open_file(path, fs, column, gain)
    if isinstance(found, Signals):
        return recording_of(found, fs, column, lead, gain)
    recording = read_text(path, fs, column, gain, xp) if found is None else found
    return recording if lead is None or lead == "all" else recording.pick(lead, where=path.name)
