"""Gather: the beats and events of all passes of a tick, those of a stream in order.

In:    Aligned and the HistoryFeatures of its passes
Out:   TickBeats, all of it on the host: here the results of a device are fetched
State: nothing but the backend
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.jit import cpu
from beatwire.kernels.classes.beat_shape import COLUMNS, SHAPE_LEADS
from beatwire.kernels.scores.history import LATENTS
from beatwire.records import I16, I64, Aligned, Fresh, HistoryFeatures, Terms, TickBeats
from beatwire.records.alignment import EventPlaces, PassBeats, PassLanes
from beatwire.records.columns import EVENT_SLOT, ORDERED_COLUMNS
from beatwire.records.selection import ListedBeats, ListedBlocks
from beatwire.stages.support.streams.stretches import stretches_of


@dataclass(slots=True)
class State:
    """The backend of the passes."""

    backend: Backend = CPU


class PassResults(NamedTuple):
    """The results of a pass on the host.

    fresh, watermark  its lanes, and up to where their beats are complete
    blocks, beats     its blocks that became complete, and its beats
    terms, shape      of the beats
    """

    fresh: Fresh
    watermark: I64
    blocks: ListedBlocks
    beats: ListedBeats
    terms: Terms
    shape: I16


def step(state: State, tick: tuple[Aligned, tuple[HistoryFeatures, ...]]) -> tuple[State, TickBeats]:
    """Gather a tick."""
    aligned, features = tick
    passes = fetch_passes(state.backend, features)
    slot = _concatenated([p.fresh.slot[p.beats.row] for p in passes], np.int64)
    session = _concatenated([p.fresh.session[p.beats.row] for p in passes], np.int64)
    sample = _concatenated([p.beats.sample for p in passes], np.int64)
    rate_hz = _concatenated([np.full(len(p.beats.row), p.fresh.bank.rate_hz) for p in passes], np.float64)
    decided = _concatenated([p.beats.decided for p in passes], np.int64)
    number = _concatenated([np.full(len(p.beats.row), p.fresh.number) for p in passes], np.int64)
    events, run = _events(aligned, passes)
    time_us = np.empty(len(slot), np.int64)
    cpu.kernels.device_time(
        len(slot),
        slot,
        stretches_of(aligned, slot, number),
        sample,
        decided,
        rate_hz,
        aligned.anchors,
        aligned.clocks,
        time_us,
    )
    return state, TickBeats(
        aligned=aligned,
        slot=slot,
        session=session,
        sample=sample,
        decided=decided,
        time_us=time_us,
        arrived_us=aligned.slots.arrived_us[slot],
        rate_hz=rate_hz,
        rr_s=_concatenated([p.beats.rr_s for p in passes], np.float64),
        median_rr_s=_concatenated([p.beats.median_rr_s for p in passes], np.float64),
        response=_concatenated([p.beats.response for p in passes], np.float32),
        quality=_concatenated([p.beats.quality for p in passes], np.float32),
        expected_errors=_concatenated([p.beats.expected_errors for p in passes], np.float32),
        restart=_concatenated([p.beats.restart for p in passes], np.bool_),
        terms=_all_terms([p.terms for p in passes]),
        shape=np.concatenate([p.shape for p in passes]) if passes else np.zeros((0, SHAPE_LEADS, COLUMNS), np.int16),
        events=events,
        run=run,
        overloaded=aligned.overloaded or any(one.overloaded for one in features),
    )


def fetch_passes(backend: Backend, features: Sequence[HistoryFeatures]) -> list[PassResults]:
    """Fetch the results of passes to the host."""
    tables = backend.fetch(
        [table for one in features for table in (one.beats.listed, one.beats.blocks, one.terms, one.shapes)]
    )
    return [
        PassResults(
            one.beats.fresh, one.beats.watermark, ListedBlocks(*blocks), ListedBeats(*listed), Terms(*terms), *shape
        )
        for one, listed, blocks, terms, shape in zip(features, *(tables[k::4] for k in range(4)), strict=True)
    ]


def _all_terms(parts: list[Terms]) -> Terms:
    """Concatenate the terms of all passes."""
    if not parts:
        none = np.zeros(0, np.float32)
        return Terms(none, none, none, none, none, np.zeros((0, LATENTS), np.float32))
    return Terms(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _concatenated(parts: list[Any], dtype: type) -> Any:
    return np.concatenate(parts) if parts else np.zeros(0, dtype)


def _events(aligned: Aligned, passes: list[PassResults]) -> tuple[I64, I64]:
    """Return all events by slot, pass and sample, and where those of each stream begin, with their number.

    A restart begins its pass, ``WATERMARK`` ends it.
    """
    slots = len(aligned.anchors)
    counts = np.bincount(aligned.events[:, EVENT_SLOT], minlength=slots)
    merged = []
    for p in passes:
        n = len(p.watermark)
        found = PassBeats(
            _begins(p.beats.row, n), _begins(p.blocks.row, n), p.beats.sample, p.blocks.end, p.blocks.kind
        )
        counts[p.fresh.slot] += np.diff(found.first) + np.diff(found.first_block) + 1  # a pass has a stream once
        merged.append(found)
    first = np.zeros(slots + 1, np.int64)
    np.cumsum(counts, out=first[1:])
    ordered = np.empty((first[-1], ORDERED_COLUMNS), np.int64)
    places = EventPlaces(first, first[:-1].copy(), np.empty(len(ordered), np.int64))
    cpu.kernels.enter_events(aligned.events, places, ordered)
    beats = 0
    for p, found in zip(passes, merged, strict=True):
        fresh, n = p.fresh, len(p.watermark)
        lanes = PassLanes(fresh.bank.number, fresh.slot, fresh.session, p.watermark)
        cpu.kernels.merge_lane(n, fresh.number, lanes, found, beats, places, ordered)
        beats += len(found.sample)
    return ordered, np.append(first[:-1][counts > 0], len(ordered))


def _begins(row: I64, lanes: int) -> I64:
    """Return where the rows of each lane begin among ascending ones, and their number: int64 [lanes + 1]."""
    begins = np.zeros(lanes + 1, np.int64)
    np.cumsum(np.bincount(row, minlength=lanes), out=begins[1:])
    return begins
