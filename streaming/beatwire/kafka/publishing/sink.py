"""The output of the monitor: the messages of a tick and the input offsets that they belong to, published together.

In: the messages of a tick (`Outgoing`) and the positions of the input. Out: messages and commits at the broker.
State: the producer, the positions that it has committed, and the transaction of the tick in work.

Exactly once: one transaction a tick contains its messages and the input offsets. An aborted transaction is repeated
while the epoch of its input lasts. If the outcome is unknown, `StaleError` is raised, and the caller continues at the
group's commits.

The transactional id is that of the first partition of the epoch (`Source.transactional_id`). So whoever takes a
partition over ends at once what a member that was killed has left open, and a member that comes back late is refused.

At least once: produce, wait for every acknowledgement, commit.

In both cases messages of one key stay in order, and the broker discards duplicates of the client's own retries.
"""

import contextlib
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Self

from confluent_kafka import KafkaException, TopicPartition

from beatwire.errors import FatalError
from beatwire.kafka import topics
from beatwire.kafka.cluster import Cluster, UnansweredError
from beatwire.kafka.consuming.positions import Position
from beatwire.kafka.consuming.source import Source
from beatwire.kafka.publishing.left_open import LeftOpen
from beatwire.kafka.publishing.patience import OUTAGE_S, StaleError, flush_until
from beatwire.kafka.publishing.sender import Sender
from beatwire.kafka.publishing.tick_transaction import TickTransaction
from beatwire.kafka.publishing.transactions import STUCK_S, Transactions
from beatwire.kafka.reachability import broker_responds
from beatwire.records import Outgoing

__all__ = ["Sink", "StaleError"]

_RETRY_S = 0.05
_SWEEPS = 5  # attempts: a broker that refuses them must not stop the monitor


class Sink:
    """Publishes ticks.

    Parameters
    ----------
    exactly_once
        Publish each tick in one transaction, which needs a real broker; otherwise at least once.
    stop
        Set when the process is to end: a broker that is away is not waited for any more. None: it never is.

    Raises
    ------
    FatalError
        The broker does not support transactions.
    """

    def __init__(self, cluster: Cluster, *, exactly_once: bool = True, stop: threading.Event | None = None) -> None:
        self._cluster, self._stop = cluster, threading.Event() if stop is None else stop
        self._left_open = LeftOpen(cluster)
        self._output: Transactions | Sender
        if exactly_once:
            try:
                self._output = Transactions(cluster, f"beatwire-{uuid.uuid4()}", stop)  # until there are partitions
            except StaleError as error:
                raise FatalError(f"kafka: expected transactions at {cluster}; got a signal to stop") from error
        else:
            self._output = Sender(cluster, {"message.timeout.ms": int(OUTAGE_S * 1000)})
        self._epoch = -1  # for which the producer was opened
        self._known = False  # the last transaction was committed
        self._sweeps = 0  # attempts left to end what others have left open
        self._committed: dict[int, Position] = {}  # in this epoch
        self._replaced = False  # the producer was replaced since the last tick that was published
        self._ahead: TickTransaction | None = None  # of the tick in work

    def close(self) -> None:
        """Close the connection; published ticks stay."""
        self._output.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def begin_tick(self, positions: Mapping[int, Position], source: Source, epoch: int) -> None:
        """Begin the transaction of a tick before it is computed: the broker takes the offsets meanwhile.

        `publish` follows. If this fails, it begins the transaction.

        Parameters
        ----------
        positions, source, epoch
            As `publish` takes them.

        Raises
        ------
        UserError, FatalError
            The broker refuses it.
        """
        self._do_ahead(lambda tick: tick.start_offsets(positions), source, epoch)

    def send_ahead(self, outgoing: Sequence[Outgoing], source: Source, epoch: int) -> None:
        """Send the first messages of a tick: the broker takes them while the others are made.

        As `begin_tick`; `publish` follows, with all messages of the tick.
        """
        self._do_ahead(lambda tick: tick.send(outgoing), source, epoch)

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
            The epoch is over, or the outcome is unknown: begin a new epoch at the group's commits. Or the process is to
            end, and the broker is away.
        FatalError
            The broker refuses a message, or is away for too long.
        """
        if isinstance(self._output, Sender):
            self._output.send_all(outgoing, time.time_ns() // 1_000_000)
            flush_until(self._output, self._stop)
            source.commit(positions)
            return
        began_s = time.monotonic()
        while True:
            tick = self._take_tick(source, epoch)
            transactions = tick.transactions
            try:
                self._committed.update(tick.commit(outgoing, positions))
                self._known, self._replaced = True, False
                return
            except KafkaException as error:
                transactions.raise_if_permanent(error)
                if self._stop.is_set():
                    transactions.discard()
                    raise StaleError from error
                if not transactions.abort():
                    raise StaleError from error
                if source.epoch != epoch:  # not to be taken for an outage
                    raise StaleError from error
                waited_s = time.monotonic() - began_s
                # The broker answers others but not this producer: the producer has lost its broker, as consumers may.
                if waited_s > STUCK_S and not self._replaced and broker_responds(self._cluster):
                    self._replaced = True
                    transactions.discard()
                    raise StaleError from error
                if waited_s > OUTAGE_S:
                    raise FatalError(
                        f"kafka: expected {self._cluster} to commit a tick in {OUTAGE_S:g} s; "
                        f"got {topics.error_text(error)}"
                    ) from error
                time.sleep(_RETRY_S)
                self._sweeps = _SWEEPS

    def end_pending_transactions(self, partitions: Sequence[TopicPartition], source: Source) -> None:
        """End the transactions that are open on the group's offsets, of this sink or of members that are gone.

        What this sink has committed is committed once more, in case the broker has forgotten to write that; everything
        else is aborted. Failures are ignored: the caller asks again while commits are pending.

        Parameters
        ----------
        partitions
            Input partitions of this member.
        source
            The member of the group.
        """
        own = self._output
        if isinstance(own, Sender):
            return
        pending = [at.partition for at in partitions]
        with contextlib.suppress(KafkaException, StaleError, FatalError, UnansweredError):
            last = self._last_commits(pending, source)
            if not last:
                self._left_open.abort_pending(own, source, pending)
            elif not self._left_open.commit_again(own, source, last):
                self._known = False

    def end_open_transactions(self, source: Source) -> None:
        """End what earlier holders of the transactional id have left open, so that the alerts can be read to their end.

        After a transaction that was committed a tombstone without a key is committed to every partition of the alerts;
        readers skip it. Failures are ignored: reading the alerts then fails. Where the process is to end nothing is
        waited for.
        """
        if isinstance(self._output, Sender) or not source.assigned:
            return
        with contextlib.suppress(StaleError):
            for _ in range(2):  # a producer that the broker refuses is found out by its first transaction
                if not self._known:
                    self._sweeps = _SWEEPS
                before = self._output
                transactions = self._transactions(source, source.epoch)
                if transactions is before and not transactions.discarded:
                    self._left_open.end_torn(transactions, source)
                if self._known and not transactions.discarded:
                    self._left_open.end_alerts(transactions)
                if not transactions.discarded:
                    return

    def _do_ahead(self, do: Callable[[TickTransaction], None], source: Source, epoch: int) -> None:
        """Do something in the transaction of a tick that is not known yet; abort it if that fails."""
        if isinstance(self._output, Sender):
            return
        with contextlib.suppress(StaleError):  # `publish` raises it
            tick = self._take_tick(source, epoch)
            try:
                do(tick)
                self._ahead = tick
            except KafkaException as error:
                tick.transactions.raise_if_permanent(error)
                tick.transactions.abort()

    def _take_tick(self, source: Source, epoch: int) -> TickTransaction:
        """Return the transaction of the tick in work: the one that has begun, or a new one.

        Raises
        ------
        StaleError
            The epoch is over, or the producer does not work; what has begun is aborted.
        """
        tick, self._ahead = self._ahead, None
        if tick is None:
            tick = TickTransaction(self._current(source, epoch), source)
        elif source.epoch != epoch:
            tick.transactions.abort()
            raise StaleError
        self._known = False
        return tick

    def _current(self, source: Source, epoch: int) -> Transactions:
        """Return the producer of an epoch, or raise StaleError if it is over or the producer does not work.

        The broker takes the offsets of a member that did not give a partition up in time, although others have it.
        """
        transactions = self._transactions(source, epoch) if source.epoch == epoch else None
        if transactions is None or transactions.discarded or source.epoch != epoch:
            raise StaleError
        return transactions

    def _transactions(self, source: Source, epoch: int) -> Transactions:
        """Return the producer of an epoch; open it for the first tick, and after it has stopped working.

        It is discarded if it stopped working while it ended what others have left open.
        """
        transactions = self._output
        assert isinstance(transactions, Transactions)
        name = source.transactional_id(min(source.assigned)) if source.assigned else transactions.name
        if epoch == self._epoch and name == transactions.name and not transactions.discarded:
            if self._sweeps > 0:
                self._sweeps = 0 if self._left_open.abort(transactions, source) else self._sweeps - 1
            return transactions
        self._known = self._known and name == transactions.name and not transactions.discarded
        if not transactions.discarded:
            transactions.discard()
        self._output = transactions = Transactions(self._cluster, name, self._stop)
        self._epoch = epoch
        self._committed.clear()
        self._left_open.end_torn(transactions, source)
        self._sweeps = 0 if self._known or self._left_open.abort(transactions, source) else _SWEEPS
        return transactions

    def _last_commits(self, partitions: Sequence[int], source: Source) -> dict[int, Position]:
        """Return what this sink has committed last, if nobody else has committed since and nothing failed; else {}."""
        last = {partition: self._committed[partition] for partition in partitions if partition in self._committed}
        own = self._output
        if not self._known or not last or not isinstance(own, Transactions) or own.discarded:
            return {}
        before = source.committed(last)
        return last if all(at.offset >= before[partition] for partition, at in last.items()) else {}
