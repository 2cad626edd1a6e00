"""The rival of ``preloaded``: ``python -m beatwire.bench.reader BOOTSTRAP GROUP MESSAGES`` prints seconds."""

from __future__ import annotations

import sys
import time

from confluent_kafka import Consumer

from beatwire.wire import names


def read(bootstrap: str, group: str, messages: int) -> float:
    """Consume so many messages and do nothing with them; returns seconds from the first to the last."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "group.protocol": "consumer",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "queued.min.messages": 200_000,
            "fetch.message.max.bytes": 4 << 20,
            "fetch.wait.max.ms": 10,
            "fetch.queue.backoff.ms": 5,
        }
    )
    consumer.subscribe([names.SAMPLES])
    begin, seen = 0.0, 0
    while seen < messages:
        seen += len(consumer.consume(10_000, 1.0))
        begin = begin or (time.perf_counter() if seen else 0.0)
    taken_s = time.perf_counter() - begin
    consumer.close()
    return taken_s


if __name__ == "__main__":
    sys.stdout.write(f"{read(sys.argv[1], sys.argv[2], int(sys.argv[3]))}\n")
