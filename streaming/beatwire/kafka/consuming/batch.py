"""Convert confluent-kafka's message objects into the columns of a tick.

In: the messages that ``consume`` returned, without error events. Out: a `Part` for each call, and a `PolledTick` of
all parts that waited. No state. This module is all the Python that runs once a message; measured on a 180-byte
message: value 33 ns, error 32 ns, partition 42 ns, join 51 ns, length 38 ns.

Reading a timestamp costs 180 ns. With LogAppendTime, timestamps never decrease within a partition; so they are read at
the two ends of a run and, where those differ, found by bisection. Every arrival time is exact, and few are read.
Timestamps made by producers (CreateTime) may decrease and are all read. They may be anything: outside the times that
samples may have they are the nearest of these.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, KafkaError, Message
from numpy.typing import NDArray

from beatwire.kafka.consuming.progress import Beginning
from beatwire.records import I32, I64, U8, Expired, RawTick
from beatwire.records.letters import Addresses
from beatwire.wire.fields import LATEST_US

_SHORT_RUN = 32  # messages; in a shorter run all timestamps are read: bisection would not save any


class Run(NamedTuple):
    """Consecutive messages of one partition: indices ``[begin, end)`` of the list."""

    partition: int
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Part:
    """``m`` messages of one poll.

    messages     confluent-kafka's objects, for dead letters
    payload      uint8 [bytes]  the joined values; a tombstone is empty
    length       int64 [m]      bytes of each value
    arrival_us   int64 [m]      arrival at the broker, microseconds since 1970
    partition    int32 [m]
    next_offset  partition -> the offset after its last message in this part
    leader_epoch partition -> that of its last message in this part, where brokers have them
    expired      partition -> what retention had deleted before these messages; it is in `next_offset`, too
    polled_s     when they were joined, right after the poll, monotonic clock
    by_broker    the broker's clock has stamped all of them
    """

    messages: Sequence[Message]
    payload: U8
    length: I64
    arrival_us: I64
    partition: I32
    next_offset: dict[int, int]
    leader_epoch: dict[int, int] = field(default_factory=dict)
    expired: dict[int, Expired] = field(default_factory=dict)
    polled_s: float = field(default_factory=time.monotonic)
    by_broker: bool = True


@dataclass(frozen=True, slots=True)
class MessageOrigin:
    """The messages of a tick as they were received; implements `beatwire.wire.dead_letters.Origin`."""

    messages: Sequence[Message]

    def addresses(self, numbers: Sequence[int]) -> Addresses:
        """Return where the messages with these numbers are, and their keys."""
        chosen = [self.messages[k] for k in numbers]
        return Addresses(
            topic=(chosen[0].topic() or "") if chosen else "",
            offsets=list(map(Message.offset, chosen)),  # type: ignore[arg-type]
            keys=list(map(Message.key, chosen)),
        )


@dataclass(frozen=True, slots=True)
class PolledTick:
    """One tick and its place in the log.

    tick       the joined messages; an empty tick means that time has passed
    origin     the messages as they were received
    epoch      increases with every change of the assignment
    replay     the output was published before: discard it
    start      partition -> offset of its first message that no earlier tick of this epoch contains
    positions  partition -> offset after its last message in this tick; only partitions with messages in it, and
               those in `expired`
    expired    partition -> what retention deleted before it could be read, once: reported with this tick
    beginning  of the epoch: whether the graph starts from an empty state
    leaders    partition -> the leader epoch of the message before `positions`, or `start`, where it is known
    ahead_s    by how much the clock of this machine is ahead of the broker's (`broker_clock`)
    """

    tick: RawTick
    origin: MessageOrigin
    epoch: int
    replay: bool
    start: Mapping[int, int]
    positions: Mapping[int, int]
    expired: Mapping[int, Expired] = field(default_factory=dict)
    beginning: Beginning = Beginning.ANEW
    ahead_s: float = 0.0
    leaders: Mapping[int, int] = field(default_factory=dict)


def split_errors(messages: list[Message]) -> tuple[list[Message], list[KafkaError]]:
    """Separate messages from error events, whose "value" is an error text and no payload."""
    errors = list(map(Message.error, messages))
    if not any(errors):
        return messages, []
    good = [message for message, error in zip(messages, errors, strict=True) if error is None]
    return good, [error for error in errors if error is not None]


def partition_runs(partition: I32) -> list[Run]:
    """Split a column of partitions where its value changes.

    >>> partition_runs(np.array([3, 3, 0], np.int32))
    [Run(partition=3, begin=0, end=2), Run(partition=0, begin=2, end=3)]
    """
    if not len(partition):
        return []
    edges = [0, *(np.flatnonzero(np.diff(partition)) + 1).tolist(), len(partition)]
    return [Run(int(partition[begin]), begin, end) for begin, end in pairwise(edges)]


def truncate(messages: list[Message], until: dict[int, int]) -> list[Message]:
    """Return the messages before offset ``until[partition]``; of a partition without an entry, all messages."""
    partition = partition_column(messages)
    kept: list[Message] = []
    for run in partition_runs(partition):
        part = messages[run.begin : run.end]
        if run.partition in until and _offset(part[-1]) >= until[run.partition]:
            part = [message for message in part if _offset(message) < until[run.partition]]
        kept += part
    return kept


def reaching(messages: list[Message], until: dict[int, int]) -> set[int]:
    """Return the partitions with a message at or beyond offset ``until[partition]``."""
    return {
        run.partition
        for run in partition_runs(partition_column(messages))
        if run.partition in until and _offset(messages[run.end - 1]) >= until[run.partition]
    }


def offsets_of(part: Part, partition: int) -> I64:
    """Return the offsets of a partition's messages in a part, ascending, int64."""
    return np.array([_offset(part.messages[k]) for k in np.flatnonzero(part.partition == partition).tolist()], np.int64)


def partition_column(messages: Sequence[Message]) -> I32:
    """Return the partition of each message, int32 [m]."""
    return np.fromiter(map(Message.partition, messages), np.int32, len(messages))


def join_messages(messages: list[Message]) -> Part:
    """Join messages, without error events, into columns."""
    values: list[bytes] = list(map(Message.value, messages))  # type: ignore[arg-type]
    try:
        payload = b"".join(values)
    except TypeError:  # the value of a tombstone is None
        values = [value or b"" for value in values]
        payload = b"".join(values)
    m = len(messages)
    partition = partition_column(messages)
    runs = partition_runs(partition)
    arrival_us, by_broker = _arrival_times(messages, runs)
    return Part(
        messages=messages,
        payload=np.frombuffer(payload, np.uint8),
        length=np.fromiter(map(len, values), np.int64, m),
        arrival_us=arrival_us,
        partition=partition,
        next_offset={run.partition: _offset(messages[run.end - 1]) + 1 for run in runs},
        leader_epoch={run.partition: of for run in runs if (of := messages[run.end - 1].leader_epoch()) is not None},
        by_broker=by_broker,
    )


def join_parts(
    parts: Sequence[Part], *, now_us: int, caught_up: bool, held: frozenset[int] = frozenset()
) -> tuple[RawTick, MessageOrigin]:
    """Join parts into one tick; without parts, into an empty one.

    Parameters
    ----------
    parts
        In the order in which they were polled.
    now_us
        The time of the tick, microseconds since 1970.
    caught_up
        True if no further message waits at the broker, except in `held`.
    held
        Partitions that wait for the schema registry, or of which nothing is received.

    Returns
    -------
    RawTick, MessageOrigin
        The columns of all messages, and the messages as they were received.
    """
    length = _join([part.length for part in parts], np.int64)
    start = np.zeros(len(length) + 1, np.int64)
    np.cumsum(length, out=start[1:])
    tick = RawTick(
        payload=_join([part.payload for part in parts], np.uint8),
        start=start,
        arrival_us=_join([part.arrival_us for part in parts], np.int64),
        partition=_join([part.partition for part in parts], np.int32),
        now_us=now_us,
        caught_up=caught_up,
        held=held,
    )
    messages = parts[0].messages if len(parts) == 1 else list(chain.from_iterable(part.messages for part in parts))
    return tick, MessageOrigin(messages)


def _join(columns: list[NDArray[Any]], dtype: type) -> NDArray[Any]:
    if len(columns) == 1:
        return columns[0]
    return np.concatenate(columns) if columns else np.zeros(0, dtype)


def stamped_us(message: Message) -> int:
    """Return the timestamp of a message, microseconds since 1970, within the times that samples may have."""
    return max(-LATEST_US, min(1000 * message.timestamp()[1], LATEST_US))


def _arrival_times(messages: Sequence[Message], runs: list[Run]) -> tuple[I64, bool]:
    """Return the arrival of each message, microseconds since 1970, int64 [m]; True if the broker has stamped all."""
    out, by_broker = np.empty(len(messages), np.int64), True

    def timestamp_us(k: int) -> int:
        return stamped_us(messages[k])

    for run in runs:
        monotonic = messages[run.begin].timestamp()[0] == TIMESTAMP_LOG_APPEND_TIME
        by_broker = by_broker and monotonic
        if monotonic and run.end - run.begin > _SHORT_RUN:
            for begin, end, value in _constant_stretches(timestamp_us, run.begin, run.end):
                out[begin:end] = value
        else:
            out[run.begin : run.end] = [timestamp_us(k) for k in range(run.begin, run.end)]
    return out, by_broker


def _constant_stretches(value_at: Callable[[int], int], begin: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yield (begin, end, value) of the constant stretches of a sequence that never decreases, by bisection.

    >>> list(_constant_stretches([5, 5, 7, 7, 7].__getitem__, 0, 5))
    [(0, 2, 5), (2, 5, 7)]
    """
    while begin < end:
        value = value_at(begin)
        if value_at(end - 1) == value:
            yield begin, end, value
            return
        low, high = begin, end - 1  # value_at(low) == value < value_at(high)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if value_at(middle) == value else (low, middle)
        yield begin, high, value
        begin = high


def _offset(message: Message) -> int:
    offset = message.offset()
    assert offset is not None
    return offset
