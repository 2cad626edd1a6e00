"""A producer is closed once, and not while a call of it is at work: its memory would be freed under the other call."""

import threading
import time

import pytest
from beatwire.errors import FatalError
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.publishing.patience import OUTAGE_S, StaleError
from beatwire.kafka.publishing.sender import Sender
from beatwire.kafka.publishing.sink import Sink
from beatwire.kafka.publishing.transactions import Transactions
from beatwire.records import Outgoing
from moments import LIMIT_S

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
    assert transactions.sender.closed.wait(LIMIT_S)


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
        thread.join(LIMIT_S)
    assert closes == ["purge", "close"]


@pytest.mark.parametrize("exactly_once", [False, True])
def test_a_process_that_is_to_end_waits_for_no_broker_to_take_its_output(
    exactly_once: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop, began_s = threading.Event(), time.monotonic()
    stop.set()
    monkeypatch.setattr("beatwire.kafka.publishing.patience.STOPPED_S", 0.2)
    monkeypatch.setattr("beatwire.kafka.publishing.transactions._OPENING_S", 0.5)
    if exactly_once:
        with pytest.raises(StaleError):
            Transactions(NOBODY, "t", stop)
        with pytest.raises(FatalError, match="got a signal to stop"):
            Sink(NOBODY, stop=stop)
    else:
        with Sink(NOBODY, exactly_once=False, stop=stop) as sink, pytest.raises(StaleError):
            sink.publish([Outgoing("ecg.beats", [b"bed"], [b"beat"])], {}, None, 0)  # type: ignore[arg-type]
    assert time.monotonic() - began_s < OUTAGE_S / 2
