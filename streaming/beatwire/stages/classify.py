"""Accept: how sure it is of each peak that it is a heartbeat.

In: Peaks. Out: Peaks with ``logits``; ``NEVER`` for peaks too low to look at. State: for each bank
(xp) what is remembered of a lane's last peaks and of its level (``kernels.peak_features``). A peak's logit is
a function of the samples in the ``REACH_S`` before it and up to where the peak was decided. Without
an ensemble nothing is classified, and the rule of the next stage decides.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.kernels import lead_agreement, peak_features
from beatwire.records import F32, F64, I16, I32, I64, Bank, Peaks
from beatwire.stages.support.filters import Design, Filter, filter_for, half_up, ricker_taps

SIGMA_S = (0.008, 0.022, 0.032)
_PER_SIGMA = 2.0  # taps of a wavelet within one sigma: wide wavelets leave samples out
REACH_S = 22.4  # the peaks of the 10 s before, and the level of these: 12 s


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Boosted trees, complete ones, see ``kernels.classify.climb``: for one lead and for several.

    feature       int16 [2, trees, nodes]
    threshold     float32 [2, trees, nodes]
    leaf          int32 [2, trees, nodes + 1], in units of ``kernels.classify.UNIT``
    probability   float64 [knots], of a beat, see ``kernels.classify.chance``
    name          version and hash
    """

    feature: I16
    threshold: F32
    leaf: I32
    probability: F64
    name: str


@dataclass(frozen=True, slots=True)
class Settings:
    """The trees (None: the rule decides), and the filter whose peaks they classify_peaks."""

    ensemble: Ensemble | None
    design: Design


@dataclass(frozen=True, slots=True)
class Looks:
    """What of a bank is looked at, in samples: spans of time, wavelets, half their lengths, scale of ``f``."""

    span: I64
    taps: I32
    half: I64
    box: int
    scale: float

    @property
    def length(self) -> int:
        """Samples around a peak that are looked at."""
        return int(self.span[peak_features.MS230] + self.span[peak_features.RIGHT] + 1)


@dataclass(slots=True)
class State:
    """By number of the bank (constants, seen and facts xp), but for trees (xp) and line, scratch, out: scratch."""

    settings: Settings
    backend: Backend = CPU
    looks: dict[int, Looks] = field(default_factory=dict)
    constants: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    trees: tuple[Any, ...] = ()
    seen: dict[int, Any] = field(default_factory=dict)
    facts: dict[int, Any] = field(default_factory=dict)
    line: I32 = field(default_factory=lambda: np.zeros((1, 0), np.int32))
    scratch: F64 = field(default_factory=lambda: np.zeros((1, peak_features.KEPT)))
    out: F32 = field(default_factory=lambda: np.zeros((1, peak_features.FEATURES), np.float32))


def looks_at(rate_hz: float, one: Filter) -> Looks:
    """Turn seconds into the samples of a bank."""
    wavelets = [_whole(rate_hz, sigma_s) for sigma_s in SIGMA_S]
    half = np.array([len(w) // 2 for w in wavelets], np.int64)
    taps = np.zeros((len(wavelets), max(map(len, wavelets))), np.int32)
    for row, wavelet in zip(taps, wavelets, strict=True):
        row[: len(wavelet)] = wavelet
    span = np.array([max(1, half_up(s * rate_hz)) for s in peak_features.SPAN_S], np.int64)
    return Looks(span, taps, half, one.box, 2.0**one.shift / (2 * one.box + 1))


def _whole(rate_hz: float, sigma_s: float) -> I32:
    """Return a wavelet's taps from one end to the other, zeros where it leaves samples out."""
    apart = max(1, int(sigma_s * rate_hz / _PER_SIGMA))
    taps = ricker_taps(rate_hz / apart, sigma_s, 3 * sigma_s)
    whole = np.zeros(2 * apart * (len(taps) - 1) + 1, np.int32)
    whole[::apart] = np.concatenate((taps[:0:-1], taps))
    return whole


def step(state: State, peaks: Peaks) -> tuple[State, Peaks]:
    """Judge the peaks of one pass."""
    if state.settings.ensemble is None:
        return state, peaks
    fresh, bank, backend = peaks.fresh, peaks.fresh.bank, state.backend
    if bank.number not in state.looks:
        _open_bank(state, state.settings.ensemble, bank)
    seen, facts, lanes = state.seen.get(bank.number), state.facts.get(bank.number), len(peaks.rings.f)
    if seen is None or len(seen) < lanes:
        seen = state.seen[bank.number] = backend.grown(seen, (lanes, peak_features.SEEN), np.int64)
        facts = state.facts[bank.number] = backend.grown(
            facts, (lanes, peak_features.KEPT, lead_agreement.facts_of(bank.leads)), np.float32
        )
    looks = state.looks[bank.number]
    if state.line.shape[1] < looks.length:
        state.line = np.zeros((1, looks.length), np.int32)
    n = len(fresh.lane)
    logits = backend.buffer("logits", (n, peaks.table.peaks.shape[1], 2), np.float64)
    backend.kernels.classify_peaks(  # type: ignore[call-arg]
        n, fresh.lane, fresh.start, fresh.base, *peaks.table,
        looks.box, looks.scale, *state.constants[bank.number], *peaks.rings, *state.trees, seen, facts, state.line,
        state.scratch, state.out, logits,
    )  # fmt: skip
    return state, replace(peaks, logits=logits)


def _open_bank(state: State, trees: Ensemble, bank: Bank) -> None:
    constant = state.backend.constant
    looks = looks_at(bank.rate_hz, filter_for(state.settings.design, bank.rate_hz, bank.leads))
    state.looks[bank.number] = looks
    state.constants[bank.number] = tuple(map(constant, (looks.span, looks.taps, looks.half)))
    if not state.trees:
        state.trees = tuple(map(constant, (trees.feature, trees.threshold, trees.leaf, trees.probability)))
