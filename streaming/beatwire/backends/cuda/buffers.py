"""Arrays of a device that are kept from tick to tick, by name.

In:    names, and how large what they stand for is to be at least
Out:   arrays: the same one as the last time, unless that is too small
State: all of them

What is asked for is rounded up to one of eight sizes an octave (``tape.rounded``), so that ticks of about the same size
allocate nothing. A room grows on each axis by itself, and what it held is gone then.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from beatwire.backends.cuda.launch_list import rounded
from beatwire.backends.cuda.staging import Columns


@dataclass(slots=True)
class Buffers:
    """Buffers of a device.

    empty      makes an array of a shape and a type there
    constant   makes a copy of a host array there
    """

    empty: Callable[..., Any]
    constant: Callable[[Any], Any]
    _kept: dict[Hashable, Any] = field(default_factory=dict)

    def clear(self) -> None:
        """Forget all of them."""
        self._kept.clear()

    def room(self, name: Hashable, wanted: tuple[int, ...], dtype: Any) -> Any:
        """Return an array of at least the shape ``wanted``."""
        kept = self._kept.get(name)
        if kept is not None and all(a >= b for a, b in zip(kept.shape, wanted, strict=True)):
            return kept
        if kept is not None:
            wanted = tuple(max(pair) for pair in zip(kept.shape, wanted, strict=True))
            del kept, self._kept[name]  # it goes before the next one comes
        new = self._kept[name] = self.empty((rounded(wanted[0]), *wanted[1:]), dtype)
        return new

    def columns(self, name: Hashable, most: int, dtypes: Sequence[Any]) -> Columns:
        """Return columns of at least ``most`` rows."""
        kept = self._kept.get(name)
        if kept is None or kept.most < most:
            kept = self._kept[name] = Columns.of(self.empty, rounded(most), tuple(map(np.dtype, dtypes)))
        return kept

    def known(self, name: Hashable) -> Columns:
        """Return the columns of a name that was asked for in this tick."""
        return self._kept[name]  # type: ignore[no-any-return]

    def numbers(self, n: int) -> Any:
        """Return 0, 1, 2, ..., ``n`` of them at least."""
        kept = self._kept.get("numbers")
        if kept is None or len(kept) < n:
            kept = self._kept["numbers"] = self.constant(np.arange(rounded(n)))
        return kept

    def scratch(self, name: Hashable, teams: int, likes: Sequence[Any]) -> list[Any]:
        """Return arrays like some of the host, each as many times as there are teams."""
        made = []
        for k, like in enumerate(likes):
            key, wanted = ("scratch", name, k), (teams, *like.shape)
            kept = self._kept.get(key)
            if kept is None or any(a < b for a, b in zip(kept.shape, wanted, strict=True)):
                kept = self._kept[key] = self.empty(wanted, like.dtype)
            made.append(kept)
        return made
