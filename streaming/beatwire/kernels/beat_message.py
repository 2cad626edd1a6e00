"""Write Avro messages: Beat. The format is as in ``kernels.intake.avro``."""

import math

from beatwire.records import U8
from beatwire.records.alignment import BeatFields, BeatLabels, BeatMessages, StreamIds

FLOATS = 10  # numbers of a beat


def put_long(buffer: U8, at: int, value: int) -> int:
    """Write a zigzag varint; return the position after it."""
    value = (value << 1) ^ (value >> 63)
    while value & ~127:
        buffer[at] = (value & 127) | 128
        value = (value >> 7) & 0x01FFFFFFFFFFFFFF
        at += 1
    buffer[at] = value
    return at + 1


def put_bytes(buffer: U8, at: int, source: U8, begin: int, size: int) -> int:
    """Write a length and that many bytes of ``source``; return the position after them."""
    at = put_long(buffer, at, size)
    for k in range(size):
        buffer[at + k] = source[begin + k]
    return at + size


def put_float(buffer: U8, at: int, floats: U8, begin: int) -> int:
    """Write the bytes of a float; return the position after them."""
    for k in range(4):
        buffer[at + k] = floats[begin + k]
    return at + 4


def put_nullable(buffer: U8, at: int, floats: U8, begin: int, absent: int) -> int:
    """Write a union of null and a float; return the position after it."""
    if absent:
        return put_long(buffer, at, 0)
    return put_float(buffer, put_long(buffer, at, 1), floats, begin)


def write_beat(
    i: int, messages: BeatMessages, streams: StreamIds, beats: BeatFields, labels: BeatLabels, model: U8
) -> None:
    """Encode beat ``i`` as an Avro Beat at ``messages.buffer[i * width:]``; ``model``: bytes of the model's version."""
    buffer, at = messages.buffer, i * messages.width
    gather_floats(i, beats)
    values, floats = beats.floats[i], beats.raw[i]
    slot, label = int(beats.slot[i]), int(labels.label[i])
    at = put_bytes(buffer, at, streams.ids[slot], 0, int(streams.size[slot]))
    at = put_long(buffer, at, int(beats.session[i]))
    at = put_long(buffer, at, int(beats.sample[i]))
    at = put_long(buffer, at, int(beats.time_us[i]))
    for k in range(6):
        if k in (2, 3):  # response and quality are never null
            at = put_float(buffer, at, floats, 4 * k)
        else:
            at = put_nullable(buffer, at, floats, 4 * k, int(math.isnan(values[k])))
    at = put_bytes(buffer, at, labels.texts[label], 0, int(labels.size[label]))
    at = put_bytes(buffer, at, model, 0, model.shape[0])
    at = put_long(buffer, at, int(beats.arrived_us[i]))
    for k in range(6, 9):
        at = put_nullable(buffer, at, floats, 4 * k, int(math.isnan(values[k])))
    if labels.letter[i] == 0:
        at = put_long(buffer, at, 0)
    else:
        at = put_bytes(buffer, put_long(buffer, at, 1), labels.letter, i, 1)
    messages.stop[i] = put_nullable(buffer, at, floats, 36, int(math.isnan(values[9])))


def gather_floats(i: int, beats: BeatFields) -> None:
    """Write the ten numbers of beat ``i``; the sums of its place are in a fixed order: no cut changes a bit."""
    values = beats.floats[i]
    values[0] = 1000.0 * beats.rr_s[i]
    values[1] = 60.0 / beats.median_rr_s[i]
    values[2], values[3] = beats.response[i], beats.quality[i]
    values[4], values[5] = beats.score[i], beats.prematurity[i]
    values[6] = beats.expected_errors[i]
    values[7] = values[8] = 0.0
    for k in range(beats.latent.shape[1]):
        values[7] += beats.plane[k, 0] * beats.latent[i, k]
        values[8] += beats.plane[k, 1] * beats.latent[i, k]
    values[9] = beats.class_probability[i]
