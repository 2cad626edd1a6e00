"""The embedded broker: librdkafka's mock cluster, inside this process and without Java.

Differences from Apache Kafka: a partition keeps 5 MiB or 100,000 batches, and older messages are dropped silently; any
topic is created on first use, with 4 partitions; transactions are incomplete (readers receive aborted messages, input
offsets are not applied, nothing is fenced); there are no KIP-848 groups. It serves demos and fast tests with
at-least-once delivery, never exactly-once.
"""

from typing import Self

from beatwire.errors import FatalError
from beatwire.kafka import topics
from beatwire.kafka.cluster import Cluster, UnansweredError


class MockKafka:
    """A mock cluster of one broker that ends with this object.

    Attributes
    ----------
    bootstrap : str
        ``host:port[,host:port...]``.
    cluster : Cluster
        The same, as clients take it.
    """

    def __init__(self) -> None:
        self._owner = Cluster("embedded").producer({"test.mock.num.brokers": 1})
        addresses = self._owner.list_topics(timeout=5.0).brokers
        self.bootstrap = ",".join(f"{broker.host}:{broker.port}" for broker in addresses.values())
        self.cluster = Cluster(self.bootstrap)
        for name in topics.TOPICS:  # a request for a topic creates it
            self._owner.list_topics(name, timeout=5.0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the cluster and every connection to it."""
        self._owner.close()


def is_mock(cluster: Cluster, *, timeout_s: float = 30.0) -> bool:
    """Return True if a mock cluster answers at `cluster`; wait for a broker that starts again.

    Raises
    ------
    UserError
        The brokers refuse the connection.
    FatalError
        No broker answers within `timeout_s` seconds.
    """
    try:
        return str(cluster.metadata(timeout_s).cluster_id).startswith("mockCluster")
    except UnansweredError as error:
        raise FatalError(f"kafka: expected a broker at {cluster}; got no answer in {timeout_s:g} s") from error
