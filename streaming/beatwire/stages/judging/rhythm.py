"""Rhythm: rates over their full number of beats, ventricular fibrillation, atrial fibrillation.

In:    TickBeats
Out:   TickBeats with ``rhythm``, and without supraventricular beats in atrial fibrillation; the value of an event of
       kind BLOCK is the block's kind
State: per slot the last 64 beats, the last three blocks, and slopes and artefacts of 15 (``kernels.rhythms.rhythm``)

A judgement about fibrillation depends on the blocks of 6 s and the beats of 6.4 s, one about atrial fibrillation on the
beats of a minute, the normal beat at its last one, and three earlier ones, once in 8 s each: 22.4 + 60 + 24 + 8 s.
Neither reads scores or classes. Without classes (``Settings.with_classes``) there is no normal beat.

In atrial fibrillation every interval is another one, and no beat is premature: where two of the last three decisions
were for it, a supraventricular beat becomes a normal one. A class then depends on 22.4 + 60 + 16 + 8 s, an alert of
supraventricular tachycardia on 12.8 s more.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from beatwire.jit import cpu
from beatwire.kernels.classes.beat_class import P_V, N, S
from beatwire.kernels.classes.normal_beat import NO_NORMAL, NORMAL_MEASURES
from beatwire.kernels.rhythms import rest, rhythm
from beatwire.kernels.rhythms.beat_ring import BEATS
from beatwire.records import TickBeats
from beatwire.records.classification import Judges
from beatwire.records.rhythm import Judged, Rhythm, RhythmBeats, RhythmMemory
from beatwire.stages.support.runs import runs_of


@dataclass(slots=True)
class State:
    """The judges, and the memory of the slots.

    keeps_features   True: ``judged`` is what was found in the last tick, with features of each event, for training
    """

    judges: Judges
    keeps_features: bool = False
    memory: RhythmMemory = field(default_factory=lambda: _memory(0))
    judged: Judged | None = None


def step(state: State, tick: TickBeats) -> tuple[State, TickBeats]:
    """Judge the rhythm of the streams of a tick."""
    events, slots = tick.events, len(tick.aligned.anchors)
    if len(state.memory.interval) < slots:
        grown = _memory(slots)
        known = len(state.memory.interval)
        grown.interval[:known], grown.flags[:known] = state.memory.interval, state.memory.flags
        grown.numbers[:known], grown.past[:known] = state.memory.numbers, state.memory.past
        state.memory = grown
    b, e = len(tick.slot), len(events)
    found = Rhythm(np.full((b, rhythm.SPANS), np.nan), *(np.zeros(b, np.bool_) for _ in range(3)))
    rows = e if state.keeps_features else 1
    judged = Judged(np.empty_like(events), found, np.zeros((rows, rhythm.FEATURES), np.float32), np.empty(e))
    state.judged = judged if state.keeps_features else None
    if e == 0:
        return state, replace(tick, rhythm=found)
    n, run = runs_of(events, tick.run)
    normal = (
        np.full((b, NORMAL_MEASURES), NO_NORMAL, np.float32) if tick.normal_measures is None else tick.normal_measures
    )
    beats = RhythmBeats(tick.rr_s, tick.quality, tick.disturbance, tick.most_errors, normal)
    rates_hz = np.array([bank.rate_hz for bank in tick.aligned.banks])
    cpu.kernels.judge_rhythm(n, run, events, beats, rates_hz, state.judges.trees, state.memory, judged)
    return state, without_premature(replace(tick, events=judged.events, rhythm=found))


def without_premature(tick: TickBeats) -> TickBeats:
    """Return the tick without supraventricular beats in atrial fibrillation."""
    if tick.rhythm is None or tick.beat_class is None or tick.class_probability is None or tick.class_measures is None:
        return tick
    premature = tick.rhythm.certain & (tick.beat_class == S)
    return replace(
        tick,
        beat_class=np.where(premature, N, tick.beat_class).astype(np.uint8),
        class_probability=np.where(premature, 1.0 - tick.class_measures[:, P_V], tick.class_probability),
    )


def _memory(slots: int) -> RhythmMemory:
    """Return the memory of slots without beats."""
    return RhythmMemory(
        np.zeros((slots, BEATS), np.uint16),
        np.zeros((slots, BEATS), np.uint8),
        np.zeros((slots, rhythm.NUMBERS), np.int64),
        np.zeros((slots, rest.COLUMNS), np.int32),
    )
