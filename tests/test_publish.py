"""Published messages: beats are the bytes that fastavro writes, alerts are valid by their JSON Schema."""

from __future__ import annotations

import io
import json
from importlib import resources
from typing import Any

import fastavro
import numpy as np
import pytest
from beatwire.records import Alerts, TickBeats
from beatwire.stages import publish
from beatwire.stages.score import SCORED_BY
from beatwire.stages.support.alert_rules import RULES
from beatwire.stages.support.directory import Directory
from beatwire.wire.avro import decode_beat, schema
from beatwire.wire.names import ALERTS, BEATS
from bedside import Ward, device_chunk
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, ValidationError
from steps import chunk, decoded

LONGS = st.integers(-(2**63), 2**63 - 1)
NUMBERS = st.none() | st.floats(width=32, allow_nan=False, allow_infinity=False)
STREAMS = ["bed-1", "é", "x" * 64]


@st.composite
def rows(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "stream": draw(st.sampled_from(STREAMS)),
        "session": draw(LONGS),
        "sample": draw(LONGS),
        "time": draw(LONGS),
        "rr_ms": draw(NUMBERS),
        "rate_bpm": draw(st.none() | st.floats(20, 300, width=32)),
        "response": draw(st.floats(width=32, allow_nan=False)),
        "quality": draw(st.floats(0, 1, width=32)),
        "score": draw(NUMBERS),
        "prematurity": draw(NUMBERS),
        "scored_by": draw(st.sampled_from(SCORED_BY)),
        "model": "",
        "arrived": draw(LONGS),
        "expected_errors": draw(NUMBERS),
    }


def column(rows: list[dict[str, Any]], name: str, scale: float = 1.0) -> np.ndarray:
    return np.array([np.nan if r[name] is None else r[name] * scale for r in rows], np.float64)


def beats_of(rows: list[dict[str, Any]], **changed: Any) -> TickBeats:
    """The columns whose encoding is ``rows``."""
    ints = {name: np.array([r[name] for r in rows], np.int64) for name in ("session", "sample", "time", "arrived")}
    given = {
        "aligned": None,
        "slot": np.array([STREAMS.index(r["stream"]) for r in rows], np.int64),
        "session": ints["session"],
        "sample": ints["sample"],
        "decided": ints["sample"],
        "time_us": ints["time"],
        "arrived_us": ints["arrived"],
        "rate_hz": np.full(len(rows), 250.0),
        "rr_s": column(rows, "rr_ms") / 1000,
        "median_rr_s": 60 / column(rows, "rate_bpm"),
        "response": column(rows, "response").astype(np.float32),
        "quality": column(rows, "quality").astype(np.float32),
        "expected_errors": column(rows, "expected_errors").astype(np.float32),
        "restart": np.zeros(len(rows), np.bool_),
        "terms": None,
        "events": None,
        "score": column(rows, "score").astype(np.float32),
        "prematurity": column(rows, "prematurity").astype(np.float32),
        "scored_by": np.array([SCORED_BY.index(r["scored_by"]) for r in rows], np.uint8),
    }
    return TickBeats(**(given | changed))


def state_of(model: str) -> publish.State:
    directory = Directory(10)
    directory.find(decoded([chunk(stream=name) for name in STREAMS]))
    return publish.State(publish.Settings(model, SCORED_BY), directory)


def as_written(row: dict[str, Any], model: str) -> bytes:
    """What fastavro writes; numbers converted to seconds and back may differ in their last bit."""
    buffer = io.BytesIO()
    back = {
        "model": model,
        "rr_ms": None if row["rr_ms"] is None else float(np.float32(1000 * (row["rr_ms"] / 1000))),
        "rate_bpm": None if row["rate_bpm"] is None else float(np.float32(60 / (60 / row["rate_bpm"]))),
    }
    fastavro.schemaless_writer(buffer, schema("beat"), row | back)
    return buffer.getvalue()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(rows(), min_size=1, max_size=8), st.text(st.characters(codec="ascii"), max_size=40) | st.just("m" * 200)
)
def test_beats_are_the_bytes_that_fastavro_writes(given: list[dict[str, Any]], model: str) -> None:
    out = publish.encode_beats(state_of(model), beats_of(given))
    assert out.topic == BEATS
    assert out.values == [as_written(row, model) for row in given]
    assert out.keys == [row["stream"].encode() for row in given]


BEAT = {
    "stream": "bed-1", "session": 2, "sample": 500, "time": 2_000_000, "rr_ms": 800.0, "rate_bpm": 75.0,
    "response": 1.0, "quality": 0.5, "score": 2.5, "prematurity": 0.25, "scored_by": "history", "model": "",
    "arrived": 3_000_000, "expected_errors": 0.5,
}  # fmt: skip


@pytest.mark.parametrize("name", ["rr_ms", "rate_bpm", "score", "prematurity", "expected_errors"])
def test_an_unknown_number_is_null(name: str) -> None:
    read = decode_beat(publish.encode_beats(state_of("m"), beats_of([BEAT | {name: None}])).values[0])
    assert read[name] is None
    assert [k for k, v in read.items() if v is None] == [name]


def test_beats_that_were_never_scored_have_null_scores() -> None:
    beats = beats_of([BEAT], score=None, prematurity=None, scored_by=None)
    read = decode_beat(publish.encode_beats(state_of("m"), beats).values[0])
    assert (read["score"], read["prematurity"]) == (None, None)
    assert read["rr_ms"] == 800.0


def test_a_tick_without_beats_and_alerts_sends_nothing() -> None:
    assert publish.step(state_of("m"), Alerts(beats_of([]), []))[1] == []


def validator(name: str) -> Draft202012Validator:
    text = resources.files("beatwire.wire").joinpath(f"schemas/{name}.schema.json").read_text("utf-8")
    Draft202012Validator.check_schema(json.loads(text))
    return Draft202012Validator(json.loads(text))


def published_alerts() -> list[dict[str, Any]]:
    """Alerts of every rule, on and ended, as they are published."""
    ward = Ward()
    transitions = ward.tick(device_chunk(0, samples=np.zeros((2, 10), np.int16), lead_off=2))
    transitions += ward.tick(
        beats=[("bed", 50 * k, 160, True) for k in range(1, 9)], blocks=[("bed", 200, True), ("bed", 400, True)]
    )
    transitions += ward.tick(
        blocks=[("bed", 600, 2), ("bed", 800, 2), ("bed", 1000, 0), ("bed", 1200, 0), ("bed", 1400, 0)]
    )
    transitions += ward.tick(beats=[("bed", 400 + 200 * k, 30) for k in range(1, 12)], known=[("bed", 4000)])
    transitions += ward.tick(beats=[("bed", 4000 + 80 * k + 10 * (k % 2), 70, k < 5, k < 5) for k in range(1, 41)])
    transitions += ward.tick(beats=[("bed", 7530, 70)], drifts=[("bed", 7600, 950), ("bed", 8000, -100)])
    transitions += ward.tick(now_us=10**9)
    transitions += ward.tick(device_chunk(9000, samples=np.zeros((2, 10), np.int16), session=2))
    ward.aligner.align.admits = lambda *_: False
    transitions += ward.tick(device_chunk(0, stream="bed-2", samples=np.zeros((3, 10), np.int16)))
    out = publish.step(
        publish.State(publish.Settings("vae-1", SCORED_BY), ward.aligner.directory), Alerts(beats_of([]), transitions)
    )[1]
    assert (len(out), out[0].topic) == (1, ALERTS)
    read = [json.loads(value) for value in out[0].values]
    assert out[0].keys == [a["id"].encode() for a in read]
    return read


def test_every_published_alert_is_valid_by_its_schema() -> None:
    alerts, check = published_alerts(), validator("alert")
    for one in alerts:
        check.validate(one)
        assert set(one) == set(check.schema["properties"]) == set(check.schema["required"])
    assert (
        {a["rule"] for a in alerts} == {rule.name for rule in RULES} == set(check.schema["properties"]["rule"]["enum"])
    )
    assert {a["state"] for a in alerts} == {"on", "latched", "off"} < set(check.schema["properties"]["state"]["enum"])
    assert {rule.priority for rule in RULES} == set(check.schema["properties"]["priority"]["enum"])


@pytest.mark.parametrize(
    "changed",
    [
        {"state": "over"},
        {"rule": "hiccup"},
        {"onset": -1},
        {"onset": "1"},
        {"id": "abc"},
        {"technical": 1},
        {"model": None},
    ],
)
def test_the_schema_refuses_an_invalid_alert(changed: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        validator("alert").validate(published_alerts()[0] | changed)
