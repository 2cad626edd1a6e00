"""Transactions that members of a group have left open: who was killed, or lost the broker, ends nothing.

In: a producer (`Transactions`) and the member of the group that ends them (`Source`). Out: the broker has ended them,
so that readers of committed messages read on. No state.
"""

import contextlib
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence

from confluent_kafka import KafkaException

from beatwire.errors import FatalError
from beatwire.kafka.cluster import Cluster, UnansweredError
from beatwire.kafka.consuming.positions import Position
from beatwire.kafka.consuming.source import Source
from beatwire.kafka.publishing.patience import StaleError
from beatwire.kafka.publishing.torn import find_torn
from beatwire.kafka.publishing.transactions import TRANSACTION_S, Transactions
from beatwire.wire import names

_LOGGER = logging.getLogger("beatwire")


class LeftOpen:
    """Ends transactions that others, or an earlier producer of the same process, have left open."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def abort(self, transactions: Transactions, source: Source, partitions: Iterable[int] | None = None) -> bool:
        """Abort what is open of a transactional id; return False if the broker did not do it.

        A producer that the broker refuses, or that no longer reaches it, is discarded.

        Parameters
        ----------
        transactions
            A producer of that transactional id.
        source
            The member of the group.
        partitions
            Input partitions whose commits are pending; without them all partitions of the member.

        Raises
        ------
        UserError
            This client may not write there.
        """
        of = sorted(source.assigned) if partitions is None else partitions
        offsets = source.offsets({partition: Position(0, 0) for partition in of})
        try:
            output = self._partitions(names.OUTPUT)
        except UnansweredError:
            return False
        try:
            transactions.sweep(output, offsets, source.group_metadata)
        except (KafkaException, StaleError, FatalError) as error:
            if isinstance(error, KafkaException):
                transactions.raise_if_denied(error)
            _LOGGER.debug("transactions of %s that were left open could not be ended: %s", transactions.name, error)
            transactions.abort()
            return False
        return True

    def abort_pending(self, own: Transactions, source: Source, pending: Sequence[int]) -> None:
        """Abort what commits wait for, by the transactional ids that belong to their input partitions.

        Raises
        ------
        FatalError
            The broker does not give a transactional id.
        """
        for partition in pending:
            name = source.transactional_id(partition)
            if name == own.name and not own.discarded:
                self.abort(own, source)
            else:
                with self._other(name) as other:
                    self.abort(other, source, pending)

    def commit_again(self, own: Transactions, source: Source, positions: Mapping[int, Position]) -> bool:
        """Commit positions that were committed before; return False if the broker did not do it.

        Raises
        ------
        StaleError
            As `Transactions.send_offsets`.
        """
        try:
            own.begin()
            own.send_offsets(source.offsets(positions), source.group_metadata)
            own.commit()
        except KafkaException:
            own.abort()
            return False
        return True

    def end_torn(self, own: Transactions, source: Source) -> None:
        """End what the broker has ended in some partitions only, by whichever transactional id it was begun."""
        torn = find_torn(self._cluster, source.group, source.topic, names.OUTPUT)
        inputs = range(0)
        with contextlib.suppress(UnansweredError):
            inputs = range(sum(self._partitions([source.topic]).values()) if torn else 0)
        ids = map(source.transactional_id, (*sorted(source.assigned), *inputs))
        for name in dict.fromkeys((own.name, *ids)):
            if not torn:
                return
            with contextlib.suppress(KafkaException, FatalError):
                if name == own.name:
                    own.end_torn(torn)
                else:
                    with self._other(name) as other:
                        other.end_torn(torn)
            torn = find_torn(self._cluster, source.group, source.topic, names.OUTPUT)

    def end_alerts(self, own: Transactions) -> None:
        """End what is open behind a committed transaction of the same id in any partition of the alerts.

        A tombstone without a key is committed to each; readers skip it. A failure is not raised.
        """
        try:
            own.begin()
            found = self._partitions([names.ALERTS])
            own.sender.mark({topic: range(partitions) for topic, partitions in found.items()})
            own.commit()
        except (KafkaException, UnansweredError):
            own.abort()

    @contextlib.contextmanager
    def _other(self, name: str) -> Iterator[Transactions]:
        """Open a producer of a transactional id; give it up at the end, as closing one that has failed may not return.

        Raises
        ------
        FatalError
            The broker does not give the transactional id.
        """
        other = Transactions(self._cluster, name)
        try:
            yield other
        finally:
            if not other.discarded:
                other.discard()

    def _partitions(self, wanted: Sequence[str]) -> dict[str, int]:
        """Return the partitions of topics, by their names at the brokers."""
        found = self._cluster.metadata(TRANSACTION_S).topics
        there = map(self._cluster.topic, wanted)
        return {topic: len(found[topic].partitions) for topic in there if topic in found}
