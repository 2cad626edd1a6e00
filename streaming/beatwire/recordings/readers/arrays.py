"""Arrays in a file: NumPy's ``.npy`` and ``.npz``, and MATLAB's ``.mat``.

A file may hold one array of samples, or several of one length, one a lead; a number that is named like a sampling rate;
and names of the leads. Leads lie along the shorter side of an array. The rest is as for arrays in memory.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from beatwire.errors import UserError
from beatwire.recordings.arrays import from_array
from beatwire.recordings.record import MAX_LEADS, MAX_RATE_HZ, MIN_RATE_HZ, Recording

_RATE = re.compile(
    r"(.*[._])?(fs|f_s|sfreq|sf|sr|rate|samp\w*_?rate|samp\w*_?freq\w*|freq\w*|rate_hz|fs_hz|hz)", re.IGNORECASE
)
_NAMES = re.compile(
    r"(.*[._])?(leads?|lead_names?|channels?|channel_names?|ch_names?|sig_names?|names?|labels?)", re.IGNORECASE
)
_MOST = 200  # arrays that are looked at
_DEEPEST = 3  # structures within structures


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
            arrays = {path.stem: opened} if one else {name: opened[name] for name in opened.files[:_MOST]}
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise UserError(f"{path.name}: expected arrays of numbers; got: {str(error).splitlines()[0]}") from None
    return _recording(path, arrays, fs, column, gain)


def read_matlab(path: Path, fs: float | None, column: str | None, gain: float | None) -> Recording:
    """Read a ``.mat`` file of MATLAB 4 to 7.2; parameters and errors as of :func:`read_numpy`."""
    import scipy.io

    try:
        with path.open("rb") as file:
            opened = scipy.io.loadmat(file, simplify_cells=True)
    except Exception as error:
        got = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UserError(f"{path.name}: expected a MATLAB file; got: {got}") from None
    named = {name: value for name, value in opened.items() if not name.startswith("__")}
    return _recording(path, dict(_flat(named)), fs, column, gain)


def _flat(values: Mapping[str, Any], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield the arrays of a file, those within structures by names with a point."""
    for name, value in values.items():
        if isinstance(value, dict) and depth < _DEEPEST:
            yield from _flat(value, f"{prefix}{name}.", depth + 1)
        else:
            yield f"{prefix}{name}", np.asarray(value)


def _recording(
    path: Path, arrays: dict[str, Any], fs: float | None, column: str | None, gain: float | None
) -> Recording:
    """Return the recording of named arrays."""
    where, notes = path.name, []
    rates = {
        n: float(a.item()) for n, a in arrays.items() if a.size == 1 and a.dtype.kind in "iuf" and _RATE.fullmatch(n)
    }
    rates = {n: hz for n, hz in rates.items() if MIN_RATE_HZ <= hz <= MAX_RATE_HZ}
    if len(set(rates.values())) == 1:
        name, hz = next(iter(rates.items()))
        if fs is not None and abs(fs - hz) > 0.01 * hz:
            raise UserError(f"{where}: expected --fs {hz:g}, the rate of its {name!r}, or no --fs; got --fs {fs:g}")
        if fs is None:
            fs = hz
            notes.append(f"rate: {hz:g} Hz, by its {name!r}")
    numeric = {
        n: np.squeeze(a)
        for n, a in arrays.items()
        if a.dtype.kind in "iuf" and a.size > 1 and np.squeeze(a).ndim in (1, 2)
    }
    longest = max((max(a.shape) for a in numeric.values()), default=0)
    samples = {n: a for n, a in numeric.items() if max(a.shape) == longest}
    wanted = column.split(",") if column is not None else []
    if wanted and all(name in numeric for name in wanted):
        samples, column = {name: numeric[name] for name in wanted}, None
    if not samples:
        raise UserError(f"{where}: expected an array of numbers; got {', '.join(arrays) or 'nothing'}")
    if len(samples) > 1 and any(a.ndim == 2 for a in samples.values()):
        found = ", ".join(f"{n!r} {list(a.shape)}" for n, a in samples.items())
        raise UserError(f"{where}: expected one array of samples; got {found} (choose with --column)")
    if len(samples) > 1:
        recording, column = from_array(samples, fs, gain=gain, column=column, where=where), None
    else:
        (array,) = samples.values()
        names = [
            [str(x).strip() for x in np.ravel(a)]
            for n, a in arrays.items()
            if a.dtype.kind in "UO" and _NAMES.fullmatch(n)
        ]
        if array.ndim == 2 and array.shape[0] > array.shape[1]:
            array = array.T
            notes.append(f"leads are its {array.shape[0]} columns")
        rows = array.shape[0] if array.ndim == 2 else 1
        if rows > MAX_LEADS:
            raise UserError(f"{where}: expected 1-{MAX_LEADS} leads; got {rows}")
        given = next((one for one in names if len(one) == rows), None)
        recording = from_array(np.ascontiguousarray(array), fs, leads=given, gain=gain, where=where)
    recording = replace(recording, name=path.stem, notes=(*notes, *recording.notes))
    return recording.pick(*column.split(",")) if column else recording
