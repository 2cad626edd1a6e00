"""Requests of transactions while no broker answers: for how long they are repeated."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace

import pytest
from beatwire.kafka.publishing import transactions
from beatwire.kafka.publishing.transactions import Patience, StaleError, Transactions
from confluent_kafka import KafkaError, KafkaException


class Away:
    """A producer whose requests time out."""

    def __init__(self) -> None:
        self.calls = 0

    def commit_transaction(self, timeout: float) -> None:
        self.calls += 1
        time.sleep(min(timeout, 0.02))
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "timed out", False, True))

    abort_transaction = commit_transaction

    def send_offsets_to_transaction(self, *_: object) -> None:
        time.sleep(30)

    def flush(self, timeout: float) -> int:
        time.sleep(min(timeout, 0.02))
        return 1


@pytest.fixture
def stop(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    monkeypatch.setattr(transactions, "STOPPED_S", 0.2)
    monkeypatch.setattr(transactions, "_SLICE_S", 0.05)
    return threading.Event()


def away(monkeypatch: pytest.MonkeyPatch, stop: threading.Event) -> Transactions:
    sender = SimpleNamespace(producer=Away(), close=lambda: None)
    monkeypatch.setattr(Transactions, "_open", lambda _: sender)
    return Transactions(SimpleNamespace(), "id", stop)  # type: ignore[arg-type]


@pytest.mark.parametrize("request_of", ["commit", "abort", "send_offsets", "sweep"])
def test_a_broker_that_is_away_is_not_waited_for_once_the_process_is_to_end(
    monkeypatch: pytest.MonkeyPatch, stop: threading.Event, request_of: str
) -> None:
    one = away(monkeypatch, stop)
    one.begin = lambda: None  # type: ignore[method-assign]
    arguments = {"send_offsets": ([], None), "sweep": ({}, [], None)}.get(request_of, ())
    threading.Timer(0.1, stop.set).start()
    began_s = time.monotonic()
    if request_of == "abort":
        assert not one.abort()
    else:
        with pytest.raises((KafkaException, StaleError)):
            getattr(one, request_of)(*arguments)
    assert 0.1 < time.monotonic() - began_s < 3.0
    assert one.discarded == (request_of in ("abort", "send_offsets"))


def test_a_request_that_may_help_is_repeated_for_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    one = away(monkeypatch, threading.Event())
    with pytest.raises(KafkaException):
        one.commit(retry_s=0.2)
    assert one.sender.producer.calls > 2  # type: ignore[attr-defined]


def test_patience_ends_a_while_after_the_signal(stop: threading.Event) -> None:
    patience = Patience(stop)
    assert not patience.ended
    stop.set()
    assert not patience.ended
    time.sleep(0.3)
    assert patience.ended
