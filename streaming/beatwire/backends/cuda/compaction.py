"""In what order a device does the rows of a kernel: those that have anything to do first.

In:    an array of the device that counts what each row has to do, or sums of that
Out:   the rows in their order, an array of the device; the lines of a tape that write it
State: what was ordered in this pass

In a tick of 64 samples a third of the lanes has a peak, but of eight lanes whose teams share a warp almost always one
has, and the others wait for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from beatwire.backends.cuda.launch_list import Line, rounded
from beatwire.jit.cuda.scan import SCANNED


@dataclass(slots=True)
class Compaction:
    """Compaction of a pass; ``address`` is a card's, ``buffer`` a device's."""

    address: Callable[[Any], int]
    buffer: Callable[..., Any]
    _known: dict[int, Any] = field(default_factory=dict)

    def begin(self) -> None:
        """Begin a pass."""
        self._known.clear()

    def busy_first(self, tape: list[Line], count: Any, summed: bool, rows: int, number: tuple[Any, int]) -> Any:
        """Return the order of at most ``rows`` rows by ``count``, and write down how it is made; once a pass.

        Parameters
        ----------
        summed
            ``count`` [rows + 1] are sums of the rows before.
        number
            Where the number of rows stands: an array of the device and a place in it.
        """
        known = self._known.get(self.address(count))
        if known is not None:
            return known
        name = f"order {len(self._known)}"
        order = self.buffer(name, (rows,), np.int64)
        sums = self.buffer(f"sums of {name}", (rounded(rows) // SCANNED + 1,), np.int64)
        tape.append(Line("sum_busy", rows, *number, (count, int(summed), sums)))
        tape.append(Line("place_busy", rows, *number, (count, int(summed), sums, order)))
        self._known[self.address(count)] = order
        return order
