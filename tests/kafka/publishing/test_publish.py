"""Published messages: beats are the bytes that fastavro writes, alerts are valid by their JSON Schema."""

import io
import json
from importlib import resources
from types import SimpleNamespace
from typing import Any

import fastavro
import numpy as np
import pytest
from beatwire.alerts.rules import RULES, SERVICE_RULES
from beatwire.kernels.classes.beat_class import LETTERS
from beatwire.records import Alerts, Expired, TickBeats
from beatwire.stages import publish
from beatwire.stages.score import SCORED_BY
from beatwire.stages.support.alerts.service_alerts import interrupted_messages
from beatwire.stages.support.streams.directory import Directory
from beatwire.wire.avro import decode_beat, schema
from beatwire.wire.names import ALERTS, AUDIT, BEATS
from bedside import Ward, device_chunk
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, ValidationError
from steps import chunk, decoded

NOW_US = 1_700_000_000_000_000
LONGS = st.integers(-(2**63), 2**63 - 1)
NUMBERS = st.none() | st.floats(width=32, allow_nan=False, allow_infinity=False)
PLACES = st.builds(
    lambda place: dict(zip(("map_x", "map_y"), place, strict=True)),
    st.just((None, None)) | st.tuples(*2 * [st.floats(-50, 50, width=32).map(lambda x: x + 0.0)]),  # no -0.0
)
PLANE = np.eye(8, 2, dtype=np.float32)
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
        **draw(PLACES),
        "beat_class": draw(st.sampled_from(LETTERS)),
        "class_probability": draw(NUMBERS),
    }


def column(rows: list[dict[str, Any]], name: str, scale: float = 1.0) -> np.ndarray:
    return np.array([np.nan if r[name] is None else r[name] * scale for r in rows], np.float64)


def beats_of(rows: list[dict[str, Any]], **changed: Any) -> TickBeats:
    """The columns whose encoding is ``rows``."""
    ints = {name: np.array([r[name] for r in rows], np.int64) for name in ("session", "sample", "time", "arrived")}
    given = {
        "aligned": SimpleNamespace(now_us=NOW_US),
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
        "disturbance": np.full(len(rows), np.nan, np.float32),
        "restart": np.zeros(len(rows), np.bool_),
        "terms": None,
        "events": None,
        "score": column(rows, "score").astype(np.float32),
        "prematurity": column(rows, "prematurity").astype(np.float32),
        "latent": np.stack([column(rows, name) for name in ("map_x", "map_y")] + 6 * [np.zeros(len(rows))], 1).astype(
            "f4"
        ),
        "scored_by": np.array([SCORED_BY.index(r["scored_by"]) for r in rows], np.uint8),
        "shape": None,
        "beat_class": np.array([LETTERS.index(r["beat_class"]) for r in rows], np.uint8),
        "class_probability": column(rows, "class_probability").astype(np.float32),
    }
    return TickBeats(**(given | changed))


def state_of(model: str) -> publish.State:
    directory = Directory(10)
    directory.find(decoded([chunk(stream=name) for name in STREAMS]))
    return publish.State(publish.Settings(model, SCORED_BY, PLANE), directory)


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


@settings(max_examples=draws(60), deadline=None)
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
    "arrived": 3_000_000, "expected_errors": 0.5, "map_x": 1.5, "map_y": -0.25, "beat_class": "V",
    "class_probability": 0.75,
}  # fmt: skip


@pytest.mark.parametrize("name", ["rr_ms", "rate_bpm", "score", "prematurity", "expected_errors", "class_probability"])
def test_an_unknown_number_is_null(name: str) -> None:
    read = decode_beat(publish.encode_beats(state_of("m"), beats_of([BEAT | {name: None}])).values[0])
    assert read[name] is None
    assert [k for k, v in read.items() if v is None] == [name]


def test_a_beat_that_was_not_embedded_has_no_place_in_the_plane() -> None:
    for latents in (None, np.full((1, 8), np.nan, np.float32)):
        read = decode_beat(publish.encode_beats(state_of("m"), beats_of([BEAT], latent=latents)).values[0])
        assert (read["map_x"], read["map_y"]) == (None, None)


def test_a_beat_whose_class_was_not_determined_has_none() -> None:
    beats = beats_of([BEAT], beat_class=None, class_probability=None)
    read = decode_beat(publish.encode_beats(state_of("m"), beats).values[0])
    assert (read["beat_class"], read["class_probability"]) == (None, None)


def test_beats_that_were_never_scored_have_null_scores() -> None:
    beats = beats_of([BEAT], score=None, prematurity=None, scored_by=None)
    read = decode_beat(publish.encode_beats(state_of("m"), beats).values[0])
    assert (read["score"], read["prematurity"]) == (None, None)
    assert read["rr_ms"] == 800.0


def test_a_tick_without_beats_and_alerts_sends_nothing() -> None:
    assert publish.step(state_of("m"), Alerts(beats_of([]), []))[1] == []


def test_records_of_the_audit_log_are_events_of_the_monitor() -> None:
    record = {"what": "acknowledged", "stream": "bed-1", "by": "Ada", "at_us": 5, "alert": "ab"}
    (out,) = publish.step(state_of("m"), Alerts(beats_of([]), [], audit=[record]))[1]
    assert (out.topic, out.keys, json.loads(out.values[0])) == (AUDIT, [b"bed-1"], record)
    (headers,) = map(dict, out.headers or ())
    assert (headers["ce_source"], headers["ce_id"]) == (b"urn:beatwire:monitor", b"ab/acknowledged/5")


def validator(name: str) -> Draft202012Validator:
    text = resources.files("beatwire.wire").joinpath(f"schemas/{name}.schema.json").read_text("utf-8")
    Draft202012Validator.check_schema(json.loads(text))
    return Draft202012Validator(json.loads(text))


def published_alerts() -> list[dict[str, Any]]:
    """Alerts of every rule, on and ended, as they are published."""
    ward = Ward()
    transitions = interrupted_messages([2], 10**15, 3.0)

    def say(*chunks: Any, **found: Any) -> None:
        ward.tick(*chunks, **found)
        transitions.extend(ward.published)

    ward.lifecycle.expired[3] = Expired(unread=20, first=5)
    say(device_chunk(0, samples=np.zeros((2, 10), np.int16), lead_off=2))
    say(beats=[("bed", 50 * k, 160, True) for k in range(1, 9)], blocks=[("bed", 200, True), ("bed", 400, True)])
    say(blocks=[("bed", 600, 2), ("bed", 800, 2), ("bed", 1000, 0), ("bed", 1200, 0), ("bed", 1400, 0)])
    say(beats=[("bed", 400 + 200 * k, 30) for k in range(1, 12)], known=[("bed", 4000)])
    say(beats=[("bed", 4000 + 80 * k + 10 * (k % 2), 70, k < 5) for k in range(1, 41)])
    say(beats=[("bed", 7360, 70), ("bed", 7690, 70)], drifts=[("bed", 7760, 950), ("bed", 8000, -100)])
    say(beats=[("bed", 8100, 70)], atrial=True)
    say(now_us=10**9)
    say(device_chunk(9000, samples=np.zeros((2, 10), np.int16), session=2))
    say(beats=[("bed", 9000 + 5 * k, 170.0) for k in range(1, 8)], classes="S" * 7)
    ectopic = "NVVNVNVNVNNVNNVNNVVVNNNNNN" + "V" * 8 + "N" * 9
    runs = [2.0 if 18 < k < 22 or 25 < k < 34 else -5.0 for k in range(len(ectopic))]
    bpm = [90.0 if k < 20 else 170.0 for k in range(len(ectopic))]
    beats = [("bed", 9000 + 50 * (k + 1), bpm[k]) for k in range(len(ectopic))]
    say(beats=beats, classes=ectopic, runs=runs)
    noisy = [("bed", 11300 + 90 * k, 70, False, 3.0) for k in range(1, 45)]
    say(beats=noisy, known=[("bed", 15400)], blocks=[("bed", 15600, 8)])
    for k in range(6):
        say(device_chunk(10 * k, stream="bed-3", session=1 + k % 2))
    for k in range(14):
        say(device_chunk(500 * k, n=500, stream="bed-4", clock=2.0))
    ward.aligner.align.admission.admits = lambda *_: False
    say(device_chunk(0, stream="bed-2", samples=np.zeros((3, 10), np.int16)))
    out = publish.step(
        publish.State(publish.Settings("vae-1", SCORED_BY, PLANE), ward.aligner.directory),
        Alerts(beats_of([]), transitions),
    )[1]
    assert (len(out), out[0].topic, out[0].at_us) == (1, ALERTS, NOW_US)
    read = [json.loads(value) for value in out[0].values]
    assert out[0].keys == [a["id"].encode() for a in read]
    return read


def test_every_published_alert_is_valid_by_its_schema() -> None:
    alerts, check = published_alerts(), validator("alert")
    for one in alerts:
        check.validate(one)
        assert set(one) == set(check.schema["properties"]) == {*check.schema["required"], "partition"}
    assert (
        {a["rule"] for a in alerts}
        == {rule.name for rule in (*RULES, *SERVICE_RULES)}
        == set(check.schema["properties"]["rule"]["enum"])
    )
    assert {a["state"] for a in alerts} == {"on", "latched", "off"} < set(check.schema["properties"]["state"]["enum"])
    assert {rule.priority for rule in RULES} == set(check.schema["properties"]["priority"]["enum"])


def test_a_value_that_is_not_known_is_published_as_null_which_is_valid() -> None:
    alert = {name: value for name, value in published_alerts()[0].items() if name != "model"}
    out = publish.step(state_of("m"), Alerts(beats_of([]), [alert | {"value": float("nan")}]))[1]
    assert b"NaN" not in out[0].values[0]
    read = json.loads(out[0].values[0])
    assert read["value"] is None
    validator("alert").validate(read)


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
