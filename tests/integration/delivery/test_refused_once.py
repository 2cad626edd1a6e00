"""What is refused on its way is sent again, and none is lost.

A broker that knows nothing of a producer takes whatever sequence number comes first, and librdkafka (2.16) takes the
acknowledgement of the next message for one of all before it: with several requests under way the first is lost.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.local.broker import LocalKafka
from beatwire.kafka.publishing.sender import Sender
from beatwire.kafka.publishing.transactions import Transactions
from beatwire.kafka.reading.readers import read_to_end
from beatwire.kernels.intake.bundles import MAX_BUNDLE_BYTES
from beatwire.wire import names
from moments import wait_until

pytestmark = pytest.mark.kafka


@contextmanager
def plain(cluster: Cluster) -> Iterator[Sender]:
    with Sender(cluster) as sender:
        yield sender


@contextmanager
def transactional(cluster: Cluster) -> Iterator[Sender]:
    transactions = Transactions(cluster, "one")
    transactions.begin()
    yield transactions.sender
    transactions.commit()
    transactions.close()


@pytest.mark.parametrize("opened", [pytest.param(plain, marks=pytest.mark.slow), transactional])
def test_a_message_that_was_refused_once_is_not_lost(need_kafka, opened):
    with LocalKafka(behind_network=True) as kafka:
        kafka.network.refuse(names.ALERTS, b"first")
        with opened(kafka.cluster) as sender:
            sender.send(names.ALERTS, [b"bed-1"], [b"first"])
            wait_until(lambda: kafka.network.refused == 1)
            sender.send(names.ALERTS, [b"bed-1"], [b"second"])
        assert [value for _, value in read_to_end(kafka.cluster, names.ALERTS)] == [b"first", b"second"]


def test_the_largest_bundle_is_sent_and_messages_before_it_are_not_lost(kafka):
    values = [b"before", bytes(MAX_BUNDLE_BYTES), b"after"]
    with Sender(kafka.cluster) as sender:
        sender.send(names.SAMPLES, [b"gateway"] * 3, values)
    assert [value for _, value in read_to_end(kafka.cluster, names.SAMPLES)] == values
