"""Gather: the beats and events of all passes of a tick, those of a stream in order.

In: Aligned and the HistoryFeatures of its passes. Out: TickBeats, all of it on the host: this is where the results of a
device come back. State: nothing but the backend.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.jit import cpu
from beatwire.kernels.history import LATENTS
from beatwire.records import F32, F64, I64, Aligned, Bool, Fresh, HistoryFeatures, Terms, TickBeats
from beatwire.records.alignment import PassBeats, PassBlocks, PassLanes


@dataclass(slots=True)
class State:
    """Where the passes are."""

    backend: Backend = CPU


class Found(NamedTuple):
    """What came back of a pass: its blocks, and its beats with their terms and columns as in ``Beats``."""

    fresh: Fresh
    watermark: I64
    blocks: tuple[I64, I64, I64]
    terms: tuple[Any, ...]
    row: I64
    sample: I64
    decided: I64
    rr_s: F64
    median_rr_s: F64
    response: F32
    quality: F32
    expected_errors: F32
    restart: Bool


def step(state: State, tick: tuple[Aligned, tuple[HistoryFeatures, ...]]) -> tuple[State, TickBeats]:
    """Merge a tick."""
    aligned, cut = tick
    passes = brought(state.backend, cut)
    slot = _joined([p.fresh.slot[p.row] for p in passes], np.int64)
    session = _joined([p.fresh.session[p.row] for p in passes], np.int64)
    sample = _joined([p.sample for p in passes], np.int64)
    rate_hz = _joined([np.full(len(p.row), p.fresh.bank.rate_hz) for p in passes], np.float64)
    time_us = np.empty(len(slot), np.int64)
    cpu.kernels.device_time(len(slot), slot, session, sample, rate_hz, aligned.anchors, aligned.clocks, time_us)
    return state, TickBeats(
        aligned=aligned,
        slot=slot,
        session=session,
        sample=sample,
        decided=_joined([p.decided for p in passes], np.int64),
        time_us=time_us,
        arrived_us=aligned.slots.arrived_us[slot],
        rate_hz=rate_hz,
        rr_s=_joined([p.rr_s for p in passes], np.float64),
        median_rr_s=_joined([p.median_rr_s for p in passes], np.float64),
        response=_joined([p.response for p in passes], np.float32),
        quality=_joined([p.quality for p in passes], np.float32),
        expected_errors=_joined([p.expected_errors for p in passes], np.float32),
        restart=_joined([p.restart for p in passes], np.bool_),
        terms=_terms([p.terms for p in passes]),
        events=_events(aligned, passes),
        overloaded=aligned.overloaded,
    )


def brought(backend: Backend, cut: Sequence[HistoryFeatures]) -> list[Found]:
    """Bring the results of passes to the host."""
    came = backend.fetch([table for one in cut for table in (one.beats.listed, one.beats.blocks, one.terms)])
    return [
        Found(one.beats.fresh, one.beats.watermark, blocks, terms, *listed)
        for one, listed, blocks, terms in zip(cut, came[::3], came[1::3], came[2::3], strict=True)
    ]


def _terms(parts: list[tuple[Any, ...]]) -> Terms:
    """Join the terms of all passes."""
    if not parts:
        none = np.zeros(0, np.float32)
        return Terms(none, none, none, none, none, np.zeros((0, LATENTS), np.float32))
    return Terms(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _joined(parts: list[Any], dtype: type) -> Any:
    return np.concatenate(parts) if parts else np.zeros(0, dtype)


def _events(aligned: Aligned, passes: list[Found]) -> I64:
    """Sort what happened by slot, pass and sample; a restart opens its pass, ``KNOWN`` ends it."""
    told = len(aligned.events)
    most = told + sum(len(p.row) + len(p.blocks[0]) + len(p.watermark) for p in passes)
    events = np.empty((most, aligned.events.shape[1]), np.int64)
    events[:told] = aligned.events
    n, beats = told, 0
    for p in passes:
        fresh = p.fresh
        lanes = PassLanes(fresh.slot, fresh.session, p.watermark)
        n = cpu.kernels.merge_pass(
            fresh.number, lanes, PassBeats(p.row, p.sample), beats, PassBlocks(*p.blocks), events, n
        )
        beats += len(p.row)
    slots = len(aligned.anchors)
    ordered = np.empty((most, 5), np.int64)
    cpu.kernels.by_stream(
        events, np.zeros(slots + 1, np.int64), np.empty(slots, np.int64), np.empty(most, np.int64), ordered
    )  # fmt: skip
    return ordered
