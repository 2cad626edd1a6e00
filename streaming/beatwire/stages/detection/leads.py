"""Leads: of several leads, which peaks are those of all together, and which those of a lead alone.

In:    Peaks with ``logits``, of all leads together and of each lead ``alone``
Out:   Peaks with ``logits``: those that are chosen
State: for each bank the errors that all leads together and each lead expect (``kernels.detection.lead_choice``; xp)

So what all leads say together is about as good as the best of them now: noise on one lead does not hide the beats of
the others. Peaks of one lead, and peaks that no trees have classified, pass unchanged.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.kernels.detection import lead_choice
from beatwire.records import F64, Bank, Peaks
from beatwire.records.columns import LOGIT_COLUMNS, PEAK_COLUMNS
from beatwire.records.detection import ChoiceSettings, ChosenPeaks
from beatwire.stages.support.filters import half_up
from beatwire.stages.support.room import grown_of


@dataclass(frozen=True, slots=True)
class Settings:
    """The trees' table of probabilities by logit."""

    probability: F64


@dataclass(slots=True)
class State:
    """By number of the bank, settings and choices (xp), and the table of probabilities (xp)."""

    settings: Settings
    backend: Backend = CPU
    banks: dict[int, ChoiceSettings] = field(default_factory=dict)
    choices: dict[int, Any] = field(default_factory=dict)
    probability: Any = None


def step(state: State, peaks: Peaks) -> tuple[State, Peaks]:
    """Choose the peaks of one pass."""
    alone = peaks.alone
    if alone is None or alone.logits is None or peaks.logits is None:
        return state, peaks
    fresh, bank, backend, n = peaks.fresh, peaks.fresh.bank, state.backend, len(peaks.fresh.lane)
    if n == 0:  # of no lane: how many leads have peaks of their own is not known
        return state, replace(peaks, alone=None)
    if state.probability is None:
        state.probability = backend.constant(state.settings.probability)
    if bank.number not in state.banks:
        state.banks[bank.number] = _settings_of(bank)
    leads = len(alone.fresh.lane) // n
    shape = len(peaks.rings.f), 1 + leads, lead_choice.CHOICE_COLUMNS
    choices = grown_of(state.choices, bank.number, backend, shape, np.int64)
    most = peaks.table.peaks.shape[1] + leads * alone.table.peaks.shape[1]
    chosen = ChosenPeaks(
        backend.buffer("chosen", (n,), np.int64),
        backend.buffer("chosen peaks", (n, most, PEAK_COLUMNS), np.int64),
        backend.buffer("chosen logits", (n, most, LOGIT_COLUMNS), np.float64),
    )
    backend.kernels.choose_peaks(
        n, fresh.lanes, peaks.table, peaks.logits, alone.table, alone.logits, state.probability,
        state.banks[bank.number], peaks.rings, choices, chosen,
    )  # fmt: skip
    table = peaks.table._replace(found=chosen.found, peaks=chosen.peaks)
    all_peaks = peaks.most[0] + alone.most[0], peaks.most[1]
    return state, replace(peaks, table=table, logits=chosen.logits, most=all_peaks, alone=None)


def _settings_of(bank: Bank) -> ChoiceSettings:
    """Return the spans of a bank in samples."""
    part_s = lead_choice.WINDOW_S / lead_choice.PARTS
    spans = part_s, lead_choice.SILENT_S, lead_choice.OVERLAP_S, lead_choice.OVERLAP_S
    return ChoiceSettings(*(half_up(s * bank.rate_hz) for s in spans))
