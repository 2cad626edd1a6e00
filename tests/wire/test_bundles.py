"""Bundles: chunks of many streams in one message are read as if each had come alone."""

import io
import json
import random
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pytest
from beatwire.kernels.intake import bundles
from beatwire.lazy import import_in_background
from beatwire.records import Chunks, RawTick
from beatwire.records.letters import Letter
from beatwire.stages import decode, unbundle
from beatwire.wire import dead_letters, packed_letters
from beatwire.wire.avro import frame, schema, schema_text
from beatwire.wire.bundles import BUNDLE_MARK, decode_bundle, encode_bundle
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from mutations import mutations
from received import Received, letters_among
from steps import chunk, row

JSON_CHUNK = b'{"stream": "bed-\xc3\xa9", "first": 0, "rate_hz": 250.0, "samples": [1, null, 3]}'
VALUES = st.one_of(
    st.integers(0, 9).map(lambda k: chunk(stream=f"bed-{k}", first=8 * k)),
    st.sampled_from([b"", b"?", JSON_CHUNK, chunk(rate_hz=3.0), frame(chunk(), 7), b"x" * 200]),
)


def unbundled(values: list[bytes], **tick: Any) -> RawTick:
    return unbundle.step(unbundle.State(), RawTick.of(values, **tick))[1]


def read(values: list[bytes], **tick: Any) -> Chunks:
    return decode.step(decode.State(decode.Settings()), unbundled(values, **tick))[1]


def as_written(chunks: list[bytes], rng: random.Random) -> bytes:
    """Return a bundle in one of the forms that Avro or JSON allow."""
    if rng.random() < 0.5:
        return rng.choice([b"", b"\0\0\0\0\x07"]) + encode_bundle(chunks)
    out, at = io.BytesIO(BUNDLE_MARK), 0
    out.seek(len(BUNDLE_MARK))
    while at < len(chunks):
        block = chunks[at : at + rng.randint(1, 4)]
        at += len(block)
        items = b"".join(encode_bundle([one])[len(BUNDLE_MARK) + 1 : -1] for one in block)
        for number in (-len(block), len(items)):
            fastavro.schemaless_writer(out, "long", number)
        out.write(items)
    return out.getvalue() + b"\0"


@given(st.lists(st.binary(max_size=200), min_size=1, max_size=20))
def test_a_bundle_is_what_avro_says(chunks: list[bytes]) -> None:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, schema("sample_bundle"), {"mark": BUNDLE_MARK, "chunks": chunks})
    assert encode_bundle(chunks) == out.getvalue()
    assert decode_bundle(frame(out.getvalue(), 7)) == chunks


@pytest.mark.parametrize(
    ("count", "size", "text"),
    [(0, 1, "expected 1-1000 chunks; got 0"), (1001, 1, "got 1001"), (20, 60_000, "expected at most 1048576 bytes")],
)
def test_a_bundle_that_no_reader_would_take_is_not_made(count: int, size: int, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        encode_bundle([b"x" * size] * count)


@settings(max_examples=draws(60), deadline=None)
@given(st.lists(st.lists(VALUES, min_size=1, max_size=8), min_size=1, max_size=6), st.integers(0, 2**32))
def test_any_bundling_gives_the_rows_and_the_rejects_of_single_messages(groups: list[list[bytes]], seed: int) -> None:
    rng = random.Random(seed)
    singly = [value for group in groups for value in group]
    sent = [group[0] if len(group) == 1 and rng.random() < 0.7 else as_written(group, rng) for group in groups]
    one, many = read(singly), read(sent)
    assert [row(many, i) for i in range(len(many.message))] == [row(one, i) for i in range(len(one.message))]
    assert many.message.tolist() == one.message.tolist()
    assert list(zip(many.rejects.message, many.rejects.reason, strict=True)) == list(
        zip(one.rejects.message, one.rejects.reason, strict=True)
    )


@pytest.mark.parametrize("blank", [b"", b" \n", b"\xef\xbb\xbf "])
def test_a_bundle_in_json_is_the_same_as_one_in_avro(blank: bytes) -> None:
    sent = blank + b'{ "chunks" : [' + JSON_CHUNK + b",\n" + JSON_CHUNK + b", 3] }\n"
    chunks = read([chunk(), sent, chunk()])
    assert [row(chunks, i)["stream"].decode() for i in range(4)] == ["bed-3", "bed-é", "bed-é", "bed-3"]
    assert chunks.rejects.message == [3]
    assert chunks.rejects.reason == ["unbundle: JSON: expected an object as chunk; got something else"]


@pytest.mark.parametrize(
    "sent",
    [b'{"chunks": 3}', b'{"chunks": [', b'{"chunks": [{]}', b'{"chunks": []}', b'{"chunks": [{}], "x": 1}',
     b'{"chunks": [{}]} {', b'{"chunks":' + b"[" * 99_999, b'{"chunks": [{"a": "\xff"}]}'],
)  # fmt: skip
def test_a_bundle_in_json_that_cannot_be_read_is_one_reject_with_its_reason(sent: bytes) -> None:
    chunks = read([chunk(), sent, chunk()])
    assert chunks.message.tolist() == [0, 2]
    assert chunks.rejects.message == [1]
    assert chunks.rejects.reason[0].startswith("unbundle: JSON:")


def test_what_is_cut_off_leaves_the_chunks_before_it() -> None:
    whole = encode_bundle([chunk(stream=f"bed-{k}") for k in range(5)])
    cut = len(encode_bundle([chunk()])) - len(BUNDLE_MARK) - 2
    for sent, valid, text, rest in (
        (whole[:-30], 4, "from this chunk on", whole[len(whole) - 1 - cut : -30]),
        (whole + b"x", 5, "newer schema", b"x"), (whole[:5], 0, "from this chunk on", b"\n"),
        (BUNDLE_MARK + b"\0", 0, "at least 1 chunk", None),
        (BUNDLE_MARK, 0, "from this chunk on", b""),
        (encode_bundle([b""] * 1000)[:-1] + b"\2\0\0", 1000, "at most 1000", b"\0\0"),
        (whole + bytes(1 << 20), 0, "at most 1048576 bytes", None),
    ):  # fmt: skip
        rows = unbundled([b'{"chunks": 3}', sent, chunk()])
        assert rows.bundled is not None
        before, at = rows.bundled.rejects.number.tolist()
        assert (before, at, text in rows.bundled.rejects.reason[1]) == (0, 1 + valid, True)
        assert rows.bundled.message.tolist() == [0, *[1] * (valid + 1), 2]
        assert rows.bundled.chunk.tolist() == [-1, *range(valid), valid if rest is not None else -1, -1]
        assert rows.payload[rows.start[at] : rows.start[at + 1]].tobytes() == (sent if rest is None else rest)
        assert read([b'{"chunks": 3}', sent, chunk()]).message.tolist()[-1] == at + 1


def test_a_tick_without_a_bundle_is_not_copied() -> None:
    tick = RawTick.of([chunk(), frame(chunk(), 3), JSON_CHUNK, b"", b"\1BW", b"\0\0\0\0\1\1BW"])
    assert unbundle.step(unbundle.State(), tick)[1] is tick
    assert unbundled([]).bundled is None


@pytest.mark.parametrize("seed", range(3))
def test_nothing_that_a_bundle_contains_raises_or_is_read_outside_of_it(seed: int) -> None:
    """The body as Python, which checks every index, says the same as the compiled one."""
    good = [encode_bundle([chunk(stream="bed-5"), JSON_CHUNK, b""]), encode_bundle([chunk()] * 40)]
    sent = [value for value in mutations(good, 300, seed) if value[:4] == BUNDLE_MARK]
    tick = RawTick.of(sent)
    body = unbundle.bodies(tick.payload, tick.start)
    counts, fault = np.zeros((len(sent), 3), np.int64), np.zeros(len(sent), np.int16)
    for k, value in enumerate(sent):
        alone, ends = np.frombuffer(value, np.uint8), np.array([len(value)])
        bundles.count_chunks(0, alone, np.array([4]), ends, counts[k : k + 1], fault[k : k + 1])
    chunks = read(sent)
    rows = unbundled(sent)
    assert (body >= 0).all()
    assert rows.bundled is not None
    found = np.bincount(rows.bundled.message, minlength=len(sent))
    expected = np.where(fault == bundles.EMPTY, 1, counts[:, 0] + (fault != bundles.WHOLE))
    assert found.tolist() == expected.tolist()
    assert len(chunks.message) + len(chunks.rejects) == len(rows.arrival_us)


@pytest.mark.parametrize("count", [4, 300])
def test_a_dead_letter_names_the_chunk_in_its_message(count: int) -> None:
    import_in_background("beatwire.wire.packed_letters").join(60)
    sent = [b"?", encode_bundle([chunk(), *[b"?%d" % k for k in range(count)], chunk()])]
    tick, origin = unbundled(sent, partition=np.array([0, 5], np.int32)), Received(sent, 7)
    rejects = decode.step(decode.State(decode.Settings()), tick)[1].rejects
    letters = letters_among(dead_letters.dead_letters(rejects, tick, origin, {}))
    assert letters[0][1:] == ("ecg.samples", 0, 7, b"key 7", b"?", None)
    assert [letter[1:] for letter in letters[1:]] == [
        ("ecg.samples", 5, 8, b"key 8", b"?%d" % k, k + 1) for k in range(count)
    ]


def test_packed_letters_of_an_earlier_version_are_read() -> None:
    older = pa.schema(list(packed_letters.SCHEMA)[:-1])
    rows = [{"reason": "r", "topic": "t", "partition": 1, "offset": 2, "key": None, "value": b"v"}]
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, older) as writer:
        writer.write_batch(pa.RecordBatch.from_pylist(rows, older))
    assert list(packed_letters.unpack(sink.getvalue())) == [Letter("r", "t", 1, 2, None, b"v")]


def test_a_bundle_of_another_writers_schema_is_resolved_and_one_of_ours_is_not() -> None:
    ours = json.loads(schema_text("sample_bundle"))
    other = {**ours, "namespace": "gateway", "fields": [{"name": "site", "type": "string"}, *ours["fields"][::-1]]}
    out = io.BytesIO()
    given_chunks = [chunk(stream="a"), chunk(stream="b")]
    fastavro.schemaless_writer(out, other, {"site": "x", "mark": BUNDLE_MARK, "chunks": given_chunks})
    texts = {7: json.dumps(other), 8: schema_text("sample_bundle"), 9: ""}
    values = [frame(out.getvalue(), 7), frame(encode_bundle(given_chunks), 8), frame(b"x", 7)]
    state = unbundle.State()
    _, tick = unbundle.step(state, RawTick.of(values, schemas=texts))
    chunks = decode.step(decode.State(decode.Settings()), tick)[1]
    assert (state.resolved, len(chunks.message)) == (1, 4)
    (reason,) = chunks.rejects.reason
    assert "schema id 7 cannot be read as SampleBundle" in reason
