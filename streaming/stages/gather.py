"""Gather: the beats and events of all passes of a tick, stream by stream and in order.

In: Aligned and the Beats of its passes. Out: TickBeats. State: the streams whose next beat is the
first since a restart.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from streaming.kernels import cpu
from streaming.kernels.windows import WINDOW
from streaming.records import I64, Aligned, Beats, Bool, Event, TickBeats


@dataclass(slots=True)
class State:
    """restarted: bool [slots]."""

    restarted: Bool = field(default_factory=lambda: np.zeros(0, np.bool_))


def step(state: State, tick: tuple[Aligned, tuple[Beats, ...]]) -> tuple[State, TickBeats]:
    """Merge a tick."""
    aligned, passes = tick
    b = sum(len(beats.slot) for beats in passes)
    slot = _joined([beats.slot for beats in passes], np.int64)
    order = np.argsort(slot, kind="stable")
    slot = slot[order]
    rate_hz = _joined([np.full(len(p.slot), p.fresh.bank.rate_hz) for p in passes], np.float64)[order]
    session = _joined([p.session for p in passes], np.int64)[order]
    sample = _joined([p.sample for p in passes], np.int64)[order]
    time_us = np.empty(b, np.int64)
    cpu.device_time(b, slot, session, sample, rate_hz, aligned.slots, time_us)
    windows = [p.windows for p in passes if len(p.slot)]
    return state, TickBeats(
        aligned=aligned,
        slot=slot,
        session=session,
        sample=sample,
        decided=_joined([p.decided for p in passes], np.int64)[order],
        time_us=time_us,
        arrived_us=aligned.arrival_us[slot],
        rate_hz=rate_hz,
        rr_s=_joined([p.rr_s for p in passes], np.float64)[order],
        median_rr_s=_joined([p.median_rr_s for p in passes], np.float64)[order],
        response=_joined([p.response for p in passes], np.float32)[order],
        quality=_joined([p.quality for p in passes], np.float32)[order],
        restart=_restarts(state, aligned, slot, session, sample),
        windows=np.concatenate(windows)[order] if windows else np.zeros((0, WINDOW), np.float32),
        amplitude=_joined([p.amplitude for p in passes], np.float32)[order],
        events=_events(aligned, passes, order),
        overloaded=aligned.overloaded,
    )


def _joined(parts: list[np.ndarray], dtype: type) -> np.ndarray:  # type: ignore[type-arg]
    return np.concatenate(parts) if parts else np.zeros(0, dtype)


def _restarts(state: State, aligned: Aligned, slot: I64, session: I64, sample: I64) -> Bool:
    """Mark the first beat of a stream at or after each restart of its lane."""
    if len(aligned.arrival_us) > len(state.restarted):
        grown = np.zeros(len(aligned.arrival_us), np.bool_)
        grown[: len(state.restarted)] = state.restarted
        state.restarted = grown
    mark = np.zeros(len(slot), np.bool_)
    for _, s, _, index, _, sess in aligned.events[aligned.events[:, 2] == Event.RESTART].tolist():
        begin, end = np.searchsorted(slot, [s, s + 1])
        later = np.flatnonzero((session[begin:end] == sess) & (sample[begin:end] >= index))
        state.restarted[s] = len(later) == 0
        if len(later):
            mark[begin + later[0]] = True
    begun = np.flatnonzero(np.diff(slot, prepend=-1))
    pending = begun[state.restarted[slot[begun]]]
    mark[pending] = True
    state.restarted[slot[pending]] = False
    return mark


def _events(aligned: Aligned, passes: tuple[Beats, ...], order: I64) -> I64:
    """Sort what happened by slot, pass and sample; a restart opens its pass, ``KNOWN`` ends it."""
    row_of = np.empty(len(order), np.int64)
    row_of[order] = np.arange(len(order))
    parts = [aligned.events]
    at = 0
    for p in passes:
        fresh, n = p.fresh, len(p.slot)
        parts.append(_rows(fresh.number, p.slot, Event.BEAT, p.sample, row_of[at : at + n], p.session))
        row, end, flat = p.flat.T
        parts.append(_rows(fresh.number, fresh.slot[row], Event.BLOCK, end, flat, fresh.session[row]))
        parts.append(_rows(fresh.number, fresh.slot, Event.KNOWN, p.known, p.known, fresh.session))
        at += n
    events = np.concatenate(parts)
    rank = np.full(len(events), 1)
    rank[events[:, 2] == Event.RESTART] = 0
    rank[events[:, 2] == Event.KNOWN] = 2
    events = events[np.lexsort((events[:, 2], events[:, 3], rank, events[:, 0], events[:, 1]))]
    return np.ascontiguousarray(events[:, [1, 5, 2, 3, 4]])


def _rows(number: int, slot: I64, kind: int, sample: I64, value: I64, session: I64) -> I64:
    rows = np.empty((len(slot), 6), np.int64)
    rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3], rows[:, 4], rows[:, 5] = number, slot, kind, sample, value, session
    return rows
