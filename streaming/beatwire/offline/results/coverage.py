"""Where a recording has samples: its runs, its segments, and the events that align would emit for its gaps.

In:  int16 ``samples[leads, n]``, NumPy or CuPy, -32768 where there is no value
Out: :class:`Coverage`

A *run* is a stretch in which some lead has a value; holes of up to ``hole`` samples in it are filled in. A gap
between runs of up to ``bridge`` samples is bridged; a longer one ends a *segment*, and the next segment begins as a
stream does.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from beatwire.kernels.intake.holes import MOST
from beatwire.kernels.intake.one_sine import SPANS
from beatwire.kernels.intake.sines import LAG
from beatwire.recordings.record import NO_VALUE
from beatwire.records import I16, I64
from beatwire.records.events import GAP, RESTART
from beatwire.stages.support.hum import take_out_hum
from beatwire.stages.support.mains import MOST_SPAN_S, hum_filter_for
from beatwire.tables import array_module, host_array

THREADED_SAMPLES = 1 << 22  # per thread; smaller arrays are searched by one thread
HOLD_S = 1.0  # longer than the delay of any decision, so that the last beats are decided
KEPT_S = (SPANS + LAG + 2) * MOST_SPAN_S  # of the end of a recording: what is held depends on no other samples
_TAIL = 4096  # samples that are searched at once, from the end


@dataclass(frozen=True, slots=True)
class Coverage:
    """Where a recording has values: int64 arrays, in order.

    run       [r, 2]   first and last + 1 sample of a stretch without gaps
    hole      [h, 2]   first and last + 1 sample of a hole in a run
    segment   [s, 2]   first and last + 1 sample of a stretch whose gaps are bridged
    event     [e, 3]   kind (RESTART or GAP), sample, value, as align emits them
    complete  True: every lead has a value at every sample
    """

    run: I64
    hole: I64
    segment: I64
    event: I64
    complete: bool = False

    @property
    def gap(self) -> I64:
        """Bridged gaps: int64 [g, 2], first and last + 1 sample."""
        return self.event[self.event[:, 0] == GAP, 1:]

    def until_held(self, n: int) -> int:
        """Return the end of the last run before the samples held after ``n``: if it ends in a gap, that is theirs."""
        return n if self.run[-1, 0] < n or len(self.run) == 1 else int(self.run[-2, 1])

    @property
    def counts(self) -> dict[str, int]:
        """Number of bridged gaps and holes, of restarts, and of lost samples, as align counts them."""
        gap = self.event[self.event[:, 2] >= 0]
        bridged = int((gap[:, 0] == GAP).sum())
        return {
            "bridged": bridged + len(self.hole),
            "restarts": len(gap) - bridged,
            "lost_samples": int(np.abs(gap[:, 2] - gap[:, 1]).sum() + (self.hole[:, 1] - self.hole[:, 0]).sum()),
        }


def hold_last(samples: Any, rate_hz: float, uv_per_unit: float, first: int = 0) -> I16:
    """Return ``HOLD_S`` seconds of the last value of each lead, with its mains hum, int16 [leads, h], on the host.

    They are processed after the end of a recording, so that its last beats are decided. A constant contains no beats;
    nor does one from which hum is taken out that it has. A lead without a value at the last sample of the others has
    none. ``first`` is the index of the first sample in its stream.
    """
    end = samples.shape[1]
    while end > 0:
        tail = host_array(samples[:, max(0, end - _TAIL) : end])
        valid = np.flatnonzero((tail != NO_VALUE).any(axis=0))
        if len(valid):
            held = np.repeat(tail[:, valid[-1], None], round(HOLD_S * rate_hz), axis=1)
            return _with_hum(samples, held, rate_hz, uv_per_unit, first)
        end -= _TAIL
    return np.repeat(host_array(samples[:, -1:]), round(HOLD_S * rate_hz), axis=1)


def _with_hum(samples: Any, held: I16, rate_hz: float, uv_per_unit: float, first: int) -> I16:
    """Return a constant behind samples, int16 [leads, h], with the hum that is taken out of it."""
    span, n = hum_filter_for(rate_hz).tables.shape[1], samples.shape[1]
    begin = max(0, n - (SPANS + LAG + 1) * span)
    begin += -(first + begin) % span  # spans are counted from sample 0 of the stream
    before, x = host_array(samples[:, begin:]), held
    for _ in range(0, held.shape[1], span):  # a span that has hum has it two spans later
        clean = np.concatenate([before, x], axis=1)[None]
        take_out_hum(clean, clean.shape[2], rate_hz, uv_per_unit)
        hum = x - clean[0, :, before.shape[1] :].astype(np.int32)
        if not hum.any():
            break
        last = clean[0, :, np.flatnonzero((before != NO_VALUE).any(axis=0))[-1], None]
        x = np.where(held == NO_VALUE, held, np.clip(last + hum, -MOST, MOST)).astype(np.int16)
    return x


def coverage_of(samples: Any, held: int, bridge: int, hole: int) -> Coverage:
    """Return the coverage of a recording that is followed by ``held`` samples of its last value.

    >>> gaps = np.array([[1, NO_VALUE, 2, NO_VALUE, NO_VALUE, 3, NO_VALUE, NO_VALUE, NO_VALUE, 4]], np.int16)
    >>> found = coverage_of(gaps, 2, 2, 1)
    >>> found.segment.tolist(), found.gap.tolist(), found.hole.tolist()
    ([[0, 6], [9, 12]], [[3, 5]], [[1, 2]])
    """
    n = samples.shape[1]
    complete = n == 0 or _minimum(samples) != NO_VALUE
    run = np.array([[0, n + held]], np.int64) if complete else _runs(samples, held)
    first = int(run[0, 0])
    gap = np.stack([run[:-1, 1], run[1:, 0]], axis=1)
    short = gap[:, 1] - gap[:, 0] <= hole
    gap, holes = gap[~short], gap[short]
    run = np.stack([np.append(first, gap[:, 1]), np.append(gap[:, 0], run[-1, 1])], axis=1)
    ends = gap[:, 1] - gap[:, 0] > bridge  # of a segment
    event = np.empty((len(gap), 3), np.int64)
    event[:, 0] = np.where(ends, RESTART, GAP)
    event[:, 1] = np.where(ends, gap[:, 1], gap[:, 0])
    event[:, 2] = np.where(ends, gap[:, 0], gap[:, 1])
    start = [(RESTART, 0, -1)] + ([(RESTART, first, 0)] if first else [])
    segment = np.stack([np.concatenate([[first], gap[ends, 1]]), np.concatenate([gap[ends, 0], [run[-1, 1]]])], axis=1)
    return Coverage(run, holes, segment, np.concatenate([np.array(start, np.int64), event]), complete)


def without_holes(
    samples: Any, held: I16, coverage: Coverage, hole: int, rate_hz: float, uv_per_unit: float
) -> tuple[Any, I16, bool]:
    """Return a recording and what is held after it without holes, gaps and hum, as in rings.

    A bridged gap before what is held belongs to that. If there is no hole they are the same arrays, and False.
    """
    if coverage.complete:
        return samples, held, False
    n, end = samples.shape[1], np.full((len(samples), 1), NO_VALUE, np.int16)
    whole = np.concatenate([host_array(samples), held, end], axis=1)
    for first, stop in coverage.segment.tolist():
        gap = coverage.gap[slice(*np.searchsorted(coverage.gap[:, 0], [first, stop]))]
        take_out_hum(whole[None], stop, rate_hz, uv_per_unit, first=first, hole=hole, gap=gap)
    return whole[:, :n], whole[:, coverage.until_held(n) : -1], True


def _runs(samples: Any, held: int) -> I64:
    """Return the runs, int64 [r, 2]; the samples held after the end belong to the last one."""
    n, xp = samples.shape[1], array_module(samples)
    valid = (samples != NO_VALUE).any(axis=0)
    changed = host_array(xp.flatnonzero(valid[1:] != valid[:-1])) + 1
    edges: list[Any] = [np.zeros(int(valid[0]), np.int64), changed, np.full(1 - int(valid[-1]), n), [n + held]]
    return np.concatenate(edges).astype(np.int64).reshape(-1, 2)


def _minimum(samples: Any) -> int:
    """Return the smallest sample; a large array on the host is searched by several threads."""
    if not isinstance(samples, np.ndarray) or samples.size < THREADED_SAMPLES:
        return int(samples.min())
    step = THREADED_SAMPLES // len(samples)
    parts = [samples[:, first : first + step] for first in range(0, samples.shape[1], step)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return min(int(least) for least in pool.map(np.min, parts))
