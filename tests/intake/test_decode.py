"""Decode against fastavro: valid messages, framing, truncation, corruption."""

import struct
from typing import Any

import numpy as np
import pytest
from beatwire.records.columns import CHUNK_ARRIVED_US, CHUNK_FIRST
from beatwire.wire.avro import decode_chunk, frame
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import avro_chunk, avro_long, usable_chunk
from steps import chunk, decoded, row

IDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=32).filter(lambda s: len(s.encode()) <= 64)
LONGS = st.integers(-(2**63), 2**63 - 1)


@st.composite
def chunks(draw: st.DrawFn) -> dict[str, Any]:
    leads = draw(st.lists(st.text(max_size=5), min_size=1, max_size=12))
    return {
        "stream": draw(IDS),
        "session": draw(LONGS),
        "first": draw(st.integers(0, 2**53)),
        "time": draw(st.integers(-(2**53), 2**53)),
        "rate_hz": draw(st.floats(50, 4000)),
        "leads": leads,
        "uv_per_unit": draw(st.floats(0, 1e6)),
        "lead_off": draw(st.integers(0, 2 ** len(leads) - 1)),
        "samples": draw(
            st.binary(min_size=2 * len(leads), max_size=6 * len(leads)).map(
                lambda b: b[: len(b) // (2 * len(leads)) * 2 * len(leads)]
            )
        ),
    }


def as_row(given: dict[str, Any]) -> dict[str, Any]:
    return given | {"stream": given["stream"].encode(), "leads": len(given["leads"])}


@settings(max_examples=draws(30), deadline=None)
@given(st.lists(chunks(), min_size=1, max_size=4))
def test_the_kernel_decodes_what_fastavro_decodes(given: list[dict[str, Any]]) -> None:
    values = [avro_chunk(c) for c in given]
    assert [usable_chunk(v) for v in values] == given
    result = decoded(values)
    assert not result.rejects.message
    assert [row(result, i) for i in range(len(given))] == [as_row(c) for c in given]


@settings(max_examples=draws(40), deadline=None)
@given(chunks(), st.data())
def test_leads_in_several_blocks_of_either_form_are_decoded(given: dict[str, Any], data: st.DataObject) -> None:
    blocks, left = [], len(given["leads"])
    while left:
        size = data.draw(st.integers(1, left))
        blocks.append(size * data.draw(st.sampled_from([-1, 1])))
        left -= size
    value = avro_chunk(given, blocks)
    assert usable_chunk(value) == given
    assert row(decoded([value]), 0) == as_row(given)


@pytest.mark.parametrize("session", [-(2**63), -(2**63) + 1, -1, 0, 1, 2**63 - 1])
def test_sessions_of_all_64_bits_are_decoded(session: int) -> None:
    assert row(decoded([chunk(session=session)]), 0)["session"] == session


@pytest.mark.parametrize("rate_hz", [50.0, np.nextafter(50.0, 51), 250.1, 360.0, 4000.0])
def test_doubles_are_decoded_to_the_last_bit(rate_hz: float) -> None:
    assert decoded([chunk(rate_hz=rate_hz, uv_per_unit=rate_hz / 3)]).floats[0, :2].tolist() == [rate_hz, rate_hz / 3]


@pytest.mark.parametrize("uv_per_unit", [0.0, 5e-324, 2.2e-308, 1e-310, 1e6])
def test_subnormal_doubles_are_decoded(uv_per_unit: float) -> None:
    assert decoded([chunk(uv_per_unit=uv_per_unit)]).floats[0, 1] == uv_per_unit


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=draws(30), deadline=None)
def test_any_schema_id_is_accepted_when_none_is_configured(schema_id: int) -> None:
    plain = chunk()
    result = decoded([frame(plain, schema_id), plain])
    assert row(result, 0) == row(result, 1)


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
@settings(max_examples=draws(30), deadline=None)
def test_only_the_configured_schema_id_is_accepted(configured: int, framed: int) -> None:
    result = decoded([frame(chunk(), framed), frame(chunk(), configured), chunk()], schema_id=configured)
    assert result.message.tolist() == ([0, 1, 2] if configured == framed else [1, 2])


@pytest.mark.parametrize("framed", [False, True])
def test_every_truncated_message_is_rejected_and_the_next_message_is_decoded(framed: bool) -> None:
    whole = chunk(leads=["I", "II"], samples=np.ones((2, 5), np.int16), time_us=2**50)
    whole = frame(whole, 7) if framed else whole
    for k in range(len(whole)):
        result = decoded([whole[:k], whole[k:], whole])
        assert 0 in result.rejects.message, k
        assert result.message[-1] == 2


def test_a_corrupted_byte_never_raises_and_the_result_agrees_with_fastavro() -> None:
    rng = np.random.default_rng(1)
    whole = np.frombuffer(chunk(stream="bed-é", leads=["I", "aVR", "V"], samples=np.ones((3, 4), np.int16)), np.uint8)
    values, accepted, rejected = [], 0, 0
    for _ in range(4000):
        broken = whole.copy()
        for at in rng.integers(0, len(whole), rng.integers(1, 4)):
            broken[at] = rng.integers(0, 256)
        values.append(broken.tobytes())
    result = decoded(values)
    good = dict(zip(result.message.tolist(), range(len(values)), strict=False))
    for k, value in enumerate(values):
        if value[0] in (0, ord("{")):
            continue
        try:
            expected = usable_chunk(value)
        except UnicodeDecodeError:
            continue
        assert (expected is not None) == (k in good), value
        if expected is not None:
            assert row(result, good[k]) == as_row(expected)
            accepted += 1
        else:
            rejected += 1
    assert min(accepted, rejected) > 300


def test_random_bytes_never_raise() -> None:
    rng = np.random.default_rng(2)
    values = [rng.bytes(int(n)) for n in rng.integers(0, 90, 3000)]
    values += [b"\xff" * n for n in range(30)] + [b"\x80" * n for n in range(30)] + [b"\0" * n for n in range(30)]
    result = decoded(values)
    assert sorted([*result.rejects.message, *result.message.tolist()]) == list(range(len(values)))


def test_a_varint_of_more_than_64_bits_is_rejected() -> None:
    value = chunk(session=-(2**63))
    at = value.index(b"\xff" * 9 + b"\x01")
    assert decoded([value]).message.tolist() == [0]
    assert decoded([value[: at + 9] + b"\x02" + value[at + 10 :]]).message.tolist() == []
    assert decoded([value[: at + 9] + b"\x81\x00" + value[at + 10 :]]).message.tolist() == []


def test_a_block_count_that_has_no_absolute_value_is_rejected() -> None:
    value = avro_chunk(
        {
            "stream": "s",
            "session": 0,
            "first": 0,
            "time": 0,
            "rate_hz": 250.0,
            "leads": [],
            "uv_per_unit": 1.0,
            "lead_off": 0,
            "samples": b"",
        },
        [],
    )
    head = value[: 5 + 8]
    assert decoded([head + avro_long(-(2**63)) + avro_long(1) + b"\x02a" * 9]).rejects.message == [0]


def test_a_message_of_the_largest_allowed_size_is_decoded() -> None:
    room = 65_536 - len(chunk(samples=np.zeros(16_384, np.int16))) + 2 * 16_384
    largest = chunk(samples=np.zeros(room // 2, np.int16))
    assert 65_535 <= len(largest) <= 65_536
    assert decoded([largest]).message.tolist() == [0]
    assert (
        decoded([chunk(samples=np.zeros(room // 2 + 1, np.int16))])
        .rejects.reason[0]
        .startswith("decode: expected at most")
    )


def test_columns_of_valid_messages_stay_with_their_message() -> None:
    values = [chunk(first=1), b"bad", chunk(first=2), b"", chunk(first=3)]
    result = decoded(values, arrival_us=[10, 11, 12, 13, 14], partition=[0, 1, 2, 3, 4], now_us=99, caught_up=False)
    assert result.message.tolist() == [0, 2, 4]
    assert result.ints[:, CHUNK_FIRST].tolist() == [1, 2, 3]
    assert result.ints[:, CHUNK_ARRIVED_US].tolist() == [10, 12, 14]
    assert result.partition.tolist() == [0, 2, 4]
    assert (result.now_us, result.caught_up) == (99, False)


def test_fastavro_decodes_what_the_package_encodes() -> None:
    samples = np.array([[1, -2, 3], [4, 5, -32768]], np.int16)
    read = decode_chunk(frame(chunk(leads=["I", "II"], samples=samples, lead_off=2), 3))
    assert np.frombuffer(read["samples"], "<i2").reshape(2, 3).tolist() == samples.tolist()
    assert (read["stream"], read["leads"], read["lead_off"]) == ("bed-3", ["I", "II"], 2)
    assert struct.unpack(">bI", frame(b"", 3)) == (0, 3)


def test_json_after_blanks_or_a_byte_order_mark_is_json() -> None:
    value = b'{"stream": "a", "first": 0, "rate_hz": 250, "samples": [1, 2]}'
    for before in (b" ", b"\r\n\t", b"\xef\xbb\xbf", b"\xef\xbb\xbf "):
        assert decoded([chunk(), before + value]).message.tolist() == [0, 1]
        (reason,) = decoded([before + value[:-1]]).rejects.reason
        assert reason.startswith("decode: JSON: ")
