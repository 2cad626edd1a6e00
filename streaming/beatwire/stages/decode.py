"""Decode: read the messages of a tick into columns.

In:    RawTick
Out:   Chunks; a message that cannot be read is a reject
State: nothing of earlier ticks but a count, so any cut of a stream into ticks gives the same rows

Avro messages are decoded by one kernel (``kernels.avro``); JSON messages are converted to Avro first (``wire.json``).
With writers' schemas in the tick, framed messages of other schemas are converted to ours first (``wire.writers``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from beatwire.jit import cpu
from beatwire.kernels import avro
from beatwire.records import F64, I16, I64, Chunks, RawTick, Rejects
from beatwire.records.columns import CHUNK_ARRIVED_US, CHUNK_WRONG
from beatwire.wire.avro import REASONS, chunk_columns
from beatwire.wire.json import json_tick_to_avro
from beatwire.wire.writers import framed_ids, writer

# Code of ``kernels.avro.read_chunk`` -> kind of the reject; the other codes are "field".
KINDS = {
    avro.MALFORMED: "malformed",
    avro.LENGTH: "malformed",
    avro.TOO_BIG: "malformed",
    avro.NEWER: "schema",
    avro.SCHEMA_ID: "schema",
    avro.STREAM_ID: "stream",
}


@dataclass(frozen=True, slots=True)
class Settings:
    """schema_id: the id that messages in Confluent framing must have; None accepts any."""

    schema_id: int | None = None


@dataclass(slots=True)
class State:
    """xp: NumPy, or CuPy where a GPU reads JSON; resolved: messages that were converted from another schema."""

    settings: Settings
    xp: Any = np
    resolved: int = 0


def step(state: State, tick: RawTick) -> tuple[State, Chunks]:
    """Decode a tick: valid messages in their order, the others as rejects with a reason for each."""
    m = len(tick.arrival_us)
    rejects = Rejects()
    if tick.schemas is not None:
        tick, resolved = _in_our_schema(tick, tick.schemas, rejects)
        state.resolved += resolved
    unreadable = list(rejects.message)
    ints, floats, code = chunk_columns(m)
    schema_id = -1 if state.settings.schema_id is None else state.settings.schema_id
    cpu.kernels.read_chunk(m, tick.payload, tick.start, schema_id, ints, floats, code)
    code[unreadable] = avro.SCHEMA_ID
    if (code == avro.JSON).any():
        values = _json_as_avro(tick, np.flatnonzero(code == avro.JSON), rejects, state.xp)
        rows, tick, start = list(values), *_appended(tick, list(values.values()))
        columns = chunk_columns(len(rows))
        cpu.kernels.read_chunk(len(rows), tick.payload, start, schema_id, *columns)
        ints[rows], floats[rows], code[rows] = columns
    _reject(rejects, code, floats)
    ints[:, CHUNK_ARRIVED_US] = tick.arrival_us
    valid = np.flatnonzero(code == avro.OK)
    everything = len(valid) == m
    return state, Chunks(
        payload=tick.payload,
        ints=ints if everything else ints[valid],
        floats=floats if everything else floats[valid],
        message=valid,
        partition=tick.partition if everything else tick.partition[valid],
        rejects=rejects,
        now_us=tick.now_us,
        caught_up=tick.caught_up,
        overloaded=tick.overloaded,
    )


def _reject(rejects: Rejects, code: I16, floats: F64) -> None:
    """Add the messages that the kernel could not read; the same fault with the same number has one text."""
    unread = code != avro.OK
    unread[rejects.message] = False
    rows = np.flatnonzero(unread)
    what = code[rows].tolist()
    faults = list(zip(what, floats[rows, CHUNK_WRONG].tolist(), strict=True))
    texts = {(what, wrong): f"decode: {REASONS[what].format(wrong)}" for what, wrong in set(faults)}
    kinds = {what: KINDS.get(what, "field") for what in set(what)}
    rejects.message.extend(rows.tolist())
    rejects.reason.extend(map(texts.__getitem__, faults))
    rejects.kind.extend(map(kinds.__getitem__, what))


def _json_as_avro(tick: RawTick, rows: I64, rejects: Rejects, xp: Any) -> dict[int, bytes]:
    """Return JSON messages as Avro: number in the tick -> value; those that cannot be converted are rejected."""
    payload, begin, end = tick.payload.data, tick.start[rows].tolist(), tick.start[rows + 1].tolist()
    made = json_tick_to_avro([payload[a:b].tobytes() for a, b in zip(begin, end, strict=True)], xp)
    converted, wrong = {}, {}
    for k, value in zip(rows.tolist(), made, strict=True):
        if isinstance(value, bytes):
            converted[k] = value
        else:
            wrong[k] = value
    texts = {value: f"decode: {value}" for value in set(wrong.values())}
    rejects.message.extend(wrong)
    rejects.reason.extend(map(texts.__getitem__, wrong.values()))
    rejects.kind.extend(["json"] * len(wrong))
    return converted


def _appended(tick: RawTick, values: list[bytes]) -> tuple[RawTick, I64]:
    """Append values to the payload; return the tick and where each begins, and the end."""
    start = len(tick.payload) + np.cumsum([0, *map(len, values)])
    if not values:
        return tick, start
    return replace(tick, payload=np.concatenate([tick.payload, np.frombuffer(b"".join(values), np.uint8)])), start


def _in_our_schema(tick: RawTick, schemas: Mapping[int, str], rejects: Rejects) -> tuple[RawTick, int]:
    """Convert framed messages of other schemas; return the tick and their number. Those that cannot be are rejected."""
    ids = framed_ids(tick.payload, tick.start)
    writers = {k: writer(k, schemas.get(k, "")) for k in np.unique(ids[ids >= 0]).tolist()}
    others = [k for k, how in writers.items() if not how.same]
    rows = np.flatnonzero(np.isin(ids, others)).tolist() if others else []
    if not rows:
        return tick, 0
    converted: dict[int, bytes] = {}
    for k in rows:
        made = writers[int(ids[k])].translate(tick.payload[tick.start[k] : tick.start[k + 1]].tobytes())
        if isinstance(made, bytes):
            converted[k] = made
        else:
            rejects.add(k, "schema", f"decode: {made}")
    return _with_values(tick, converted), len(converted)


def _with_values(tick: RawTick, values: dict[int, bytes]) -> RawTick:
    """Replace messages: number in the tick, ascending -> value."""
    if not values:
        return tick
    pieces, sizes, at = [], np.diff(tick.start), 0
    for k, value in values.items():
        pieces += [tick.payload[at : tick.start[k]].tobytes(), value]
        sizes[k], at = len(value), int(tick.start[k + 1])
    joined = b"".join([*pieces, tick.payload[at:].tobytes()])
    return replace(tick, payload=np.frombuffer(joined, np.uint8), start=np.concatenate([[0], np.cumsum(sizes)]))
