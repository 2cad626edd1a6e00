"""The cards of this machine, and which worker has which.

In:  NVIDIA's driver alone: no library is loaded, and no memory of a card is used
Out: the cards, and a :class:`Place` for each worker
"""

import ctypes
import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

DRIVER = "libcuda.so.1"  # NVIDIA's
VISIBLE = "CUDA_VISIBLE_DEVICES"  # what the driver reads: numbers or identifiers of cards, separated by commas


class Card(NamedTuple):
    """A card: its name, and its memory in bytes."""

    name: str
    memory_bytes: int


class Place(NamedTuple):
    """The card of a worker, as `VISIBLE` names it, and how many workers share it; no card: empty, and the worker."""

    card: str
    workers: int

    @property
    def environment(self) -> dict[str, str]:
        """Return what the environment of the worker has more."""
        return {VISIBLE: self.card} if self.card else {}


def driver_of(library: str = DRIVER) -> ctypes.CDLL | None:
    """Return NVIDIA's driver; None if it is not there: without it no package of the extra ``gpu`` helps.

    >>> driver_of("no-such-library.so") is None
    True
    """
    try:
        return ctypes.CDLL(library)
    except OSError:
        return None


def cards(driver: ctypes.CDLL | None) -> list[Card]:
    """Return the cards that the driver lists; none if it cannot.

    >>> cards(None)
    []
    """
    count = ctypes.c_int()
    if driver is None or driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return []
    found = []
    for ordinal in range(count.value):
        device, size, name = ctypes.c_int(), ctypes.c_size_t(), ctypes.create_string_buffer(256)
        driver.cuDeviceGet(ctypes.byref(device), ordinal)
        driver.cuDeviceGetName(name, len(name), device)
        driver.cuDeviceTotalMem_v2(ctypes.byref(size), device)
        found.append(Card(name.value.decode(), size.value))
    return found


def places(workers: int, found: Sequence[Card], environment: Mapping[str, str] = os.environ) -> list[Place]:
    """Return the place of each worker: the cards in turn.

    >>> places(3, [Card("a", 1), Card("b", 1)], {})
    [Place(card='0', workers=2), Place(card='1', workers=1), Place(card='0', workers=2)]
    >>> places(1, [Card("b", 1)], {"CUDA_VISIBLE_DEVICES": "1,7"})
    [Place(card='1', workers=1)]
    >>> places(1, [])
    [Place(card='', workers=1)]
    """
    n, visible = len(found), environment.get(VISIBLE)
    if n == 0:
        return [Place("", 1)] * workers
    named = visible.split(",") if visible else [str(k) for k in range(n)]
    return [Place(named[k % n].strip(), len(range(k % n, workers, n))) for k in range(workers)]
