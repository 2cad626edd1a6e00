"""Publish: encode beats as Avro and alerts as JSON; the keys are stream ids and alert ids.

In:    Alerts, with the beats of the tick
Out:   list of Outgoing
State: nothing but its settings

Beats are encoded by a kernel into one buffer, which is cut into messages: the only Python code that runs per beat.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import numpy as np

from beatwire.jit import cpu
from beatwire.records import I32, U8, Alerts, Outgoing, TickBeats
from beatwire.records.alignment import BeatFields, BeatLabels, BeatMessages
from beatwire.stages.support.directory import Directory
from beatwire.wire.avro import string_table
from beatwire.wire.names import ALERTS, BEATS

# Bytes of a beat in Avro at most: stream id with its length, four further longs, seven optional floats, the text of
# ``scored_by``, the model with its length, and the arrival.
_ID, _LONGS, _FLOATS, _SCORED_BY, _MODEL_LENGTH, _ARRIVED = 66, 4 * 10, 7 * 5, 17, 2, 10


@dataclass(frozen=True, slots=True)
class Settings:
    """model: version and hash; scored_by: texts of the codes of ``stages.score``."""

    model: str
    scored_by: tuple[str, ...]


@dataclass(slots=True)
class State:
    """The settings, and their texts as the kernel takes them."""

    settings: Settings
    directory: Directory
    labels: tuple[U8, I32] = field(init=False)
    model_bytes: U8 = field(init=False)

    def __post_init__(self) -> None:
        """Encode the texts."""
        self.labels = string_table(self.settings.scored_by, 16)
        self.model_bytes = np.frombuffer(self.settings.model.encode(), np.uint8)


def step(state: State, alerts: Alerts) -> tuple[State, list[Outgoing]]:
    """Encode the results of a tick."""
    outgoing = []
    if len(alerts.beats.slot):
        outgoing.append(encode_beats(state, alerts.beats))
    if alerts.transitions:
        model = {"model": state.settings.model}
        outgoing.append(
            Outgoing(
                ALERTS,
                [alert["id"].encode() for alert in alerts.transitions],
                [json.dumps(alert | model).encode() for alert in alerts.transitions],
            )
        )
    return state, outgoing


def encode_beats(state: State, beats: TickBeats) -> Outgoing:
    """Encode all beats of a tick."""
    b = len(beats.slot)
    directory = state.directory
    ints = np.stack([beats.slot, beats.session, beats.sample, beats.time_us, beats.arrived_us], axis=1)
    none = np.full(b, np.nan, np.float32)
    floats = np.stack(
        [
            1000 * beats.rr_s,
            60 / beats.median_rr_s,
            beats.response,
            beats.quality,
            none if beats.score is None else beats.score,
            none if beats.prematurity is None else beats.prematurity,
            beats.expected_errors,
        ],
        axis=1,
    ).astype(np.float32)
    label = np.zeros(b, np.int32) if beats.scored_by is None else beats.scored_by.astype(np.int32)
    model = state.model_bytes
    width = _ID + _LONGS + _FLOATS + _SCORED_BY + _MODEL_LENGTH + len(model) + _ARRIVED
    messages = BeatMessages(np.empty(b * width, np.uint8), np.empty(b, np.int64), width)
    fields = BeatFields(ints, floats.view(np.uint8), np.isnan(floats).view(np.uint8))
    cpu.kernels.write_beat(b, messages, directory.stream_ids, fields, BeatLabels(*state.labels, label), model)
    joined = messages.buffer.tobytes()
    keys = directory.keys
    return Outgoing(
        BEATS,
        [keys[s] for s in beats.slot.tolist()],
        [joined[i * width : end] for i, end in enumerate(messages.stop.tolist())],
    )
