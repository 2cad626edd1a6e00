"""A producer is closed once, and not while a call of it is at work: its memory would be freed under the other call."""

from __future__ import annotations

import threading

from beatwire.kafka.cluster import Cluster
from beatwire.kafka.publishing.sender import Sender
from beatwire.kafka.publishing.transactions import Transactions

NOBODY = Cluster("127.0.0.1:9")


class Counted(Sender):
    """A sender that notes when it is closed."""

    def __init__(self) -> None:
        super().__init__(NOBODY)
        self.closed = threading.Event()

    def close(self) -> None:
        super().close()
        self.closed.set()


def test_a_discarded_producer_is_closed_when_its_last_call_has_returned(monkeypatch) -> None:
    monkeypatch.setattr(Transactions, "_open", lambda _: Counted())
    transactions, returns = Transactions(NOBODY, "t"), threading.Event()
    transactions._sending = threading.Thread(target=returns.wait, daemon=True)
    transactions._sending.start()
    transactions.discard()
    transactions.close()
    assert not transactions.sender.closed.wait(0.2)
    returns.set()
    assert transactions.sender.closed.wait(10)


def test_threads_that_close_a_producer_at_once_close_it_once() -> None:
    sender, closes = Sender(NOBODY), []
    producer = sender.producer

    class Noted:
        def purge(self) -> None:
            closes.append("purge")

        def close(self) -> None:
            closes.append("close")
            producer.close()

    sender.producer = Noted()
    threads = [threading.Thread(target=sender.close) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert closes == ["purge", "close"]
