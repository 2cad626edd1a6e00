"""The output of the monitor: the messages of a tick and the input offsets that they belong to, published together.

In: the messages of a tick (`Outgoing`) and the positions of the input. Out: messages and commits at the broker.
State: the producer, and the positions that it has committed.

Exactly once: one transaction a tick contains its messages and the input offsets. An aborted transaction is repeated
while the epoch of its input lasts. If the outcome is unknown, `StaleError` is raised, and the caller continues at the
group's commits. If another process has taken the transactional id (fencing), `FatalError` is raised.

At least once: produce, wait for every acknowledgement, commit.

In both cases messages of one key stay in order, and the broker discards duplicates of the client's own retries.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Self

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from beatwire.errors import FatalError
from beatwire.kafka import topics
from beatwire.kafka.cluster import DENIED, Cluster
from beatwire.kafka.positions import Position
from beatwire.kafka.reachability import broker_responds
from beatwire.kafka.sender import Sender
from beatwire.kafka.source import Source
from beatwire.kafka.transactions import OUTAGE_S, STUCK_S, TRANSACTION_S, StaleError, Transactions
from beatwire.records import Outgoing
from beatwire.wire import names

__all__ = ["Sink", "StaleError"]

_RETRY_S = 0.05
_FENCED = {KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH}  # noqa: SLF001


class Sink:
    """Publishes ticks.

    Parameters
    ----------
    cluster
        The brokers, and how to reach them.
    exactly_once
        Publish each tick in one transaction, which needs a real broker; otherwise at least once.
    transactional_id
        Used by one process at a time: a second one that takes it ends the first. By default a random one.

    Raises
    ------
    FatalError
        The broker does not support transactions.
    """

    def __init__(self, cluster: Cluster, *, exactly_once: bool = True, transactional_id: str | None = None) -> None:
        self._cluster, self._given_id = cluster, transactional_id
        self._output: Transactions | Sender
        if exactly_once:
            self._output = Transactions(cluster, transactional_id or f"beatwire-{uuid.uuid4()}")
        else:
            self._output = Sender(cluster, {"message.timeout.ms": int(OUTAGE_S * 1000)})
        self._used = False  # a transaction was begun
        self._committed: dict[int, Position] = {}  # by transactions of this sink
        self._attempted: set[int] = set()  # partitions whose offsets were sent in a transaction of this sink
        self._replaced = False  # the producer was replaced since the last tick that was published

    def close(self) -> None:
        """Close the connection; published ticks stay."""
        self._output.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def publish(
        self, outgoing: Sequence[Outgoing], positions: Mapping[int, Position], source: Source, epoch: int
    ) -> None:
        """Publish the messages of a tick, and commit the positions of the input after it.

        Returns when readers of committed messages can read the tick.

        Parameters
        ----------
        outgoing
            The messages of the tick.
        positions
            partition -> position after the tick.
        source
            The member of the group that the positions are committed for.
        epoch
            The epoch of the tick.

        Raises
        ------
        StaleError
            The epoch is over, or the outcome is unknown: begin a new epoch at the group's commits.
        FatalError
            The broker refuses a message, is away for too long, or another process took the transactional id.
        """
        if isinstance(self._output, Sender):
            self._send(self._output, outgoing)
            self._output.flush(OUTAGE_S)
            source.commit(positions)
            return
        transactions = self._output
        began_s = time.monotonic()
        while True:
            try:
                self._transact(transactions, outgoing, positions, source)
                self._committed.update(positions)
                self._replaced = False
                return
            except KafkaException as error:
                self._raise_if_permanent(transactions, error)
                if error.args[0].fatal() or not transactions.abort():
                    transactions.reopen()
                    raise StaleError from error
                if source.epoch != epoch:
                    raise StaleError from error
                waited_s = time.monotonic() - began_s
                # The broker answers others but not this producer: the producer has lost its broker, as consumers may.
                if waited_s > STUCK_S and not self._replaced and broker_responds(self._cluster):
                    self._replaced = True
                    transactions.reopen()
                    raise StaleError from error
                if waited_s > OUTAGE_S:
                    raise FatalError(
                        f"kafka: expected {self._cluster} to commit a tick in {OUTAGE_S:g} s; "
                        f"got {topics.error_text(error)}"
                    ) from error
                time.sleep(_RETRY_S)

    def end_pending_transaction(self, partitions: Sequence[TopicPartition], source: Source) -> None:
        """End a transaction of this sink that the broker has left open on the group's offsets.

        A broker with the only replica that stops or starts may count a transaction as ended without having written
        its end to the logs (Apache Kafka 4.3.1: "likely deleted already and hence can be skipped"). Readers of
        committed messages then wait for that end without limit. The next transaction of the same transactional id
        writes an end for both. Therefore one is made here: it commits the positions that were committed last, or is
        aborted if those are unknown. Nothing is lost; messages of the first transaction may be published again.
        Partitions that no transaction of this sink has touched are waiting for another process and are left out.

        Failures are ignored: the caller asks again while the commits are pending.

        Parameters
        ----------
        partitions
            Input partitions whose commits are part of a transaction that does not end.
        source
            The member of the group.
        """
        transactions = self._output
        if isinstance(transactions, Sender):
            return
        touched = self._attempted.intersection(at.partition for at in partitions)
        last = {partition: self._committed[partition] for partition in touched if partition in self._committed}
        with contextlib.suppress(KafkaException, StaleError):
            transactions.begin()
            if touched and len(last) == len(touched):
                transactions.send_offsets(source.offsets(last), source.group_metadata)
                transactions.commit()
            else:
                start = {at.partition: Position(0, 0) for at in partitions}
                transactions.send_offsets(source.offsets(start), source.group_metadata)
                transactions.abort()

    def end_alerts_transaction(self) -> None:
        """End a transaction of this sink that the broker has left open on the alerts topic, so that it can be read.

        See `end_pending_transaction`. A tombstone without a key is committed to every partition; readers skip it. An
        alert that is published again has the same id. Failures are ignored: reading the alerts then fails.
        """
        transactions = self._output
        if isinstance(transactions, Sender) or not self._used:
            return
        producer, alerts = transactions.sender.producer, self._cluster.topic(names.ALERTS)
        with contextlib.suppress(KafkaException):
            transactions.begin()
            for partition in producer.list_topics(alerts, TRANSACTION_S).topics[alerts].partitions:
                producer.produce(alerts, None, b"", partition)
            transactions.commit()

    def _transact(
        self,
        transactions: Transactions,
        outgoing: Sequence[Outgoing],
        positions: Mapping[int, Position],
        source: Source,
    ) -> None:
        """Publish a tick in one transaction."""
        self._used = True
        transactions.begin()
        self._send(transactions.sender, outgoing)
        if positions:
            self._attempted.update(positions)
            transactions.send_offsets(source.offsets(positions), source.group_metadata)
        transactions.commit(retry_s=OUTAGE_S)

    def _raise_if_permanent(self, transactions: Transactions, error: KafkaException) -> None:
        """Raise an error that does not pass."""
        cause = error.args[0]
        transactions.sender.raise_denied()
        if cause.code() in DENIED:
            raise self._cluster.denied("publish in transactions", cause) from error
        if cause.code() in _FENCED and self._given_id is not None:
            raise FatalError(
                f"kafka: expected no other process with transactional id {self._given_id!r} at {self._cluster}; "
                f"got {cause.str()}"
            ) from error
        if transactions.sender.refused:
            raise FatalError(
                f"kafka: expected {self._cluster} to accept every message; got {transactions.sender.refused}"
            ) from error

    @staticmethod
    def _send(sender: Sender, outgoing: Sequence[Outgoing]) -> None:
        for messages in outgoing:
            if messages.headers is None:
                sender.send(messages.topic, messages.keys, messages.values)
            else:
                sender.send_with_headers(messages.topic, messages.keys, messages.values, messages.headers)
