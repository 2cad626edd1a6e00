"""Upload of a recording from the host to a device, one pass ahead of the pass that is being processed."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from beatwire.backends.cuda.upload import upload_stretches
from beatwire.records import I16, I64, Placement
from beatwire.records.columns import PLACE_AT, PLACE_LANE, PLACE_STRIDE

BUFFERS = 3  # one is filled, one is written to the rings, one is still being read
_END: Any = object()
T = TypeVar("T")


@dataclass(slots=True)
class UploadedSamples:
    """A source (``passes.SampleSource``) of samples on the host, int16 [leads, n], that uploads each pass.

    buffers   ``BUFFERS`` int16 arrays of the device, each with space for the samples of a pass
    used      how many payloads were requested; the buffers are used in turn
    pending   the event after each upload, by the ``id`` of its payload
    """

    samples: I16
    buffers: list[Any]
    used: int = 0
    pending: dict[int, Any] = field(default_factory=dict)

    def payload(self, lane: I64, start: I64, stop: I64, place: I64) -> Any:
        """Start to upload the samples of a pass and return the buffer; see ``passes.SampleSource``."""
        buffer = self.buffers[self.used % len(self.buffers)]
        self.used += 1
        width, uploaded = upload_stretches(self.samples, start, stop, buffer)
        row = np.searchsorted(lane, place[:, PLACE_LANE])
        place[:, PLACE_AT] = 2 * (row * len(self.samples) * width + place[:, PLACE_AT] - start[row])
        place[:, PLACE_STRIDE] = 2 * width
        payload = buffer.view(np.uint8)
        self.pending[id(payload)] = uploaded
        return payload

    def when_uploaded(self, placements: Iterator[Placement]) -> Iterator[Placement]:
        """Yield each placement once its samples are on the device; the next ones are uploaded meanwhile."""
        for placement in placements:
            if (uploaded := self.pending.pop(id(placement.payload), None)) is not None:
                uploaded.synchronize()
            yield placement


def one_ahead(source: Iterator[T]) -> Iterator[T]:
    """Yield the items of an iterator; a thread computes the next item while the current one is used."""
    with ThreadPoolExecutor(1, "beatwire-ahead") as pool:
        future = pool.submit(next, source, _END)
        while (item := future.result()) is not _END:
            future = pool.submit(next, source, _END)
            yield item
