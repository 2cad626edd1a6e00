"""The samples of a recording on the host, on their way to a device: a pass ahead of the one that is written down."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from beatwire.records import I16, I64, Placement
from beatwire.records.columns import PLACE_AT, PLACE_LANE, PLACE_STRIDE
from beatwire.tables import upload_stretches

ROOMS = 3
_END: Any = object()
T = TypeVar("T")


@dataclass(slots=True)
class Fed:
    """A source (``shards.Source``) of samples of the host, int16 [leads, n].

    rooms    ``ROOMS`` arrays of the device, int16, each with room for a pass: one is filled, one is written down and
             one is read
    coming   by which payload: what to wait for until its samples are there
    """

    samples: I16
    rooms: list[Any]
    turn: int = 0
    coming: dict[int, Any] = field(default_factory=dict)

    def payload(self, lane: I64, start: I64, stop: I64, place: I64) -> Any:
        """Begin to bring what lanes want of a pass."""
        room = self.rooms[self.turn % len(self.rooms)]
        self.turn += 1
        width, arrived = upload_stretches(self.samples, start, stop, room)
        row = np.searchsorted(lane, place[:, PLACE_LANE])
        place[:, PLACE_AT] = 2 * (row * len(self.samples) * width + place[:, PLACE_AT] - start[row])
        place[:, PLACE_STRIDE] = 2 * width
        payload = room.view(np.uint8)
        self.coming[id(payload)] = arrived
        return payload

    def arrived(self, placements: Iterator[Placement]) -> Iterator[Placement]:
        """Yield each placement when its samples are there: those of the next are copied while the last of it travel."""
        for placement in placements:
            if (arrived := self.coming.pop(id(placement.payload), None)) is not None:
                arrived.synchronize()
            yield placement


def one_ahead(of: Iterator[T]) -> Iterator[T]:
    """Yield what another iterator does, whose next is on its way by a thread."""
    with ThreadPoolExecutor(1, "beatwire-ahead") as pool:
        coming = pool.submit(next, of, _END)
        while (one := coming.result()) is not _END:
            coming = pool.submit(next, of, _END)
            yield one
