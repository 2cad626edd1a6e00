"""Requests of transactions while no broker answers: for how long they are repeated."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from beatwire.errors import FatalError, UserError
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.publishing import patience, transactions
from beatwire.kafka.publishing.patience import Patience, StaleError
from beatwire.kafka.publishing.torn import Open
from beatwire.kafka.publishing.transactions import Transactions
from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AclOperation, AdminClient
from moments import Clock, wait_until


class Away:
    """A producer whose requests take their time, and time out."""

    def __init__(self, clock: Clock, ends: threading.Event) -> None:
        self.clock, self.ends, self.calls = clock, ends, 0

    def commit_transaction(self, timeout: float) -> None:
        self.calls += 1
        self.clock.sleep(timeout)
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "timed out", False, True))

    abort_transaction = commit_transaction

    def send_offsets_to_transaction(self, *_: object) -> None:
        self.ends.wait()

    def flush(self, timeout: float) -> int:
        self.clock.sleep(timeout)
        return 1


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Each look at the clock takes 50 ms."""
    one = Clock(tick_s=0.05)
    monkeypatch.setattr(transactions, "time", one)
    monkeypatch.setattr(patience, "time", one)
    monkeypatch.setattr(transactions, "SLICE_S", 0.02)
    return one


@pytest.fixture
def away(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> Iterator[Away]:
    one = Away(clock, threading.Event())
    monkeypatch.setattr(
        Transactions, "_open", lambda _: SimpleNamespace(producer=one, mark=lambda _: None, close=lambda: None)
    )
    yield one
    one.ends.set()


def of(stop: threading.Event) -> Transactions:
    return Transactions(SimpleNamespace(), "id", stop)  # type: ignore[arg-type]


@pytest.mark.parametrize("request_of", ["commit", "abort", "send_offsets", "sweep"])
def test_a_broker_that_is_away_is_not_waited_for_once_the_process_is_to_end(
    away: Away, clock: Clock, request_of: str
) -> None:
    signalled_s: list[float] = []

    class Stop(threading.Event):
        """Is set when the request has lasted for a second."""

        def is_set(self) -> bool:
            if clock.now_s > began_s + 1.0 and not signalled_s:
                signalled_s.append(clock.now_s)
            return bool(signalled_s)

    one, began_s = of(Stop()), clock.now_s
    one.begin = lambda: None  # type: ignore[method-assign]
    arguments = {"send_offsets": ([], None), "sweep": ({}, [], None)}.get(request_of, ())
    if request_of == "abort":
        assert not one.abort()
    else:
        with pytest.raises((KafkaException, StaleError)):
            getattr(one, request_of)(*arguments)
    assert patience.STOPPED_S < clock.now_s - signalled_s[0] < patience.STOPPED_S + 0.5
    assert one.discarded == (request_of in ("abort", "send_offsets"))


def test_a_request_that_may_help_is_repeated_for_its_time(away: Away, clock: Clock) -> None:
    one, began_s = of(threading.Event()), clock.now_s
    with pytest.raises(KafkaException):
        one.commit(retry_s=0.5)
    assert 0.5 <= clock.now_s - began_s < 1.0
    assert away.calls > 2


def test_an_abort_after_a_commit_that_was_fenced_is_not_repeated(away: Away, clock: Clock) -> None:
    def fenced(_: float) -> None:
        raise KafkaException(KafkaError(KafkaError._FENCED, "fenced", True, False))

    def in_progress(_: float) -> None:
        aborts.append(clock.now_s)
        raise KafkaException(KafkaError(KafkaError._CONFLICT, "commit_transaction is in progress", False, True))

    one, aborts = of(threading.Event()), list[float]()
    away.abort_transaction = in_progress  # type: ignore[method-assign]
    away.commit_transaction = fenced  # type: ignore[method-assign]
    with pytest.raises(KafkaException, match="fenced"):
        one.commit()
    assert not one.abort()
    assert one.discarded
    assert len(aborts) == 1


def test_a_request_that_fails_at_once_is_repeated_after_a_pause(away: Away, clock: Clock) -> None:
    def in_progress(_: float) -> None:
        commits.append(clock.now_s)
        raise KafkaException(KafkaError(KafkaError._CONFLICT, "abort_transaction is in progress", False, True))

    one, commits = of(threading.Event()), list[float]()
    away.commit_transaction = in_progress  # type: ignore[method-assign]
    clock.tick_s = 0.0
    with pytest.raises(KafkaException, match="in progress"):
        one.commit(retry_s=0.5)
    assert 10 < len(commits) <= 0.5 / transactions._PAUSE_S + 2


def test_patience_ends_a_while_after_the_signal(clock: Clock) -> None:
    stop = threading.Event()
    waited = Patience(stop)
    clock.sleep(60.0)
    assert not waited.ended
    stop.set()
    assert not waited.ended
    clock.sleep(patience.STOPPED_S - 0.5)
    assert not waited.ended
    clock.sleep(0.6)
    assert waited.ended


@pytest.mark.parametrize(
    ("code", "hidden", "action"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, {"icu.ecg.beats"}, "write to icu.ecg.beats at "),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, set(), "write to each topic of the output"),
        (KafkaError.GROUP_AUTHORIZATION_FAILED, {"icu.ecg.beats"}, "commit for its group in transactions as 'id'"),
        (KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, {"icu.ecg.beats"}, "publish in transactions as 'id'"),
    ],
)
def test_a_right_that_is_taken_while_it_runs_is_named(
    monkeypatch: pytest.MonkeyPatch, code: int, hidden: set[str], action: str
) -> None:
    def describe(_: object, names: TopicCollection, **__: object) -> dict[str, Future[object]]:
        """Answer as a broker does whose topics have no ACL that allows anything, if hidden."""
        found = {name: Future[object]() for name in names.topic_names}
        for name, future in found.items():
            if name in hidden:
                future.set_exception(KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)))
            else:
                future.set_result(SimpleNamespace(authorized_operations=[AclOperation.WRITE]))
        return found

    monkeypatch.setattr(AdminClient, "describe_topics", describe)
    sender = SimpleNamespace(raise_denied=lambda: None, take_reports=lambda: None, close=lambda: None)
    monkeypatch.setattr(Transactions, "_open", lambda _: sender)
    transactions = Transactions(Cluster("127.0.0.1:1", prefix="icu."), "id")
    with pytest.raises(UserError, match=f"to be allowed to {action}"):
        transactions.raise_if_permanent(KafkaException(KafkaError(code)))
    assert transactions.discarded


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
    one = of(threading.Event())
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
    one = of(threading.Event())
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
    one = of(threading.Event())
    one.send_offsets([], None)
    recorded.refuses["send_offsets_to_transaction"] = [FATAL]
    with pytest.raises(KafkaException, match="fenced"):
        one.send_offsets([], None)
    assert not one.discarded


def test_a_transactional_id_is_asked_for_until_the_broker_gives_it(recorded: Recorded, clock: Clock) -> None:
    recorded.refuses["init_transactions"] = 3 * [PASSES]
    began_s = clock.now_s
    one = of(threading.Event())
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
    one = of(threading.Event())
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


def test_a_producer_is_not_closed_while_a_call_of_it_lasts(away: Away, clock: Clock) -> None:
    one = of(threading.Event())
    closed = threading.Event()
    one.sender = SimpleNamespace(producer=away, close=closed.set)  # type: ignore[assignment]
    one.start_offsets([], None)
    one.close()
    assert one.discarded
    assert not closed.wait(0.05)
    away.ends.set()
    assert closed.wait(10.0)
