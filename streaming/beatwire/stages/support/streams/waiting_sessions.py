"""The sessions that wait for a bank: their chunks as rows, with bytes of their own.

In:    Chunks
Out:   the rows of each session; Chunks with the rows of sessions that have waited before the others
State: none
"""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from beatwire.records import F64, I64, Bool, Chunks
from beatwire.records.columns import CHUNK_AT, CHUNK_ID_AT, CHUNK_ID_HASH, CHUNK_LEADS, CHUNK_RATE_HZ, CHUNK_SESSION
from beatwire.records.samples import BankKind


class Key(NamedTuple):
    """A session of a stream in a partition, by the hash of the stream's id."""

    partition: int
    stream: int
    session: int
    rate_hz: float
    leads: int

    @property
    def bank(self) -> BankKind:
        """The bank that its chunks need."""
        return self.rate_hz, self.leads


@dataclass(slots=True)
class Waiting:
    """Chunks of one session: rows of ``Chunks`` with positions in ``raw``, their numbers, and their ticks.

    run, stop    samples that have come one after another so far, and the sample after them
    arrived_us   arrival of the last chunk
    """

    run: int = 0
    stop: int = 0
    arrived_us: int = 0
    ints: list[I64] = field(default_factory=list)
    floats: list[F64] = field(default_factory=list)
    tick: list[int] = field(default_factory=list)
    number: list[int] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)


def by_session(chunks: Chunks, rows: I64) -> dict[Key, list[int]]:
    """Return the rows of each session, in their order."""
    found: dict[Key, list[int]] = {}
    columns = chunks.ints[rows][:, [CHUNK_ID_HASH, CHUNK_SESSION, CHUNK_LEADS]].tolist()
    places = zip(
        rows.tolist(), chunks.partition[rows].tolist(), chunks.floats[rows, CHUNK_RATE_HZ].tolist(), strict=True
    )
    for (row, partition, rate_hz), (digest, session, leads) in zip(places, columns, strict=True):
        found.setdefault(Key(partition, digest, session, rate_hz, leads), []).append(row)
    return found


def goes_on(chunks: Chunks, rows: I64) -> I64:
    """Return those of the rows that name the session that their stream has in this tick, before them, in a bank.

    Parameters
    ----------
    rows
        The chunks that would open a bank, ascending.
    """
    digest, session = chunks.ints[:, CHUNK_ID_HASH], chunks.ints[:, CHUNK_SESSION]
    own = np.flatnonzero(np.isin(digest, digest[rows]))
    own = own[np.argsort(digest[own], kind="stable")]
    waits = np.isin(own, rows)
    last = np.maximum.accumulate(np.where(waits, -1, np.arange(len(own))))  # the last chunk in a bank, -1: none yet
    before = own[np.maximum(last, 0)]
    same = waits & (last >= 0) & (digest[before] == digest[own]) & (session[before] == session[own])
    found: I64 = np.sort(own[same])
    return found


def joined(out: list[tuple[Key, Waiting]], chunks: Chunks, stay: Bool) -> Chunks:
    """Return the chunks that stay, behind those that have waited."""
    kept = replace(
        chunks, ints=chunks.ints[stay], floats=chunks.floats[stay], message=chunks.message[stay],
        partition=chunks.partition[stay],
    )  # fmt: skip
    if not out:
        return kept
    entries = [entry for _, entry in out]
    raw = [value for entry in entries for value in entry.raw]
    ints = np.stack([row for entry in entries for row in entry.ints])
    at = len(chunks.payload) + np.cumsum([0, *map(len, raw[:-1])])
    ints[:, [CHUNK_ID_AT, CHUNK_AT]] += at[:, None]
    payload = np.concatenate([chunks.payload, np.frombuffer(b"".join(raw), np.uint8)])
    payload.flags.writeable = False  # kernels are compiled for that
    partition = np.repeat(
        np.array([key.partition for key, _ in out], chunks.partition.dtype), [len(entry.raw) for entry in entries]
    )
    return replace(
        kept,
        payload=payload,
        ints=np.concatenate([ints, kept.ints]),
        floats=np.concatenate([np.stack([row for entry in entries for row in entry.floats]), kept.floats]),
        message=np.concatenate([np.array([k for entry in entries for k in entry.number], np.int64), kept.message]),
        partition=np.concatenate([partition, kept.partition]),
    )
