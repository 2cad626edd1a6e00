"""The rival of ``live``: a loop that consumes, produces one message for every four, and commits, without analysis."""

import argparse
import sys
import uuid

from confluent_kafka import Consumer, Producer

from beatwire.signals import stop_on_signals
from beatwire.wire import names


def run(bootstrap: str, group: str) -> None:
    """Run exactly-once until SIGTERM; a value is the arrival time of the message in microseconds."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "group.protocol": "consumer",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 10,
        }
    )
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": f"bare-{uuid.uuid4()}", "linger.ms": 5})
    producer.init_transactions(30)
    consumer.subscribe([names.SAMPLES])
    sys.stderr.write("monitoring without analysis\n")  # ``live`` waits for a line that starts like the monitor's
    sys.stderr.flush()
    with stop_on_signals() as stop:
        while not stop.is_set():
            messages = consumer.consume(10_000, 0.01)
            if not messages:
                continue
            producer.begin_transaction()
            for message in messages[::4]:  # about as many beats as the monitor publishes
                producer.produce(names.BEATS, str(message.timestamp()[1] * 1000).encode(), message.key())
            producer.send_offsets_to_transaction(
                consumer.position(consumer.assignment()), consumer.consumer_group_metadata()
            )
            producer.commit_transaction()
    consumer.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bootstrap-servers", required=True)
    parser.add_argument("--group", required=True)
    arguments = parser.parse_args()
    run(arguments.bootstrap_servers, arguments.group)
