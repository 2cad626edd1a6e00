"""A few streams that are read tick by tick, and the marks from which a successor replays them."""

from collections.abc import Sequence

import numpy as np
from beatwire.pipeline.rewind import Marks
from oracles import SentChunk
from steps import Aligner

RATE_HZ = 100.0
HORIZON_S, SILENCE_S, LONG_S = 60.0, 30.0, 130.0
START_US = 1_700_000_000_000_000


class Reading:
    """A few streams read tick by tick, and their marks."""

    def __init__(self) -> None:
        self.aligner, self.marks, self.tick = Aligner(), Marks(HORIZON_S, SILENCE_S), -1
        self.now_s = 0.0

    def read(
        self,
        *parts: tuple[str, float, float],
        session: int = 1,
        sessions: tuple[int, ...] = (),
        partition: int = 0,
        caught_up: bool = True,
        unread: tuple[int, ...] = (),
        before: Sequence[SentChunk] = (),
    ) -> None:
        """Read one tick: for each stream its id, and the range in seconds; ``sessions`` of each part if they differ.

        ``before``: chunks that come before these.
        """
        self.tick += 1
        values = [c.message() for c in before]
        self.now_s += max((end - begin for _, begin, end in parts), default=0.0)
        for (stream, begin, end), number in zip(parts, sessions or (session,) * len(parts), strict=True):
            for a in np.arange(begin, end, 1.0):
                n = round((min(a + 1, end) - a) * RATE_HZ)
                c = SentChunk(stream, number, round(a * RATE_HZ), np.zeros((1, n), np.int16))
                values.append(c.message())
        arrival_us = [round(self.now_s * 1e6)] * len(values)
        aligned = self.aligner.tick(
            values, now_us=round(self.now_s * 1e6) + START_US, arrival_us=arrival_us,
            partition=[partition] * len(values), caught_up=caught_up,
        )  # fmt: skip
        known = self.aligner.directory.partition[: len(self.aligner.directory.names)]
        self.marks.note(self.tick, aligned, known, unread)
        self.aligned = aligned

    def oldest(self, partition: int = 0) -> int:
        known = len(self.aligner.directory.names)
        partitions = self.aligner.directory.partition[:known]
        return self.marks.oldest(partition, partitions, self.aligned.slots.arrived_us[:known], self.tick + 1)
