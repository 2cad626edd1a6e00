"""Publish: beats become Avro, alerts JSON, rejects dead letters; keys are stream ids.

In: Alerts (with the beats of the tick). Out: list of Outgoing. State: nothing but its settings.
Beats are encoded by a kernel into one buffer and cut into messages, which is all the Python a
beat costs here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import numpy as np

from beatwire.jit import cpu
from beatwire.records import I32, U8, Alerts, Outgoing, TickBeats
from beatwire.records.alignment import BeatFields, BeatLabels, BeatMessages
from beatwire.stages.support.directory import Directory
from beatwire.wire.avro import texts
from beatwire.wire.names import ALERTS, BEATS


@dataclass(slots=True)
class State:
    """model: version and hash; scored_by: texts of the codes; both also as the kernel wants them."""

    directory: Directory
    model: str
    scored_by: tuple[str, ...]
    labels: tuple[U8, I32] = field(init=False)
    model_bytes: U8 = field(init=False)

    def __post_init__(self) -> None:
        """Lay the texts out."""
        self.labels = texts(self.scored_by, 16)
        self.model_bytes = np.frombuffer(self.model.encode(), np.uint8)


def step(state: State, alerts: Alerts) -> tuple[State, list[Outgoing]]:
    """Turn a tick's results into messages."""
    outgoing = []
    if len(alerts.beats.slot):
        outgoing.append(encode_beats(state, alerts.beats))
    if alerts.transitions:
        model = {"model": state.model}
        outgoing.append(
            Outgoing(
                ALERTS,
                [told["id"].encode() for told in alerts.transitions],
                [json.dumps(told | model).encode() for told in alerts.transitions],
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
    width = 66 + 4 * 10 + 7 * 5 + 17 + 2 + len(model) + 10
    messages = BeatMessages(np.empty(b * width, np.uint8), np.empty(b, np.int64), width)
    fields = BeatFields(ints, floats.view(np.uint8), np.isnan(floats).view(np.uint8))
    labels = BeatLabels(*state.labels, label)
    cpu.kernels.write_beat(b, messages, directory.stream_ids, fields, labels, model)
    joined = messages.buffer.tobytes()
    keys = directory.keys
    return Outgoing(
        BEATS,
        [keys[s] for s in beats.slot.tolist()],
        [joined[i * width : end] for i, end in enumerate(messages.stop.tolist())],
    )
