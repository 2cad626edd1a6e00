"""Beds and what raises `no data`, without a graph."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from beatwire.kernels.alerts import alert_state
from beatwire.records import I64
from beatwire.records.feed import Watched
from beatwire.stages.support.alerts.silence import Silence
from beatwire.stages.support.alerts.stream_alerts import begin_of_no_data

BEGIN_US = 10**15


class Beds:
    """Beds of which all are known; what raises ``no data`` is found."""

    def __init__(self, n: int, limit_s: float) -> None:
        self.silence, self.used_us, self.limits_s = Silence(), np.full(n, BEGIN_US), np.full(n, limit_s)
        self.slots = np.zeros((n, alert_state.FIRST_ONSET + alert_state.RULES), np.int64)
        self.slots[:, alert_state.FIRST_ONSET :] = -1
        self.slots[:, alert_state.IS_KNOWN] = 1

    def tick(self, watched: Watched, used: I64, stamps_us: I64 | None = None) -> list[int]:
        """Return the beds that begin to be without data; the chunks of those in ``used`` have such stamps."""
        self.used_us[used] = watched.now_us if stamps_us is None else stamps_us
        now_us = int(self.used_us[used[-1]]) if len(used) else int(self.used_us.max())
        self.slots[used, alert_state.FIRST_ONSET + alert_state.NO_DATA] = -1
        slots = SimpleNamespace(used_us=self.used_us, expected=np.zeros(len(self.used_us), np.int64))
        tick = cast(Any, SimpleNamespace(now_us=now_us, caught_up=True, used=np.unique(used), slots=slots))
        self.silence.watch(watched)
        rows = np.zeros(len(self.used_us), np.int64)
        return [int(b) for b in begin_of_no_data(self.slots, tick, rows, self.limits_s, self.silence)[:, 0]]
