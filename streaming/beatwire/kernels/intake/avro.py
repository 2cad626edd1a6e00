"""Read Avro messages: SampleChunk.

No byte outside ``[start, stop)`` of a message is read, whatever the message contains. Integers are 64-bit zigzag
varints; doubles are computed exactly from their bits, so that the same text runs as Python and as machine code. The
format is that of the Avro specification 1.12, sections "Binary Encoding" and "Complex Types".
"""

import math

from beatwire.records import F64, I16, I64, U8
from beatwire.records.columns import (
    CHUNK_ARRIVED_US,
    CHUNK_AT,
    CHUNK_COLUMNS,
    CHUNK_COUNT,
    CHUNK_FIRST,
    CHUNK_FLOATS,
    CHUNK_ID_AT,
    CHUNK_ID_HASH,
    CHUNK_ID_SIZE,
    CHUNK_LEAD_NAMES,
    CHUNK_LEAD_OFF,
    CHUNK_LEADS,
    CHUNK_RATE_HZ,
    CHUNK_SESSION,
    CHUNK_TIME_US,
    CHUNK_UV_PER_UNIT,
    CHUNK_WRONG,
)

# Codes of messages: 0 is a chunk, JSON has to be converted first, the others are rejected.
OK, JSON, MALFORMED, NEWER, EMPTY, LEADS, RATE, LENGTH, TOO_BIG, STREAM_ID, CALIBRATION, INDEX, LEAD_OFF, SCHEMA_ID = (
    range(14)
)
MILLISECONDS, SECONDS = 14, 15

MAX_BYTES = 65_536  # of a message: seconds of twelve leads at 1,000 Hz
MAX_ID = 64  # bytes of a stream id
MAX_LEADS = 12
MIN_RATE_HZ, MAX_RATE_HZ = 50.0, 4000.0
MAX_UV_PER_UNIT = 1e6
MAX_INDEX = 1 << 53  # sample indices and microseconds stay exact as doubles, which JSON readers use
MAX_S = float(1 << 43)  # from sample 0: as microseconds it is an int64
# A time that is the present in another unit, to an hour: as microseconds it would be a day of January 1970. Nothing is
# known before ``KNOWN_US``, in 2001.
PRESENT_US, KNOWN_US = 3_600_000_000, 1_000_000_000_000_000
FNV_OFFSET, FNV_PRIME = 2166136261, 16777619  # FNV-1a, 32 bits: the hash of a stream id


def read_long(buffer: U8, at: int, stop: int) -> tuple[int, int]:
    """Read a zigzag varint: its value and the position after it; -1 if it is cut off or too long."""
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


def read_names(buffer: U8, at: int, stop: int) -> tuple[int, int, int]:
    """Read an array of strings: their number, their hash, and the position after it; -1 if it is cut off."""
    total, digest = 0, FNV_OFFSET
    while True:
        count, at = read_long(buffer, at, stop)
        if at < 0:
            return 0, 0, -1
        if count == 0:
            return total, digest, at
        if count < 0:
            count = -count
            _, at = read_long(buffer, at, stop)
            if at < 0:
                return 0, 0, -1
        if count < 0 or count > stop - at:
            return 0, 0, -1
        total += count
        for _ in range(count):
            size, at = read_long(buffer, at, stop)
            if at < 0 or size < 0 or size > stop - at:
                return 0, 0, -1
            digest = hashed(digest, buffer, at, size)
            digest = ((digest ^ (size & 255)) * FNV_PRIME) & 0xFFFFFFFF  # where a name ends
            at += size


def read_chunk(
    i: int, payload: U8, start: I64, arrived_us: I64, schema_id: int, ints: I64, floats: F64, code: I16
) -> None:
    """Decode message ``i`` as a SampleChunk.

    Parameters
    ----------
    payload, start
        Joined messages; message ``i`` is ``payload[start[i]:start[i + 1]]``.
    arrived_us : int64 [m]
        Arrival of each message.
    schema_id
        Id that a message in Confluent framing must have; -1 accepts any.
    ints : int64 [m, CHUNK_COLUMNS], written
        What is not known of a message that is rejected is 0.
    floats : float64 [m, CHUNK_FLOATS], written
        Rate, microvolts per unit; of a message that is rejected the number that is wrong.
    code : int16 [m], written
        OK, or why the message cannot be used.
    """
    at = int(start[i])
    stop = int(start[i + 1])
    row, wrong = ints[i], floats[i]
    for k in range(CHUNK_COLUMNS):
        row[k] = 0
    for k in range(CHUNK_FLOATS):
        wrong[k] = 0.0
    row[CHUNK_ARRIVED_US] = arrived_us[i]
    if stop - at > MAX_BYTES:
        wrong[CHUNK_WRONG] = stop - at
        code[i] = TOO_BIG
        return
    if at < stop and payload[at] == 123:  # an opening brace
        code[i] = JSON
        return
    if at + 5 <= stop and payload[at] == 0:
        framed = 0
        for k in range(1, 5):
            framed = (framed << 8) | int(payload[at + k])
        if schema_id not in (-1, framed):
            wrong[CHUNK_WRONG] = framed
            code[i] = SCHEMA_ID
            return
        at += 5
    code[i] = MALFORMED
    begin = int(start[i])
    size, at = read_long(payload, at, stop)
    if at < 0 or size > stop - at:
        wrong[CHUNK_WRONG] = stop - begin
        return
    if size < 1 or size > MAX_ID:
        wrong[CHUNK_WRONG] = size
        code[i] = STREAM_ID
        return
    row[CHUNK_ID_AT] = at
    row[CHUNK_ID_SIZE] = size
    row[CHUNK_ID_HASH] = hash_of(payload, at, size)
    at += size
    row[CHUNK_SESSION], at = read_long(payload, at, stop)
    if at >= 0:
        row[CHUNK_FIRST], at = read_long(payload, at, stop)
    if at >= 0:
        row[CHUNK_TIME_US], at = read_long(payload, at, stop)
    if at < 0 or stop - at < 8:
        wrong[CHUNK_WRONG] = stop - begin
        return
    rate_hz = read_double(payload, at)
    leads, row[CHUNK_LEAD_NAMES], at = read_names(payload, at + 8, stop)
    if at < 0 or stop - at < 8:
        wrong[CHUNK_WRONG] = stop - begin
        return
    uv_per_unit = read_double(payload, at)
    lead_off, at = read_long(payload, at + 8, stop)
    size = -1
    if at >= 0:
        size, at = read_long(payload, at, stop)
    if at < 0 or size < 0 or size > stop - at:
        wrong[CHUNK_WRONG] = stop - begin
        return
    wrong[CHUNK_RATE_HZ] = rate_hz
    wrong[CHUNK_UV_PER_UNIT] = uv_per_unit
    row[CHUNK_LEADS] = leads
    row[CHUNK_LEAD_OFF] = lead_off
    row[CHUNK_AT] = at
    if at + size != stop:
        wrong[CHUNK_WRONG] = stop - at - size
        code[i] = NEWER
    elif not (MIN_RATE_HZ <= rate_hz <= MAX_RATE_HZ):
        wrong[CHUNK_WRONG] = rate_hz
        code[i] = RATE
    elif leads < 1 or leads > MAX_LEADS:
        wrong[CHUNK_WRONG] = leads
        code[i] = LEADS
    elif not (0.0 <= uv_per_unit <= MAX_UV_PER_UNIT):
        wrong[CHUNK_WRONG] = uv_per_unit
        code[i] = CALIBRATION
    elif size == 0:
        code[i] = EMPTY
    elif size % (2 * leads) != 0:
        wrong[CHUNK_WRONG] = size
        code[i] = LENGTH
    elif lead_off < 0 or lead_off >= (1 << leads):
        wrong[CHUNK_WRONG] = lead_off
        code[i] = LEAD_OFF
    elif row[CHUNK_FIRST] < 0 or row[CHUNK_FIRST] > min(float(MAX_INDEX), MAX_S * rate_hz):
        wrong[CHUNK_WRONG] = row[CHUNK_FIRST]
        code[i] = INDEX
    elif row[CHUNK_TIME_US] < -MAX_INDEX or row[CHUNK_TIME_US] > MAX_INDEX:
        wrong[CHUNK_WRONG] = row[CHUNK_TIME_US]
        code[i] = INDEX
    else:
        row[CHUNK_COUNT] = size // (2 * leads)
        code[i] = unit_of(int(row[CHUNK_TIME_US]), int(row[CHUNK_ARRIVED_US]))
        if code[i] != OK:
            wrong[CHUNK_WRONG] = row[CHUNK_TIME_US]


def unit_of(time_us: int, arrived_us: int) -> int:
    """Return MILLISECONDS or SECONDS if a time is that of the arrival in such a unit, else OK."""
    if arrived_us >= KNOWN_US:
        if abs(time_us - arrived_us // 1_000) <= PRESENT_US // 1_000:
            return MILLISECONDS
        if abs(time_us - arrived_us // 1_000_000) <= PRESENT_US // 1_000_000:
            return SECONDS
    return OK


def hash_of(payload: U8, at: int, size: int) -> int:
    """Return the hash of ``size`` bytes of the payload: FNV-1a, 32 bits."""
    return hashed(FNV_OFFSET, payload, at, size)


def hashed(digest: int, payload: U8, at: int, size: int) -> int:
    """Return a hash that goes on with ``size`` bytes of the payload."""
    for k in range(at, at + size):
        digest = ((digest ^ int(payload[k])) * FNV_PRIME) & 0xFFFFFFFF
    return digest
