"""Decode: read the messages of a tick into columns.

In:    RawTick
Out:   Chunks; a message that cannot be read is a reject
State: nothing of earlier ticks, so any cut of a stream into ticks gives the same rows

Avro messages are decoded by one kernel (``kernels.avro``); JSON messages are converted to Avro first (``wire.json``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from beatwire.jit import cpu
from beatwire.kernels import avro
from beatwire.records import I64, Chunks, RawTick, Rejects
from beatwire.records.columns import CHUNK_ARRIVED_US, CHUNK_WRONG
from beatwire.wire.avro import REASONS, chunk_columns
from beatwire.wire.json import json_tick_to_avro


@dataclass(frozen=True, slots=True)
class Settings:
    """schema_id: the id that messages in Confluent framing must have; None accepts any."""

    schema_id: int | None = None


@dataclass(slots=True)
class State:
    """xp: NumPy, or CuPy where a GPU reads JSON."""

    settings: Settings
    xp: Any = np


def step(state: State, tick: RawTick) -> tuple[State, Chunks]:
    """Decode a tick: valid messages in their order, the others as rejects with a reason for each."""
    m = len(tick.arrival_us)
    ints, floats, code = chunk_columns(m)
    schema_id = -1 if state.settings.schema_id is None else state.settings.schema_id
    cpu.kernels.read_chunk(m, tick.payload, tick.start, schema_id, ints, floats, code)
    rejects = Rejects()
    if (code == avro.JSON).any():
        tick = _with_json_as_avro(tick, np.flatnonzero(code == avro.JSON), rejects, state.xp)
        cpu.kernels.read_chunk(m, tick.payload, tick.start, schema_id, ints, floats, code)
    rejected = set(rejects.message)
    for k in np.flatnonzero(code):
        if int(k) not in rejected:
            rejects.message.append(int(k))
            rejects.reason.append("decode: " + REASONS[int(code[k])].format(floats[k, CHUNK_WRONG]))
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


def _with_json_as_avro(tick: RawTick, rows: I64, rejects: Rejects, xp: Any) -> RawTick:
    """Replace JSON messages by equal Avro messages; those that cannot be converted stay and are rejected."""
    values = [tick.payload[a:b].tobytes() for a, b in zip(tick.start[:-1], tick.start[1:], strict=True)]
    for k, made in zip(rows.tolist(), json_tick_to_avro([values[k] for k in rows.tolist()], xp), strict=True):
        if isinstance(made, bytes):
            values[k] = made
        else:
            rejects.message.append(k)
            rejects.reason.append(f"decode: {made}")
    joined = RawTick.of(values)
    return replace(tick, payload=joined.payload, start=joined.start)
