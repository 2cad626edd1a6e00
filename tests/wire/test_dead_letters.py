"""Dead letters: one message each, or many in one; both give the rejected messages as they were received."""

import io
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from beatwire.lazy import import_in_background
from beatwire.records import Fault, RawTick, Rejects
from beatwire.records.letters import Letter
from beatwire.wire import dead_letters, packed_letters
from beatwire.wire.dead_letters import LARGEST_PACKED, MOST_ALONE, letters_in
from beatwire.wire.packed_letters import MOST_BYTES
from received import Received, letters_among

FAULTS = (Fault("malformed", "decode: cut off"), Fault("field", "decode: expected a rate; got 3 Hz"))


@pytest.fixture(autouse=True)
def packing() -> None:
    """Packing begins once its module is imported."""
    import_in_background("beatwire.wire.packed_letters").join(60)


def values(count: int) -> list[bytes]:
    return [b"", *(b"%d" % k * (k % 97 + 1) for k in range(1, count))]


def tick_of(sent: list[bytes]) -> RawTick:
    return RawTick.of(sent, partition=np.full(len(sent), 3, np.int32))


def rejects_of(numbers: list[int]) -> Rejects:
    return Rejects(np.array(numbers), np.array([k % 2 for k in numbers], np.int32), FAULTS)


def expected(sent: list[bytes], numbers: list[int]) -> Iterator[Letter]:
    for k in numbers:
        yield Letter(FAULTS[k % 2].reason, "ecg.samples", 3, 7 + k, b"key %d" % (7 + k), sent[k])


@pytest.mark.parametrize("count", [1, MOST_ALONE, MOST_ALONE + 1, 20_000])
def test_letters_are_the_rejected_messages_packed_or_not(count: int) -> None:
    sent = values(2 * count)
    numbers = list(range(0, 2 * count, 3))[:count] or [0]
    numbers += [k for k in range(2 * count) if k % 3][: count - len(numbers)]
    published = dead_letters.dead_letters(rejects_of(numbers), tick_of(sent), Received(sent, 7), {})
    in_order = sorted(numbers) if count > MOST_ALONE else numbers  # packed ones are in the order of their offsets
    assert letters_among(published) == list(expected(sent, in_order))
    assert sum(map(len, published)) == count
    packed = [value for outgoing in published for value in outgoing.values]
    assert (len(packed) == count) == (count <= MOST_ALONE)
    assert max(map(len, packed)) < 1.1 * MOST_BYTES


def test_a_packed_letter_is_a_table_for_other_programs() -> None:
    sent = values(500)
    (outgoing,) = dead_letters.dead_letters(rejects_of(list(range(500))), tick_of(sent), Received(sent), {})
    (key,), (value,), (headers,) = outgoing.keys, outgoing.values, outgoing.headers or []
    assert key is None
    assert dict(headers) == {
        "reason": b"500 messages, each with its reason",
        "messages": b"500",
        "content-type": b"application/vnd.apache.arrow.stream",
    }
    with pa.ipc.open_stream(io.BytesIO(value)) as reader:
        table: pd.DataFrame = reader.read_pandas()
    assert table.groupby("reason", observed=True).size().to_dict() == {fault.reason: 250 for fault in FAULTS}
    assert table["value"].tolist() == sent


def test_a_message_that_is_too_long_and_one_of_an_earlier_tick_have_letters_of_their_own() -> None:
    class WithALongKey(Received):
        def addresses(self, numbers):
            addresses = super().addresses(numbers)
            for k in np.flatnonzero(np.array(numbers) == 299):
                addresses.keys[k] = bytes(LARGEST_PACKED + 1)
            return addresses

    sent = [*values(300), bytes(LARGEST_PACKED + 1)]
    held = {-4: Letter("", "ecg.samples", 1, 2, None, b"waited")}
    numbers = [*range(301), -4]
    published = dead_letters.dead_letters(rejects_of(numbers), tick_of(sent), WithALongKey(sent, 7), held)
    packed, alone = published
    assert (len(packed), len(alone)) == (299, 3)
    assert alone.values == [sent[299], sent[300], b"waited"]
    assert alone.keys == [bytes(LARGEST_PACKED + 1), b"key 307", None]
    found = letters_among(published)
    wanted = list(expected(sent, numbers[:301]))
    wanted[299] = wanted[299]._replace(key=bytes(LARGEST_PACKED + 1))
    assert found[:301] == wanted
    assert found[301] == held[-4]._replace(reason=FAULTS[0].reason)


def test_keys_count_for_the_size_of_a_message_and_may_be_absent() -> None:
    class Keyed(Received):
        def addresses(self, numbers):
            keys = [None if k % 2 else bytes(60_000) for k in numbers]
            return super().addresses(numbers)._replace(keys=keys)

    sent = values(200)
    (outgoing,) = dead_letters.dead_letters(rejects_of(list(range(200))), tick_of(sent), Keyed(sent), {})
    assert max(map(len, outgoing.values)) < 1.1 * MOST_BYTES
    assert len(outgoing.values) == -(-100 // (MOST_BYTES // 60_000)), "no more messages than it takes"
    keys = [letter.key for letter in letters_among([outgoing])]
    assert keys == [None if k % 2 else bytes(60_000) for k in range(200)]


def test_reasons_that_all_differ_keep_a_message_small() -> None:
    """A producer takes a million bytes at most: a sender of random schema ids must not stop the monitor."""
    count = 20_000
    faults = tuple(Fault("schema", f"decode: schema id {k} {'?' * 60}") for k in range(count))
    rejects = Rejects(np.arange(count), np.arange(count, dtype=np.int32), faults)
    sent = [b"x"] * count
    (outgoing,) = dead_letters.dead_letters(rejects, tick_of(sent), Received(sent), {})
    assert len(outgoing.values) > 2
    assert max(map(len, outgoing.values)) < 1.1 * MOST_BYTES
    assert [letter.reason for letter in letters_among([outgoing])] == [fault.reason for fault in faults]


def test_until_the_packing_module_is_imported_letters_are_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead_letters, "_packs", lambda: None)
    sent = values(300)
    (outgoing,) = dead_letters.dead_letters(rejects_of(list(range(300))), tick_of(sent), Received(sent, 7), {})
    assert outgoing.values == sent
    assert letters_among([outgoing]) == list(expected(sent, list(range(300))))


@pytest.mark.parametrize(
    ("value", "headers", "message"),
    [
        (b"x", None, "expected headers reason, topic, partition and offset; got {}"),
        (b"x", [("reason", b"?"), ("topic", b"t"), ("partition", b"p"), ("offset", b"1")], "got {'reason': '?'"),
        (b"x", [("content-type", packed_letters.CONTENT_TYPE.encode())], "expected an Arrow IPC stream; got 1 bytes"),
        (b"x", [("content-type", b"text/plain")], "expected content-type .*; got 'text/plain'"),
    ],
)
def test_a_message_that_no_monitor_has_published_is_an_error(value, headers, message) -> None:
    with pytest.raises(ValueError, match=message.replace("{}", r"\{\}")):
        list(letters_in(b"k", value, headers))


@pytest.mark.parametrize("nothing", [(None, None, None), (b"", b"", [])])
def test_a_tombstone_that_ends_a_torn_transaction_holds_no_letter(nothing) -> None:
    assert list(letters_in(*nothing)) == []


def test_the_letter_of_an_empty_message_is_one() -> None:
    headers = {"reason": "decode: 0 bytes", "topic": "t", "partition": "1", "offset": "2"}
    assert list(letters_in(None, None, headers)) == [Letter("decode: 0 bytes", "t", 1, 2, None, b"")]


def test_a_table_with_other_columns_is_an_error() -> None:
    batch = pa.record_batch({"a": [1]})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    with pytest.raises(ValueError, match=r"expected columns .*value.*; got a int64"):
        list(packed_letters.unpack(sink.getvalue().to_pybytes()))
