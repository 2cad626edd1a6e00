"""The transaction of one tick: it begins before all of the tick is known.

In: the positions of the input after the tick, and its messages as they become known. Out: one committed transaction.
State: what is on its way to the broker.

The broker takes several milliseconds for the offsets. They are on their way while the graph computes, as are the dead
letters, which are known first. What is sent and the offsets have the time at which the transaction began: so they are
known to belong together (`torn`).
"""

import time
from collections.abc import Mapping, Sequence

from beatwire.kafka.consuming.positions import Position
from beatwire.kafka.consuming.source import Source
from beatwire.kafka.publishing.patience import OUTAGE_S
from beatwire.kafka.publishing.transactions import Transactions
from beatwire.records import Outgoing


class TickTransaction:
    """A transaction, which begins with what is sent first.

    Parameters
    ----------
    transactions
        The producer, in which no transaction is open.
    source
        The member of the group that positions are committed for.
    """

    def __init__(self, transactions: Transactions, source: Source) -> None:
        self.transactions, self._source = transactions, source
        self._positions: Mapping[int, Position] = {}  # whose offsets are on their way
        self._stamped: dict[int, Position] = {}  # the same with the time at which it began
        self._begun_ms, self._sent = 0, 0

    def _begin(self) -> None:
        """Begin the transaction, once."""
        if not self._begun_ms:
            self.transactions.begin()
            self._begun_ms = time.time_ns() // 1_000_000

    def start_offsets(self, positions: Mapping[int, Position]) -> None:
        """Begin to add the input offsets, partition -> position after the tick; `commit` waits for them.

        Raises
        ------
        KafkaException
            The producer does not work.
        """
        self._begin()
        self._positions = positions
        self._stamped = {partition: at._replace(at_ms=self._begun_ms) for partition, at in positions.items()}
        self.transactions.start_offsets(self._source.offsets(self._stamped), self._source.group_metadata)

    def send(self, outgoing: Sequence[Outgoing]) -> None:
        """Send the first messages of the tick.

        Raises
        ------
        UserError, KafkaException
            The broker refuses a message, or the producer does not work.
        """
        self._begin()
        self.transactions.sender.send_all(outgoing, self._begun_ms)
        self._sent = len(outgoing)

    def commit(self, outgoing: Sequence[Outgoing], positions: Mapping[int, Position]) -> dict[int, Position]:
        """Send what is left of the tick and commit it.

        Parameters
        ----------
        outgoing
            All messages of the tick.
        positions
            Where they are others than those whose offsets are on their way, they take the place of these.

        Returns
        -------
        dict
            partition -> position, with the time at which the transaction began.

        Raises
        ------
        StaleError, UserError, KafkaException
            The transaction was not committed, or that is unknown.
        """
        self._begin()
        self.transactions.sender.send_all(outgoing[self._sent :], self._begun_ms)
        if self._positions:
            self.transactions.await_offsets()
        if positions and positions != self._positions:
            self.start_offsets(positions)
            self.transactions.await_offsets()
        self.transactions.commit(retry_s=OUTAGE_S)
        return self._stamped
