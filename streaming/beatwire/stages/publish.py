"""Publish: encode beats as Avro and alerts and audit records as JSON; the keys are stream ids and alert ids.

In:    Alerts, with the beats of the tick
Out:   list of Outgoing
State: nothing but its settings

A kernel encodes the beats into one buffer, and no Python code runs per beat: the sender takes each out of the buffer.
"""

from dataclasses import dataclass, field

import numpy as np

from beatwire.jit import cpu
from beatwire.kernels.beat_message import FLOATS
from beatwire.kernels.classes.beat_class import LETTERS
from beatwire.records import F32, I32, U8, Alerts, Outgoing, TickBeats
from beatwire.records.alignment import BeatFields, BeatLabels, BeatMessages
from beatwire.records.messages import Slices, Taken
from beatwire.stages.support.streams.directory import Directory
from beatwire.wire.alerts import encode_alert
from beatwire.wire.avro import string_table
from beatwire.wire.cloud_events import Which, alert_headers, audit_headers, beat_headers
from beatwire.wire.names import ALERTS, AUDIT, BEATS

# Bytes of a beat in Avro at most: stream id with its length, four further longs, ten optional floats, the text of
# ``scored_by``, the model with its length, the arrival, and the class.
_ID, _LONGS, _FLOATS, _SCORED_BY, _MODEL_LENGTH, _ARRIVED, _CLASS = 66, 4 * 10, 10 * 5, 17, 2, 10, 3


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings.

    model         version and hash
    scored_by     texts of the codes of ``stages.score``
    plane         of latents, float32 [8, 2]
    cloud_events  which messages have headers of CloudEvents: ``alerts``, or ``all``, beats too
    """

    model: str
    scored_by: tuple[str, ...]
    plane: F32
    cloud_events: Which = "alerts"


@dataclass(slots=True)
class State:
    """The settings, and their texts as the kernel takes them."""

    settings: Settings
    directory: Directory
    labels: tuple[U8, I32] = field(init=False)
    model_bytes: U8 = field(init=False)
    letters: U8 = field(init=False)
    plane: F32 = field(init=False)

    def __post_init__(self) -> None:
        """Encode the texts."""
        self.labels = string_table(self.settings.scored_by, 16)
        self.model_bytes = np.frombuffer(self.settings.model.encode(), np.uint8)
        self.plane = np.ascontiguousarray(self.settings.plane, np.float32)
        self.letters = np.frombuffer("".join(LETTERS).encode(), np.uint8)


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
                [encode_alert(alert | model).encode() for alert in alerts.transitions],
                list(map(alert_headers, alerts.transitions)),
                at_us=alerts.beats.aligned.now_us,
            )
        )
    if alerts.audit:
        keys: list[bytes | None] = [record["stream"].encode() for record in alerts.audit]
        records = [encode_alert(record).encode() for record in alerts.audit]
        outgoing.append(Outgoing(AUDIT, keys, records, list(map(audit_headers, alerts.audit))))
    return state, outgoing


def encode_beats(state: State, beats: TickBeats) -> Outgoing:
    """Encode all beats of a tick."""
    b = len(beats.slot)
    directory = state.directory
    none = np.full(b, np.nan, np.float32)
    floats = np.empty((b, FLOATS), np.float32)
    fields = BeatFields(
        slot=beats.slot,
        session=beats.session,
        sample=beats.sample,
        time_us=beats.time_us,
        arrived_us=beats.arrived_us,
        rr_s=beats.rr_s,
        median_rr_s=beats.median_rr_s,
        response=beats.response,
        quality=beats.published_quality,
        score=none if beats.score is None else beats.score,
        prematurity=none if beats.prematurity is None else beats.prematurity,
        expected_errors=beats.expected_errors,
        class_probability=none if beats.class_probability is None else beats.class_probability,
        latent=none[:, None] if beats.latent is None else beats.latent,
        plane=state.plane,
        floats=floats,
        raw=floats.view(np.uint8),
    )
    label = np.zeros(b, np.int32) if beats.scored_by is None else beats.scored_by.astype(np.int32)
    model = state.model_bytes
    letter = np.zeros(b, np.uint8) if beats.beat_class is None else state.letters[beats.beat_class]
    width = _ID + _LONGS + _FLOATS + _SCORED_BY + _MODEL_LENGTH + len(model) + _ARRIVED + _CLASS
    messages = BeatMessages(np.empty(b * width, np.uint8), np.empty(b, np.int64), width)
    cpu.kernels.write_beat(b, messages, directory.stream_ids, fields, BeatLabels(*state.labels, label, letter), model)
    keys = Taken(directory.keys, beats.slot)
    return Outgoing(
        BEATS,
        keys,
        Slices(messages.buffer, messages.stop, width),
        beat_headers(keys, beats.session, beats.sample, beats.time_us)
        if state.settings.cloud_events == "all"
        else None,
    )
