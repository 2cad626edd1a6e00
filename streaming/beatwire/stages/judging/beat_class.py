"""Beat class: whether each beat is normal (N), supraventricular (S), ventricular (V) or unknown (Q).

In:    TickBeats, scored
Out:   TickBeats, with the class of each beat, its probability, and the measures of the normal beat of its stream;
       without trees, as they are
State: per slot the last beats (32 of at most 30 s) and the normal beat, see ``kernels.classes.normal_beat``: 3 kB a
lead

The classes are those of ANSI/AAMI EC57 without F: a fusion of a normal and a ventricular beat is one of the two. A
class is decided with its beat, 0.30 s after R. What only the next beat shows, a compensatory pause, changes no class:
beats are published once, and an alert may use what is known later.

Invariant: a class depends on the samples of at most ``CLASS_HORIZON_S`` before the beats that it depends on. It is the
same for every cut and backend, and under overload: no score is used.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from beatwire.jit import cpu
from beatwire.kernels.classes.beat_class import MEASURED, Q
from beatwire.kernels.classes.beat_shape import COLUMNS, POINTS, SHAPE_LEADS
from beatwire.kernels.classes.class_features import FEATURES, MEASURES
from beatwire.kernels.classes.normal_beat import (
    BLOCK,
    BLOCK_S,
    CANDIDATES,
    KNOWN,
    MEMORY_S,
    NO_NORMAL,
    NORMAL_MEASURES,
    PAST,
    RING_COLUMNS,
)
from beatwire.kernels.classes.stored_shape import STORED_COLUMNS
from beatwire.records import F32, F64, Aligned, TickBeats
from beatwire.records.beat_classes import BeatClasses, ClassBeats, ClassHistory, ClassScratch, ClassSettings
from beatwire.records.classification import Trees
from beatwire.stages.support.ensemble import Ensemble
from beatwire.stages.support.room import room_for
from beatwire.stages.support.runs import runs_of

# 30 s of beats whose median intervals look back 40 s; the usual interval of the last beat, 5 s ago, looks back 65 s.
CLASS_HORIZON_S = 70.0


# Trees that say nothing: while trees are trained, features are computed with these.
NO_TREES = Ensemble(
    np.zeros((2, 1, 1), np.int16), np.zeros((2, 1, 1), np.float32), np.zeros((2, 2, 1), np.int32), np.full(2, 0.5), ""
)
NO_LEAST = np.ones(2)


@dataclass(frozen=True, slots=True)
class Settings:
    """The trees: those for V, then those for S.

    least  float64 [2], the probabilities from which on a beat is ventricular, and supraventricular
    """

    ensemble: Ensemble
    least: F64


@dataclass(slots=True)
class State:
    """The trees as kernels take them, and the history of the slots."""

    settings: Settings | None
    trees: Trees = field(init=False)
    history: ClassHistory = field(init=False)

    def __post_init__(self) -> None:
        """Begin without slots."""
        e = NO_TREES if self.settings is None else self.settings.ensemble
        self.trees = Trees(e.feature, e.threshold, e.leaf, e.probability)
        self.history = ClassHistory(
            sample=np.zeros((0, PAST), np.int32),
            rr_s=np.zeros((0, PAST), np.float32),
            ratio=np.zeros((0, PAST), np.float32),
            usual=np.zeros(0, np.float32),
            match=np.zeros((0, PAST), np.float32),
            shape=np.zeros((0, PAST, 0, STORED_COLUMNS), np.uint8),
            ring=np.zeros((0, RING_COLUMNS), np.int64),
            normal=np.zeros((0, 0, COLUMNS), np.int16),
            known=np.zeros((0, KNOWN), np.float32),
        )


def step(state: State, beats: TickBeats) -> tuple[State, TickBeats]:
    """Determine the class of each beat of a tick."""
    if state.settings is None:
        return state, beats
    classes, _ = classify(state, beats)
    return state, replace(
        beats,
        beat_class=classes.beat_class,
        class_probability=classes.probability,
        class_measures=classes.measures,
        normal_measures=classes.normal,
    )


def classify(state: State, beats: TickBeats, *, keep_features: bool = False) -> tuple[BeatClasses, F32]:
    """Return the classes of the beats of a tick, and their features: float32 [b or 1, FEATURES], NaN where not needed.

    Parameters
    ----------
    keep_features
        Return the features of all beats; they are the training data. Those of typical beats are NaN.
    """
    b, events, aligned = len(beats.slot), beats.events, beats.aligned
    classes = BeatClasses(
        np.full(b, Q, np.uint8),
        np.full(b, np.nan, np.float32),
        np.zeros((b, MEASURED), np.float32),
        np.full((b, NORMAL_MEASURES), NO_NORMAL, np.float32),
    )
    features = np.full((b if keep_features else 1, FEATURES), np.nan, np.float32)
    if len(events) == 0:  # a tick without beats may have a restart
        return classes, features
    grow(state, len(aligned.anchors), max((min(SHAPE_LEADS, bank.leads) for bank in aligned.banks), default=1))
    n, run = runs_of(events, beats.run)
    work = ClassScratch(
        shape=np.zeros(POINTS, np.float32),
        normal=np.zeros(POINTS, np.float32),
        total=np.zeros(POINTS, np.int32),
        measures=np.zeros((SHAPE_LEADS, MEASURES)),
        shapes=np.zeros((PAST, SHAPE_LEADS, COLUMNS), np.int16),
        numbers=np.zeros((2 + CANDIDATES, PAST)),
        rows=np.zeros(PAST, np.int64),
        chosen=np.zeros(CANDIDATES, np.int64),
        features=features,
    )
    least = NO_LEAST if state.settings is None else state.settings.least
    cpu.kernels.classify_beats(
        n, run, events, _inputs(beats), _limits(least, aligned), state.trees, state.history, work,
        classes,
    )  # fmt: skip
    return classes, features


def grow(state: State, slots: int, leads: int = SHAPE_LEADS) -> None:
    """Make room for at least ``slots`` slots, and for so many leads of each."""
    old = state.history
    before, known = len(old.ring), old.normal.shape[1]
    if slots <= before and leads <= known:
        return
    room = max(before, room_for(slots))
    grown = ClassHistory(*(np.zeros((room, *column.shape[1:]), column.dtype) for column in old))
    if leads > known:
        grown = grown._replace(
            shape=np.zeros((room, PAST, leads, STORED_COLUMNS), np.uint8),
            normal=np.zeros((room, leads, COLUMNS), np.int16),
        )
    pairs: Iterable[tuple[Any, Any]] = zip(old, grown, strict=True)
    for column, new in pairs:
        new[tuple(map(slice, column.shape))] = column
    state.history = grown
    state.history.ring[before:, BLOCK] = -1


def _inputs(beats: TickBeats) -> ClassBeats:
    """Return the columns that kernels read."""
    return ClassBeats(beats.rr_s, beats.median_rr_s, beats.terms.early, beats.quality, beats.disturbance, beats.shape)


def _limits(least: F64, aligned: Aligned) -> ClassSettings:
    """Return the limits of each bank in samples."""
    rates_hz = [bank.rate_hz for bank in aligned.banks]
    return ClassSettings(
        block=np.array([round(BLOCK_S * rate_hz) for rate_hz in rates_hz], np.int64),
        memory=np.array([round(MEMORY_S * rate_hz) for rate_hz in rates_hz], np.int64),
        leads=np.array([min(SHAPE_LEADS, bank.leads) for bank in aligned.banks], np.int64),
        least=least,
    )
