"""Leads: of several leads, which peaks are those of all leads together, and which those of the best lead alone.

In:    Peaks with ``logits``
Out:   the same, of a stream of several leads with other peaks where the best lead is better than all together
State: for each bank what all leads together and each of them found (``kernels.detection.lead_votes``; xp)

So what all leads say together is about as good as the best of them now: noise on one lead does not hide the beats of
the others. Peaks of one lead, and peaks that no trees have classified, pass unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.kernels.detection import lead_votes
from beatwire.records import Bank, Peaks
from beatwire.records.columns import PEAK_COLUMNS
from beatwire.records.detection import ChosenPeaks, LeadVotes, VoteLimits
from beatwire.stages.support.filters import Design, filter_for, half_up, unit_response


@dataclass(frozen=True, slots=True)
class Settings:
    """The design of the filter, and the size of the smallest wave that is a beat, as of the stage beats."""

    design: Design
    floor_uv: float


@dataclass(slots=True)
class State:
    """By number of the bank, limits and votes."""

    settings: Settings
    backend: Backend = CPU
    limits: dict[int, VoteLimits] = field(default_factory=dict)
    votes: dict[int, LeadVotes] = field(default_factory=dict)


def step(state: State, peaks: Peaks) -> tuple[State, Peaks]:
    """Choose the peaks of one pass."""
    own = peaks.apart
    if own is None or own.logits is None or peaks.logits is None:
        return state, peaks
    fresh, bank, backend, n = peaks.fresh, peaks.fresh.bank, state.backend, len(peaks.fresh.lane)
    if bank.number not in state.limits:
        state.limits[bank.number] = _limits_of(state.settings, bank)
    votes = _votes_of(state, bank, len(peaks.rings.f))
    most = 2 * peaks.table.peaks.shape[1]
    chosen = ChosenPeaks(
        backend.buffer("chosen", (n,), np.int64),
        backend.buffer("chosen peaks", (n, most, PEAK_COLUMNS), np.int64),
        backend.buffer("chosen logits", (n, most, 2), np.float64),
    )
    backend.kernels.vote_leads(
        n, fresh.lanes, peaks.table, peaks.logits, own.table, own.logits, fresh.uv_per_unit, state.limits[bank.number],
        votes, chosen,
    )  # fmt: skip
    table = peaks.table._replace(found=chosen.found, peaks=chosen.peaks)
    return state, replace(peaks, table=table, logits=chosen.logits, apart=None)


def _limits_of(settings: Settings, bank: Bank) -> VoteLimits:
    """Return the spans of a bank in samples, and the floor."""
    seconds = (lead_votes.SEEN_S, lead_votes.PAST_S, lead_votes.NEAR_S, lead_votes.YOUNG_S, lead_votes.APART_S)
    seen, past, near, young, apart = (half_up(s * bank.rate_hz) for s in seconds)
    unit = unit_response(filter_for(settings.design, bank.rate_hz, 1))
    return VoteLimits(seen, past, near, young, apart, settings.floor_uv * unit)


def _votes_of(state: State, bank: Bank, lanes: int) -> LeadVotes:
    """Return the votes of a bank with at least ``lanes`` lanes."""
    votes, grown = state.votes.get(bank.number), state.backend.grown
    if votes is None or len(votes.state) < lanes:
        old, errors = (None, None) if votes is None else votes
        votes = state.votes[bank.number] = LeadVotes(
            grown(old, (lanes, 1 + bank.leads, lead_votes.VOTE_COLUMNS), np.int64),
            grown(errors, (lanes, 1 + bank.leads), np.float64),
        )
    return votes
