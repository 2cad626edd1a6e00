"""The rival of ``preloaded``: a consume loop.

``python -m beatwire.bench.broker.consume_baseline BOOTSTRAP GROUP MESSAGES`` prints
 the seconds from the first message to the last.
"""

import sys
import time

from confluent_kafka import Consumer

from beatwire.wire import names


def consume(bootstrap: str, group: str, messages: int) -> float:
    """Consume ``messages`` messages without using them; return the seconds from the first to the last."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "group.protocol": "consumer",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            # the same fetching as the monitor's source
            "queued.min.messages": 200_000,
            "fetch.message.max.bytes": 4 << 20,
            "fetch.wait.max.ms": 10,
            "fetch.queue.backoff.ms": 5,
        }
    )
    consumer.subscribe([names.SAMPLES])
    begin, consumed = 0.0, 0
    while consumed < messages:
        consumed += len(consumer.consume(10_000, 1.0))
        begin = begin or (time.perf_counter() if consumed else 0.0)
    taken_s = time.perf_counter() - begin
    consumer.close()
    return taken_s


if __name__ == "__main__":
    sys.stdout.write(f"{consume(sys.argv[1], sys.argv[2], int(sys.argv[3]))}\n")
