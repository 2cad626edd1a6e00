"""The library of an array, and arrays on the host: what needs neither pandas nor a compiler."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from beatwire.backends.base import Backend


def library(backend: Backend) -> ModuleType:
    """Return the array library of a backend: NumPy, or CuPy on a GPU."""
    return np if backend.name == "cpu" else import_module("cupy")


def array_module(array: Any) -> ModuleType:
    """Return the library of an array: NumPy or CuPy."""
    if isinstance(array, np.ndarray):
        return np
    import cupy

    module: ModuleType = cupy.get_array_module(array)
    return module


def host_array(array: Any) -> NDArray[Any]:
    """Return an array as a NumPy array; an array on the device is copied to the host."""
    return np.asarray(array.get() if hasattr(array, "__cuda_array_interface__") else array)
