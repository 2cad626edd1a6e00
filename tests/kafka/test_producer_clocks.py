"""Timestamps that producers made (CreateTime): whatever they are, they stop no monitor and concern no other stream."""

from collections import Counter
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from beatwire.kafka.consuming import batch
from beatwire.kafka.consuming.batch import join_messages
from beatwire.kafka.reading import broker_clock
from beatwire.kafka.reading.broker_clock import BrokerClock
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.recordings.synthetic.person import synthesise
from beatwire.records import RawTick
from beatwire.wire.avro import decode_beat
from beatwire.wire.fields import LATEST_US
from beatwire.wire.names import BEATS
from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME, TIMESTAMP_NOT_AVAILABLE
from hypothesis import given
from hypothesis import strategies as st
from kafka_messages import Message
from laws import START_US, Signal

SECONDS = 200  # more than twice the silence after which lanes are free
DAY_S = 86_400
KINDS = (TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME, TIMESTAMP_NOT_AVAILABLE)


@dataclass
class Stamped(Message):
    kind: int = TIMESTAMP_CREATE_TIME
    at_ms: int = 0

    def timestamp(self) -> tuple[int, int]:
        return self.kind, self.at_ms


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.integers(-(2**63), 2**63 - 1)), min_size=1, max_size=40))
def test_any_timestamp_becomes_a_time_that_samples_may_have(stamps):
    messages = [Stamped(k % 3, k, b"", None, *stamp) for k, stamp in enumerate(stamps)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch, "Message", Stamped)
        part = join_messages(messages)
    assert part.arrival_us.tolist() == [max(-LATEST_US, min(1000 * ms, LATEST_US)) for _, ms in stamps]
    assert part.by_broker == all(kind == TIMESTAMP_LOG_APPEND_TIME for kind, _ in stamps)


def test_what_producers_stamp_is_not_taken_for_the_time(monkeypatch):
    class Time:
        monotonic, time_ns = staticmethod(lambda: 5.0), staticmethod(lambda: 1000 * START_US)

    monkeypatch.setattr(broker_clock, "time", Time)
    monkeypatch.setattr(batch, "Message", Stamped)
    clock = BrokerClock()
    for at_ms in (START_US // 1000 + 300_000, 0, 2**60, 7):
        clock.note([join_messages([Stamped(0, 1, b"", None, TIMESTAMP_CREATE_TIME, at_ms)])], caught_up=True)
        assert (clock.now_us(), clock.ahead_s) == (START_US, 0.0)


@pytest.mark.parametrize("wrong_s", [-40 * 365 * DAY_S, -300, 300, 500 * 365 * DAY_S])
def test_a_producer_whose_clock_is_wrong_costs_no_stream_a_beat(wrong_s):
    assert beats(wrong_s) == beats(0)


@cache
def beats(wrong_s: int) -> Counter[str]:
    """Return how many beats each of two streams has; the timestamps of one are wrong by so much."""
    signals = [Signal(f"bed-{k}", synthesise(3 + k, rate_hz=250.0, seconds=SECONDS).recording.samples) for k in (0, 1)]
    pipeline, found = Pipeline(Settings(detector="rule")), Counter()
    for second in range(0, SECONDS, 2):
        now_us = START_US + 1_000_000 * second
        for k, signal in enumerate(signals):
            value, stamp_us = signal.chunk(250 * second, 250 * second + 500), now_us + k * 1_000_000 * wrong_s
            tick = RawTick.of([value], arrival_us=np.array([stamp_us]), now_us=now_us)
            for out in pipeline.emit(tick):
                found.update(decode_beat(value)["stream"] for value in out.values if out.topic == BEATS)
    return found
