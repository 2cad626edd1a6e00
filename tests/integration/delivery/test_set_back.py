"""A broker that refuses an offset sets a client back to the oldest message: nothing is read twice, or left out."""

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming.source import Source
from beatwire.kafka.local.broker import LocalKafka
from beatwire.kafka.publishing.sender import Sender
from beatwire.kafka.reading.follower import BEGINNING, Follower
from beatwire.wire import names
from moments import wait_until

pytestmark = pytest.mark.kafka

PARTITION_CODE = 41  # byte of an answer to Fetch (version 13 on) with one partition: its error code
OFFSET_OUT_OF_RANGE = 1

Reader = Callable[[], list[bytes | None]]


@contextmanager
def group_member(cluster: Cluster) -> Iterator[Reader]:
    with Source(cluster, "g") as source:

        def read() -> list[bytes | None]:
            polled = source.take(0.1)
            return [] if polled is None else [message.value() for message in polled.origin.messages]

        yield read


@contextmanager
def follower(cluster: Cluster) -> Iterator[Reader]:
    with Follower(cluster, {names.SAMPLES: BEGINNING}) as follower:

        def read() -> list[bytes | None]:
            return [record.value for record in follower.records(0.1)]

        yield read


@pytest.mark.parametrize("reader", [group_member, follower])
def test_an_offset_that_a_broker_refuses_once_makes_no_message_be_read_twice(need_kafka, caplog, reader):
    refused = []

    def refusing(answer: bytes) -> bytes:
        if refused or b"second" not in answer:
            return answer
        refused.append(True)
        return answer[:PARTITION_CODE] + struct.pack(">h", OFFSET_OUT_OF_RANGE) + answer[PARTITION_CODE + 2 :]

    with LocalKafka(partitions=1, behind_network=True) as kafka:

        def send(word: str) -> list[bytes]:
            values = [f"{word} {k}".encode() for k in range(100)]
            with Sender(kafka.cluster) as sender:
                sender.send(names.SAMPLES, [b"s"] * len(values), values)
            return values

        sent, read = send("first"), list[bytes | None]()
        with reader(kafka.cluster) as read_more:

            def has_all() -> bool:
                read.extend(read_more())
                return len(read) >= len(sent)

            wait_until(has_all)
            assert [read_more() for _ in range(5)] == [[]] * 5
            kafka.network.alter = refusing
            sent += send("second")
            sent += send("third")
            wait_until(has_all)
            assert [read_more() for _ in range(5)] == [[]] * 5
    assert refused
    assert read == sent
    assert [record.getMessage() for record in caplog.records if record.__dict__.get("event") == "set back"]
