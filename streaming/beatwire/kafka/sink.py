"""The output: what a tick leads to and how far the input has come, both or neither.

Exactly-once: one transaction a tick holds its messages and the input's offsets. One that the broker
has given up is tried again while the input is still ours; one whose fate is unknown is left to the
group's commits, which tell it, by a `StaleError`. A sink whose id another process took over (fenced)
is finished. At-least-once: produce, wait for every acknowledgement, commit.
Either way messages of one key stay in order, and the broker removes what a retry sent twice.
"""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from queue import Empty, SimpleQueue
from typing import Self

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from beatwire.errors import FatalError
from beatwire.kafka import topics
from beatwire.kafka.positions import Position
from beatwire.kafka.sender import Sender
from beatwire.kafka.source import Source
from beatwire.records import Outgoing
from beatwire.wire import names

_TRANSACTION_S = 10.0
_OUTAGE_S = 120.0
_HUNG_S = 30.0
_AGAIN_S = 0.05
_FENCED = {KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH}  # noqa: SLF001


class StaleError(Exception):
    """The tick was not published, or nobody can say so: what the group has committed decides."""


class Sink:
    """Publishes ticks.

    Parameters
    ----------
    bootstrap
        ``host:port[,host:port...]``.
    exactly_once
        One transaction a tick; needs a real broker. Otherwise at-least-once.
    transactional_id
        To be held by one process at a time: taking it over ends the holder before. Made up, and so
        nobody else's, when None.

    Raises
    ------
    FatalError
        The broker gives out no transactions.
    """

    def __init__(self, bootstrap: str, *, exactly_once: bool = True, transactional_id: str | None = None) -> None:
        self.exactly_once = exactly_once
        self._bootstrap, self._named = bootstrap, transactional_id
        self._id = transactional_id or f"beatwire-{uuid.uuid4()}"  # kept when reopened: that ends the one before
        self._used = False
        self._known: dict[int, Position] = {}  # what we know to be committed
        self._tried: set[int] = set()  # partitions that a transaction of ours was about
        self._replaced = False  # since a tick was published
        self._sender = self._open()

    def close(self) -> None:
        """Let the connection go; what was published stays."""
        self._sender.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def publish(
        self, outgoing: Sequence[Outgoing], positions: Mapping[int, Position], source: Source, epoch: int
    ) -> None:
        """Publish a tick of `epoch`: its messages, and with them how far the input has come.

        Returns when readers of committed messages can see it.

        Raises
        ------
        StaleError
            The input is no longer ours, or the broker did not say what became of the tick: begin a
            new epoch at what the group has committed.
        FatalError
            The broker cannot be made to take it, or another process holds our transactional id.
        """
        if not self.exactly_once:
            self._queue(outgoing)
            self._sender.flush(_OUTAGE_S)
            source.commit(positions)
            return
        began = time.monotonic()
        while True:
            try:
                self._transact(outgoing, positions, source)
                self._known.update(positions)
                self._replaced = False
                return
            except KafkaException as error:
                self._check(error)
                if not self._aborted(error):
                    self._reopen()
                    raise StaleError from error
                if source.epoch != epoch:
                    raise StaleError from error
                waited_s = time.monotonic() - began
                if waited_s > _HUNG_S and not self._replaced and topics.answers(self._bootstrap):
                    self._replaced = True  # others are heard: ours has lost its broker, as consumers may
                    self._reopen()
                    raise StaleError from error
                if waited_s > _OUTAGE_S:
                    raise FatalError(
                        f"kafka: expected {self._bootstrap} to commit a tick in {_OUTAGE_S:g} s; "
                        f"got {topics.reason(error)}"
                    ) from error
                time.sleep(_AGAIN_S)

    def settle(self, partitions: Sequence[TopicPartition], source: Source) -> None:
        """End a transaction of ours on the group's offsets that the broker forgot to end.

        A broker that has the only replica may, while it stops or comes back, count a transaction as ended
        without having written that into the logs (Apache Kafka 4.3.1: "likely deleted already and hence can
        be skipped"). Readers of committed messages then stand before it for ever. The next transaction of
        the same id there ends both alike: so this one commits what was committed last, and where that is not
        known it is aborted. Nothing is lost; what was published in the forgotten one may come again. A partition
        that no transaction of ours was about waits for nothing of ours.

        Parameters
        ----------
        partitions
            Input partitions whose commits wait for the end of a transaction.
        source
            The member of the group.
        """
        if not self.exactly_once:
            return
        ours = self._tried.intersection(at.partition for at in partitions)
        known = {partition: self._known[partition] for partition in ours if partition in self._known}
        producer = self._sender.producer
        with contextlib.suppress(KafkaException, StaleError):  # it is asked for again
            producer.begin_transaction()
            if ours and len(known) == len(ours):
                self._send_offsets(source.offsets(known), source)
                producer.commit_transaction(_TRANSACTION_S)
            else:
                self._send_offsets(source.offsets({at.partition: Position(0, 0) for at in partitions}), source)
                producer.abort_transaction(_TRANSACTION_S)

    def finish_alerts(self) -> None:
        """End what of ours the broker forgot to end (see `settle`) on the alerts topic, so that it can be read.

        A tombstone without a key on every partition, committed; an alert that is repeated has the same id.
        """
        if not self._used:
            return
        producer = self._sender.producer
        with contextlib.suppress(KafkaException):  # then reading them says so
            producer.begin_transaction()
            for partition in producer.list_topics(names.ALERTS, _TRANSACTION_S).topics[names.ALERTS].partitions:
                producer.produce(names.ALERTS, None, b"", partition)
            producer.commit_transaction(_TRANSACTION_S)

    def _open(self) -> Sender:
        if not self.exactly_once:
            return Sender(self._bootstrap, {"message.timeout.ms": int(_OUTAGE_S * 1000)})
        sender = Sender(
            self._bootstrap,
            {"transactional.id": self._id, "transaction.timeout.ms": int(_TRANSACTION_S * 1000)},
        )
        try:
            sender.producer.init_transactions(_OUTAGE_S)
        except KafkaException as error:
            raise FatalError(
                f"kafka: expected transactions at {self._bootstrap}; got {topics.reason(error)}"
            ) from error
        return sender

    def _transact(self, outgoing: Sequence[Outgoing], positions: Mapping[int, Position], source: Source) -> None:
        producer = self._sender.producer
        self._used = True
        producer.begin_transaction()
        self._queue(outgoing)
        if positions:
            self._tried.update(positions)
            self._send_offsets(source.offsets(positions), source)
        deadline = time.monotonic() + _OUTAGE_S
        while True:
            try:
                producer.commit_transaction(_TRANSACTION_S)
                return
            except KafkaException as error:  # it may say that asking once more can help
                if not error.args[0].retriable() or time.monotonic() > deadline:
                    raise

    def _send_offsets(self, offsets: list[TopicPartition], source: Source) -> None:
        """Add the input's offsets; leave the library to itself when it does not come back.

        Raises
        ------
        StaleError
            It has not within a multiple of its time: see `topics.quiet`.
        """
        outcome: SimpleQueue[BaseException | None] = SimpleQueue()
        send, membership = self._sender.producer.send_offsets_to_transaction, source.group_metadata

        def call() -> None:
            try:
                send(offsets, membership, _TRANSACTION_S)
            except BaseException as error:
                outcome.put(error)
            else:
                outcome.put(None)

        threading.Thread(target=call, name="kafka-offsets", daemon=True).start()
        try:
            error = outcome.get(timeout=_HUNG_S)
        except Empty as hung:
            self._reopen()
            raise StaleError from hung
        if error is not None:
            raise error

    def _reopen(self) -> None:
        """Take a new producer with the same id: whatever the old one still does, the broker refuses."""
        threading.Thread(target=self._sender.close, name="kafka-lost", daemon=True).start()
        self._sender = self._open()

    def _check(self, error: KafkaException) -> None:
        """Stop for what will not get better."""
        cause = error.args[0]
        if cause.code() in _FENCED and self._named is not None:
            raise FatalError(
                f"kafka: expected to be alone with transactional id {self._named!r} at {self._bootstrap}; "
                f"got {cause.str()}"
            ) from error
        if self._sender.refused:
            raise FatalError(
                f"kafka: expected {self._bootstrap} to take every message; got {self._sender.refused}"
            ) from error

    def _aborted(self, error: KafkaException) -> bool:
        """Give the transaction up; False when its fate is not known."""
        if error.args[0].fatal():
            return False
        try:
            self._sender.producer.abort_transaction(_TRANSACTION_S)
        except KafkaException:
            return False
        return True

    def _queue(self, outgoing: Sequence[Outgoing]) -> None:
        for messages in outgoing:
            if messages.headers is None:
                self._sender.send(messages.topic, messages.keys, messages.values)
            else:
                self._sender.send_with_headers(messages.topic, messages.keys, messages.values, messages.headers)
