"""HDF5 files, those of MATLAB 7.3 among them, by the package ``h5py``: as files of arrays.

Groups are structures; what attributes state counts as numbers and texts beside the samples. Links to other files are
not followed.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from beatwire.errors import UserError
from beatwire.recordings.readers.arrays import flat, recording_of_arrays
from beatwire.recordings.readers.documents import short_names
from beatwire.recordings.readers.several import one_of_several
from beatwire.recordings.record import Recording

_MOST = 500  # datasets that are looked at
_MOST_BYTES = 1 << 32
_DEEPEST = 6


def read_hdf5(path: Path, fs: float | None, column: str | None, gain: float | None) -> Recording:
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
            tree = _tree(where, file, [0, 0], 0)
    except UserError:
        raise
    except Exception as error:
        got = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UserError(f"{where}: expected an HDF5 file; got: {got}") from None
    chosen, column = one_of_several(where, tree, column)
    recording = recording_of_arrays(path, dict(flat(chosen)), fs, column, gain)
    return replace(recording, leads=short_names(recording.leads))


def _tree(where: str, group: Any, read: list[int], depth: int) -> dict[str, Any]:
    """Return the arrays of a group and of those in it; ``read`` has the number of datasets and bytes until now."""
    import h5py

    found: dict[str, Any] = _attributes(group)
    for name in group:
        if name.startswith("#") or not isinstance(group.get(name, getlink=True), h5py.HardLink) or read[0] > _MOST:
            continue
        one = group[name]
        if isinstance(one, h5py.Group):
            if depth < _DEEPEST:
                found[name] = _tree(where, one, read, depth + 1)
            continue
        if not isinstance(one, h5py.Dataset) or one.shape is None:
            continue
        read[0], read[1] = read[0] + 1, read[1] + one.nbytes
        if read[1] > _MOST_BYTES:
            raise UserError(f"{where}: expected at most {_MOST_BYTES >> 30} GiB of arrays: save its ECG alone")
        if h5py.check_ref_dtype(one.dtype) is None:
            found[name] = _values(one)
            found |= {f"{name}.{key}": value for key, value in _attributes(one).items()}
    return found


def _values(dataset: Any) -> Any:
    """Return what a dataset holds; a text of MATLAB is stored as numbers."""
    values = dataset[()]
    if dataset.attrs.get("MATLAB_class") == b"char":
        return "".join(map(chr, np.ravel(values)))
    return values.decode("utf-8", "replace") if isinstance(values, bytes) else values


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
