"""HDF5 files, those of MATLAB 7.3 among them, by the package ``h5py``: as files of arrays.

Groups are structures, references to what MATLAB keeps aside are cells; what attributes state counts as numbers and
texts beside the samples. Links to other files are not followed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from beatwire.errors import UserError
from beatwire.recordings.readers.arrays import recording_of_arrays
from beatwire.recordings.readers.labchart import signals_of_labchart
from beatwire.recordings.readers.nwb import signals_of_nwb
from beatwire.recordings.readers.several import one_of_several
from beatwire.recordings.readers.structures import flat
from beatwire.recordings.record import Recording
from beatwire.recordings.signals import Signals

_MOST = 500  # datasets that are looked at
_MOST_CELLS = 100_000  # of one array of cells: each is a dataset, 0.2 ms
_NAMED = 16  # of them, whose place is looked at: it takes longer than all else
_MOST_BYTES = 1 << 32
_DEEPEST = 6
_MISSING = ("_FillValue", "missing_value")
_PACKED = ("scale_factor", "add_offset", *_MISSING)  # of netCDF


@dataclass(slots=True)
class _Read:
    """How many datasets and bytes have been read; ``is_part``: something was left out, ``cells`` among it."""

    datasets: int = 0
    nbytes: int = 0
    is_part: bool = False
    cells: str = ""


def read_hdf5(path: Path, fs: float | None, column: str | None, gain: float | None) -> Recording | Signals:
    """Read a file of HDF5; parameters as for :func:`beatwire.recordings.read_recording`.

    Raises
    ------
    UserError
        It is damaged, too large, or holds several recordings or no array of samples.
    """
    import h5py

    where = path.name
    try:
        with h5py.File(path, "r") as file:
            tree = _tree(where, file, read := _Read(), 0)
    except UserError:
        raise
    except Exception as error:
        got = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UserError(f"{where}: expected an HDF5 file; got: {got}") from None
    what = (
        f"left out: what is behind its first {_MOST} datasets, or in more than {_DEEPEST} groups of groups{read.cells}"
    )
    left = (what,) if read.is_part else ()
    for signals_of in (signals_of_labchart, signals_of_nwb):
        if (signals := signals_of(where, path.stem, tree)) is not None:
            return replace(signals, notes=(*left, *signals.notes))
    chosen, column = one_of_several(where, tree, column)
    recording = recording_of_arrays(path, dict(flat(chosen)), fs, column, gain)
    return replace(recording, notes=(*left, *recording.notes))


def _tree(where: str, group: Any, read: _Read, depth: int) -> dict[str, Any]:
    """Return the arrays of a group and of those in it."""
    import h5py

    found: dict[str, Any] = _attributes(group)
    for name in group:
        if name.startswith("#") or not isinstance(group.get(name, getlink=True), h5py.HardLink):
            continue
        if read.datasets > _MOST:
            read.is_part = True
            continue
        one = group[name]
        if isinstance(one, h5py.Group):
            if depth < _DEEPEST:
                found[name] = _tree(where, one, read, depth + 1)
            else:
                read.is_part = True
            continue
        if not isinstance(one, h5py.Dataset) or one.shape is None:
            continue
        read.datasets += 1
        is_reference = h5py.check_ref_dtype(one.dtype) is not None
        value = _cells(where, one, read) if is_reference else _values(where, one, read)
        if value is not None:
            stated = _attributes(one)
            found[name] = _unpacked(value, stated)
            found |= {f"{name}.{key}": value for key, value in stated.items() if key not in _PACKED}
    return found


def _unpacked(values: Any, stated: Mapping[str, Any]) -> Any:
    """Return an array that is packed by the rules of netCDF as it was before: the number for no value is NaN."""
    numbers = {key: float(stated[key]) for key in _PACKED if np.size(stated.get(key, "")) == 1 and key in stated}
    if not numbers or getattr(values, "dtype", np.dtype(object)).kind not in "iuf":
        return values
    scale, offset = numbers.get("scale_factor", 1.0), numbers.get("add_offset", 0.0)
    missing = [numbers[key] for key in _MISSING if key in numbers]
    if (scale, offset) == (1.0, 0.0) and not np.isin(values, missing).any():
        return values
    return np.where(np.isin(values, missing), np.nan, values * scale + offset)


def _cells(where: str, dataset: Any, read: _Read) -> Any:
    """Return the texts, or the arrays, to which a dataset refers, as the cells of MATLAB; None if it holds others.

    What has a place of its own in the file is read there, once.
    """
    import h5py

    if dataset.size > _MOST_CELLS:
        read.is_part, read.cells = True, f", or the {dataset.size:,} cells of {dataset.name[1:]!r}"
    if not 0 < dataset.size <= _MOST_CELLS or h5py.check_ref_dtype(dataset.dtype) is not h5py.Reference:
        return None
    held = [dataset.file[one] if one else None for one in np.ravel(np.transpose(dataset[()]))]
    kept = [one for one in held if isinstance(one, h5py.Dataset)]
    some = kept[:: -(-len(kept) // _NAMED) or 1]
    has_place = any(not str(one.name).startswith("/#") for one in some)
    if has_place or len(kept) < len(held) or any(h5py.check_ref_dtype(one.dtype) is not None for one in kept):
        return None
    values = [_values(where, one, read) for one in kept]
    if all(isinstance(one, str) for one in values):
        return np.array(values)
    if len(values) == 1:
        return values[0]
    cells = np.empty(len(values), object)
    cells[:] = values
    return cells


def _values(where: str, dataset: Any, read: _Read) -> Any:
    """Return what a dataset holds; an array of MATLAB is stored turned, its texts as numbers."""
    import h5py

    read.nbytes += dataset.nbytes
    if read.nbytes > _MOST_BYTES:
        raise UserError(f"{where}: expected at most {_MOST_BYTES >> 30} GiB of arrays: save its ECG alone")
    is_text = h5py.check_string_dtype(dataset.dtype) is not None
    values, kind = dataset.asstr(errors="replace")[()] if is_text else dataset[()], dataset.attrs.get("MATLAB_class")
    if kind == b"char":
        texts = ["".join(map(chr, row)) for row in np.atleast_2d(values.T)]
        return texts[0] if len(texts) == 1 else np.array(texts)
    if kind is not None and isinstance(values, np.ndarray):
        return values.T
    return values


def _attributes(holder: Any) -> dict[str, Any]:
    """Return the numbers and texts that the attributes of a group or a dataset state."""
    found = {}
    for key in holder.attrs:
        value = holder.attrs[key]
        if isinstance(value, bytes | np.bytes_):
            value = value.decode("utf-8", "replace")
        if not key.startswith(("MATLAB_", "CLASS", "NAME", "DIMENSION", "REFERENCE")) and np.size(value) <= 100:
            found[key] = value
    return found
