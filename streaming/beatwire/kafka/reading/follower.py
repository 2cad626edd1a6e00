"""A reader of whole topics outside any group, for as long as it runs: through outages, and of partitions that are new.

In: topics, each with the place where its reading begins. Out: the committed messages, as columns (`ticks`) or as keys
and values (`records`). State: one librdkafka consumer and its positions. No group is joined: any number may read.

As `beatwire.kafka.consuming.client` explains, librdkafka can lose its broker for good. So a follower that has received
nothing for a while compares its positions with the ends of the topics, and replaces its consumer if messages wait.

A topic that was deleted and created anew is read from its beginning. librdkafka goes back by itself only if its old
position lies behind the new end; its own position does not. So positions are those of the messages returned, and the
ids of the topics are compared. What a broker that refuses an offset sends again is dropped (`reread`).
"""

import threading
import time
import uuid
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Self

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec, TopicDescription  # type: ignore[attr-defined]

from beatwire.errors import FatalError, UserError
from beatwire.kafka import topics
from beatwire.kafka.cluster import UNREACHABLE, Cluster
from beatwire.kafka.consuming.batch import join_messages, join_parts, split_errors
from beatwire.kafka.reachability import Reachability
from beatwire.kafka.reading.record import Record, record_of
from beatwire.kafka.reading.reread import Reread
from beatwire.kafka.reading.topic_ids import answered_ids, request_ids
from beatwire.records import RawTick

BEGINNING, END = "beginning", "end"
Begin = str | float | Mapping[int, int]
MOST_MESSAGES = 8_192  # of one poll
_DISCOVERY_S = 5.0  # between two searches for new partitions
_MISSING_S = 1.0  # between two searches while a topic does not exist
_SILENCE_S = 10.0  # silence after which the positions are compared with the ends of the topics
_REQUEST_S = 2.0


class Follower:
    """A consumer of several topics, for use by one thread.

    Parameters
    ----------
    begin
        topic -> where reading begins: ``BEGINNING``, ``END``, so many seconds ago, or at offsets by partition. A topic
        or partition that appears later, or is not among these, is read from its beginning.
    most_back
        Messages of a partition that reading begins before its end at most, where `begin` is in seconds.
    ends
        `has_read` will be called: librdkafka reports every end of a partition that is reached.

    Attributes
    ----------
    connected : bool
        False from the moment at which no broker answers until one does.
    """

    def __init__(
        self, cluster: Cluster, begin: Mapping[str, Begin], *, most_back: int = 50_000, ends: bool = False
    ) -> None:
        self._cluster, self._most_back = cluster, most_back
        self._begin = {name: {} if at == BEGINNING else at for name, at in begin.items()}
        self._at: dict[tuple[str, int], int] = {}
        self._reports_ends = ends
        self._end_seen: dict[tuple[str, int], int] = {}
        self._ids: dict[str, str] = {}  # of the topics, where the broker gives some
        self._asked: Mapping[str, Future[TopicDescription]] = {}  # requests for them
        self._found: set[tuple[str, int]] = set()  # the partitions that exist
        self._went_back: set[tuple[str, int]] = set()  # what has been read from the beginning since the ids were read
        self._back_then = self._went_back  # the same when the ids were requested
        self._admin: AdminClient | None = None
        self._reread = Reread(cluster, self._ids, self._client)
        self._answered_s = time.monotonic()  # when it answered last, or was opened
        self._suspect, self.connected = False, True
        self._reachability = Reachability(cluster)
        self._searched_s = float("-inf")
        self._received_s = self._checked_s = time.monotonic()
        self._missing_at_first: set[str] | None = None
        self._consumer = self._new_consumer()

    def ticks(self, wait_s: float) -> RawTick | None:
        """Return the next messages as the columns of a tick; None if there are none within `wait_s` seconds."""
        messages = self.messages(wait_s)
        if not messages:
            return None
        caught_up = len(messages) < MOST_MESSAGES
        return join_parts([join_messages(messages)], now_us=time.time_ns() // 1000, caught_up=caught_up)[0]

    def records(self, wait_s: float) -> list[Record]:
        """Return keys and values of the next messages; an empty list if there are none within `wait_s` seconds."""
        return [record_of(one, self._cluster.name(one.topic() or "")) for one in self.messages(wait_s)]

    def messages(self, wait_s: float) -> list[Message]:
        """Return the next messages; an empty list if there are none within `wait_s` seconds."""
        now_s = time.monotonic()
        all_exist = {name for name, _ in self._at} >= set(self._begin)
        if now_s - self._searched_s > (_DISCOVERY_S if all_exist else _MISSING_S):
            self._searched_s = now_s
            self._discover()
        if self._asked and all(answer.done() for answer in self._asked.values()):
            self._take_ids()
        if not self._at:
            self._consumer.poll(wait_s)
            return []
        received = self._consumer.consume(MOST_MESSAGES, 0)
        if not received:
            received = self._consumer.consume(1, wait_s)
            received += self._consumer.consume(MOST_MESSAGES - 1, 0) if received else []
        messages, errors = split_errors(received)
        messages, set_back = self._reread.drop(messages, self._at, now_s)
        self._note_positions(messages)
        if set_back:
            self._assign()
        if errors:
            self._note_ends(received)
        for error in errors:
            # A right to its group is not needed: it joins none.
            if error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
                raise self._cluster.denied(f"read {', '.join(map(self._cluster.topic, self._begin))}", error)
        if messages:
            self._suspect, self.connected, self._received_s = False, True, now_s
        elif self._suspect:
            self.connected = self._reachability.responds()
            self._suspect = not self.connected
        elif now_s - max(self._received_s, self._checked_s) > _SILENCE_S:
            self._checked_s = now_s
            if self._is_stuck():
                self._replace()
        return messages

    def ends(self) -> dict[tuple[str, int], int] | None:
        """Request the end of the committed messages of every partition; None without an answer, or without topics."""
        if not self._at:
            return None
        asked = {TopicPartition(self._cluster.topic(name), p): OffsetSpec.latest() for name, p in self._at}  # type: ignore[no-untyped-call]
        level = IsolationLevel.READ_COMMITTED
        try:
            found = self._client().list_offsets(asked, isolation_level=level, request_timeout=_REQUEST_S)
            ends = {
                (self._cluster.name(at.topic), at.partition): topics.stated(future, _REQUEST_S).offset
                for at, future in found.items()
            }
        except (KafkaException, TimeoutError):
            if time.monotonic() - self._answered_s > _SILENCE_S:  # it too can lose its broker for good
                self._admin = None
            return None
        self._answered_s = time.monotonic()
        lower = [at for at, end in ends.items() if end < max(self._at[at], self._end_seen.get(at, 0))]
        for at in lower:  # created anew, or the broker has lost its end
            self._at[at], self._searched_s = 0, float("-inf")
            self._end_seen.pop(at, None)
            self._reread.forget(*at)
            self._went_back.add(at)
        if lower:
            self._assign()
        return ends

    def has_read(self, ends: Mapping[tuple[str, int], int]) -> bool:
        """Return True if everything before `ends` has been returned."""
        return all(max(self._at.get(at, 0), self._end_seen.get(at, 0)) >= end for at, end in ends.items())

    def close(self) -> None:
        """Close the connection."""
        self._consumer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _client(self) -> AdminClient:
        if self._admin is None:  # one without requests in flight is false
            self._admin, self._answered_s = self._cluster.admin(), time.monotonic()
        return self._admin

    def _note_positions(self, messages: list[Message]) -> None:
        """Set each position behind the last message."""
        for message in messages:
            at, offset = (self._cluster.name(message.topic() or ""), message.partition() or 0), message.offset() or 0
            if offset < self._at.get(at, 0):
                self._went_back.add(at)
            self._at[at] = offset + 1

    def _note_ends(self, received: list[Message]) -> None:
        """Note the ends of partitions that were reached: what precedes them may be no message of a reader."""
        for message in received:
            error = message.error()
            if error is not None and error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001
                at = self._cluster.name(message.topic() or ""), message.partition() or 0
                self._end_seen[at] = message.offset() or 0

    def _discover(self) -> None:
        """Add topics and partitions that are new."""
        try:
            existing = self._consumer.list_topics(timeout=_REQUEST_S).topics
            there = {name: self._cluster.topic(name) for name in self._begin}
            found = {
                (name, p) for name in self._begin if there[name] in existing for p in existing[there[name]].partitions
            }
            if self._missing_at_first is None:
                self._missing_at_first = set(self._begin) - {name for name, _ in found}
            self._found = found
            if found and not self._asked:
                asked = {self._cluster.topic(name) for name, _ in found}
                self._asked, self._back_then = request_ids(self._client(), asked, _REQUEST_S), self._went_back.copy()
            new = sorted(found - set(self._at))
            if not new:
                return
            known = {name for name, _ in self._at} | self._missing_at_first
            starts = self._starts([at for at in new if at[0] not in known])
        except (KafkaException, FatalError, UserError):  # tried again with the next search
            self._suspect = True
            return
        self._at |= {at: starts.get(at, 0) for at in new}
        self._assign()

    def _take_ids(self) -> None:
        """Set the positions in topics that were deleted and created anew to their beginnings."""
        ids = {self._cluster.name(topic): of for topic, of in answered_ids(self._asked).items()}
        self._asked = {}
        others = {name for name, of in ids.items() if self._ids.get(name, of) != of}
        self._ids |= ids
        for at in [at for at in self._at if at[0] in others]:
            self._end_seen.pop(at, None)
            self._reread.forget(*at)
            if at not in self._found:
                del self._at[at]
            elif at not in self._went_back:
                self._at[at] = 0
        self._went_back = {at for at in self._went_back - self._back_then if at[0] not in others}
        if others:
            self._assign()

    def _starts(self, new: list[tuple[str, int]]) -> dict[tuple[str, int], int]:
        """Return the offset at which reading of each partition begins."""
        starts: dict[tuple[str, int], int] = {}
        for name in {name for name, _ in new}:
            begin = self._begin[name]
            partitions = [p for topic, p in new if topic == name]
            if isinstance(begin, Mapping):
                starts |= {(name, p): begin.get(p, 0) for p in partitions}
                continue
            ends = topics.end_offsets(self._cluster, name)
            starts |= {(name, p): ends.get(p, 0) for p in partitions}
            if not isinstance(begin, str):
                since_ms = round((time.time() - begin) * 1000)
                asked = [TopicPartition(self._cluster.topic(name), p, since_ms) for p in partitions]
                for found in self._consumer.offsets_for_times(asked, timeout=_REQUEST_S):
                    if found.error is None and found.offset >= 0:
                        end = ends.get(found.partition, 0)
                        starts[name, found.partition] = max(min(found.offset, end), end - self._most_back, 0)
        return starts

    def _assign(self) -> None:
        self._consumer.assign([self._reread.at(name, p, offset) for (name, p), offset in self._at.items()])

    def _is_stuck(self) -> bool:
        """Return True if committed messages wait that this consumer does not receive."""
        topic, named = self._cluster.topic, self._cluster.name
        passed = self._at.copy()  # also markers and aborted messages, which are no message of a reader
        for at in self._consumer.position([TopicPartition(topic(name), p) for name, p in self._at]):
            passed[named(at.topic), at.partition] = max(self._at[named(at.topic), at.partition], at.offset)
        try:
            for name in {name for name, _ in self._at}:
                ends = topics.end_offsets(self._cluster, name, committed=True)
                if any(end > passed.get((name, p), end) + 1 for p, end in ends.items()):
                    return True
        except (FatalError, UserError):  # no answer, or no such topic
            self._suspect = True
        return False

    def _replace(self) -> None:
        """Abandon this consumer for a new one at the same positions."""
        abandoned, self._consumer = self._consumer, self._new_consumer()
        # In a thread that does not keep the process alive: closing a consumer that is stuck may never return.
        threading.Thread(target=abandoned.close, name="kafka-abandoned", daemon=True).start()
        self._assign()

    def _new_consumer(self) -> Consumer:
        return self._cluster.consumer(
            {
                "group.id": f"beatwire-follower-{uuid.uuid4()}",  # required by librdkafka; the group is not joined
                "enable.auto.commit": False,
                "enable.partition.eof": self._reports_ends,
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 10,
                "fetch.error.backoff.ms": 100,
                "error_cb": self._on_error,
            }
        )

    def _on_error(self, error: KafkaError) -> None:
        self._suspect = self._suspect or error.code() in UNREACHABLE
