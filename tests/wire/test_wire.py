"""JSON sample messages, beats, and the published schemas."""

import io
import json
import struct
from datetime import UTC, datetime
from typing import Any

import fastavro
import numpy as np
import pytest
from beatwire.records.columns import CHUNK_ARRIVED_US, CHUNK_FIRST
from beatwire.wire.avro import decode_beat, decode_chunk, frame, lead_names, schema, schema_text, string_table
from beatwire.wire.json_chunk import json_to_avro
from beatwire_producers.chunk_writer import avro_long, avro_text
from hypothesis import given
from hypothesis import strategies as st
from steps import chunk, decoded, row

GOOD: dict[str, Any] = {
    "stream": "bed-3", "session": 4, "first": 100, "time": 5_000_000, "rate_hz": 360, "leads": ["I", "II"],
    "uv_per_unit": 2.5, "lead_off": 1, "samples": [[1, -2, 32767], [4, None, -32768]],
}  # fmt: skip


def as_json(without: str = "", **changed: Any) -> bytes:
    return json.dumps({k: v for k, v in (GOOD | changed).items() if k != without}).encode()


def test_a_json_message_equals_the_avro_message_with_the_same_content() -> None:
    samples = np.array([[1, -2, 32767], [4, -32768, -32768]], np.int16)
    same = chunk(session=4, first=100, time_us=5_000_000, rate_hz=360.0, leads=["I", "II"], samples=samples,
                 uv_per_unit=2.5, lead_off=1)  # fmt: skip
    assert json_to_avro(as_json()) == same


def test_optional_fields_of_a_json_message_get_their_defaults() -> None:
    short = decode_chunk(json_to_avro(b'{"stream": "a", "first": 0, "rate_hz": 250.5, "samples": [3, 4]}'))
    assert (short["session"], short["uv_per_unit"], short["lead_off"]) == (0, 5.0, 0)
    assert (short["leads"], short["samples"]) == (["lead0"], b"\3\0\4\0")


MALFORMED = [
    (b"{", "JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
    (b'{"a": 1} x', "JSON: Extra data: line 1 column 10 (char 9)"),
    (as_json(without="stream"), "JSON: field 'stream' is missing"),
    (as_json(without="first"), "JSON: field 'first' is missing"),
    (as_json(without="rate_hz"), "JSON: field 'rate_hz' is missing"),
    (as_json(without="samples"), "JSON: field 'samples' is missing"),
    (as_json(first=None), "JSON: field 'first' is missing"),
    (as_json(session=True), "JSON: field 'session': expected a whole number of 64 bits; got true"),
    (as_json(stream=3), "JSON: field 'stream': expected a text in quotes; got 3"),
    (as_json(stream=""), "JSON: field 'stream': expected 1-64 bytes; got 0"),
    (as_json(stream="é" * 33), "JSON: field 'stream': expected 1-64 bytes; got 66"),
    (as_json(first=1.5), "JSON: field 'first': expected a whole number within 0..2^53; got 1.5"),
    (as_json(first=True), "JSON: field 'first': expected a whole number within 0..2^53; got true"),
    (as_json(first=-1), "JSON: field 'first': expected a whole number within 0..2^53; got -1"),
    (
        as_json(time=1e300),
        "JSON: field 'time': expected a whole number within -2^53..2^53; got an integer of many digits",
    ),
    (as_json(session=2**63), "JSON: field 'session': expected a whole number of 64 bits; got 9223372036854775808"),
    (as_json(rate_hz="fast"), "JSON: field 'rate_hz': expected a number within 50..4000; got 'fast'"),
    (
        as_json(rate_hz=10**400),
        "JSON: field 'rate_hz': expected a number within 50..4000; got an integer of many digits",
    ),
    (as_json(rate_hz=0), "JSON: field 'rate_hz': expected a number within 50..4000; got 0"),
    (as_json(rate_hz=float("nan")), "JSON: field 'rate_hz': expected a number within 50..4000; got nan"),
    (as_json(uv_per_unit=-0.5), "JSON: field 'uv_per_unit': expected a number within 0..1e+06; got -0.5"),
    (as_json(lead_off=8), "JSON: field 'lead_off': expected a whole number with one bit a lead; got 8"),
    (as_json(samples="abc"), "JSON: field 'samples': expected a list; got 'abc'"),
    (as_json(samples=[]), "JSON: field 'samples': expected at least 1 sample a lead; got none"),
    (as_json(samples=[[], []]), "JSON: field 'samples': expected at least 1 sample a lead; got none"),
    (as_json(samples=[[1]] * 13), "JSON: field 'samples': expected 1-12 lists, one a lead; got 13"),
    (as_json(samples=[[1], [2, 3]]), "JSON: field 'samples': expected lists of equal length, one a lead; got 1 and 2"),
    (as_json(samples=[[1], 2]), "JSON: field 'samples': expected lists of equal length, one a lead; got 2"),
    (as_json(samples=[[1], [40_000]]), "JSON: field 'samples': expected integers within int16, or null; got 40000"),
    (as_json(samples=[[1], [-32769]]), "JSON: field 'samples': expected integers within int16, or null; got -32769"),
    (as_json(samples=[[1], [0.5]]), "JSON: field 'samples': expected integers within int16, or null; got 0.5"),
    (as_json(samples=[[1], [True]]), "JSON: field 'samples': expected integers within int16, or null; got true"),
    (as_json(leads=["I"]), "JSON: field 'leads': expected a list of 2, one name a lead; got a list of 1"),
    (as_json(leads=["I", 2]), "JSON: field 'leads': expected a text in quotes; got 2"),
    (as_json(stream="x" * 50_000), "JSON: field 'stream': expected 1-64 bytes; got 50000"),
    (as_json(first="x" * 50_000), f"JSON: field 'first': expected a whole number within 0..2^53; got '{'x' * 40}'"),
    (b'{"stream": "\xff"}', "JSON: expected text in UTF-8; got the byte 0xff at 12"),
    (b'{"stream": "a\nb"}', "JSON: Invalid control character at: line 1 column 14 (char 13)"),
]


@pytest.mark.parametrize(("value", "message"), MALFORMED)
def test_a_malformed_json_message_is_rejected_with_its_reason(value: bytes, message: str) -> None:
    result = decoded([chunk(), value])
    assert (result.message.tolist(), result.rejects.message, result.rejects.reason) == (
        [0],
        [1],
        [f"decode: {message}"],
    )


def test_fields_that_sample_chunk_does_not_have_are_ignored() -> None:
    assert json_to_avro(as_json(patient="Ms X", more={"a": [None, {"b": 1}]}, **{"": True})) == json_to_avro(as_json())


def test_a_whole_number_may_be_written_as_a_fraction() -> None:
    floats = {name: float(GOOD[name]) for name in ("session", "first", "time", "lead_off", "rate_hz")}
    samples = [[1.0, -2.0, 32767.0], [4e0, None, -32768]]
    assert json_to_avro(as_json(**floats, samples=samples)) == json_to_avro(as_json())


@pytest.mark.parametrize("field", ["session", "first", "time", "lead_off"])
def test_a_json_integer_beyond_64_bits_is_rejected(field: str) -> None:
    result = decoded([as_json(**{field: 2**70}), chunk()])
    assert (result.message.tolist(), result.rejects.message) == ([1], [0])
    assert result.rejects.reason[0].startswith("decode: JSON: ")


def test_json_that_is_not_valid_unicode_is_rejected() -> None:
    assert decoded([b'{"stream": "\\ud800", "first": 0, "rate_hz": 250, "samples": [1]}']).rejects.message == [0]
    assert decoded([b'{"stream": "\xff", "first": 0, "rate_hz": 250, "samples": [1]}']).rejects.message == [0]


def test_json_nested_to_any_depth_is_rejected_and_raises_nothing() -> None:
    values = [b'{"samples": ' + b"[" * k + b"]" * k + b"}" for k in [*range(0, 1000, 7), *range(850, 1010), 30_000]]
    values += [v.replace(b"samples", b"stream") for v in values] + [v.replace(b"samples", b"first") for v in values]
    assert decoded(values).rejects.message == list(range(len(values)))


def test_json_and_avro_mixed_in_one_tick_keep_their_order() -> None:
    values = [chunk(first=1), as_json(first=2), b"{", chunk(first=3), as_json(first=-4), as_json(first=5), b""]
    result = decoded(values, arrival_us=list(range(10, 17)))
    assert result.message.tolist() == [0, 1, 3, 5]
    assert result.ints[:, CHUNK_FIRST].tolist() == [1, 2, 3, 5]
    assert result.ints[:, CHUNK_ARRIVED_US].tolist() == [10, 11, 13, 15]
    assert sorted(result.rejects.message) == [2, 4, 6]
    assert [row(result, k)["rate_hz"] for k in range(4)] == [250.0, 360.0, 250.0, 360.0]


def test_the_schemas_are_valid_avro_and_every_field_of_a_chunk_has_a_description() -> None:
    for name in ("sample_chunk", "beat"):
        assert schema(name)["type"] == "record"
    assert all("doc" in field for field in json.loads(schema_text("sample_chunk"))["fields"])


def test_a_string_table_contains_utf8_and_sizes_in_bytes() -> None:
    table, size = string_table(["a", "été", ""], 8)
    assert size.tolist() == [1, 5, 0]
    assert table[1].tobytes() == "été".encode() + b"\0\0\0"


FIRST_BEAT: dict[str, Any] = {
    "stream": "bed-1", "session": 2, "sample": 500, "time": datetime(2026, 11, 21, tzinfo=UTC), "rr_ms": 800.0,
    "rate_bpm": None, "response": 1.0, "quality": 0.5, "score": 2.5, "prematurity": 0.25, "scored_by": "history",
    "model": "vae-1", "arrived": datetime(2026, 11, 21, 1, tzinfo=UTC),
}  # fmt: skip
ADDED = {"expected_errors": 0.5, "map_x": 1.5, "map_y": -0.25, "beat_class": "S", "class_probability": 0.75}


def beat(fields: list[dict[str, Any]], **values: Any) -> bytes:
    buffer = io.BytesIO()
    writer = fastavro.parse_schema({"type": "record", "name": "beatwire.Beat", "fields": fields})
    fastavro.schemaless_writer(buffer, writer, FIRST_BEAT | values)
    return buffer.getvalue()


def test_fields_of_a_beat_are_only_ever_added_at_the_end_and_with_a_default() -> None:
    fields = json.loads(schema_text("beat"))["fields"]
    assert [field["name"] for field in fields] == [*FIRST_BEAT, *ADDED]
    assert all("default" in field for field in fields[len(FIRST_BEAT) :])


def test_beats_of_the_first_schema_are_decoded_with_defaults_for_later_fields() -> None:
    fields = json.loads(schema_text("beat"))["fields"]
    assert decode_beat(beat(fields[: len(FIRST_BEAT)])) == FIRST_BEAT | dict.fromkeys(ADDED)
    assert decode_beat(frame(beat(fields[: len(FIRST_BEAT)]), 7)) == FIRST_BEAT | dict.fromkeys(ADDED)
    assert decode_beat(beat(fields, **ADDED)) == FIRST_BEAT | ADDED


def test_beats_of_a_newer_schema_are_decoded_to_the_fields_of_this_one() -> None:
    fields = json.loads(schema_text("beat"))["fields"]
    newer = beat([*fields, {"name": "mood", "type": "string"}], **ADDED, mood="good")
    assert decode_beat(newer) == FIRST_BEAT | ADDED


def test_a_truncated_beat_is_refused() -> None:
    fields = json.loads(schema_text("beat"))["fields"]
    whole = beat(fields, **ADDED)
    older = {len(beat(fields[:k], **ADDED)) for k in range(len(FIRST_BEAT), len(fields))}
    for size in set(range(len(whole))) - older:
        with pytest.raises(ValueError, match=f"expected a Beat; got {size} bytes that are not one"):
            decode_beat(whole[:size])


@given(st.lists(st.lists(st.text(max_size=5), min_size=1, max_size=3), min_size=1, max_size=4), st.data())
def test_names_of_leads_are_read_in_any_blocks_that_avro_allows(blocks: list[list[str]], data: st.DataObject) -> None:
    names, written = [name for block in blocks for name in block], b""
    for block in blocks:
        texts = b"".join(map(avro_text, block))
        is_sized = data.draw(st.booleans())
        written += (avro_long(-len(block)) + avro_long(len(texts)) if is_sized else avro_long(len(block))) + texts
    place = avro_text("x") + 3 * avro_long(1) + struct.pack("<d", 250.0)
    samples = avro_long(2 * len(names)) + bytes(2 * len(names))
    chunks = decoded([place + written + b"\0" + struct.pack("<d", 5.0) + avro_long(0) + samples])
    assert lead_names(chunks.payload, chunks.ints[0]) == names
