"""Unbundle: a message with the chunks of many streams becomes one row a chunk.

In:    RawTick
Out:   RawTick, one chunk a row; what of a bundle cannot be read is a row as well, and a reject
State: a count, and the rows of the last tick

A tick without a bundle passes as it is. Every row keeps the partition and the arrival of its message
(``RawTick.bundled`` says which message, and which chunk of it), so all that follows takes a chunk as if it had come
alone. Bundles in JSON, and those of another writer's schema, are made ours first.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from beatwire.jit import cpu
from beatwire.kernels.intake import bundles
from beatwire.records import I64, U8, Bundled, Fault, RawTick, Rejects
from beatwire.wire.bundles import encode_bundle, is_json_bundle, json_chunks
from beatwire.wire.writers import MAGIC_BYTES, NOT_ASKED, framed_ids, writer

# Code of ``kernels.intake.bundles.count_chunks`` -> kind and reason of the rest.
_FAULTS = {
    bundles.TOO_BIG: Fault("malformed", f"unbundle: expected a bundle of at most {bundles.MAX_BUNDLE_BYTES} bytes"),
    bundles.EMPTY: Fault("malformed", "unbundle: expected at least 1 chunk in the bundle; got 0"),
    bundles.CUT: Fault("malformed", "unbundle: truncated or malformed bundle: from this chunk on it cannot be read"),
    bundles.MANY: Fault("malformed", f"unbundle: expected at most {bundles.MOST_CHUNKS} chunks in a bundle; got more"),
    bundles.LEFT: Fault("schema", "unbundle: bytes are left after the last chunk: written with a newer schema?"),
}
_JSON_BEGINS = np.frombuffer(b"{ \t\r\n\xef", np.uint8)


@dataclass(slots=True)
class State:
    """resolved: bundles that were converted from another schema; tick: the rows of the last tick, for dead letters."""

    resolved: int = 0
    tick: RawTick | None = None


def step(state: State, tick: RawTick) -> tuple[State, RawTick]:
    """Return the tick with one chunk a row."""
    state.tick = _rows_of(state, tick) if _may_have_bundles(tick) else tick
    return state, state.tick


def _may_have_bundles(tick: RawTick) -> bool:
    """Return False if all messages begin as chunks do."""
    found = np.empty(len(tick.start) - 1, np.bool_)
    cpu.kernels.may_be_bundle(len(found), tick.payload, tick.start, found)
    return bool(found.any())


def _first_bytes(payload: U8, start: I64) -> U8:
    """Return the first byte of each message, uint8 [m], any byte of an empty one; the payload has a byte at least."""
    first: U8 = payload[np.minimum(start[:-1], len(payload) - 1)]
    return first


def _rows_of(state: State, tick: RawTick) -> RawTick:
    wrong: dict[tuple[int, int], Fault] = {}  # message and chunk, -1: the whole message
    if tick.schemas is not None:
        tick, resolved = _in_our_schema(tick, tick.schemas, wrong)
        state.resolved += resolved
    tick = _json_as_avro(tick, wrong)
    body = bodies(tick.payload, tick.start)
    if not (body >= 0).any() and not wrong:
        return tick
    return _split(tick, body, wrong)


def bodies(payload: U8, start: I64) -> I64:
    """Return where the array of each bundle begins, -1: the message is no bundle; int64 [m]."""
    begin, end = start[:-1], start[1:]
    body = np.full(len(begin), -1, np.int64)
    if not len(payload):
        return body
    first, mark = _first_bytes(payload, start), np.array(bundles.MARK, np.uint8)
    for value, skipped in ((mark[0], 0), (0, MAGIC_BYTES)):
        rows = np.flatnonzero((first == value) & (end - begin >= skipped + len(mark)))
        there = begin[rows] + skipped
        found = (payload[there[:, None] + np.arange(len(mark))] == mark).all(axis=1) if len(rows) else rows
        marked = np.asarray(found, np.bool_)
        body[rows[marked]] = there[marked] + len(mark)
    return body


def _split(tick: RawTick, body: I64, wrong: Mapping[tuple[int, int], Fault]) -> RawTick:
    """Return the tick with the chunks of its bundles as rows."""
    m, size = len(body), np.diff(tick.start)
    rows = np.flatnonzero(body >= 0)
    bundle = np.full(m, -1, np.int64)
    bundle[rows] = np.arange(len(rows))
    counts, fault = np.zeros((len(rows), 3), np.int64), np.zeros(len(rows), np.int16)
    cpu.kernels.count_chunks(len(rows), tick.payload, body[rows], tick.start[1:][rows], counts, fault)
    alone = (size[rows] > bundles.MAX_BUNDLE_BYTES) | (fault == bundles.EMPTY)  # rejected as it is
    fault[size[rows] > bundles.MAX_BUNDLE_BYTES] = bundles.TOO_BIG
    counts[alone, :2], counts[alone, 2] = 0, tick.start[rows[alone]]
    values, width = np.ones(m, np.int64), size.copy()
    values[rows] = counts[:, 0] + (fault != bundles.WHOLE)
    width[rows] = counts[:, 1] + np.where(fault == bundles.WHOLE, 0, tick.start[1:][rows] - counts[:, 2])
    first, begin = (np.concatenate([[0], np.cumsum(column)]) for column in (values, width))
    payload, start = np.empty(begin[-1], np.uint8), np.zeros(first[-1] + 1, np.int64)
    start[first] = begin
    cpu.kernels.copy_message(m, tick.payload, tick.start, bundle, body[rows], counts, first, payload, start)
    message = np.repeat(np.arange(m), values)
    chunk = np.arange(first[-1]) - first[message]
    chunk[np.repeat(bundle < 0, values)] = -1
    chunk[first[rows[alone]]] = -1
    broken = {int(first[k] + max(n, 0)): why for (k, n), why in wrong.items()}
    at_fault = np.flatnonzero(fault != bundles.WHOLE)
    ends = (first[1:][rows[at_fault]] - 1).tolist()
    broken |= {row: _FAULTS[code] for row, code in zip(ends, fault[at_fault].tolist(), strict=True)}
    return replace(
        tick,
        payload=payload,
        start=start,
        arrival_us=tick.arrival_us[message],
        partition=tick.partition[message],
        bundled=Bundled(message, chunk, Rejects.of(sorted(broken.items()))),
    )


def _json_as_avro(tick: RawTick, wrong: dict[tuple[int, int], Fault]) -> RawTick:
    """Convert bundles in JSON; those that cannot be are noted."""
    likely = np.flatnonzero(np.isin(_first_bytes(tick.payload, tick.start), _JSON_BEGINS) & (np.diff(tick.start) > 0))
    converted: dict[int, bytes] = {}
    for k in likely.tolist():
        begin, end = int(tick.start[k]), int(tick.start[k + 1])
        if not is_json_bundle(tick.payload[begin : begin + 256].tobytes()):
            continue
        try:
            if end - begin > bundles.MAX_BUNDLE_BYTES:
                raise ValueError(f"expected a bundle of at most {bundles.MAX_BUNDLE_BYTES} bytes; got {end - begin}")
            chunks = json_chunks(tick.payload[begin:end].tobytes())
            converted[k] = encode_bundle(chunks)
        except ValueError as error:
            wrong[k, -1] = Fault.of("json", f"unbundle: JSON: {error}")
            continue
        for n, chunk in enumerate(chunks):
            if not chunk.startswith(b"{"):
                wrong[k, n] = Fault.of("json", "unbundle: JSON: expected an object as chunk; got something else")
    return tick.with_values(converted)


def _in_our_schema(
    tick: RawTick, schemas: Mapping[int, str], wrong: dict[tuple[int, int], Fault]
) -> tuple[RawTick, int]:
    """Convert framed bundles of other schemas; return the tick and their number. Those that cannot be are noted."""
    ids = framed_ids(tick.payload, tick.start)
    found = {k: writer(k, schemas.get(k, NOT_ASKED)) for k in np.unique(ids[ids >= 0]).tolist()}
    others = [k for k, how in found.items() if how.bundles and not how.same]
    converted: dict[int, bytes] = {}
    for k in np.flatnonzero(np.isin(ids, others)).tolist() if others else []:
        made = found[int(ids[k])].translate(tick.payload[tick.start[k] : tick.start[k + 1]].tobytes())
        if isinstance(made, bytes):
            converted[k] = made
        else:
            wrong[k, -1] = Fault.of("schema", f"unbundle: {made}")
    return tick.with_values(converted), len(converted)
