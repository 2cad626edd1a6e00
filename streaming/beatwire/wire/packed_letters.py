"""Packed dead letters: the letters of many rejected messages in one message, as an Arrow IPC stream.

In: the rejects of a tick, its messages and their `Addresses`; or such a message. Out: messages, or letters. No state.

The columns, one row for each rejected message; every Arrow library reads them, pandas and Polars too::

    reason     utf8    topic and reason are dictionary-encoded; a message has the texts of its own rows
    topic      utf8
    partition  int32
    offset     int64
    key        binary  null: the message had none
    value      binary  empty: the message was a tombstone
    chunk      int32   number of the chunk in its bundle, from 0; null: the letter is a whole message

Messages of earlier versions have no ``chunk``, and are read all the same.

The message has no key, and the headers ``reason`` (how many messages it has), ``messages`` (the number alone) and
``content-type``.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beatwire.errors import printable
from beatwire.records import I32, I64, Outgoing, RawTick, Rejects
from beatwire.records.letters import Addresses, Letter
from beatwire.wire.names import DEAD_LETTERS

CONTENT_TYPE = "application/vnd.apache.arrow.stream"
MOST_BYTES = 512 << 10  # of the reasons, keys and values in one message, equal reasons counted as often as they occur
_ROW_BYTES = 32  # that a row takes beside them

LONGEST_FOUND = 200  # characters of a reason that say what a message is

_TEXT = pa.dictionary(pa.int32(), pa.utf8())
_TYPES = {_TEXT: "text"}
SCHEMA = pa.schema(
    [
        pa.field("reason", _TEXT, nullable=False),
        pa.field("topic", _TEXT, nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary(), nullable=False),
        pa.field("chunk", pa.int32()),
    ]
)
_READ = (SCHEMA, pa.schema(list(SCHEMA)[:-1]))


def pack(rejects: Rejects, tick: RawTick, addresses: Addresses) -> Outgoing:
    """Return the letters of rejects of a tick, in its order, in as few messages as ``MOST_BYTES`` allows.

    The addresses are in the order of the rejects.
    """
    order = np.argsort(rejects.number, kind="stable")
    number, fault = rejects.number[order], rejects.fault[order]
    reasons = pa.array([fault.reason for fault in rejects.faults], pa.utf8())
    keys, values = pa.array(addresses.keys, pa.binary()).take(pa.array(order)), _values(tick, number)
    places = [pa.array(tick.partition[number]), pa.array(np.array(addresses.offsets, np.int64)[order])]
    chunks = pa.array(tick.chunks(number), pa.int32())
    packs: list[bytes] = []
    headers: list[list[tuple[str, bytes]]] = []
    end = np.cumsum(_sizes(reasons)[fault] + _sizes(keys) + _sizes(values) + _ROW_BYTES)
    begin = 0
    while begin < len(number):
        limit = (end[begin - 1] if begin else 0) + MOST_BYTES
        stop = max(begin + 1, int(np.searchsorted(end, limit, "right")))
        columns = [column.slice(begin, stop - begin) for column in (*places, keys, values, chunks)]
        topics = _coded(np.zeros(stop - begin, np.int32), pa.array([addresses.topic]))
        packs.append(_stream([_coded(fault[begin:stop], reasons), topics, *columns]))
        headers.append(_headers(stop - begin))
        begin = stop
    return Outgoing(DEAD_LETTERS, [None] * len(packs), packs, headers, len(number))


def unpack(value: bytes) -> Iterator[Letter]:
    """Yield the letters of a packed message.

    Raises
    ------
    ValueError
        It is none.
    """
    try:
        with pa.ipc.open_stream(value) as reader:
            other = None if any(map(reader.schema.equals, _READ)) else _names(reader.schema)
            batches = list(reader) if other is None else []
        for batch in batches:
            batch.validate(full=True)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # the last: of the name of a column
        found = f"{len(value)} bytes: {_short(str(error))}"
        raise ValueError(f"expected an Arrow IPC stream; got {found}") from error
    if other is not None:
        raise ValueError(f"expected columns {_names(SCHEMA)}; got {_short(other)}")
    for batch in batches:
        yield from map(Letter, *(column.to_pylist() for column in batch.columns))


def _names(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {_TYPES.get(field.type, field.type)}" for field in schema)


def _short(text: str) -> str:
    """Return what a message says of itself, short enough for a reason."""
    text = printable(text)
    return text if len(text) <= LONGEST_FOUND else f"{text[:LONGEST_FOUND]}..."


def _coded(index: I32, texts: pa.Array) -> pa.DictionaryArray:
    """Return the text of each index, dictionary-encoded with the texts that occur."""
    occurs = np.zeros(len(texts), np.bool_)
    occurs[index] = True
    place = np.cumsum(occurs, dtype=np.int32) - 1
    return pa.DictionaryArray.from_arrays(pa.array(place[index]), texts.filter(pa.array(occurs)))


def _values(tick: RawTick, number: I64) -> pa.Array:
    """Return the values of messages of the tick."""
    buffers = [None, pa.py_buffer(tick.start), pa.py_buffer(tick.payload)]
    everything = pa.Array.from_buffers(pa.large_binary(), len(tick.start) - 1, buffers)
    return everything.take(pa.array(number)).cast(pa.binary())


def _sizes(column: pa.Array) -> I64:
    lengths: I64 = pc.fill_null(pc.binary_length(column), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return lengths


def _stream(columns: list[pa.Array]) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, SCHEMA) as writer:
        writer.write_batch(pa.record_batch(columns, schema=SCHEMA))
    stream: bytes = sink.getvalue().to_pybytes()
    return stream


def _headers(messages: int) -> list[tuple[str, bytes]]:
    return [
        ("reason", b"%d messages, each with its reason" % messages),
        ("messages", b"%d" % messages),
        ("content-type", CONTENT_TYPE.encode()),
    ]
