"""Decode: read the messages of a tick into columns.

In:    RawTick
Out:   Chunks; a message that cannot be read is a reject
State: nothing of earlier ticks but a count, so any cut of a stream into ticks gives the same rows; where the ids
       of this tick are, also those of messages that cannot be read otherwise

Avro messages are decoded by one kernel (``kernels.intake.avro``); JSON messages, also those that begin with blanks or a
byte-order mark, are converted to Avro first (``wire.json``).
With writers' schemas in the tick, framed messages of other schemas are converted to ours first (``wire.writers``).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from beatwire.jit import cpu
from beatwire.kernels.intake import avro
from beatwire.records import F64, I16, I64, U8, Chunks, Fault, RawTick, Rejects
from beatwire.records.columns import CHUNK_AT, CHUNK_ID_AT, CHUNK_ID_SIZE, CHUNK_WRONG
from beatwire.stages.support.streams.read_ids import ReadIds, with_json_ids
from beatwire.wire.avro import REASONS, chunk_columns
from beatwire.wire.json import json_tick_to_avro
from beatwire.wire.writers import NOT_ASKED, framed_ids, writer

# Code of ``kernels.intake.avro.read_chunk`` -> kind of the reject; the other codes are "field".
KINDS = {
    avro.MALFORMED: "malformed",
    avro.LENGTH: "malformed",
    avro.TOO_BIG: "malformed",
    avro.NEWER: "schema",
    avro.SCHEMA_ID: "schema",
    avro.STREAM_ID: "stream",
}
_REJECTED = -1  # code of a message that was rejected before the kernel read it
_BEFORE_JSON = np.frombuffer(b" \t\r\n\xef", np.uint8)  # first bytes of JSON after blanks or a byte-order mark
_BEGINS_JSON = re.compile(rb'(?:\xef\xbb\xbf)?[ \t\r\n]*\{[ \t\r\n]*"')


@dataclass(frozen=True, slots=True)
class Settings:
    """schema_id: the id that messages in Confluent framing must have; None accepts any."""

    schema_id: int | None = None


@dataclass(slots=True)
class State:
    """State.

    xp        NumPy, or CuPy where a GPU reads JSON
    resolved  messages that were converted from another schema
    ids       of the rows of the last tick
    """

    settings: Settings
    xp: Any = np
    resolved: int = 0
    ids: ReadIds = field(default_factory=ReadIds)


def step(state: State, tick: RawTick) -> tuple[State, Chunks]:
    """Decode a tick: valid messages in their order, the others as rejects with a reason for each."""
    m = len(tick.arrival_us)
    rejects = [] if tick.bundled is None else [tick.bundled.rejects]
    if tick.schemas is not None:
        tick, resolved = _in_our_schema(tick, tick.schemas, rejects)
        state.resolved += resolved
    ints, floats, code = chunk_columns(m)
    cpu.kernels.read_chunk(m, tick.payload, tick.start, tick.arrival_us, _schema_id(state), ints, floats, code)
    for unreadable in rejects:
        code[unreadable.number] = _REJECTED
        ints[unreadable.number, CHUNK_ID_SIZE] = 0  # of another schema, or no chunk at all
    valid = np.arange(m)
    if code.any():  # as a rule all are chunks in Avro
        tick = _read_json(state, tick, (ints, floats, code), rejects)
        rejects.append(_unread(code, floats))
        valid = np.flatnonzero(code == avro.OK)
    state.ids = ReadIds(tick.payload, ints)
    everything = len(valid) == m
    return state, Chunks(
        payload=tick.payload,
        ints=ints if everything else ints[valid],
        floats=floats if everything else floats[valid],
        message=valid,
        partition=tick.partition if everything else tick.partition[valid],
        rejects=Rejects.joined(rejects),
        received=(tick.partition, tick.arrival_us),
        now_us=tick.now_us,
        caught_up=tick.caught_up,
        overloaded=tick.overloaded,
        open_banks=tick.open_banks,
        bundled=None if tick.bundled is None else tick.bundled.chunk >= 0,
    )


def _schema_id(state: State) -> int:
    """Return the id that framed messages must have, -1: any."""
    return -1 if state.settings.schema_id is None else state.settings.schema_id


def _read_json(state: State, tick: RawTick, columns: tuple[I64, F64, I16], rejects: list[Rejects]) -> RawTick:
    """Read the messages in JSON into the columns of ``chunk_columns``; return the tick with them behind its payload.

    Those that cannot be converted are rejected.
    """
    ints, floats, code = columns
    code[_json_after_blanks(tick, np.flatnonzero(code > avro.OK))] = avro.JSON
    if not (code == avro.JSON).any():
        return tick
    values, wrong = _json_as_avro(tick, np.flatnonzero(code == avro.JSON), state.xp)
    rejects.append(wrong)
    code[wrong.number] = _REJECTED
    tick = with_json_ids(tick, wrong.number, ints)
    appended, start = _joined(list(values.values()))
    converted, rows = chunk_columns(len(values)), list(values)
    cpu.kernels.read_chunk(len(values), appended, start, tick.arrival_us[rows], _schema_id(state), *converted)
    converted[0][:, [CHUNK_ID_AT, CHUNK_AT]] += len(tick.payload)
    ints[rows], floats[rows], code[rows] = converted
    return replace(tick, payload=np.concatenate([tick.payload, appended])) if values else tick


def _unread(code: I16, floats: F64) -> Rejects:
    """Return the messages that the kernel could not read; the same fault with the same number has one text."""
    rows = np.flatnonzero((code != avro.OK) & (code != _REJECTED))
    numbers, number = np.unique(floats[rows, CHUNK_WRONG], return_inverse=True)
    pair = code[rows].astype(np.int64) * len(numbers) + number
    occurs = np.zeros((max(REASONS) + 1) * len(numbers), np.bool_)
    occurs[pair] = True
    what, wrong = np.divmod(np.flatnonzero(occurs), max(1, len(numbers)))
    faults = [
        Fault.of(KINDS.get(code, "field"), f"decode: {REASONS[code].format(value)}")
        for code, value in zip(what.tolist(), numbers[wrong].tolist(), strict=True)
    ]
    return Rejects(rows, (np.cumsum(occurs, dtype=np.int32) - 1)[pair], tuple(faults))


def _json_after_blanks(tick: RawTick, unread: I64) -> list[int]:
    """Return which of the messages that are not Avro begin with blanks or a byte-order mark, and go on as JSON does."""
    begin, end = tick.start[unread], tick.start[unread + 1]
    likely = end > begin
    likely[likely] = np.isin(tick.payload[begin[likely]], _BEFORE_JSON)
    rows = zip(unread[likely].tolist(), begin[likely].tolist(), end[likely].tolist(), strict=True)
    return [k for k, a, b in rows if _BEGINS_JSON.match(tick.payload[a:b].tobytes())]


def _json_as_avro(tick: RawTick, rows: I64, xp: Any) -> tuple[dict[int, bytes], Rejects]:
    """Return JSON messages as Avro, number in the tick -> value, and those that cannot be converted."""
    payload, begin, end = tick.payload.data, tick.start[rows].tolist(), tick.start[rows + 1].tolist()
    index: dict[bytes, int] = {}  # a sender that is out of order often repeats itself
    number = [index.setdefault(payload[a:b].tobytes(), len(index)) for a, b in zip(begin, end, strict=True)]
    made = json_tick_to_avro(list(index), xp)
    converted = {k: value for k, n in zip(rows.tolist(), number, strict=True) if isinstance(value := made[n], bytes)}
    wrong = np.array([isinstance(value, str) for value in made])
    fault = np.where(wrong, np.cumsum(wrong, dtype=np.int32) - 1, -1)[number]
    faults = tuple(Fault.of("json", f"decode: {value}") for value in made if isinstance(value, str))
    return converted, Rejects(rows[fault >= 0], fault[fault >= 0], faults)


def _joined(values: list[bytes]) -> tuple[U8, I64]:
    """Return values in one piece, read-only as the kernels need it, and where each begins, and the end."""
    return np.frombuffer(b"".join(values), np.uint8), np.cumsum([0, *map(len, values)])


def _in_our_schema(tick: RawTick, schemas: Mapping[int, str], rejects: list[Rejects]) -> tuple[RawTick, int]:
    """Convert framed messages of other schemas; return the tick and their number. Those that cannot be are rejected."""
    ids = framed_ids(tick.payload, tick.start)
    for unreadable in rejects:
        ids[unreadable.number] = -1
    writers = {k: writer(k, schemas.get(k, NOT_ASKED)) for k in np.unique(ids[ids >= 0]).tolist()}
    others = [k for k, how in writers.items() if not how.same]
    rows = np.flatnonzero(np.isin(ids, others)).tolist() if others else []
    if not rows:
        return tick, 0
    converted: dict[int, bytes] = {}
    wrong: list[tuple[int, Fault]] = []
    for k in rows:
        made = writers[int(ids[k])].translate(tick.payload[tick.start[k] : tick.start[k + 1]].tobytes())
        if isinstance(made, bytes):
            converted[k] = made
        else:
            wrong.append((k, Fault.of("schema", f"decode: {made}")))
    rejects.append(Rejects.of(wrong))
    return tick.with_values(converted), len(converted)
