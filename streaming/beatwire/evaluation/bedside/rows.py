"""A row of the table of alarms: a ratio of two sums over people, and its 95 % interval.

In:  for each person what was counted, and out of how much
Out: :class:`Row`

The interval is Wilson's where each person is one trial that succeeded or not. Otherwise people are resampled with
replacement; where nothing was counted at all, the upper end is that of Poisson's law (three events are expected at
most, with 95 %).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from beatwire.records import F64

RESAMPLES = 2000
_Z = 1.959964  # of a two-sided interval of 95 %
_NOTHING_SEEN = 3.0  # expected events that are not seen with a probability of 5 %
PERCENT, PER_HOUR, PER_DAY = "%", "/h", "/24 h"
_SCALE = {PERCENT: 100.0, PER_HOUR: 1.0, PER_DAY: 24.0}


@dataclass(frozen=True)
class Count:
    """What one person contributes: ``hits`` out of ``trials`` (events, records, seconds or hours)."""

    person: str
    hits: float
    trials: float


@dataclass(frozen=True)
class Row:
    """A figure of a folder.

    counts   by person; a person may occur several times
    unit     "%", "/h" or "/24 h" (``trials`` are hours then)
    goal     what the figure should be, as text; empty: none
    delay_s  from the reference's beginning to the decision, of what was found
    """

    folder: str
    measure: str
    counts: tuple[Count, ...]
    unit: str = PERCENT
    goal: str = ""
    delay_s: tuple[float, ...] = field(default=())

    def as_json(self) -> dict[str, Any]:
        """Return value, interval, counts and delays; None where there is no value."""
        people, hits, trials = by_person(self.counts)
        scale = _SCALE[self.unit]
        value, low, high = ratio(hits, trials)
        if self.unit == PERCENT:
            high = min(1.0, high)
        return {
            "folder": self.folder,
            "measure": self.measure,
            "unit": self.unit,
            "value": _rounded(value * scale),
            "low": _rounded(low * scale),
            "high": _rounded(high * scale),
            "hits": _rounded(float(hits.sum())),
            "trials": _rounded(float(trials.sum())),
            "people": people,
            "goal": self.goal,
            "delay_s": delays(self.delay_s),
        }


def by_person(counts: Iterable[Count]) -> tuple[int, F64, F64]:
    """Return the number of people with trials, and their hits and trials, float64 [people] each."""
    sums: dict[str, list[float]] = {}
    for count in counts:
        of_person = sums.setdefault(count.person, [0.0, 0.0])
        of_person[0] += count.hits
        of_person[1] += count.trials
    table = np.array([s for s in sums.values() if s[1] > 0], np.float64).reshape(-1, 2)
    return len(table), table[:, 0], table[:, 1]


def ratio(hits: F64, trials: F64, seed: int = 0) -> tuple[float, float, float]:
    """Return the ratio of the sums and its interval; NaN without trials.

    >>> value, low, high = ratio(np.array([1.0, 0.0, 1.0, 1.0]), np.ones(4))
    >>> value, round(low, 2), round(high, 2)
    (0.75, 0.3, 0.95)
    """
    n = len(trials)
    if n == 0:
        return math.nan, math.nan, math.nan
    value = float(hits.sum() / trials.sum())
    if (trials == 1.0).all() and np.isin(hits, (0.0, 1.0)).all():
        return value, *_wilson(value, n)
    if not hits.any():
        return 0.0, 0.0, _NOTHING_SEEN / float(trials.sum())
    weight = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), RESAMPLES)
    resampled = (weight @ hits) / np.maximum(weight @ trials, 1e-12)
    low, high = np.quantile(resampled, [0.025, 0.975])
    return value, float(low), float(high)


def _wilson(share: float, n: int) -> tuple[float, float]:
    """Return Wilson's interval of a share of ``n`` trials."""
    centre = (share + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    reach = _Z / (1 + _Z**2 / n) * math.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))
    return max(0.0, centre - reach), min(1.0, centre + reach)


def delays(delay_s: Sequence[float]) -> dict[str, float] | None:
    """Return median, 95 % quantile and maximum; None without delays."""
    if not delay_s:
        return None
    median, p95 = np.quantile(delay_s, [0.5, 0.95])
    return {"median": round(float(median), 2), "p95": round(float(p95), 2), "max": round(float(max(delay_s)), 2)}


def _rounded(value: float) -> float | None:
    return round(value, 3) if math.isfinite(value) else None
