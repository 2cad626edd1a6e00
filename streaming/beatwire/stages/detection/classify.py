"""Classify: the logit of each peak that it is a heartbeat.

In:    Peaks
Out:   Peaks with ``logits``
State: for each bank the past peaks of its lanes (``kernels.peaks.peak_features``; xp)

A peak's logit is a function of the samples in the ``REACH_S`` before it and up to where the peak was decided. Without
an ensemble of trees, peaks pass unchanged, and the rule of the next stage decides.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.kernels.peaks.lead_agreement import past_columns
from beatwire.kernels.peaks.peak_features import FEATURES, LOG_COLUMNS, MS220, MS230, PAST_PEAKS, SPAN_S
from beatwire.records import EACH_LEAD, F32, F64, I32, Bank, Peaks
from beatwire.records.classification import FeatureSettings, PeakMemory, Trees
from beatwire.records.columns import LOGIT_COLUMNS
from beatwire.stages.support.ensemble import Ensemble
from beatwire.stages.support.filters import Design, Filter, filter_for, half_up, ricker_taps

SIGMA_S = (0.008, 0.022, 0.032)  # of the wavelets of the features ``w8``, ``w22``, ``w32``
TAPS_PER_SIGMA = 2.0  # wide wavelets skip samples, which changes their magnitude little
REACH_S = 22.4  # the peaks of the 10 s before, the level of the oldest of these (12 s), and the reach of the filter


@dataclass(frozen=True, slots=True)
class Settings:
    """The trees (None: the rule decides), and the design of the filter whose peaks are classified."""

    ensemble: Ensemble | None
    design: Design


@dataclass(slots=True)
class State:
    """Feature settings and memory by number of the bank, the trees (xp), and scratch.

    key, each  as of the stage nms
    """

    settings: Settings
    backend: Backend = CPU
    feature_settings: dict[int, FeatureSettings] = field(default_factory=dict)
    memory: dict[int, PeakMemory] = field(default_factory=dict)
    trees: Trees | None = None
    stretch: I32 = field(default_factory=lambda: np.zeros((1, 0), np.int32))
    numbers: F64 = field(default_factory=lambda: np.zeros((1, PAST_PEAKS)))
    features: F32 = field(default_factory=lambda: np.zeros((1, FEATURES), np.float32))
    key: str = ""
    each: State | None = None


def step(state: State, peaks: Peaks) -> tuple[State, Peaks]:
    """Classify the peaks of one pass."""
    ensemble, backend = state.settings.ensemble, state.backend
    if ensemble is None:
        return state, peaks
    fresh, bank = peaks.fresh, peaks.fresh.bank
    if state.trees is None:
        arrays = ensemble.feature, ensemble.threshold, ensemble.leaf, ensemble.probability
        state.trees = Trees(*map(backend.constant, arrays))
    if bank.number not in state.feature_settings:
        _open_bank(state, bank)
    memory = state.memory[bank.number] = _grown(state, bank, len(peaks.rings.f))
    n = len(fresh.lane)
    logits = backend.buffer(f"logits{state.key}", (n, peaks.table.peaks.shape[1], LOGIT_COLUMNS), np.float64)
    backend.kernels.classify_peaks(
        n, fresh.lanes, peaks.table, state.feature_settings[bank.number], peaks.rings, state.trees, memory,
        state.stretch, state.numbers, state.features, logits,
    )  # fmt: skip
    alone = peaks.alone
    if alone is not None:
        if state.each is None:
            state.each = State(state.settings, backend, key=EACH_LEAD)
        alone = step(state.each, alone)[1]
    return state, replace(peaks, logits=logits, alone=alone)


def feature_settings(rate_hz: float, detection: Filter) -> FeatureSettings:
    """Return how features are measured at a sampling rate, on the peaks of a filter."""
    wavelets = [_wavelet(rate_hz, sigma_s) for sigma_s in SIGMA_S]
    half = np.array([len(w) // 2 for w in wavelets], np.int64)
    taps = np.zeros((len(wavelets), max(map(len, wavelets))), np.int32)
    for row, wavelet in zip(taps, wavelets, strict=True):
        row[: len(wavelet)] = wavelet
    spans = np.array([max(1, half_up(s * rate_hz)) for s in SPAN_S], np.int64)
    return FeatureSettings(spans, taps, half, detection.box, 2.0**detection.shift / (2 * detection.box + 1))


def stretch_length(settings: FeatureSettings) -> int:
    """Return the samples around a peak that its features are computed from: the scratch of a team."""
    return int(settings.spans[MS230] + settings.spans[MS220] + 1)


def _wavelet(rate_hz: float, sigma_s: float) -> I32:
    """Return a wavelet's taps from one end to the other, zero at samples that it skips."""
    spacing = max(1, int(sigma_s * rate_hz / TAPS_PER_SIGMA))
    taps = ricker_taps(rate_hz / spacing, sigma_s, 3 * sigma_s)
    wavelet = np.zeros(2 * spacing * (len(taps) - 1) + 1, np.int32)
    wavelet[::spacing] = np.concatenate((taps[:0:-1], taps))
    return wavelet


def _open_bank(state: State, bank: Bank) -> None:
    """Make the settings of a bank, and scratch for it."""
    found = feature_settings(bank.rate_hz, filter_for(state.settings.design, bank.rate_hz, bank.leads))
    length, constant = stretch_length(found), state.backend.constant
    if state.stretch.shape[1] < length:
        state.stretch = np.zeros((1, length), np.int32)
    state.feature_settings[bank.number] = found._replace(
        spans=constant(found.spans), taps=constant(found.taps), half=constant(found.half)
    )


def _grown(state: State, bank: Bank, lanes: int) -> PeakMemory:
    """Return the memory of a bank with at least ``lanes`` lanes."""
    old, grown = state.memory.get(bank.number), state.backend.grown
    if old is not None and len(old.log) >= lanes:
        return old
    return PeakMemory(
        grown(None if old is None else old.log, (lanes, LOG_COLUMNS), np.int64),
        grown(None if old is None else old.sample, (lanes, PAST_PEAKS), np.int16),
        grown(None if old is None else old.past, (lanes, PAST_PEAKS, past_columns(bank.leads)), np.uint16),
    )
