"""The grid of samples behind times of rows that are exact to less than half of a sampling interval.

In:  float64 [n], the time of each row in seconds, rising
Out: the rate in Hz, the samples missing before each row, and the jitter; None: the times are not near enough to a grid

In most steps no sample is missing, and every step is near to a whole number of them: nothing has to be guessed. The
rate is found over such steps first, then over longer and longer stretches, since the number of samples that are
missing in a long gap needs an exact rate.
"""

from typing import Any, NamedTuple

import numpy as np

from beatwire.records import F64, I64
from beatwire.tables import array_module

_NEAR = 0.45  # samples between a step and the whole number that it is
_SINGLE = 0.5  # of the steps miss none, at least
_WIDE, _BLOCK = 0.9, 256  # rows of a block lie so many samples off, between the earliest and the latest of them
_REACH = (1, 4, 16, 64, 512, np.inf)  # samples that miss in a step over which a rate is found, in turn: fewer


class Spacing(NamedTuple):
    """The rate in Hz, missing samples before each row but the first, int64 [n - 1], and how far a row lies off."""

    rate_hz: float
    missing: I64
    jitter: float


def lattice_of(rows: I64, times: F64) -> Spacing | None:
    """Return the grid of the times of rows, or of the first rows of packets; of packets of one size a grid of packets.

    >>> import numpy as np
    >>> rows = np.delete(np.arange(5000), [70, 71, 400, 900])
    >>> found = lattice_of(np.arange(4996), np.round(rows / 128, 3))
    >>> round(found.rate_hz, 2), found.missing.sum(), lattice_of(np.arange(4996), np.round(rows / 128, 1))
    (128.0, np.int64(4), None)
    """
    xp = array_module(times)
    steps, size = xp.diff(times), xp.diff(rows)
    if len(steps) < 2 or float(steps.min()) <= 0.0:
        return None
    together = int(size[0]) if bool((size == size[0]).all()) else 1
    least = size / together  # samples of the grid in a step, at least
    step_s = float(xp.median(steps / least))
    for _ in range(3):
        near = steps <= (least + 0.5) * step_s
        step_s = float(steps[near].sum() / least[near].sum())
    samples = xp.maximum(least, xp.rint(steps / step_s))
    for reach in _REACH:
        before, step_s = samples, _step(times, samples, samples - least >= reach)
        samples = xp.maximum(least, xp.rint(steps / step_s))
        if float((samples - least).max()) < reach and bool((samples == before).all()):
            break  # all rows are one stretch already
    ahead = steps / step_s - samples
    off = xp.abs(ahead)
    if float((samples == least).mean()) < _SINGLE or float(off.max()) > _NEAR or _widest(ahead) > _WIDE:
        return None
    if _are_stretched(samples, size):
        return None
    return Spacing(together / step_s, together * (samples - least).astype(np.int64), together * float(xp.median(off)))


def _are_stretched(samples: Any, size: I64) -> bool:
    """Return True if most short packets last as long as the usual ones: so long is a tick of a clock."""
    xp = array_module(samples)
    is_short = size < xp.median(size)
    return bool(is_short.any()) and float((samples[is_short] == xp.median(samples)).mean()) > _SINGLE


def _widest(ahead: Any) -> float:
    """Return how far rows lie apart from the grid, in samples, at most within a block of rows."""
    xp = array_module(ahead)
    rows = min(len(ahead), _BLOCK)
    away = xp.cumsum(ahead)[: len(ahead) // rows * rows].reshape(-1, rows)
    return float((away.max(axis=1) - away.min(axis=1)).max())


def _step(times: F64, samples: Any, parts: Any) -> float:
    """Return the sampling interval over stretches of rows, in seconds; some steps part them."""
    xp = array_module(times)
    index = xp.concatenate([xp.zeros(1), xp.cumsum(samples)])
    stretch = xp.concatenate([xp.zeros(1, np.int64), xp.cumsum(parts)])
    rows = xp.bincount(stretch)
    index = index - (xp.bincount(stretch, index) / rows)[stretch]
    since = times - times[0]
    since = since - (xp.bincount(stretch, since) / rows)[stretch]
    return float((index * since).sum() / (index * index).sum())
