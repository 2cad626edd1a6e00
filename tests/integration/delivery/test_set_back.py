"""A broker that refuses an offset sets a client back to the oldest message: nothing is read twice, or left out."""

import struct

import pytest
from beatwire.kafka.consuming.source import Source
from beatwire.kafka.local.broker import LocalKafka
from beatwire.kafka.publishing.sender import Sender
from beatwire.wire import names
from kafka_messages import take

pytestmark = pytest.mark.kafka

PARTITION_CODE = 41  # byte of an answer to Fetch (version 13 on) with one partition: its error code
OFFSET_OUT_OF_RANGE = 1


def test_an_offset_that_a_broker_refuses_once_makes_no_message_be_read_twice(need_kafka, caplog):
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

        sent = send("first")
        with Source(kafka.cluster, "g") as source:
            read = values_of(take(source))
            while len(read) < len(sent):
                read += values_of(take(source))
            kafka.network.alter = refusing
            sent += send("second")
            sent += send("third")
            while len(read) < len(sent):
                read += values_of(take(source))
            assert values_of(source.take(0.5)) == []
    assert refused
    assert read == sent
    assert [record.getMessage() for record in caplog.records if record.__dict__.get("event") == "set back"]


def values_of(polled) -> list[bytes]:
    return [message.value() for message in polled.origin.messages]
