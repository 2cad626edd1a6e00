"""Brokers and a clock for the watch over the feed."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace

from confluent_kafka import KafkaError, KafkaException

PARTITIONS = range(4)


class Brokers:
    """Answers requests for the ends of four partitions; those of brokers that are away fail."""

    def __init__(self) -> None:
        self.ends = dict.fromkeys(PARTITIONS, 5)
        self.away: set[int] = set()
        self.clients, self.newest_ms = 0, 1_000

    def topic(self, name: str) -> str:
        return name

    def admin(self) -> Brokers:
        self.clients += 1
        return self

    def list_topics(self, name: str, timeout: float) -> SimpleNamespace:
        return SimpleNamespace(topics={name: SimpleNamespace(partitions=PARTITIONS)})

    def list_offsets(self, asked: dict, request_timeout: float) -> dict:
        futures = {at: Future() for at in asked}
        for at, future in futures.items():
            if at.partition in self.away:
                future.set_exception(KafkaException(KafkaError(KafkaError._TIMED_OUT)))
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
