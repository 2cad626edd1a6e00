"""Messages for tests: on a real Kafka to send, take as ticks and read back; and one without a broker."""

import time
from dataclasses import dataclass

from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming.positions import Position
from beatwire.kafka.publishing.sender import Sender
from beatwire.kafka.reading.readers import read_to_end
from beatwire.records import Outgoing
from beatwire.wire import names
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from moments import LIMIT_S


@dataclass
class Message:
    """A message as librdkafka returns it; `batch.Message` has to be replaced by this class."""

    number: int
    at: int
    content: bytes
    leader: int | None = None

    def value(self) -> bytes:
        return self.content

    def partition(self) -> int:
        return self.number

    def offset(self) -> int:
        return self.at

    def leader_epoch(self) -> int | None:
        return self.leader

    def timestamp(self) -> tuple[int, int]:
        return 2, 1_000


def beats(*values: bytes) -> list[Outgoing]:
    return [Outgoing(names.BEATS, [b"s"] * len(values), list(values))]


def quick_sender(cluster: Cluster) -> Sender:
    """Return a sender to brokers that nothing disturbs: without a producer id, which takes librdkafka half a second."""
    return Sender(cluster, {"enable.idempotence": False})


def send(kafka, *values, topic=names.SAMPLES):
    """Send messages with one key."""
    with quick_sender(kafka.cluster) as sender:
        sender.send(topic, [b"s"] * len(values), list(values))


def abort_messages(cluster: Cluster, partition: int) -> None:
    """Send messages to a partition of the samples in a transaction, and abort it."""
    producer = cluster.producer({"transactional.id": "aborts", "transaction.timeout.ms": 60_000})
    producer.init_transactions(60)
    producer.begin_transaction()
    for _ in range(5):
        producer.produce(names.SAMPLES, b"lost", b"aborts", partition)
    producer.flush(60)
    producer.abort_transaction(60)


def take(source, *, within_s=LIMIT_S):
    """Return the next tick that is not empty."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        polled = source.take(0.1)
        if polled is not None and len(polled.tick.arrival_us):
            return polled
    raise AssertionError(f"no message within {within_s:g} s")


def positions_after(polled):
    """Return what is to be committed with a tick: the offsets after it, from which a successor needs no replay."""
    return {partition: Position(offset, offset) for partition, offset in polled.positions.items()}


def values_in(kafka, topic):
    """Return the values of all committed messages of a topic."""
    return [value for _, value in read_to_end(kafka.cluster, topic)]


def set_topic(cluster: Cluster, topic: str, name: str, value: str) -> None:
    """Set a property of a topic."""
    admin = cluster.admin()
    changed = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[changed])
    admin.incremental_alter_configs([resource])[resource].result(LIMIT_S)
