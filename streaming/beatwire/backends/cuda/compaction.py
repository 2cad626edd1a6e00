"""Compaction: run the items of a kernel that have work first.

In:    an array of the device that counts the work of each item, or its sums
Out:   the items in their order, an array of the device; the launches that compute it
State: the orders of this pass

In a tick of 64 samples a third of the lanes has a peak. But among eight lanes whose teams share a warp almost always
one has, and the others wait for it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from beatwire.backends.cuda.launch_list import Launch, rounded
from beatwire.jit.cuda.scan import SCANNED


@dataclass(slots=True)
class Compaction:
    """Compaction of a pass.

    address   returns the address of an array
    buffer    returns an array of the device by name, shape and type
    """

    address: Callable[[Any], int]
    buffer: Callable[..., Any]
    _orders: dict[int, Any] = field(default_factory=dict)

    def begin(self) -> None:
        """Begin a pass."""
        self._orders.clear()

    def busy_first(self, launches: list[Launch], count: Any, summed: bool, most: int, number: tuple[Any, int]) -> Any:
        """Return the order of at most ``most`` items by ``count``, and append the launches that compute it.

        Both happen once a pass for each ``count``.

        Parameters
        ----------
        summed
            ``count`` [items + 1] has the sums before each item.
        number
            An array of the device and the index in it that has the number of items.
        """
        found = self._orders.get(self.address(count))
        if found is not None:
            return found
        name = f"order {len(self._orders)}"
        order = self.buffer(name, (most,), np.int64)
        sums = self.buffer(f"sums of {name}", (rounded(most) // SCANNED + 1,), np.int64)
        launches.append(Launch("sum_busy", most, *number, (count, int(summed), sums)))
        launches.append(Launch("place_busy", most, *number, (count, int(summed), sums, order)))
        self._orders[self.address(count)] = order
        return order
