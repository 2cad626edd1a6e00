"""Counters of the monitor since its start, and the latency of its messages."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from beatwire.records import I64

_LONGEST_MS = 10_000  # longer latencies are counted as this one


class Latency:
    """A histogram of latencies in bins of one millisecond, up to ten seconds.

    Attributes
    ----------
    counts : int64 [10001]
        Messages per millisecond of latency.
    """

    def __init__(self) -> None:
        self.counts: I64 = np.zeros(_LONGEST_MS + 1, np.int64)

    def add(self, now_us: int, arrival_us: I64) -> None:
        """Count messages that arrived at `arrival_us` and were published at `now_us`, microseconds since 1970."""
        latency_ms = np.clip((now_us - arrival_us) // 1000, 0, _LONGEST_MS)
        self.counts += np.bincount(latency_ms, minlength=len(self.counts))

    def quantile_ms(self, q: float) -> float | None:
        """Return the `q`-quantile in milliseconds, or None before the first message.

        Examples
        --------
        >>> latency = Latency()
        >>> latency.add(5_000, np.array([0, 1_000, 4_500]))
        >>> latency.quantile_ms(0.5)
        4.0
        """
        total = int(self.counts.sum())
        return float(np.searchsorted(np.cumsum(self.counts), q * total)) if total else None


@dataclass
class Counters:
    """What the monitor has done since its start.

    ticks        ticks that were published
    messages     sample messages in those ticks
    beats        beats published
    alerts       transitions of alerts published
    rejects      dead letters published
    replayed     sample messages that were replayed, their output discarded
    epochs       changes of the assignment
    stale_ticks  ticks that were not published, because their epoch had ended or their outcome was unknown
    latency      from the arrival of a message at the broker to the publication of its tick
    """

    ticks: int = 0
    messages: int = 0
    beats: int = 0
    alerts: int = 0
    rejects: int = 0
    replayed: int = 0
    epochs: int = 0
    stale_ticks: int = 0
    latency: Latency = field(default_factory=Latency)
