"""Ventricular: whether the last beats of each stream are a ventricular tachycardia, or a run.

In:    TickBeats, with classes
Out:   TickBeats with ``ventricular``; without classes as they are
State: per slot the last eight beats of twelve seconds

A judgement depends on the last eight beats and what their classes depend on. It reads no score.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from beatwire.jit import cpu
from beatwire.kernels.rhythms import ventricular
from beatwire.records import F32, TickBeats
from beatwire.records.classification import Judges
from beatwire.records.ventricular import Ventricular, VentricularBeats, VentricularMemory
from beatwire.stages.support.runs import runs_of


@dataclass(slots=True)
class State:
    """The judges of ventricular tachycardia and of runs, None: there are none; and the memory of the slots."""

    judges: Judges | None
    memory: VentricularMemory = field(default_factory=lambda: _memory(0))


def step(state: State, tick: TickBeats) -> tuple[State, TickBeats]:
    """Judge the beats of a tick."""
    if tick.class_measures is None or state.judges is None:
        return state, tick
    found, _ = judge(state, tick)
    return state, replace(tick, ventricular=found)


def judge(state: State, tick: TickBeats, *, keep_features: bool = False) -> tuple[Ventricular, F32]:
    """Return what is found of the beats of a tick, and features: float32 [b or 1, FEATURES], NaN if not judged.

    Parameters
    ----------
    keep_features
        Return those of all beats that are judged; they are the training data.
    """
    assert state.judges is not None
    assert tick.class_measures is not None
    slots, b = len(tick.aligned.anchors), len(tick.slot)
    known = len(state.memory.kept)
    if known < slots:
        grown = _memory(slots)
        grown.beats[:known], grown.recent[:known] = state.memory.beats, state.memory.recent
        grown.sample[:known], grown.kept[:known] = state.memory.sample, state.memory.kept
        state.memory = grown
    found = Ventricular(*(np.full(b, np.nan) for _ in Ventricular._fields))
    features = np.full((b if keep_features else 1, ventricular.FEATURES), np.nan, np.float32)
    if len(tick.events):
        n, run = runs_of(tick.events, tick.run)
        beats = VentricularBeats(tick.rr_s, tick.median_rr_s, tick.quality, tick.disturbance, tick.class_measures)
        banks = tick.aligned.banks
        window = np.array([round(ventricular.WINDOW_S * bank.rate_hz) for bank in banks], np.int64)
        trees, memory = state.judges.trees, state.memory
        cpu.kernels.judge_ventricular(n, run, tick.events, beats, window, trees, memory, features, found)
    return found, features


def _memory(slots: int) -> VentricularMemory:
    """Return the memory of slots without beats."""
    return VentricularMemory(
        np.zeros((slots, ventricular.PAST, ventricular.COLUMNS), np.float32),
        np.zeros((slots, ventricular.RECENT, ventricular.RECENT_COLUMNS), np.float32),
        np.zeros((slots, ventricular.PAST), np.int64),
        np.zeros(slots, np.int64),
    )
