"""The messages of a tick, as they are polled and as rows of chunks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from beatwire.records.arrays import I32, I64, U8
from beatwire.records.rejects import Rejects

BankKind = tuple[float, int]  # of a bank: sampling rate (Hz), number of leads


class Bundled(NamedTuple):
    """Where the rows of a tick come from that had bundles: messages with the chunks of many streams.

    message  int64 [m]  number of the message in the poll
    chunk    int64 [m]  number of the chunk in its bundle, from 0; -1: the row is a whole message
    rejects  the rows that are what could not be read of a bundle
    """

    message: I64
    chunk: I64
    rejects: Rejects


@dataclass(frozen=True, slots=True)
class RawTick:
    """The messages of one poll, ``m`` of them.

    payload      uint8 [bytes]   all message values joined; read-only, and kernels are compiled for that
    start        int64 [m + 1]   message k is ``payload[start[k]:start[k + 1]]``
    arrival_us   int64 [m]       arrival of each message at the broker, microseconds since 1970
    partition    int32 [m]       partition of each message (0 without a broker)
    now_us       time at which the tick was taken, microseconds since 1970
    caught_up    no more messages were waiting at the broker: a stream without a chunk is silent
    held         partitions of which ``caught_up`` says nothing: their messages wait for the registry or at the broker
    overloaded   so far behind that beats are not scored: rules and beats have priority
    schemas      schema id of a framed message -> its writer's schema or a ``Refusal``; None: any id is ours
    open_banks   of a replay: partition -> the banks that were open at its commit; None: this is no replay
    bundled      which messages the rows are from, once bundles have become one row a chunk; None: row k is message k
    """

    payload: U8
    start: I64
    arrival_us: I64
    partition: I32
    now_us: int
    caught_up: bool = True
    overloaded: bool = False
    held: frozenset[int] = frozenset()
    schemas: Mapping[int, str] | None = None
    open_banks: Mapping[int, frozenset[BankKind]] | None = None
    bundled: Bundled | None = None

    def __post_init__(self) -> None:
        """Make the payload read-only: Numba would compile each kernel again for one that can be written to."""
        payload = self.payload.view()
        payload.flags.writeable = False
        object.__setattr__(self, "payload", payload)

    @staticmethod
    def of(
        values: Sequence[bytes],
        *,
        now_us: int = 0,
        arrival_us: Sequence[int] | I64 | None = None,
        partition: Sequence[int] | I32 | None = None,
        caught_up: bool = True,
        schemas: Mapping[int, str] | None = None,
    ) -> RawTick:
        """Join message values into a tick; ``arrival_us`` defaults to ``now_us``."""
        m = len(values)
        start = np.zeros(m + 1, np.int64)
        np.cumsum(np.fromiter(map(len, values), np.int64, m), out=start[1:])
        return RawTick(
            payload=np.frombuffer(b"".join(values), np.uint8),
            start=start,
            arrival_us=np.full(m, now_us, np.int64) if arrival_us is None else np.asarray(arrival_us, np.int64),
            partition=np.zeros(m, np.int32) if partition is None else np.asarray(partition, np.int32),
            now_us=now_us,
            caught_up=caught_up,
            schemas=schemas,
        )

    def with_values(self, values: Mapping[int, bytes]) -> RawTick:
        """Return the tick with other values of some rows: row, ascending -> value."""
        if not values:
            return self
        pieces, sizes, at = [], np.diff(self.start), 0
        for k, value in values.items():
            pieces += [self.payload[at : self.start[k]].tobytes(), value]
            sizes[k], at = len(value), int(self.start[k + 1])
        joined = b"".join([*pieces, self.payload[at:].tobytes()])
        return replace(self, payload=np.frombuffer(joined, np.uint8), start=np.concatenate([[0], np.cumsum(sizes)]))

    def messages(self, rows: I64) -> list[int]:
        """Return the number in the poll of the message of each row."""
        numbers: list[int] = (rows if self.bundled is None else self.bundled.message[rows]).tolist()
        return numbers

    def chunks(self, rows: I64) -> list[int | None]:
        """Return the number of each row in its bundle; None: it is a whole message."""
        if self.bundled is None:
            return [None] * len(rows)
        return [None if k < 0 else k for k in self.bundled.chunk[rows].tolist()]
