"""Records of a ward behind the live page: alerts, beats and samples, and what the ward then shows."""

import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import fastavro
import numpy as np
from beatwire.alerts.rules import RULES
from beatwire.kafka.reading.record import Record
from beatwire.page.ward import Ward
from beatwire.records import RawTick
from beatwire.wire.avro import encode_chunk, schema
from beatwire.wire.names import ALERTS, BEATS
from laws import START_US

SAMPLES = np.arange(50, dtype=np.int16)


def alert(stream: str, rule: str = "tachycardia", state: str = "on", **changed: Any) -> Record:
    number = next(k for k, r in enumerate(RULES) if r.name == rule)
    name = f"{abs(hash((stream, rule))):032x}"[:32]
    value = {
        "id": name, "stream": stream, "session": 1, "rule": rule, "priority": RULES[number].priority,
        "technical": RULES[number].technical, "state": state, "onset": 0, "onset_us": START_US, "decided": 0,
        "decided_us": START_US, "value": 130.0, "limit": 120.0, "text": rule, "model": "m",
    }  # fmt: skip
    return Record(ALERTS, name.encode(), json.dumps(value | changed).encode())


def beat(stream: str, at_s: float, **changed: Any) -> Record:
    time = datetime.fromtimestamp(START_US / 1e6, UTC) + timedelta(seconds=at_s)
    value = {
        "stream": stream, "session": 1, "sample": round(at_s * 250), "time": time, "rr_ms": 800.0, "rate_bpm": 75.0,
        "response": 1.0, "quality": 0.99, "score": 0.5, "prematurity": 0.0, "scored_by": "history", "model": "m",
        "arrived": time, "expected_errors": 0.0, "map_x": 1.0, "map_y": None,
    }  # fmt: skip
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, schema("beat"), value | changed)
    return Record(BEATS, stream.encode(), buffer.getvalue())


def ward_of(*streams: str) -> Ward:
    ward = Ward()
    send(ward, *streams)
    return ward


def send(ward: Ward, *streams: str, first: int = 0, now_us: int = START_US, **changed: Any) -> None:
    values = [
        encode_chunk(stream, 1, first, START_US + first * 4000, 250.0, ["II"], SAMPLES, **changed) for stream in streams
    ]
    ward.add_samples(RawTick.of(values, now_us=now_us))


def names(ward: Ward, query: str = "", offset: int = 0, limit: int = 64, now_us: int = START_US) -> list[str]:
    return [bed["stream"] for bed in ward.part(query, offset, limit, now_us)["beds"]]


def bed(ward: Ward, stream: str, now_us: int = START_US) -> dict[str, Any]:
    found = ward.bed(stream, now_us)
    assert found is not None
    return found
