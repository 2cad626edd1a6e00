"""Transactions of one transactional id.

In: messages (through `Transactions.sender`) and input offsets. Out: committed or aborted transactions. State: the
producer. One that is opened takes the transactional id from its holder: the broker ends what that one left open and
refuses whatever it still sends.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from queue import Empty, SimpleQueue

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from beatwire.errors import FatalError, UserError
from beatwire.kafka import topics
from beatwire.kafka.cluster import DENIED, Cluster
from beatwire.kafka.publishing.patience import OUTAGE_S, SLICE_S, Patience, StaleError
from beatwire.kafka.publishing.sender import Sender
from beatwire.kafka.publishing.torn import Open
from beatwire.kafka.rights import not_writable
from beatwire.wire import names

TRANSACTION_S = 10.0  # for each request of a transaction
# The broker aborts a transaction that is open for longer. A successor of a killed worker waits for that as well as for
# the end of its session, 6 s at the local broker.
OPEN_S = 6.0
_PAUSE_S = 0.02  # before a call that may have failed at once is repeated
_OPENING_S = 2.0  # for each attempt to open a producer, the next goes on where it has ended
STUCK_S = 30.0  # a multiple of TRANSACTION_S: a call that takes longer does not return


class Transactions:
    """A transactional producer.

    Parameters
    ----------
    transactional_id
        Used by one process at a time: a second one that takes it ends the first.
    stop
        Set when the process is to end: no broker is waited for any more. None: it never is.

    Attributes
    ----------
    name : str
        The transactional id.
    sender : Sender
        The producer.
    discarded : bool
        It has stopped working and is to be replaced.

    Raises
    ------
    FatalError
        The broker does not support transactions.
    StaleError
        It did not answer before the process was to end.
    """

    def __init__(self, cluster: Cluster, transactional_id: str, stop: threading.Event | None = None) -> None:
        self._cluster, self.name = cluster, transactional_id
        self._patience = Patience(threading.Event() if stop is None else stop)
        self.sender = self._open()
        self.discarded = False
        self._fenced = False  # or has failed for good otherwise
        self._sending: threading.Thread | None = None
        self._sending_s, self._outcome = 0.0, SimpleQueue[BaseException | None]()  # of the offsets on their way

    def begin(self) -> None:
        """Begin a transaction."""
        self.sender.producer.begin_transaction()

    def send_offsets(self, offsets: list[TopicPartition], group_metadata: object) -> None:
        """Add input offsets to the transaction.

        Raises
        ------
        StaleError, KafkaException
            As `await_offsets` does.
        """
        self.start_offsets(offsets, group_metadata)
        self.await_offsets()

    def start_offsets(self, offsets: list[TopicPartition], group_metadata: object) -> None:
        """Begin to add input offsets to the transaction; messages may be sent meanwhile, and `await_offsets` follows.

        It is a thread's work, which is abandoned if librdkafka does not return.
        """
        outcome = self._outcome = SimpleQueue[BaseException | None]()
        send, self._sending_s = self.sender.producer.send_offsets_to_transaction, time.monotonic()

        def call() -> None:
            try:
                send(offsets, group_metadata, TRANSACTION_S)
            except BaseException as error:
                outcome.put(error)
            else:
                outcome.put(None)

        self._sending = threading.Thread(target=call, name="kafka-offsets", daemon=True)
        self._sending.start()

    def await_offsets(self) -> None:
        """Wait until the broker has taken the offsets that `start_offsets` sends.

        Raises
        ------
        StaleError
            The call did not return in `STUCK_S` seconds (see `Cluster.settings`); the producer was discarded.
        KafkaException
            The broker refused the offsets.
        """
        while True:
            with contextlib.suppress(Empty):
                error = self._outcome.get(timeout=SLICE_S)
                break
            if time.monotonic() - self._sending_s > STUCK_S or self._patience.ended:
                self.discard()
                raise StaleError
        if error is not None:
            raise error

    def commit(self, *, retry_s: float = TRANSACTION_S) -> None:
        """Commit the transaction; repeat the request for `retry_s` seconds while librdkafka reports that this may help.

        Raises
        ------
        KafkaException
            The transaction was not committed, or its outcome is unknown.
        """
        self._request(self.sender.producer.commit_transaction, retry_s)

    def abort(self) -> bool:
        """Abort the transaction; discard the producer and return False if the broker refuses it or does not answer."""
        if self.discarded:
            return False
        try:
            self._abort()
        except KafkaException:
            self.discard()
        return not self.discarded

    def sweep(self, empty: Mapping[str, int], offsets: list[TopicPartition], group_metadata: object) -> None:
        """Abort what earlier holders of the transactional id have left open in partitions of topics and on offsets.

        A broker with the only replica that stops or starts may count a transaction as ended without having written its
        end to the logs (Apache Kafka 4.3.1: "likely deleted already and hence can be skipped"). Readers of committed
        messages then wait for that end without limit. The end of the next transaction of the same id that has a
        message there ends both: this one has an empty message everywhere, and is aborted.

        Parameters
        ----------
        empty
            Topic, by its name at the brokers -> its number of partitions.
        offsets, group_metadata
            As `send_offsets` takes them.

        Raises
        ------
        KafkaException, StaleError, FatalError
            As the other methods do; it can be repeated.
        """
        self.begin()
        self.sender.mark({topic: range(partitions) for topic, partitions in empty.items()})
        if offsets:
            self.send_offsets(offsets, group_metadata)
        self._flush()  # messages that wait would be dropped, and their partitions left out
        self._abort()

    def end_torn(self, partitions: Sequence[Open]) -> None:
        """Commit what is open of this producer in partitions where it counts as published, and abort it elsewhere.

        Where it is committed, a tombstone without a key is committed with it; readers skip it.

        Raises
        ------
        KafkaException
            As the other methods do.
        """
        for published in (True, False):
            of_kind = [at for at in partitions if at.published == published]
            if not of_kind:
                continue
            self.begin()
            for at in of_kind:
                self.sender.mark({at.topic: [at.partition]})
            self._flush()
            if published:
                self.commit()
            else:
                self._abort()

    def discard(self) -> None:
        """Give the producer up: closing it may not return. It is closed when no call of it is left, maybe never."""
        self.discarded = True
        sending = self._sending

        def close() -> None:
            if sending is not None:
                sending.join()
            self.sender.close()

        threading.Thread(target=close, name="kafka-abandoned", daemon=True).start()

    def close(self) -> None:
        """Close the connection; committed transactions stay."""
        if self.discarded:
            return
        if self._sending is not None and self._sending.is_alive():
            self.discard()
        else:
            self.sender.close()

    def raise_if_permanent(self, error: KafkaException) -> None:
        """Raise an error that does not pass; the producer is discarded: to close it may not return.

        Raises
        ------
        UserError, FatalError
            This client may not do it, or the broker refuses a message.
        """
        self.sender.take_reports()  # they may wait: the first call that fails is often another one
        try:
            self.raise_if_denied(error)
            if self.sender.is_permanent:
                raise FatalError(
                    f"kafka: expected {self._cluster} to accept every message; got {self.sender.refused}"
                ) from error
        except (UserError, FatalError):
            self.discard()
            raise

    def raise_if_denied(self, error: KafkaException) -> None:
        """Raise UserError if this client may not do it; the message names the right and the topics."""
        cause = error.args[0]
        self.sender.raise_denied()
        if cause.code() in DENIED:
            raise self._cluster.denied(self._action(cause), cause) from error

    def _action(self, cause: KafkaError) -> str:
        """Return what this client may not do."""
        if cause.code() == KafkaError.GROUP_AUTHORIZATION_FAILED:
            return f"commit for its group in transactions as {self.name!r}"
        if cause.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
            return f"write to {', '.join(not_writable(self._cluster, names.OUTPUT)) or 'each topic of the output'}"
        return f"publish in transactions as {self.name!r}"

    def _abort(self) -> None:
        self._request(self.sender.producer.abort_transaction, TRANSACTION_S)

    def _flush(self) -> None:
        deadline = time.monotonic() + TRANSACTION_S
        while self.sender.producer.flush(SLICE_S) and time.monotonic() < deadline and not self._patience.ended:
            pass

    def _request(self, request: Callable[[float], object], within_s: float) -> None:
        """Make a request, and repeat it while that may help; each call is short, as no signal can end it.

        Nothing helps a producer that was fenced: librdkafka then takes a commit that has failed for one in progress.
        """
        deadline = time.monotonic() + within_s
        while True:
            try:
                request(SLICE_S)
                return
            except KafkaException as error:
                cause = error.args[0]
                self._fenced |= cause.fatal()
                helps = cause.retriable() and not self._fenced
                if not helps or time.monotonic() >= deadline or self._patience.ended:
                    raise
            time.sleep(_PAUSE_S)

    def _open(self) -> Sender:
        sender = Sender(self._cluster, settings_of(self.name))
        deadline = time.monotonic() + OUTAGE_S
        while True:
            try:
                sender.producer.init_transactions(_OPENING_S)
            except KafkaException as error:
                if error.args[0].retriable() and time.monotonic() < deadline and not self._patience.stop.is_set():
                    time.sleep(_PAUSE_S)
                    continue
                sender.close()
                if self._patience.stop.is_set():
                    raise StaleError from error
                if error.args[0].code() in DENIED:
                    raise self._cluster.denied(f"use the transactional id {self.name!r}", error.args[0]) from error
                raise FatalError(
                    f"kafka: expected transactions at {self._cluster}; got {topics.error_text(error)}"
                ) from error
            return sender


def settings_of(transactional_id: str) -> dict[str, object]:
    """Return the librdkafka settings of a producer with transactions, beside those of every sender."""
    return {"transactional.id": transactional_id, "transaction.timeout.ms": int(OPEN_S * 1000)}
