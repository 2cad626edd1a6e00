"""Messages without a key: said once, and only where they can be in several partitions."""

import logging
from types import SimpleNamespace

import pytest
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming.client import GroupClient
from beatwire.wire import names
from confluent_kafka import Message


def message(partition: int, key: bytes | None, value: bytes | None = b"1") -> Message:
    return Message(topic=names.SAMPLES, partition=partition, key=key, value=value)


@pytest.mark.parametrize(
    ("polled", "said"),
    [
        (message(2, None), 1),
        (message(2, b"bed-1"), 0),
        (message(0, None), 0),  # perhaps the only partition
        (message(2, None, None), 0),  # the end of a transaction of a program
    ],
    ids=["without a key", "with a key", "the first partition", "tombstone"],
)
def test_a_message_without_a_key_is_said_once(caplog: pytest.LogCaptureFixture, polled: Message, said: int) -> None:
    caplog.set_level(logging.WARNING, "beatwire")
    client = GroupClient(Cluster("127.0.0.1:1"), "g", names.SAMPLES, None, protocol="classic")  # type: ignore[arg-type]
    client.consumer.close()
    client.consumer = SimpleNamespace(consume=lambda *_: [polled])  # type: ignore[assignment]
    for _ in range(3):
        assert client.poll() == ([polled], True)
    assert [record.event for record in caplog.records] == ["no key"] * said
    assert not said or "got none in partition 2 of ecg.samples" in caplog.text
