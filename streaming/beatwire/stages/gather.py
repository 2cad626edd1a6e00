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
from beatwire.records.columns import ORDERED_COLUMNS
from beatwire.records.selection import ListedBeats, ListedBlocks
from beatwire.stages.support.streams.stretches import begun_later


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
    slot = _joined([p.fresh.slot[p.beats.row] for p in passes], np.int64)
    session = _joined([p.fresh.session[p.beats.row] for p in passes], np.int64)
    sample = _joined([p.beats.sample for p in passes], np.int64)
    rate_hz = _joined([np.full(len(p.beats.row), p.fresh.bank.rate_hz) for p in passes], np.float64)
    decided = _joined([p.beats.decided for p in passes], np.int64)
    number = _joined([np.full(len(p.beats.row), p.fresh.number) for p in passes], np.int64)
    events, run = _events(aligned, passes)
    time_us = np.empty(len(slot), np.int64)
    cpu.kernels.device_time(
        len(slot),
        slot,
        begun_later(aligned, slot, number),
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
        rr_s=_joined([p.beats.rr_s for p in passes], np.float64),
        median_rr_s=_joined([p.beats.median_rr_s for p in passes], np.float64),
        response=_joined([p.beats.response for p in passes], np.float32),
        quality=_joined([p.beats.quality for p in passes], np.float32),
        expected_errors=_joined([p.beats.expected_errors for p in passes], np.float32),
        disturbance=_joined([p.beats.disturbance for p in passes], np.float32),
        restart=_joined([p.beats.restart for p in passes], np.bool_),
        terms=_all_terms([p.terms for p in passes]),
        shape=_joined([p.shape for p in passes], np.int16, SHAPE_LEADS, COLUMNS),
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
        return Terms(none, none, none, none, none, none, np.zeros((0, LATENTS), np.float32))
    return Terms(*(_joined(list(column), np.float32) for column in zip(*parts, strict=True)))


def _joined(parts: list[Any], dtype: type, *shape: int) -> Any:
    """Return columns of all passes as one; that of a single one is not copied, unless its memory is a device's."""
    if len(parts) == 1 and parts[0].flags.owndata:
        return parts[0]
    return np.concatenate(parts) if parts else np.zeros((0, *shape), dtype)


def _events(aligned: Aligned, passes: list[PassResults]) -> tuple[I64, I64]:
    """Return all events by slot, pass and sample, and where those of each stream begin, with their number.

    A restart begins its pass, ``WATERMARK`` ends it.
    """
    slots = len(aligned.anchors)
    counts, at = np.empty((2, slots), np.int64)
    cpu.kernels.count_entered(aligned.events, counts)
    merged = []
    for p in passes:
        n = len(p.watermark)
        found = PassBeats(
            _begins(p.beats.row, n), _begins(p.blocks.row, n), p.beats.sample, p.blocks.end, p.blocks.kind
        )
        cpu.kernels.count_merged(n, p.fresh.slot, found, counts)  # a pass has a stream once
        merged.append(found)
    first, run = np.empty((2, slots + 1), np.int64)
    runs = cpu.kernels.place_counted(counts, first, at, run)
    ordered = np.empty((first[-1], ORDERED_COLUMNS), np.int64)
    places = EventPlaces(first, at, np.empty(len(ordered), np.int64))
    cpu.kernels.enter_events(aligned.events, places, ordered)
    beats = 0
    for p, found in zip(passes, merged, strict=True):
        fresh, n = p.fresh, len(p.watermark)
        lanes = PassLanes(fresh.bank.number, fresh.slot, fresh.session, p.watermark)
        cpu.kernels.merge_lane(n, fresh.number, lanes, found, beats, places, ordered)
        beats += len(found.sample)
    return ordered, run[: runs + 1]


def _begins(row: I64, lanes: int) -> I64:
    """Return where the rows of each lane begin among ascending ones, and their number: int64 [lanes + 1]."""
    begins = np.empty(lanes + 1, np.int64)
    cpu.kernels.find_begins(len(row) + 1, row, begins)
    return begins
