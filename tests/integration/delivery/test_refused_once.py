"""A message that a broker refuses while the next one is under way is sent again, and none is lost.

A broker that knows nothing of a producer takes whatever sequence number comes first, and librdkafka (2.16) takes the
acknowledgement of the next message for one of all before it: with several requests under way the first is lost.
"""

from collections.abc import Callable

import pytest
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.local.broker import LocalKafka, Security, free_port
from beatwire.kafka.publishing.sender import Sender
from beatwire.kafka.publishing.transactions import Transactions
from beatwire.kafka.reading.readers import read_to_end
from beatwire.wire import names
from moments import LIMIT_S
from refusing import Refusing

pytestmark = pytest.mark.kafka

Between = Callable[[], object]


def send_plainly(cluster: Cluster, between: Between) -> None:
    with Sender(cluster) as sender:
        sender.send(names.ALERTS, [b"bed-1"], [b"first"])
        assert between()
        sender.send(names.ALERTS, [b"bed-1"], [b"second"])


def send_in_a_transaction(cluster: Cluster, between: Between) -> None:
    transactions = Transactions(cluster, "one")
    transactions.begin()
    transactions.sender.send(names.ALERTS, [b"bed-1"], [b"first"])
    assert between()
    transactions.sender.send(names.ALERTS, [b"bed-1"], [b"second"])
    transactions.commit()
    transactions.close()


@pytest.mark.parametrize("send", [send_plainly, send_in_a_transaction])
def test_a_message_that_was_refused_once_is_not_lost(need_kafka, send):
    between, port = free_port(), free_port()
    proxied = Security("PLAINTEXT", f"advertised.listeners=PLAINTEXT://127.0.0.1:{between}\n", (), {})
    with Refusing(between, port, names.ALERTS, b"first") as refusing, LocalKafka(port=port, security=proxied) as kafka:
        send(kafka.cluster, lambda: refusing.held.wait(LIMIT_S))
        assert [value for _, value in read_to_end(kafka.cluster, names.ALERTS)] == [b"first", b"second"]
