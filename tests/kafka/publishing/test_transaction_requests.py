"""Requests of transactions to brokers that answer: which are made, in which order, and what a refusal becomes."""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from beatwire.errors import FatalError, UserError
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.publishing import patience, transactions
from beatwire.kafka.publishing.patience import StaleError
from beatwire.kafka.publishing.torn import Open
from beatwire.kafka.publishing.transactions import Transactions
from confluent_kafka import KafkaError, KafkaException
from moments import Clock, wait_until


class Recorded:
    """A producer that does all, and its sender: the calls; ``refuses``: call -> the errors of the next ones."""

    def __init__(self) -> None:
        self.calls, self.refuses = list[str](), dict[str, list[KafkaError]]()
        self.producer, self.is_permanent, self.refused = self, False, "too large"

    def _call(self, name: str, *_: object) -> None:
        self.calls.append(name)
        if self.refuses.get(name):
            raise KafkaException(self.refuses[name].pop(0))

    def __getattr__(self, name: str) -> Callable[..., None]:
        return partial(self._call, name)

    def mark(self, partitions: dict[str, Any]) -> None:
        self.calls.append(f"mark { {topic: list(numbers) for topic, numbers in partitions.items()} }")

    def flush(self, _: float) -> int:
        self.calls.append("flush")
        return 0


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> Recorded:
    one = Recorded()
    monkeypatch.setattr(transactions, "Sender", lambda *_: one)
    return one


PASSES = KafkaError(KafkaError._TIMED_OUT, "timed out", False, True)
FATAL = KafkaError(KafkaError._FENCED, "fenced", True, False)


def test_a_sweep_aborts_a_transaction_with_a_message_everywhere_and_the_offsets(recorded: Recorded) -> None:
    one = Transactions(Cluster("nowhere"), "id")
    assert recorded.calls == ["init_transactions"]
    recorded.calls.clear()
    offsets: Any = ["offsets"]
    one.sweep({"a": 2, "b": 1}, offsets, None)
    assert recorded.calls == [
        "begin_transaction", "mark {'a': [0, 1], 'b': [0]}", "send_offsets_to_transaction", "flush",
        "abort_transaction",
    ]  # fmt: skip
    recorded.calls.clear()
    one.sweep({"a": 1}, [], None)
    assert recorded.calls == ["begin_transaction", "mark {'a': [0]}", "flush", "abort_transaction"]


def test_what_counts_as_published_is_committed_and_the_rest_aborted(recorded: Recorded) -> None:
    one = Transactions(Cluster("nowhere"), "id")
    for torn, expected in (
        ([Open("a", 1, 5, published=True), Open("b", 0, 5, published=False)], {"commit": "a", "abort": "b"}),
        ([Open("b", 1, 5, published=False)], {"abort": "b"}),
    ):
        recorded.calls.clear()
        one.end_torn(torn)
        at = {one.topic: one.partition for one in torn}
        assert recorded.calls == [
            call
            for how, topic in expected.items()
            for call in ("begin_transaction", f"mark { {topic: [at[topic]]} }", "flush", f"{how}_transaction")
        ]


def test_offsets_that_the_broker_refuses_are_an_error_and_others_are_not(recorded: Recorded) -> None:
    one = Transactions(Cluster("nowhere"), "id")
    one.send_offsets([], None)
    recorded.refuses["send_offsets_to_transaction"] = [FATAL]
    with pytest.raises(KafkaException, match="fenced"):
        one.send_offsets([], None)
    assert not one.discarded


def test_a_transactional_id_is_asked_for_until_the_broker_gives_it(recorded: Recorded, clock: Clock) -> None:
    recorded.refuses["init_transactions"] = 3 * [PASSES]
    began_s = clock.now_s
    one = Transactions(Cluster("nowhere"), "id")
    assert recorded.calls == 4 * ["init_transactions"]
    assert clock.now_s - began_s >= 3 * transactions._PAUSE_S
    assert one.abort()
    one.close()
    assert recorded.calls[-2:] == ["abort_transaction", "close"]


@pytest.mark.parametrize(
    ("errors", "stopped", "raised", "said"),
    [
        ([FATAL], False, FatalError, "expected transactions at .*; got fenced"),
        (10_000 * [PASSES], False, FatalError, "timed out"),
        ([PASSES], True, StaleError, None),
        ([KafkaError(KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)], False, UserError, "transactional id 'id'"),
    ],
)
def test_one_that_it_does_not_give_is_an_error_and_nothing_is_left_open(
    recorded: Recorded, clock: Clock, errors: list[KafkaError], stopped: bool, raised: type[Exception], said: str | None
) -> None:
    recorded.refuses["init_transactions"] = list(errors)
    stop, began_s = threading.Event(), clock.now_s
    if stopped:
        stop.set()
    with pytest.raises(raised, match=said):
        Transactions(Cluster("nowhere"), "id", stop)
    assert recorded.calls[-1] == "close"
    assert clock.now_s - began_s < patience.OUTAGE_S + 1.0
    assert len(errors) == 1 or clock.now_s - began_s > patience.OUTAGE_S - 1.0


def test_a_message_that_the_broker_refuses_for_good_ends_the_producer(recorded: Recorded) -> None:
    one = Transactions(Cluster("nowhere"), "id")
    one.raise_if_permanent(KafkaException(PASSES))
    assert not one.discarded
    recorded.is_permanent = True
    with pytest.raises(FatalError, match=r"to accept every message; got too large"):
        one.raise_if_permanent(KafkaException(PASSES))
    assert one.discarded
    assert "take_reports" in recorded.calls
    assert not one.abort()
    one.close()
    wait_until(lambda: "close" in recorded.calls, 10.0)
    assert recorded.calls.count("close") == 1, "by the thread that gives it up"
