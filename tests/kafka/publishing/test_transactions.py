"""Requests of transactions while no broker answers: for how long they are repeated."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from beatwire.errors import UserError
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.publishing import patience, transactions
from beatwire.kafka.publishing.patience import Patience, StaleError
from beatwire.kafka.publishing.transactions import Transactions
from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AclOperation, AdminClient
from moments import Clock


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
