"""Streams that nobody analyses: their samples come, and neither a beat nor an alert that says why there is none.

In: when chunks arrived and beats were read, by slot. Out: the slots of streams that were silent in this way for
``PATIENCE_US``, while their chunks came without a pause. State: int64 [slots], when each was heard of last.

While a monitor runs, every stream has a beat or an alert within 10 s (law 8). Nothing else says that none runs.
"""

from typing import Any

import numpy as np

from beatwire.records import I64

PATIENCE_US = 15_000_000
_WITHOUT_BEATS = frozenset({"asystole", "lead off"})  # beside the rules that prevent an analysis


class Unanalysed:
    """When a stream was last heard of: its first chunk, one after a pause, or a beat.

    Attributes
    ----------
    patience_us : int
        After which a stream without beats or alerts is not analysed.
    now_us : int
        When the newest chunk of any stream arrived.
    """

    def __init__(self) -> None:
        self.patience_us = PATIENCE_US
        self.now_us = 0
        self._heard_us: I64 = np.zeros(0, np.int64)

    def add_chunks(self, before_us: I64, arrived_us: I64, pause_us: int, now_us: int) -> None:
        """Note the streams that begin, or come after a pause, or after the clock was set back.

        Parameters
        ----------
        before_us, arrived_us : int64 [slots]
            When the last chunk of each had arrived before a tick, and after it.
        """
        self.now_us = now_us
        self._grow(len(arrived_us))
        began = np.append(before_us, np.full(len(arrived_us) - len(before_us), -1))
        self._heard_us[abs(arrived_us - began) > pause_us] = now_us

    def add_beats(self, slots: list[int]) -> None:
        """Note the streams of beats that were read."""
        if slots:
            self._grow(max(slots) + 1)
            self._heard_us[slots] = self.now_us

    def among(self, slots: I64, arrived_us: I64) -> I64:
        """Return those of the slots that were not heard of for so long; their alerts may still say why."""
        known = slots[slots < len(self._heard_us)]
        return known[arrived_us[known] - self._heard_us[known] > self.patience_us]

    def _grow(self, size: int) -> None:
        self._heard_us = np.append(self._heard_us, np.zeros(max(0, size - len(self._heard_us)), np.int64))


def explains(alert: dict[str, Any]) -> bool:
    """Return True if an alert, as the protocol has it, says why a stream has no beats."""
    return alert["state"] != "latched" and bool(alert["prevents"] or alert["rule"] in _WITHOUT_BEATS)
