"""Buffers: arrays of a device that are kept from tick to tick, by name.

In:    names, and the smallest shapes that are needed
Out:   arrays: the same one as last time, unless it is too small
State: all of them

Sizes are rounded up to one of eight an octave (``launch_list.rounded``), so that ticks of about the same size allocate
nothing. A buffer grows on each axis by itself; it loses its contents when it grows.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from beatwire.backends.cuda.launch_list import rounded
from beatwire.backends.cuda.staging import Columns


@dataclass(slots=True)
class Buffers:
    """Buffers of a device.

    empty      returns an uninitialised array of the device, by shape and type
    constant   returns a copy of a host array on the device
    """

    empty: Callable[..., Any]
    constant: Callable[[Any], Any]
    _arrays: dict[Hashable, Any] = field(default_factory=dict)

    def clear(self) -> None:
        """Drop all of them."""
        self._arrays.clear()

    def array(self, name: Hashable, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return an array of at least ``shape``."""
        old = self._arrays.get(name)
        if old is not None and all(a >= b for a, b in zip(old.shape, shape, strict=True)):
            return old
        if old is not None:
            shape = tuple(max(pair) for pair in zip(old.shape, shape, strict=True))
            del old, self._arrays[name]  # its memory is free before the next array is allocated
        new = self._arrays[name] = self.empty((rounded(shape[0]), *shape[1:]), dtype)
        return new

    def columns(self, name: Hashable, most: int, dtypes: Sequence[Any]) -> Columns:
        """Return columns of at least ``most`` rows."""
        old = self._arrays.get(name)
        if old is None or old.most < most:
            old = self._arrays[name] = Columns.of(self.empty, rounded(most), tuple(map(np.dtype, dtypes)))
        return old

    def existing_columns(self, name: Hashable) -> Columns:
        """Return the columns that ``columns`` returned for a name."""
        return self._arrays[name]  # type: ignore[no-any-return]

    def numbers(self, n: int) -> Any:
        """Return 0, 1, 2, ..., at least ``n`` of them."""
        old = self._arrays.get("numbers")
        if old is None or len(old) < n:
            old = self._arrays["numbers"] = self.constant(np.arange(rounded(n)))
        return old

    def scratch(self, name: Hashable, teams: int, examples: Sequence[Any]) -> list[Any]:
        """Return arrays for scratch: the shape of each host array in ``examples``, for each of ``teams``."""
        arrays = []
        for k, example in enumerate(examples):
            key, shape = ("scratch", name, k), (teams, *example.shape)
            old = self._arrays.get(key)
            if old is None or any(a < b for a, b in zip(old.shape, shape, strict=True)):
                old = self._arrays[key] = self.empty(shape, example.dtype)
            arrays.append(old)
        return arrays
