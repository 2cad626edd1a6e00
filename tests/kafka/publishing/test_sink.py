"""Each tick is published once, whatever fails: a broker refuses, or times out after it has written; an epoch ends."""

import random
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from beatwire.errors import FatalError
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming.positions import Position
from beatwire.kafka.publishing import sink
from beatwire.kafka.publishing.sink import Sink, StaleError
from beatwire.records import Outgoing
from drawn_sink import Broker, Producer
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from moments import Clock

TICKS = 12


@settings(max_examples=draws(100), deadline=None)
@given(seed=st.integers(0, 1 << 32), fails=st.sampled_from([0.0, 0.05, 0.3]), ends=st.sampled_from([0.0, 0.02, 0.1]))
def test_each_tick_is_published_once_whatever_fails(seed: int, fails: float, ends: float) -> None:
    broker, rng = Broker(seed, fails, ends), random.Random(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Producer, "broker", broker, raising=False)
        left_open = SimpleNamespace(abort=lambda *_: rng.random() < 0.5, end_torn=lambda *_: None)
        for name, one in {
            "Transactions": Producer, "LeftOpen": lambda _: left_open, "time": Clock(tick_s=0.01),
            "broker_responds": lambda _: True,
        }.items():  # fmt: skip
            patch.setattr(sink, name, one)
        with Sink(Cluster("nowhere")) as output:
            source: Any = broker
            while broker.offset < TICKS:
                epoch, at = broker._epoch, broker.offset
                outgoing = [Outgoing("beats", [None], [f"{at} {part}".encode()]) for part in range(3)]
                before = {3: Position(at + rng.choice([1, 1, 0]), at)}
                if rng.random() < 0.6:
                    output.begin_tick(before, source, epoch)
                if rng.random() < 0.4:
                    output.send_ahead(outgoing[: rng.randrange(3)], source, epoch)
                try:
                    output.publish(outgoing, {3: Position(at + 1, at)}, source, epoch)
                    assert broker.offset == at + 1
                except StaleError:
                    assert fails or ends
                    broker._epoch += 1  # the caller begins one at the commits
    assert broker.messages == [f"{at} {part}".encode() for at in range(TICKS) for part in range(3)]
    assert set(broker.names[1:]) == {"id-3"}
    assert fails or ends or len(broker.names) == 2


class Acknowledging:
    """Stands for `Sender`: a broker acknowledges what was sent some time later, or refuses it."""

    def __init__(self, broker: Broker) -> None:
        self.broker, self.waiting, self.refused = broker, list[bytes](), False
        self.producer = SimpleNamespace(flush=self._acknowledge)

    def send_all(self, outgoing: Sequence[Outgoing], sent_ms: int) -> None:
        assert sent_ms > 0, "alerts have it as a header"
        self.waiting += [value for messages in outgoing for value in messages.values]

    def _acknowledge(self, _: float) -> None:
        for _ in range(self.broker.rng.randrange(3)):
            self.refused |= self.broker.rng.random() < self.broker.fails
            if self.waiting and not self.refused:
                self.broker.messages.append(self.waiting.pop(0))

    def unacknowledged(self) -> int:
        return len(self.waiting)

    def check(self) -> None:
        if self.refused:
            raise FatalError("refused")

    def flush(self, _: float) -> None:
        self.check()

    def close(self) -> None:
        """Nothing is open."""


@settings(max_examples=draws(50), deadline=None)
@given(seed=st.integers(0, 1 << 32), fails=st.sampled_from([0.0, 0.01, 0.1]))
def test_at_least_once_a_tick_is_committed_when_all_of_it_is_at_the_broker(seed: int, fails: float) -> None:
    broker = Broker(seed, fails, 0.0)
    committed = list[int]()

    def commit(positions: Mapping[int, Position]) -> None:
        assert broker.messages == [f"{at} {part}".encode() for at in range(positions[3].offset) for part in range(3)]
        committed.append(positions[3].offset)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sink, "Sender", Acknowledging)
        patch.setattr(Acknowledging, "__init__", lambda self, *_, start=Acknowledging.__init__: start(self, broker))
        broker.commit = commit  # type: ignore[attr-defined]
        source: Any = broker
        with Sink(Cluster("nowhere"), exactly_once=False) as output:
            output.end_open_transactions(source)
            for at in range(TICKS):
                positions = {3: Position(at + 1, at)}
                outgoing = [Outgoing("beats", [None], [f"{at} {part}".encode()]) for part in range(3)]
                output.begin_tick(positions, source, 0)
                output.send_ahead(outgoing[:1], source, 0)
                try:
                    output.publish(outgoing, positions, source, 0)
                except FatalError:
                    assert fails
                    break
                output.end_pending_transactions([], source)
    assert committed == list(range(1, len(committed) + 1))
    assert fails or len(committed) == TICKS
