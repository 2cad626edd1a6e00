"""Bodies that read and write Avro: SampleChunk in, Beat out.

Law of this file: no byte outside ``[start, stop)`` of a message is ever read, whatever it holds.
Integers are 64-bit zigzag varints, doubles are rebuilt exactly from their bits, so that one text
runs as Python, as machine code and on a GPU.
"""

from __future__ import annotations

import math

from beatwire.records import F64, I16, I32, I64, U8

OK = 0
JSON = 1
MALFORMED = 2
NEWER = 3
EMPTY = 4
LEADS = 5
RATE = 6
LENGTH = 7
TOO_BIG = 8
STREAM_ID = 9
CALIBRATION = 10
INDEX = 11
LEAD_OFF = 12
SCHEMA_ID = 13

MAX_BYTES = 65_536
MAX_ID = 64
MAX_LEADS = 12
MIN_RATE_HZ = 50.0
MAX_RATE_HZ = 4000.0
MAX_INDEX = 1 << 53


def read_long(buffer: U8, at: int, stop: int) -> tuple[int, int]:
    """Read a zigzag varint: its value and the position after it, -1 when it is cut or too long."""
    value = 0
    shift = 0
    while at < stop and shift < 70:
        byte = int(buffer[at])
        at += 1
        if shift == 63 and byte > 1:
            return 0, -1
        value |= (byte & 127) << shift
        if byte < 128:
            return ((value >> 1) & 0x7FFFFFFFFFFFFFFF) ^ -(value & 1), at
        shift += 7
    return 0, -1


def read_double(buffer: U8, at: int) -> float:
    """Read the 8 bytes of a little-endian double; the caller has checked that they are there."""
    mantissa = 0
    for k in range(6):
        mantissa |= int(buffer[at + k]) << (8 * k)
    mantissa |= (int(buffer[at + 6]) & 15) << 48
    exponent = ((int(buffer[at + 7]) & 127) << 4) | (int(buffer[at + 6]) >> 4)
    sign = -1.0 if buffer[at + 7] > 127 else 1.0
    if exponent == 2047:
        return math.nan if mantissa else sign * math.inf
    if exponent == 0:
        return sign * math.ldexp(float(mantissa), -1074)
    return sign * math.ldexp(float(mantissa | (1 << 52)), exponent - 1075)


def skip_strings(buffer: U8, at: int, stop: int) -> tuple[int, int]:
    """Skip an array of strings: how many there were and the position after it, -1 when cut."""
    total = 0
    while True:
        count, at = read_long(buffer, at, stop)
        if at < 0:
            return 0, -1
        if count == 0:
            return total, at
        if count < 0:
            count = -count
            _, at = read_long(buffer, at, stop)
            if at < 0:
                return 0, -1
        if count < 0 or count > stop - at:
            return 0, -1
        total += count
        for _ in range(count):
            size, at = read_long(buffer, at, stop)
            if at < 0 or size < 0 or size > stop - at:
                return 0, -1
            at += size


def read_chunk(
    i: int,
    payload: U8,
    start: I64,
    schema_id: int,
    ints: I64,
    floats: F64,
    code: I16,
) -> None:
    """Decode message ``i`` as a SampleChunk.

    Parameters
    ----------
    payload, start
        Joined values; message ``i`` is ``payload[start[i]:start[i + 1]]``.
    schema_id
        Id that a Confluent-framed message must carry; -1 accepts any.
    ints : int64 [m, 10], written
        id position, id length, id hash, session, first, device time, leads, lead-off mask,
        position of the samples, samples per lead.
    floats : float64 [m, 3], written
        rate, microvolts per unit, and what was found where something else was expected.
    code : int16 [m], written
        OK or why not.
    """
    at = int(start[i])
    stop = int(start[i + 1])
    floats[i, 2] = 0.0
    if stop - at > MAX_BYTES:
        floats[i, 2] = stop - at
        code[i] = TOO_BIG
        return
    if at < stop and payload[at] == 123:
        code[i] = JSON
        return
    if at + 5 <= stop and payload[at] == 0:
        framed = 0
        for k in range(1, 5):
            framed = (framed << 8) | int(payload[at + k])
        if schema_id not in (-1, framed):
            floats[i, 2] = framed
            code[i] = SCHEMA_ID
            return
        at += 5
    code[i] = MALFORMED
    begin = int(start[i])
    size, at = read_long(payload, at, stop)
    if at < 0 or size > stop - at:
        floats[i, 2] = stop - begin
        return
    if size < 1 or size > MAX_ID:
        floats[i, 2] = size
        code[i] = STREAM_ID
        return
    digest = 2166136261
    for k in range(at, at + size):
        digest = ((digest ^ int(payload[k])) * 16777619) & 0xFFFFFFFF
    ints[i, 0] = at
    ints[i, 1] = size
    ints[i, 2] = digest
    at += size
    for field in range(3, 6):
        ints[i, field], at = read_long(payload, at, stop)
        if at < 0:
            floats[i, 2] = stop - begin
            return
    if stop - at < 8:
        floats[i, 2] = stop - begin
        return
    rate_hz = read_double(payload, at)
    leads, at = skip_strings(payload, at + 8, stop)
    if at < 0 or stop - at < 8:
        floats[i, 2] = stop - begin
        return
    uv_per_unit = read_double(payload, at)
    lead_off, at = read_long(payload, at + 8, stop)
    size = -1
    if at >= 0:
        size, at = read_long(payload, at, stop)
    if at < 0 or size < 0 or size > stop - at:
        floats[i, 2] = stop - begin
        return
    floats[i, 0] = rate_hz
    floats[i, 1] = uv_per_unit
    ints[i, 6] = leads
    ints[i, 7] = lead_off
    ints[i, 8] = at
    ints[i, 9] = 0
    if at + size != stop:
        floats[i, 2] = stop - at - size
        code[i] = NEWER
    elif not (MIN_RATE_HZ <= rate_hz <= MAX_RATE_HZ):
        floats[i, 2] = rate_hz
        code[i] = RATE
    elif leads < 1 or leads > MAX_LEADS:
        floats[i, 2] = leads
        code[i] = LEADS
    elif not (0.0 <= uv_per_unit <= 1e6):
        floats[i, 2] = uv_per_unit
        code[i] = CALIBRATION
    elif size == 0:
        code[i] = EMPTY
    elif size % (2 * leads) != 0:
        floats[i, 2] = size
        code[i] = LENGTH
    elif lead_off < 0 or lead_off >= (1 << leads):
        floats[i, 2] = lead_off
        code[i] = LEAD_OFF
    elif ints[i, 4] < 0 or ints[i, 4] > MAX_INDEX:
        floats[i, 2] = ints[i, 4]
        code[i] = INDEX
    elif ints[i, 5] < -MAX_INDEX or ints[i, 5] > MAX_INDEX:
        floats[i, 2] = ints[i, 5]
        code[i] = INDEX
    else:
        ints[i, 9] = size // (2 * leads)
        code[i] = OK


def put_long(buffer: U8, at: int, value: int) -> int:
    """Write a zigzag varint; returns the position after it."""
    value = (value << 1) ^ (value >> 63)
    while value & ~127:
        buffer[at] = (value & 127) | 128
        value = (value >> 7) & 0x01FFFFFFFFFFFFFF
        at += 1
    buffer[at] = value
    return at + 1


def put_bytes(buffer: U8, at: int, source: U8, begin: int, size: int) -> int:
    """Write a length and that many bytes of ``source``; returns the position after them."""
    at = put_long(buffer, at, size)
    for k in range(size):
        buffer[at + k] = source[begin + k]
    return at + size


def put_raw(buffer: U8, at: int, source: U8, begin: int, size: int) -> int:
    """Write ``size`` bytes of ``source`` as they are; returns the position after them."""
    for k in range(size):
        buffer[at + k] = source[begin + k]
    return at + size


def put_nullable(buffer: U8, at: int, floats: U8, begin: int, absent: int) -> int:
    """Write a union of null and a float; returns the position after it."""
    if absent:
        return put_long(buffer, at, 0)
    return put_raw(buffer, put_long(buffer, at, 1), floats, begin, 4)


def write_beat(
    i: int,
    buffer: U8,
    stop: I64,
    width: int,
    ids: U8,
    id_size: I32,
    ints: I64,
    floats: U8,
    absent: U8,
    labels: U8,
    label_size: I32,
    label: I32,
    model: U8,
) -> None:
    """Encode beat ``i`` as Avro at ``buffer[i * width:]``.

    Parameters
    ----------
    stop : int64 [b], written
        End of the beat's bytes in ``buffer``.
    ids : uint8 [slots, 64], id_size : int32 [slots]
        Stream ids; ``ints[i, 0]`` is the slot.
    ints : int64 [b, 5]
        slot, session, sample, time, arrived.
    floats : uint8 [b, 28]
        The bytes of seven float32: rr_ms, rate, response, quality, score, prematurity, expected errors.
    absent : uint8 [b, 7]
        Non-zero where a nullable number is null.
    labels : uint8 [k, 16], label_size : int32 [k], label : int32 [b]
        Texts of ``scored_by`` and which of them applies.
    model : uint8 [any]
        The model's version.
    """
    at = i * width
    slot = int(ints[i, 0])
    at = put_bytes(buffer, at, ids[slot], 0, int(id_size[slot]))
    at = put_long(buffer, at, int(ints[i, 1]))
    at = put_long(buffer, at, int(ints[i, 2]))
    at = put_long(buffer, at, int(ints[i, 3]))
    for k in range(6):
        if k in (2, 3):
            at = put_raw(buffer, at, floats[i], 4 * k, 4)
        else:
            at = put_nullable(buffer, at, floats[i], 4 * k, int(absent[i, k]))
    which = int(label[i])
    at = put_bytes(buffer, at, labels[which], 0, int(label_size[which]))
    at = put_bytes(buffer, at, model, 0, model.shape[0])
    at = put_long(buffer, at, int(ints[i, 4]))
    at = put_nullable(buffer, at, floats[i], 24, int(absent[i, 6]))
    stop[i] = at
