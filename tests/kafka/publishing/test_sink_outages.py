"""A tick that cannot be committed, and what is left open: how often it is tried again, and by whom it is ended."""

import threading
from types import SimpleNamespace
from typing import Any

import pytest
from beatwire.errors import FatalError, UserError
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming.positions import Position
from beatwire.kafka.publishing import sink
from beatwire.kafka.publishing.sink import Sink, StaleError
from beatwire.records import Outgoing
from confluent_kafka import KafkaError, KafkaException
from drawn_sink import Broker, Producer
from moments import Clock


class Failing(Producer):
    """Each commit fails; ``permanent``: the broker would refuse it once more."""

    permanent: list[Exception]
    made: list["Failing"]

    def __init__(self, cluster: object, name: str, stop: object) -> None:
        super().__init__(cluster, name, stop)
        self.commits = 0
        self.made.append(self)

    def commit(self, retry_s: float) -> None:
        self.commits += 1
        self.broker.failed()  # type: ignore[attr-defined]
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "timed out", False, True))

    def raise_if_permanent(self, error: KafkaException) -> None:
        for one in self.permanent:
            raise one


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Broker:
    """A broker that takes no commit."""
    broker: Any = Broker(1, 0.0, 0.0)
    broker.clock, broker.responds, broker.failed = Clock(tick_s=0.01), True, lambda: None
    left_open = SimpleNamespace(abort=lambda *_: True, end_torn=lambda *_: None)
    for name, one in {
        "Transactions": Failing, "LeftOpen": lambda _: left_open, "time": broker.clock,
        "broker_responds": lambda _: broker.responds,
    }.items():  # fmt: skip
        monkeypatch.setattr(sink, name, one)
    for name, one in {"broker": broker, "permanent": [], "made": []}.items():
        monkeypatch.setattr(Failing, name, one, raising=False)
    return broker


def publish_once(output: Sink, broker: Any) -> float:
    """Publish a tick, which fails; return the seconds that it took."""
    begun_s = broker.clock.now_s
    output.publish([Outgoing("beats", [None], [b"x"])], {3: Position(1, 0)}, broker, broker._epoch)
    return broker.clock.now_s - begun_s


def test_a_tick_that_fails_is_tried_again_by_the_same_producer_until_the_outage_is_too_long(failing: Any) -> None:
    failing.responds = False
    with Sink(Cluster("nowhere")) as output:
        begun_s = failing.clock.now_s
        with pytest.raises(FatalError, match=r"to commit a tick in 120 s; got timed out"):
            publish_once(output, failing)
        assert failing.clock.now_s - begun_s == pytest.approx(120, abs=1)
    assert [one.commits > 500 for one in Failing.made[1:]] == [True], "and not more often than 20 times a second"
    assert Failing.made[1].commits < 2500


def test_a_producer_that_a_broker_answers_others_but_not_is_replaced_once(failing: Any) -> None:
    with Sink(Cluster("nowhere")) as output:
        begun_s = failing.clock.now_s
        with pytest.raises(StaleError):
            publish_once(output, failing)
        assert failing.clock.now_s - begun_s == pytest.approx(30, abs=1)
        assert [one.discarded for one in Failing.made[1:]] == [True]
        failing._epoch += 1
        with pytest.raises(FatalError):
            publish_once(output, failing)
    assert len(Failing.made) == 3


@pytest.mark.parametrize("why", ["stopped", "epoch over", "denied"])
def test_a_tick_that_fails_is_not_tried_again_where_that_cannot_help(failing: Any, why: str) -> None:
    stop = threading.Event()
    with Sink(Cluster("nowhere"), stop=stop) as output:

        def failed() -> None:
            if why == "stopped":
                stop.set()
            elif why == "epoch over":
                failing._epoch += 1
                failing.clock.sleep(200)
            else:
                Failing.permanent.append(UserError("denied"))

        failing.failed = failed
        with pytest.raises(UserError if why == "denied" else StaleError):
            publish_once(output, failing)
        assert Failing.made[1].discarded is (why == "stopped")
    assert [one.commits for one in Failing.made] == [0, 1]


class Ended(Producer):
    """No broker answers, and the process is to end."""

    def __init__(self, cluster: object, name: str, stop: threading.Event) -> None:
        if stop.is_set():
            raise StaleError
        super().__init__(cluster, name, stop)


def test_a_monitor_that_is_to_end_ends_nothing_that_others_have_left_open(
    failing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sink, "Transactions", Ended)
    monkeypatch.setattr(Ended, "broker", failing, raising=False)
    stop = threading.Event()
    with Sink(Cluster("nowhere"), stop=stop) as output:
        failing._epoch += 1
        stop.set()
        output.end_open_transactions(failing)


def test_what_is_known_of_a_tick_is_at_the_broker_before_it_is_published(failing: Any) -> None:
    with Sink(Cluster("nowhere")) as output:
        output.begin_tick({3: Position(1, 0)}, failing, 0)
        assert Failing.made[1]._open == ([], {3: 1})
        output.send_ahead([Outgoing("dlq", [None], [b"x"])], failing, 0)
        assert Failing.made[1]._open == ([b"x"], {3: 1})


class LeftOpenCalls:
    """Stands for `LeftOpen`: the calls; ``succeeds``: the broker ends what is asked for."""

    def __init__(self) -> None:
        self.calls, self.succeeds = list[str](), True

    def _called(self, name: str) -> bool:
        self.calls.append(name)
        return self.succeeds

    def abort(self, *_: object) -> bool:
        return self._called("abort")

    def abort_pending(self, *_: object) -> bool:
        return self._called("abort pending")

    def commit_again(self, *_: object) -> bool:
        return self._called("commit again")

    def end_torn(self, *_: object) -> bool:
        return self._called("end torn")

    def end_alerts(self, *_: object) -> bool:
        return self._called("end alerts")

    def taken(self) -> list[str]:
        taken, self.calls = self.calls, []
        return taken


@pytest.fixture
def left_open(monkeypatch: pytest.MonkeyPatch) -> LeftOpenCalls:
    """What is asked of a broker that does all."""
    one, broker = LeftOpenCalls(), Broker(1, 0.0, 0.0)
    monkeypatch.setattr(Producer, "broker", broker, raising=False)
    for name, stand_in in {"Transactions": Producer, "LeftOpen": lambda _: one}.items():
        monkeypatch.setattr(sink, name, stand_in)
    return one


def publish_next(output: Sink, broker: Any) -> None:
    at = broker.offset
    output.publish([Outgoing("beats", [None], [b"%d" % at])], {3: Position(at + 1, at)}, broker, broker._epoch)


def test_what_others_have_left_open_is_ended_before_the_first_tick_and_not_where_nobody_can_have(
    left_open: LeftOpenCalls,
) -> None:
    broker: Any = Producer.broker
    with Sink(Cluster("nowhere")) as output:
        left_open.succeeds = False
        publish_next(output, broker)
        assert left_open.taken() == ["end torn", "abort"]
        for _ in range(sink._SWEEPS):
            publish_next(output, broker)
        assert left_open.taken() == sink._SWEEPS * ["abort"], "until the broker has done it, but not for ever"
        publish_next(output, broker)
        assert left_open.taken() == []
        left_open.succeeds, broker._epoch = True, 1
        publish_next(output, broker)
        assert left_open.taken() == ["end torn"], "the last transaction of this id was committed"
        broker._epoch, broker.assigned = 2, frozenset({5})
        publish_next(output, broker)
        assert left_open.taken() == ["end torn", "abort"], "the id of another partition"
        output.begin_tick({3: Position(9, 9)}, broker, 2)
        broker._epoch = 3
        with pytest.raises(StaleError):
            publish_next(output, SimpleNamespace(offset=9, _epoch=2, epoch=3, assigned=frozenset({5})))
        publish_next(output, broker)
        assert left_open.taken() == ["end torn", "abort"], "a tick was begun and not committed"
    assert broker.names[1:] == ["id-3", "id-3", "id-5", "id-5"]


def test_what_commits_wait_for_is_committed_again_if_this_sink_has_committed_it_and_else_aborted(
    left_open: LeftOpenCalls,
) -> None:
    broker: Any = Producer.broker
    pending = [SimpleNamespace(partition=3)]
    with Sink(Cluster("nowhere")) as output:

        def ended() -> list[str]:
            left_open.taken()
            output.end_pending_transactions(pending, broker)  # type: ignore[arg-type]
            return left_open.taken()

        assert ended() == ["abort pending"], "nothing was committed"
        publish_next(output, broker)
        assert ended() == ["commit again"]
        broker.offset += 1
        assert ended() == ["abort pending"], "somebody else has committed since"
        broker.offset -= 1
        left_open.succeeds = False
        assert ended() == ["commit again"]
        assert ended() == ["abort pending"], "that failed"
        publish_next(output, broker)
        assert output._output.abort(), "a tick failed"  # type: ignore[union-attr]
        output.begin_tick({3: Position(9, 9)}, broker, 0)
        assert ended() == ["abort pending"]


def test_before_alerts_are_read_what_is_open_in_them_is_ended_by_a_producer_that_works(
    left_open: LeftOpenCalls,
) -> None:
    broker: Any = Producer.broker
    with Sink(Cluster("nowhere")) as output:
        output.end_open_transactions(broker)
        assert left_open.taken() == ["end torn", "abort"], "by the producer of the epoch, which is new"
        publish_next(output, broker)
        output.end_open_transactions(broker)
        assert left_open.taken() == ["end torn", "end alerts"], "behind a transaction that was committed"
        broker.assigned = frozenset()
        output.end_open_transactions(broker)
        assert left_open.taken() == []


def test_a_producer_that_was_replaced_may_be_again_after_a_tick_that_was_published(failing: Any) -> None:
    with Sink(Cluster("nowhere")) as output:
        for _ in range(2):
            with pytest.raises(StaleError):
                publish_once(output, failing)
            failing._epoch += 1
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(Failing, "commit", Producer.commit)
                publish_once(output, failing)
            failing._epoch += 1
