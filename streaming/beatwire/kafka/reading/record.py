"""A message as readers of whole topics pass it on: values, no object of the client."""

from typing import NamedTuple

from confluent_kafka import Message

from beatwire.kafka.consuming.batch import stamped_us


class Record(NamedTuple):
    """A message; the value of a tombstone is None; ``time_us`` is its timestamp, microseconds since 1970."""

    topic: str
    key: bytes | None
    value: bytes | None
    time_us: int = 0
    partition: int = 0


def record_of(message: Message, topic: str) -> Record:
    """Return a message of a topic as a record."""
    return Record(topic, message.key(), message.value(), stamped_us(message), message.partition() or 0)
