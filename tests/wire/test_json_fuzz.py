"""Mutated and drawn JSON messages: whatever they hold, a table and the single parser agree, and nothing raises."""

import json
import random
from typing import Any

import pytest
from beatwire import tables
from beatwire.wire.json import json_tick_to_avro
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from test_json_chunks import message, singly

assert tables  # imported, so that the table is used

LONGEST_REASON = 160  # characters
NUMBERS = ["0", "-0", "12", "12.0", "1e1", "1E400", "1e-400", "0.5", "-1", "012", "+1", "0x1", "1.", ".5", "9" * 19,
           "9" * 40, "9" * 5000, "NaN", "Infinity", "true", "null", '"12"', "[1]", "[]", "{}", str(2**63), str(2**53),
           str(2**53 + 1), str(-(2**63)), str(-(2**63) - 1), "32767", "32768", "-32768", "-32769", "250",
           "250.00000000000000000001", "4000.5"]  # fmt: skip
TEXTS = st.one_of(
    st.text(max_size=70),
    st.sampled_from(
        ["", "bed", "Zürich-4", "x" * 64, "x" * 65, "é" * 33, "2020-01-01T00:00:00Z", "{", "}", "[[[", "a:b"]
    ),
)
QUOTED = TEXTS.map(lambda text: json.dumps(text, ensure_ascii=False)) | TEXTS.map(lambda text: f'"{text}"')
NUMBER = st.sampled_from(NUMBERS) | st.integers().map(str) | st.floats().map(repr)
LIST = st.lists(NUMBER | st.integers(-32768, 32767).map(str), max_size=6).map(lambda items: f"[{','.join(items)}]")
LISTS = st.lists(LIST, max_size=14).map(lambda rows: f"[{','.join(rows)}]")
VALUE = st.one_of(NUMBER, QUOTED, LIST, LISTS, st.sampled_from(["[" * 3000 + "]" * 3000, '{"a": [1, {"b": null}]}']))
FIELD = st.sampled_from(
    ["stream", "session", "first", "time", "rate_hz", "leads", "uv_per_unit", "lead_off", "samples", "x", "Stream", ""]
)
BLANK = st.sampled_from(["", " ", "\n", "\r\n", "\t", "\x0b", "\ufeff"])


@st.composite
def drawn_message(draw: Any) -> bytes:
    """Return a message most of whose fields are right."""
    fields = [
        ("stream", '"bed-1"'), ("session", "3"), ("first", "10"), ("time", "5"), ("rate_hz", "250"), ("leads", '["I"]'),
        ("uv_per_unit", "5"), ("lead_off", "0"), ("samples", "[1,2,3]"),
    ]  # fmt: skip
    for _ in range(draw(st.integers(0, 3))):
        kind = draw(st.sampled_from(["change", "drop", "add", "double"]))
        k = draw(st.integers(0, max(0, len(fields) - 1)))
        if kind == "change" and fields:
            fields[k] = (fields[k][0], draw(VALUE))
        elif kind == "drop" and fields:
            del fields[k]
        elif kind == "add":
            fields.insert(k, (draw(FIELD), draw(VALUE)))
        elif fields:
            fields.append(fields[k])
    blank = draw(BLANK)
    text = f",{blank}".join(f'"{name}":{blank}{value}' for name, value in fields)
    return f"{{{blank}{text}}}{blank}".encode("utf-8", "surrogatepass")


@st.composite
def mutated_message(draw: Any) -> bytes:
    """Return a message with a few bytes changed, taken out or put in."""
    value = bytearray(draw(drawn_message()))
    for _ in range(draw(st.integers(1, 4))):
        k = draw(st.integers(0, len(value)))
        byte = draw(st.sampled_from([*b'\x00\x01\t\n\r "{}[],:\\0189.eE+-\x7f\x80\xc0\xed\xff', 0xEF, 0xBF]))
        kind = draw(st.sampled_from(["put", "change", "cut"]))
        value[k : k + (kind != "put")] = b"" if kind == "cut" else bytes([byte])
    return bytes(value)


def check(values: list[bytes]) -> None:
    """Compare the table with the single parser, among right messages and many alike; reasons are short lines."""
    good = [message(k) for k in range(8)]
    right = singly(good)
    for tick in (good[:4] + values + good[4:], good[:4] + values[:1] * 8):
        assert json_tick_to_avro(tick) == singly(tick)
    assert json_tick_to_avro(good[:4] + values + good[4:])[:4] == right[:4]
    for result in singly(values):
        if isinstance(result, str):
            assert len(result) <= LONGEST_REASON
            assert result.isprintable()


@settings(max_examples=draws(400), deadline=None)
@given(st.lists(drawn_message(), min_size=1, max_size=4))
def test_drawn_messages_have_one_result_alone_and_in_a_table(values: list[bytes]) -> None:
    check(values)


@settings(max_examples=draws(400), deadline=None)
@given(st.lists(mutated_message(), min_size=1, max_size=4))
def test_mutated_messages_have_one_result_alone_and_in_a_table(values: list[bytes]) -> None:
    check(values)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_million_mutated_messages_have_one_result_alone_and_in_a_table() -> None:
    rng = random.Random(41)
    texts = [value.encode() for value in ("true", "null", "1e400", "12.0", '"x"', "[[", "]", "{", "\\u00e9", "\xff")]
    for _ in range(10_000):
        values = []
        for k in range(100):
            value = bytearray(message(k, leads=["I"], session=k, time=5, uv_per_unit=2.5))
            for _ in range(rng.randrange(3)):
                at = rng.randrange(len(value) + 1)
                value[at : at + rng.randrange(3)] = rng.choice([b"", bytes([rng.randrange(256)]), rng.choice(texts)])
            values.append(bytes(value))
        assert json_tick_to_avro(values) == singly(values)
