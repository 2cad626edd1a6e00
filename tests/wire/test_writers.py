"""Framed messages of other schemas than ours: what is read, what is refused and why, and what costs nothing."""

import json
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from beatwire.records import RawTick
from beatwire.stages import decode
from beatwire.wire import avro, writers
from beatwire.wire.avro import decode_chunk, frame
from mutations import mutations
from steps import chunk, decoded, row
from writer_schemas import ours, retyped, reversed_fields, with_field, without, written

OURS = json.dumps(ours())
MILLIS = {"type": "long", "logicalType": "timestamp-millis"}


def refused(schema: Any, message: bytes) -> str:
    """Return the reason of the only reject, which is of kind schema."""
    rejects = decoded([message, chunk()], schemas={7: json.dumps(schema)}).rejects
    assert (rejects.message, rejects.kind) == ([0], ["schema"])
    return rejects.reason[0]


@pytest.mark.parametrize(
    "schema",
    [with_field(), with_field("extra", ["null", "long"], default=None), reversed_fields()],
    ids=["added first", "added with a default", "reordered"],
)
def test_a_message_of_another_order_or_with_more_fields_has_the_same_content(schema: dict[str, Any]) -> None:
    result = decoded([written(schema, 7, extra=None), written(ours(), 8)], schemas={7: json.dumps(schema), 8: OURS})
    assert not result.rejects.message
    assert row(result, 0) == row(result, 1)


def test_a_rate_that_is_a_float_or_nullable_is_read() -> None:
    for kind in ("float", ["null", "double"]):
        schema = retyped("rate_hz", kind)
        assert row(decoded([written(schema, 7)], schemas={7: json.dumps(schema)}), 0)["rate_hz"] == 250.0


def test_times_in_milliseconds_become_microseconds() -> None:
    schema = retyped("time", MILLIS)
    message = written(schema, 7, time=datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC))
    assert row(decoded([message], schemas={7: json.dumps(schema)}), 0)["time"] == 1_767_323_045_678_000


def test_a_null_where_ours_has_a_number_is_a_dead_letter_and_the_next_message_is_read() -> None:
    schema = retyped("rate_hz", ["null", "double"])
    result = decoded([written(schema, 7, rate_hz=None), written(schema, 7)], schemas={7: json.dumps(schema)})
    assert (result.rejects.message, result.message.tolist()) == ([0], [1])


@pytest.mark.parametrize(
    ("schema", "fields", "reason"),
    [
        (without("rate_hz"), {}, "No default value for field rate_hz in beatwire.SampleChunk"),
        (retyped("rate_hz", "string"), {"rate_hz": "250"}, "Schema mismatch: string is not double"),
        (retyped("lead_off", "long"), {}, "Schema mismatch: long is not int"),
        (ours() | {"name": "Other"}, {}, "record beatwire.Other is not SampleChunk"),
    ],
    ids=["missing", "text", "longer", "renamed"],
)
def test_a_message_of_an_incompatible_schema_is_a_dead_letter_that_names_id_and_reason(
    schema: dict[str, Any], fields: dict[str, Any], reason: str
) -> None:
    assert (
        refused(schema, written(schema, 7, **fields)) == f"decode: schema id 7 cannot be read as SampleChunk: {reason}"
    )


@pytest.mark.parametrize("schema", [{"type": "object", "properties": {}}, {"type": "ward.Chunk"}, 5, [], "string"])
def test_an_id_of_something_else_than_a_chunk_is_a_dead_letter(schema: Any) -> None:
    assert refused(schema, frame(chunk(), 7)).startswith("decode: schema id 7 cannot be read as SampleChunk: ")


def test_an_id_that_the_registry_does_not_have_is_a_dead_letter() -> None:
    result = decoded([frame(chunk(), 9), frame(chunk(), 8)], schemas={8: OURS, 9: ""})
    assert result.rejects.reason == ["decode: schema id 9 is not in the schema registry"]
    assert result.message.tolist() == [1]


def test_plain_avro_and_json_are_read_with_a_registry_too() -> None:
    as_json = b'{"stream": "bed-3", "first": 0, "rate_hz": 250, "samples": [1]}'
    result = decoded([chunk(), as_json, frame(chunk(), 9)], schemas={})
    assert (result.message.tolist(), result.rejects.message) == ([0, 1], [2])


@pytest.mark.parametrize("cut", range(1, 70, 7))
def test_a_truncated_message_of_another_schema_is_a_dead_letter(cut: int) -> None:
    schema = reversed_fields()
    rejects = decoded([written(schema, 7)[:-cut], chunk()], schemas={7: json.dumps(schema)}).rejects
    assert rejects.message == [0]


def test_a_resolved_message_is_checked_like_any_other() -> None:
    schema = reversed_fields()
    rejects = decoded([written(schema, 7, rate_hz=5.0)], schemas={7: json.dumps(schema)}).rejects
    assert rejects.kind == ["field"]
    assert "expected a rate of 50-4000 Hz; got 5" in rejects.reason[0]


def test_a_message_of_our_schema_is_never_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Documentation, defaults and a missing logical type make no difference."""
    plain = retyped("time", "long")
    for field in plain["fields"]:
        field.pop("doc", None)
    monkeypatch.setattr(writers.Writer, "translate", None)  # a call of it would raise
    state = decode.State(decode.Settings())
    tick = RawTick.of([written(ours(), 7), written(plain, 8)], schemas={7: OURS, 8: json.dumps(plain)})
    _, result = decode.step(state, tick)
    assert (len(result.message), state.resolved) == (2, 0)


def test_resolved_messages_are_counted() -> None:
    schema = with_field()
    state = decode.State(decode.Settings())
    for _ in range(2):
        decode.step(
            state, RawTick.of([written(schema, 7), written(ours(), 8)], schemas={7: json.dumps(schema), 8: OURS})
        )
    assert state.resolved == 2


def test_any_cut_into_ticks_gives_the_same_rows() -> None:
    schema = reversed_fields()
    schemas = {7: json.dumps(schema), 8: OURS, 9: ""}
    values = [written(schema, 7, first=k) if k % 2 else written(ours(), 8 + (k % 3 == 0), first=k) for k in range(12)]
    whole = decoded(values, schemas=schemas)
    rows = [row(whole, i) for i in range(len(whole.message))]
    for size in (1, 5):
        parts = [decoded(values[a : a + size], schemas=schemas) for a in range(0, len(values), size)]
        assert [row(part, i) for part in parts for i in range(len(part.message))] == rows


def test_ids_are_read_from_the_framing() -> None:
    values = [frame(chunk(), 2**32 - 1), chunk(), b"", b"\0\0\0", frame(b"", 5)]
    tick = RawTick.of(values)
    assert writers.framed_ids(tick.payload, tick.start).tolist() == [2**32 - 1, -1, -1, -1, 5]
    assert writers.framed_ids(np.zeros(0, np.uint8), np.zeros(1, np.int64)).tolist() == []


def test_a_resolved_message_is_the_chunk_that_fastavro_reads() -> None:
    schema = with_field()
    message = written(schema, 7, leads=["I", "II"])
    made = writers.Writer(7, json.dumps(schema)).translate(message)
    assert isinstance(made, bytes)
    assert decode_chunk(made) == avro.decode_chunk(written(ours(), 8, leads=["I", "II"]))


CHUNK_AND = [
    pytest.param({"type": "record", "name": "Tree", "fields": [{"name": "down", "type": ["null", "Tree"]}]}, id="tree"),
    pytest.param({"type": "record", "name": "Tree", "fields": [{"name": "down", "type": "Tree"}]}, id="endless"),
    pytest.param({"type": "array", "items": "null"}, id="list of nothing"),
    pytest.param({"type": "array", "items": {"type": "record", "name": "E", "fields": []}}, id="list of empty records"),
    pytest.param({"type": "array", "items": {"type": "fixed", "name": "F", "size": 0}}, id="list of fixed of no bytes"),
]


@pytest.mark.parametrize("kind", CHUNK_AND)
def test_a_schema_by_which_a_message_could_end_the_process_is_refused(kind: dict[str, Any]) -> None:
    schema = with_field("extra", kind)
    huge = frame(b"\x02" * 20_000, 7)
    assert "expected " in refused(schema, huge)


def test_a_recursion_over_namespaces_and_two_types_is_found() -> None:
    inner = {"type": "record", "name": "B", "namespace": "x", "fields": [{"name": "a", "type": ["null", "ns.A"]}]}
    outer = {"type": "record", "name": "ns.A", "fields": [{"name": "b", "type": {"type": "array", "items": inner}}]}
    assert "recursion" in refused(with_field("extra", outer), frame(b"\x02" * 200, 7))


def test_types_that_double_with_each_level_and_deep_ones_are_refused() -> None:
    kind: Any = "long"
    for k in range(12):
        fields = [{"name": "a", "type": kind}, {"name": "b", "type": f"R{k - 1}" if k else "long"}]
        kind = {"type": "record", "name": f"R{k}", "fields": fields}
    assert "at most 1000 types" in refused(with_field("extra", kind), frame(b"x" * 50, 7))
    deep: Any = "long"
    for _ in range(400):
        deep = {"type": "array", "items": deep}
    assert "levels" in refused(with_field("extra", deep), frame(b"x" * 50, 7))


@pytest.mark.parametrize("count", [3_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_no_schema_and_no_message_raises(count: int) -> None:
    schemas = [with_field("extra", ["null", "long"], default=None), reversed_fields(), retyped("time", MILLIS)]
    texts = mutations([json.dumps(one).encode() for one in schemas], count, seed=3)
    messages = mutations([written(one, 7, extra=None) for one in schemas], count, seed=4)
    for k, (text, message) in enumerate(zip(texts, messages, strict=True)):
        given = json.dumps(schemas[k % 3]) if k % 2 else text.decode(errors="replace")
        how = writers.Writer(7, given)
        made = how.translate(message if k % 2 else written(ours(), 7))
        assert isinstance(made, bytes) or len(made) < 300
