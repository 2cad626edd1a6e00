"""Encode schedules as Avro SampleChunks with a Numba kernel.

In: a `Schedule` over `Lanes`. Out: the messages as bytes. Only the index of the first sample, the time, the lead-off
mask and the samples change from chunk to chunk; the bytes between them are written once a stream and copied.
Invariant: the bytes are those that fastavro writes for the same values.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from beatwire.records import I16, I32, I64, U8

from beatwire_producers.chunk_writer import ChunkWriter
from beatwire_producers.feeds import BASE, LEADS, LENGTH, OFFSET, SESSION, Lanes
from beatwire_producers.schedule import GARBAGE, NO_VALUE, TRUNCATED, Schedule

_VARINT_BYTES = 10  # the longest zigzag varint of 64 bits


def _compiled(body: Callable[..., Any]) -> Callable[..., Any]:
    try:
        return numba.njit(body, nogil=True, cache=True)  # type: ignore[no-any-return]
    except RuntimeError:  # no folder for the machine code is writable: compile in each process
        return numba.njit(body, nogil=True)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Encoder:
    """Writes the messages of schedules.

    lanes      the feeds
    fixed      uint8              the constant bytes of every stream's messages
    parts      int64 [lanes, 3]   their ranges in ``fixed``: [0]-[1] before ``session``, [1]-[2] after ``time``
    start_us   device time at the start of the feeds, microseconds since 1970
    """

    lanes: Lanes
    fixed: U8
    parts: I64
    start_us: int

    @staticmethod
    def of(lanes: Lanes, start_us: int) -> Encoder:
        """Return an encoder for feeds that start at a device time, microseconds since 1970."""
        pieces: list[bytes] = []
        parts: list[tuple[int, int, int]] = []
        at = 0
        for feed in lanes.feeds:
            recording = feed.recording
            writer = ChunkWriter(feed.stream, recording.rate_hz, recording.leads, recording.uv_per_unit)
            before, after = writer.before, writer.after
            pieces += [before, after]
            parts.append((at, at + len(before), at + len(before) + len(after)))
            at += len(before) + len(after)
        fixed = np.frombuffer(b"".join(pieces), np.uint8)
        return Encoder(lanes, fixed, np.array(parts, np.int64).reshape(-1, 3), start_us)

    def encode(self, rows: Schedule) -> tuple[U8, I64]:
        """Return the joined messages of a schedule, uint8, and the start of each, int64 [n + 1]."""
        leads = self.lanes.ints[rows.lane, LEADS]
        longest = self.parts[rows.lane, 2] - self.parts[rows.lane, 0] + 5 * _VARINT_BYTES + 2 * leads * rows.count
        out = np.empty(int(longest.sum()), np.uint8)
        start = np.zeros(len(rows) + 1, np.int64)
        columns = (
            rows.lane,
            rows.first,
            rows.count,
            rows.time_us,
            rows.lead_off,
            rows.broken,
            rows.session,
            rows.shift,
        )
        _write(*columns, self.start_us, self.lanes.bank, self.lanes.ints, self.fixed, self.parts, out, start)
        return out[: start[-1]], start

    def messages(self, rows: Schedule) -> list[bytes]:
        """Return the messages of a schedule, one by one."""
        payload, start = self.encode(rows)
        joined = payload.tobytes()
        return [joined[a:b] for a, b in itertools.pairwise(start.tolist())]


@_compiled
def _put_long(out: U8, at: int, value: int) -> int:
    value = (value << 1) ^ (value >> 63)
    while value > 127:
        out[at] = (value & 127) | 128
        value >>= 7
        at += 1
    out[at] = value
    return at + 1


@_compiled
def _put_samples(out: U8, at: int, bank: I16, base: int, length: int, column: int, count: int) -> int:
    for _ in range(count):
        value = np.int64(bank[base + column])
        out[at] = value & 255
        out[at + 1] = (value >> 8) & 255
        at += 2
        column += 1
        if column == length:
            column = 0
    return at


@_compiled
def _write(
    lane: I64, first: I64, count: I64, time_us: I64, lead_off: I32, broken: U8, session: I64, shift: I64,
    start_us: int, bank: I16, ints: I64, fixed: U8, parts: I64, out: U8, start: I64,
) -> None:  # fmt: skip
    at = 0
    for row in range(len(lane)):
        feed = lane[row]
        base, length, leads, offset = ints[feed, BASE], ints[feed, LENGTH], ints[feed, LEADS], ints[feed, OFFSET]
        for k in range(parts[feed, 0], parts[feed, 1]):
            out[at] = fixed[k]
            at += 1
        at = _put_long(out, at, ints[feed, SESSION] + session[row])
        at = _put_long(out, at, first[row] + shift[row])
        at = _put_long(out, at, start_us + time_us[row])
        for k in range(parts[feed, 1], parts[feed, 2]):
            out[at] = fixed[k]
            at += 1
        at = _put_long(out, at, np.int64(lead_off[row]))
        at = _put_long(out, at, 2 * leads * count[row])
        column = (offset + first[row]) % length
        for lead in range(leads):
            at = _put_samples(out, at, bank, base + lead * length, length, column, count[row])
        if broken[row] == NO_VALUE:
            for k in range(at - 2 * leads * count[row], at):
                out[k] = 128 * ((at - k) % 2)  # -32768, the low byte first
        elif broken[row] == TRUNCATED:
            at = start[row] + (at - start[row]) // 2
        elif broken[row] == GARBAGE:
            # A linear congruential generator (ISO C's example of rand), seeded by stream and sample.
            noise = first[row] * 2654435761 + feed + 1
            for k in range(start[row], at):
                noise = (noise * 1103515245 + 12345) & 0x7FFFFFFF
                out[k] = (noise >> 16) & 255
            out[start[row]] = 255  # as the length of the stream id it is negative: the message is never valid
        start[row + 1] = at
