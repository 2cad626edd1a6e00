"""How far back a successor must start to reach the state that we are in: by tick, per partition.

Every ``STEP_S`` of its own time a stream leaves a mark: the tick that began at that point. The
oldest kept mark is then at least the horizon back. A restart of the stream makes everything before
it irrelevant; a stream silent for longer than ``silence_s`` will restart and needs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from beatwire.records import I64, Aligned, Event

STEP_S = 10.0


@dataclass(slots=True)
class Marks:
    """ticks: int64 [slots, n], oldest first; at: int64 [slots], sample of the newest mark."""

    horizon_s: float
    silence_s: float
    ticks: I64 = field(init=False)
    at: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    newest_us: int = 0

    def __post_init__(self) -> None:
        """Size the rows: one mark more than the horizon has steps."""
        self.ticks = np.zeros((0, int(np.ceil(self.horizon_s / STEP_S)) + 1), np.int64)

    def note(self, tick: int, aligned: Aligned) -> None:
        """Note where the streams stand after tick number ``tick``."""
        missing = len(aligned.expected) - len(self.at)
        if missing > 0:
            self.at = np.concatenate([self.at, np.zeros(missing, np.int64)])
            self.ticks = np.concatenate([self.ticks, np.full((missing, self.ticks.shape[1]), tick)])
        restarted = aligned.events[aligned.events[:, 2] == Event.RESTART]
        self.ticks[restarted[:, 1]] = tick
        self.at[restarted[:, 1]] = restarted[:, 3]
        for placement in aligned.passes:
            fresh = placement.fresh
            slot = fresh.slot[fresh.stop - self.at[fresh.slot] >= STEP_S * fresh.bank.rate_hz]
            if len(slot):
                self.ticks[slot, :-1] = self.ticks[slot, 1:]
                self.ticks[slot, -1] = tick + 1
                self.at[slot] = aligned.expected[slot]
        if len(aligned.seen):
            self.newest_us = max(self.newest_us, int(aligned.arrival_us[aligned.seen].max()))

    def oldest(self, partition: int, partitions: I64, arrival_us: I64, otherwise: int) -> int:
        """Return the tick that a partition must be replayed from."""
        mine = (partitions == partition) & (self.newest_us - arrival_us <= self.silence_s * 1e6)
        return int(self.ticks[: len(mine)][mine, 0].min(initial=otherwise))
