"""Brokers and a clock for the watch over the feed."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace

from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException

PARTITIONS = range(4)


class Late(Future):
    """What is known at a time of a clock, which goes on while somebody waits for it; slow brokers answer so."""

    def __init__(self, clock: Clock, at_s: float) -> None:
        super().__init__()
        self.clock, self.at_s = clock, at_s

    def result(self, timeout: float | None = None) -> object:
        """Return what is known, or raise an error after the timeout."""
        assert timeout is not None
        until_s = max(self.clock.s, min(self.at_s, self.clock.s + timeout))
        self.clock.s = until_s
        if until_s < self.at_s:
            raise TimeoutError
        return super().result(0)


class Brokers:
    """Two brokers, for two of four partitions each: they answer requests for the ends; those that are away fail.

    late_s  partition -> how long its broker takes to answer, or to fail; other partitions of a request wait for it
    raises  a failure is an error; otherwise an offset of no message, as confluent-kafka has it
    """

    def __init__(self, clock: Clock | None = None, *, raises: bool = True) -> None:
        self.clock, self.late_s, self.raises = clock or Clock(), dict[int, float](), raises
        self.ends, self.partitions = dict.fromkeys(PARTITIONS, 5), PARTITIONS
        self.away: set[int] = set()
        self.clients, self.newest_ms = 0, 1_000

    def topic(self, name: str) -> str:
        return name

    def admin(self) -> Brokers:
        self.clients += 1
        return self

    def list_topics(self, name: str, timeout: float) -> SimpleNamespace:
        partitions = {partition: SimpleNamespace(leader=partition // 2) for partition in self.partitions}
        return SimpleNamespace(topics={name: SimpleNamespace(partitions=partitions)})

    def list_offsets(self, asked: dict, request_timeout: float) -> dict:
        late_s = max(self.late_s.get(at.partition, 0.0) for at in asked)
        at_s = self.clock.s + min(late_s, request_timeout)
        futures = {at: Late(self.clock, at_s) if late_s else Future() for at in asked}
        for at, future in futures.items():
            if at.partition in self.away or self.late_s.get(at.partition, 0.0) > request_timeout:
                if self.raises:
                    future.set_exception(KafkaException(KafkaError(KafkaError._TIMED_OUT)))
                else:
                    future.set_result(SimpleNamespace(offset=OFFSET_INVALID, timestamp=-1))
            else:
                future.set_result(SimpleNamespace(offset=self.ends[at.partition], timestamp=self.newest_ms))
        return futures


class Clock:
    """Time that passes when it is told to; the clock on the wall may be set, which changes nothing."""

    def __init__(self) -> None:
        self.s, self.wall_s = 2_000.0, 5_000.0

    def time(self) -> float:
        return self.wall_s

    def monotonic(self) -> float:
        return self.s
