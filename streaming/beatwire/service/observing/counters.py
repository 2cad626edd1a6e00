"""Counters of the monitor since its start, and distributions of durations."""

import itertools
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from beatwire.records import I64, Expired, Outgoing, RawTick
from beatwire.wire import names

_LONGEST_MS = 10_000  # longer latencies are counted as this one


class Latency:
    """A histogram of latencies in bins of one millisecond, up to ten seconds.

    Attributes
    ----------
    counts : int64 [10001]
        Messages per millisecond of latency.
    sum_s : float
        All latencies together, in seconds.
    """

    def __init__(self) -> None:
        self.counts: I64 = np.zeros(_LONGEST_MS + 1, np.int64)
        self.sum_s = 0.0

    def add(self, now_us: int, arrival_us: I64) -> None:
        """Count messages that arrived at `arrival_us` and were published at `now_us`, microseconds since 1970."""
        latency_us = np.maximum(now_us - arrival_us, 0)
        self.counts += np.bincount(np.minimum(latency_us // 1000, _LONGEST_MS), minlength=len(self.counts))
        self.sum_s += float(latency_us.sum()) / 1e6

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

    def cumulative(self, bounds_s: Sequence[float]) -> list[int]:
        """Return how many messages were faster than each bound (whole milliseconds, at most 10 s), and of all.

        Examples
        --------
        >>> latency = Latency()
        >>> latency.add(5_000, np.array([0, 1_000, 4_500]))
        >>> latency.cumulative([0.001, 0.005, 0.01])
        [1, 2, 3, 3]
        """
        sums = np.cumsum(self.counts)
        return [int(sums[round(1000 * bound) - 1]) for bound in bounds_s] + [int(sums[-1])]


class Durations:
    """A histogram of durations.

    Parameters
    ----------
    bounds_s
        Upper bounds of its bins in seconds, ascending.

    Examples
    --------
    >>> durations = Durations((0.1, 1.0))
    >>> for seconds in (0.1, 0.5, 2.0): durations.add(seconds)
    >>> durations.cumulative(), durations.sum_s
    ([1, 2, 3], 2.6)
    """

    def __init__(self, bounds_s: Sequence[float]) -> None:
        self.bounds_s = tuple(bounds_s)
        self._counts = [0] * (len(self.bounds_s) + 1)
        self.sum_s = 0.0

    def add(self, seconds: float) -> None:
        """Count a duration."""
        self._counts[bisect_left(self.bounds_s, seconds)] += 1
        self.sum_s += seconds

    def cumulative(self) -> list[int]:
        """Return how many durations were at most each bound, and of all."""
        return list(itertools.accumulate(self._counts))


# Of a tick and of its stages: from an idle tick to one that holds a backlog.
TICK_BOUNDS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
INTERRUPTED_BOUNDS_S = (0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.5, 10.0, 20.0, 60.0)  # of a replay
STAGE_BOUNDS_S = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


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
    unread       messages that retention deleted before the monitor had read them
    unreplayed   messages that a replay needed and that retention had deleted
    unusable     topic -> messages of it that could not be used: alerts, acknowledgements, limits
    stale_ticks  ticks whose outcome was unknown, or whose epoch had ended; published or read again
    lag_s        age of the newest message of the last tick when it was published; 0 if no more were waiting
    latency      from the arrival of a message at the broker to the publication of its tick
    tick_s       from the beginning of a tick to its publication
    interrupted_s  from each change of the assignment to the end of its replay
    """

    ticks: int = 0
    messages: int = 0
    beats: int = 0
    alerts: int = 0
    rejects: int = 0
    replayed: int = 0
    epochs: int = 0
    stale_ticks: int = 0
    unread: int = 0
    unreplayed: int = 0
    unusable: Counter[str] = field(default_factory=Counter)
    lag_s: float = 0.0
    latency: Latency = field(default_factory=Latency)
    tick_s: Durations = field(default_factory=lambda: Durations(TICK_BOUNDS_S))
    interrupted_s: Durations = field(default_factory=lambda: Durations(INTERRUPTED_BOUNDS_S))

    def add_tick(self, tick: RawTick, outgoing: Sequence[Outgoing], now_us: int) -> None:
        """Count a tick whose messages were published at `now_us`, by the broker's clock."""
        self.ticks += 1
        self.messages += len(tick.arrival_us)
        sent = Counter[str]()
        for messages in outgoing:
            sent[messages.topic] += len(messages)
        self.beats += sent[names.BEATS]
        self.alerts += sent[names.ALERTS]
        self.rejects += sent[names.DEAD_LETTERS]
        self.latency.add(now_us, tick.arrival_us)
        waiting = len(tick.arrival_us) and not tick.caught_up
        self.lag_s = max(0.0, (now_us - int(tick.arrival_us.max())) / 1e6) if waiting else 0.0

    def add_expired(self, expired: Mapping[int, Expired]) -> tuple[int, int]:
        """Count what retention deleted of each partition; return the messages of all: unread, needed by a replay."""
        unread = sum(missing.unread for missing in expired.values())
        replay = sum(missing.replay for missing in expired.values())
        self.unread += unread
        self.unreplayed += replay
        return unread, replay
