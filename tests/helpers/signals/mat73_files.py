"""Files of MATLAB 7.3, as MATLAB stores them: HDF5, arrays turned, texts as numbers, cells as references."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

_CLASSES = {"f8": "double", "f4": "single", "i2": "int16", "i4": "int32", "u1": "uint8", "u2": "uint16"}


def write_mat73(path: Path, held: Mapping[str, Any]) -> None:
    """Write arrays of numbers, texts (one, or an array of them, which are cells) and structures, as mappings."""
    import h5py

    with h5py.File(path, "w", userblock_size=512) as file:
        references = file.create_group("#refs#")

        def put(group: Any, name: str, value: Any) -> Any:
            if isinstance(value, Mapping):
                made, kind = group.create_group(name), "struct"
                for key, one in value.items():
                    put(made, key, one)
            elif isinstance(value, list):  # a matrix of characters
                made, kind = (
                    group.create_dataset(name, data=np.array([[*map(ord, row)] for row in value], "u2").T),
                    "char",
                )
            elif isinstance(value, str):
                made, kind = put(group, name, [value]), "char"
            elif np.asarray(value).dtype.kind in "OU":
                cells = [
                    put(references, f"{name}{k}{group.name[1:]}", one) for k, one in enumerate(np.ravel(value).tolist())
                ]
                made = group.create_dataset(name, (len(cells), 1), h5py.ref_dtype)
                made[:, 0], kind = [one.ref for one in cells], "cell"
            else:
                array = np.atleast_2d(value)
                made, kind = group.create_dataset(name, data=array.T), _CLASSES[array.dtype.str[1:]]
            made.attrs["MATLAB_class"] = np.bytes_(kind)
            return made

        for name, value in held.items():
            put(file, name, value)
    content = bytearray(path.read_bytes())
    content[:128] = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM"
    path.write_bytes(content)
