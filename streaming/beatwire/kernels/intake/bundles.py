"""Split bundles: a message with the chunks of many streams becomes one row a chunk.

A bundle is an Avro record of a mark and an array of bytes, each the value of a SampleChunk. No byte outside
``[begin, stop)`` of a message is read, whatever it contains, and a chunk that is whole is found whatever follows it.
"""

from beatwire.kernels.intake.avro import read_long
from beatwire.records import I16, I64, U8, Bool

MARK = (1, 66, 87, 66)  # as the length of a stream id, the first byte is negative: no SampleChunk begins with it
MOST_CHUNKS = 1_000  # of a bundle: one message must not become any number of dead letters
MAX_BUNDLE_BYTES = 1 << 20  # what a broker takes by default

# Why the rest of a bundle cannot be used; WHOLE: there is no rest.
WHOLE, TOO_BIG, EMPTY, CUT, MANY, LEFT = range(6)


def may_be_bundle(i: int, payload: U8, start: I64, found: Bool) -> None:
    """Write whether message ``i`` may be a bundle: by its mark, because it is framed, or because it is in JSON."""
    at, end = int(start[i]), int(start[i + 1])
    found[i] = False
    if at < end and (payload[at] == MARK[0] or payload[at] == 0):
        found[i] = True
        return
    while at < end and is_before_json(int(payload[at])):
        at += 1
    if at < end:
        found[i] = payload[at] == 123  # {


def is_before_json(byte: int) -> bool:
    """Return True for a blank, and for a byte of a byte-order mark."""
    return byte == 32 or byte == 9 or byte == 13 or byte == 10 or byte == 0xEF or byte == 0xBB or byte == 0xBF


def count_chunks(i: int, payload: U8, body: I64, stop: I64, counts: I64, fault: I16) -> None:
    """Count the chunks of bundle ``i`` that are whole, and find out what is wrong with the rest.

    Parameters
    ----------
    payload
        Joined messages.
    body, stop : int64 [b]
        Where the array of each bundle begins, behind the mark, and where the message ends.
    counts : int64 [b, 3], written
        The whole chunks, their bytes, and where the rest begins.
    fault : int16 [b], written
        WHOLE, or why there is a rest.
    """
    at, end = int(body[i]), int(stop[i])
    total, size_of_all = 0, 0
    rest = at
    fault[i] = CUT
    block = -1
    while True:
        rest = at
        block, at = read_long(payload, at, end)
        if at < 0:
            break
        if block == 0:
            rest = at
            fault[i] = WHOLE if at == end else LEFT
            break
        if block < 0:
            block = -block
            _, at = read_long(payload, at, end)
            if at < 0:
                break
        if block < 0 or block > end - at:
            break
        cut = False
        for _ in range(block):
            rest = at
            if total == MOST_CHUNKS:
                fault[i] = MANY
                cut = True
                break
            size, at = read_long(payload, at, end)
            if at < 0 or size < 0 or size > end - at:
                cut = True
                break
            at += size
            total += 1
            size_of_all += size
        if cut:
            break
    if total == 0 and fault[i] == WHOLE:
        fault[i] = EMPTY
    counts[i, 0], counts[i, 1], counts[i, 2] = total, size_of_all, rest


def copy_message(i: int, payload: U8, start: I64, bundle: I64, body: I64, counts: I64, first: I64, out: U8,
                 out_start: I64) -> None:  # fmt: skip
    """Copy the values of message ``i``: itself, or its whole chunks and then the rest.

    Parameters
    ----------
    payload, start
        As in ``RawTick``.
    bundle : int64 [m]
        Row of the message in ``body`` and ``counts``; -1: it is copied as it is.
    body, counts
        As ``count_chunks`` has them.
    first : int64 [m + 1]
        Row of the first value of each message.
    out : uint8 [bytes], written
        The values, joined.
    out_start : int64 [n + 1], written but for the first of each message
        Where each value begins.
    """
    row, last = int(first[i]), int(first[i + 1])
    to, end = int(out_start[row]), int(start[i + 1])
    begin = int(start[i])
    if bundle[i] >= 0:
        at = int(body[bundle[i]])
        left = int(counts[bundle[i], 0])
        block = 0
        while left > 0:
            if block == 0:
                block, at = read_long(payload, at, end)
                if block < 0:
                    block = -block
                    _, at = read_long(payload, at, end)
            size, at = read_long(payload, at, end)
            copy_bytes(payload[at : at + size], out[to : to + size])
            to += size
            at += size
            row += 1
            out_start[row] = to
            left -= 1
            block -= 1
        begin = int(counts[bundle[i], 2])
    if row < last:
        copy_bytes(payload[begin:end], out[to : to + end - begin])
        to += end - begin
        if row + 1 < last:
            row += 1
        out_start[row + 1] = to


def copy_bytes(source: U8, target: U8) -> None:
    """Copy bytes to as many."""
    for k in range(source.shape[0]):
        target[k] = source[k]
