"""Gather: the beats and events of all passes of a tick, those of a stream in order.

In: Aligned and the Windows of its passes. Out: TickBeats. State: the streams whose next beat is the
first since a restart.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from streaming.kernels import cpu
from streaming.kernels.windows import WINDOW
from streaming.records import I64, Aligned, Beats, Bool, Event, TickBeats, Windows


@dataclass(slots=True)
class State:
    """restarted: bool [slots]."""

    restarted: Bool = field(default_factory=lambda: np.zeros(0, np.bool_))


def step(state: State, tick: tuple[Aligned, tuple[Windows, ...]]) -> tuple[State, TickBeats]:
    """Merge a tick."""
    aligned, cut = tick
    passes = tuple(one.beats for one in cut)
    slot = _joined([p.slot for p in passes], np.int64)
    session = _joined([p.session for p in passes], np.int64)
    sample = _joined([p.sample for p in passes], np.int64)
    rate_hz = _joined([np.full(len(p.slot), p.fresh.bank.rate_hz) for p in passes], np.float64)
    number = _joined([np.full(len(p.slot), p.fresh.number) for p in passes], np.int64)
    time_us = np.empty(len(slot), np.int64)
    cpu.device_time(len(slot), slot, session, sample, rate_hz, aligned.slots, aligned.clocks, time_us)
    windows = [one.windows for one in cut] or [np.zeros((0, WINDOW), np.float32)]
    return state, TickBeats(
        aligned=aligned,
        slot=slot,
        session=session,
        sample=sample,
        decided=_joined([p.decided for p in passes], np.int64),
        time_us=time_us,
        arrived_us=aligned.arrival_us[slot],
        rate_hz=rate_hz,
        rr_s=_joined([p.rr_s for p in passes], np.float64),
        median_rr_s=_joined([p.median_rr_s for p in passes], np.float64),
        response=_joined([p.response for p in passes], np.float32),
        quality=_joined([p.quality for p in passes], np.float32),
        restart=_restarts(state, aligned, slot, number),
        windows=windows[0] if len(windows) == 1 else np.concatenate(windows),
        amplitude=_joined([one.amplitude for one in cut], np.float32),
        events=_events(aligned, passes),
        overloaded=aligned.overloaded,
    )


def _joined(parts: list[Any], dtype: type) -> Any:
    return np.concatenate(parts) if parts else np.zeros(0, dtype)


def _restarts(state: State, aligned: Aligned, slot: I64, number: I64) -> Bool:
    """Mark the first beat of a stream after each restart of its lane; a restart opens its pass."""
    if len(aligned.arrival_us) > len(state.restarted):
        grown = np.zeros(len(aligned.arrival_us), np.bool_)
        grown[: len(state.restarted)] = state.restarted
        state.restarted = grown
    mark = np.zeros(len(slot), np.bool_)
    restarts = aligned.events[aligned.events[:, 2] == Event.RESTART]
    for s in np.unique(restarts[:, 1]).tolist():
        mine = np.flatnonzero(slot == s)
        after = np.searchsorted(restarts[restarts[:, 1] == s, 0], number[mine], "right")
        fresh = np.diff(after, prepend=-1 if state.restarted[s] else 0) > 0
        mark[mine[fresh]] = True
        state.restarted[s] = len(mine) == 0 or after[-1] < np.count_nonzero(restarts[:, 1] == s)
    waiting = np.flatnonzero(state.restarted[slot] & ~np.isin(slot, restarts[:, 1]))
    if len(waiting):
        _, first = np.unique(slot[waiting], return_index=True)
        mark[waiting[first]] = True
        state.restarted[slot[waiting]] = False
    return mark


def _events(aligned: Aligned, passes: tuple[Beats, ...]) -> I64:
    """Sort what happened by slot, pass and sample; a restart opens its pass, ``KNOWN`` ends it."""
    parts = [aligned.events]
    at = 0
    for p in passes:
        fresh, n = p.fresh, len(p.slot)
        parts.append(_rows(fresh.number, p.slot, Event.BEAT, p.sample, np.arange(at, at + n), p.session))
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
