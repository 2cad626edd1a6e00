"""Stream ids that can be read of messages that cannot be used: whose messages they are.

In:    the rows of a tick, and what ``kernels.intake.avro.read_chunk`` has written of each, also of the rejected ones
Out:   where the id of each row is
State: none
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from beatwire.kernels.intake import avro
from beatwire.records import I64, U8, Bool, RawTick
from beatwire.records.columns import CHUNK_COLUMNS, CHUNK_ID_AT, CHUNK_ID_HASH, CHUNK_ID_SIZE

MOST_READ = 200  # rejected JSON messages of a tick whose ids are looked for: that takes microseconds each
MOST_BEFORE = 4096  # bytes of a JSON message in which its id is looked for
_ID = re.compile(rb'"stream"[ \t\r\n]*:[ \t\r\n]*("(?:[^"\\]|\\.){1,400}")')


@dataclass(frozen=True, slots=True)
class ReadIds:
    """Where the ids of ``n`` rows are.

    payload  uint8 [bytes]
    ints     int64 [n, CHUNK_COLUMNS]  columns ``CHUNK_ID_...``; a size of 0: no id can be read
    """

    payload: U8 = field(default_factory=lambda: np.zeros(0, np.uint8))
    ints: I64 = field(default_factory=lambda: np.zeros((0, CHUNK_COLUMNS), np.int64))

    @staticmethod
    def of(ids: Sequence[bytes], digests: Sequence[int] | None = None) -> ReadIds:
        """Return ids in one piece, with hashes that are known; an id that is too long counts as none."""
        payload, size = np.frombuffer(b"".join(ids), np.uint8), np.array([len(one) for one in ids], np.int64)
        ints = np.zeros((len(ids), CHUNK_COLUMNS), np.int64)
        ints[:, CHUNK_ID_AT] = np.cumsum(size) - size
        ints[:, CHUNK_ID_SIZE] = np.where(size <= avro.MAX_ID, size, 0)
        columns = ints[:, [CHUNK_ID_AT, CHUNK_ID_SIZE]].tolist()
        ints[:, CHUNK_ID_HASH] = digests or [avro.hash_of(payload, at, own) for at, own in columns]
        return ReadIds(payload, ints)

    def some(self, rows: I64) -> ReadIds:
        """Return those of some rows."""
        return ReadIds(self.payload, self.ints[rows])

    def raw(self) -> list[bytes]:
        """Return the bytes of each id."""
        data, columns = self.payload.data, self.ints[:, [CHUNK_ID_AT, CHUNK_ID_SIZE]].tolist()
        return [data[at : at + size].tobytes() for at, size in columns]


def some_of(rows: I64, most: int, now_us: int, before: Callable[[], Bool | bool] = lambda: False) -> I64:
    """Return at most so many rows, in order: others in each tick, so that nobody is always behind the others.

    Those that ``before`` marks, bool [rows], are chosen before the others; it is called where there are too many rows.
    """
    if len(rows) <= most:
        return rows
    chance = np.random.default_rng(abs(now_us)).random(len(rows))
    return rows[np.sort(np.argsort(chance - before())[:most])]


def with_json_ids(tick: RawTick, rows: I64, ints: I64) -> RawTick:
    """Append the ids of JSON messages that cannot be used otherwise, of some by chance, to the payload of a tick.

    Where they are is written into ``ints``.
    """
    found: dict[int, bytes] = {}
    for k in some_of(rows, MOST_READ, tick.now_us).tolist():
        begin, end = int(tick.start[k]), int(tick.start[k + 1])
        match = _ID.search(tick.payload[begin : min(end, begin + MOST_BEFORE)].tobytes())
        with contextlib.suppress(ValueError):  # no text
            found[k] = json.loads(match[1]).encode() if match is not None else b""
    ids, known = ReadIds.of(list(found.values())), len(tick.payload)
    if not len(ids.payload):
        return tick
    ints[list(found)] = ids.ints
    ints[list(found), CHUNK_ID_AT] += known
    return replace(tick, payload=np.concatenate([tick.payload, ids.payload]))
