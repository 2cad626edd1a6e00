"""A broker and a producer of a sink: what goes wrong is drawn."""

import random
from collections.abc import Mapping, Sequence
from types import SimpleNamespace

from beatwire.kafka.consuming.positions import Position
from beatwire.records import Outgoing
from confluent_kafka import KafkaError, KafkaException


class Broker:
    """What is committed, and what goes wrong; it is the source as well.

    messages, offset  that are committed
    holder            the producer that may write
    """

    group_metadata, assigned = None, frozenset({3, 5})

    def __init__(self, seed: int, fails: float, ends: float) -> None:
        self.rng, self.fails, self.ends = random.Random(seed), fails, ends
        self.messages, self.offset, self.holder, self._epoch = list[bytes](), 0, None, 0
        self.names = list[str]()

    @property
    def epoch(self) -> int:
        self._epoch += self.rng.random() < self.ends
        return self._epoch

    def transactional_id(self, partition: int) -> str:
        return f"id-{partition}"

    def offsets(self, positions: Mapping[int, Position]) -> dict[int, int]:
        return {p: at.offset for p, at in positions.items()}

    def committed(self, partitions: Mapping[int, Position]) -> dict[int, int]:
        return dict.fromkeys(partitions, self.offset)


class Producer:
    """Stands for `Transactions`; each call may fail, a commit also after the broker has written it."""

    broker: Broker

    def __init__(self, cluster: object, name: str, stop: object) -> None:
        self.name, self.discarded, self.sender = name, False, SimpleNamespace(send_all=self._send)
        self._open: tuple[list[bytes], dict[int, int]] | None = None
        self._is_unknown = False
        self.broker.holder = self
        self.broker.names.append(name)

    def _may_fail(self) -> None:
        assert not self.discarded
        assert self.broker.holder is self
        if self.broker.rng.random() < self.broker.fails:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "timed out", False, True))

    def begin(self) -> None:
        assert self._open is None, "one transaction at a time"
        self._may_fail()
        self._open = [], {}

    def _send(self, outgoing: Sequence[Outgoing], sent_ms: int) -> None:
        assert self._open is not None
        for messages in outgoing:
            self._open[0].extend(messages.values)

    def start_offsets(self, offsets: dict[int, int], metadata: object) -> None:
        assert self._open is not None
        self._open[1].update(offsets)

    def await_offsets(self) -> None:
        self._may_fail()

    def commit(self, retry_s: float) -> None:
        assert self._open is not None
        self._may_fail()
        values, offsets = self._open
        self.broker.messages += values
        self.broker.offset = offsets[3]
        self._open, self._is_unknown = None, True
        self._may_fail()
        self._is_unknown = False

    def abort(self) -> bool:
        self._open = None
        self.discarded = self._is_unknown or self.broker.rng.random() < self.broker.fails
        return not self.discarded

    def discard(self) -> None:
        self.discarded, self._open = True, None

    close = discard

    def raise_if_permanent(self, error: KafkaException) -> None:
        """Nothing is."""
