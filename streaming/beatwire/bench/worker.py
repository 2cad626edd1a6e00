"""One of ours for ``preloaded``: ``python -m beatwire.bench.worker BOOTSTRAP GROUP`` until its input ends.

Says on standard output how many messages are published, and when (seconds of the machine's clock), a line a tick.
"""

from __future__ import annotations

import sys
import threading
import time

from beatwire.kafka.sink import Sink
from beatwire.kafka.source import Source
from beatwire.pipeline.graph import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.service.counters import Counters
from beatwire.service.monitor import Monitor
from beatwire.service.warmup import warm_up
from beatwire.service.workers import stop_with_parent


def work(bootstrap: str, group: str) -> None:
    """Monitor as the service does, and tell of every tick."""
    pipeline, stop = Pipeline(Settings()), threading.Event()
    warm_up(lambda _: None)
    stop_with_parent(stop)

    def tell(counters: Counters) -> bool:
        sys.stdout.write(f"{time.time()} {counters.messages}\n")
        sys.stdout.flush()
        return False

    with Sink(bootstrap) as sink, Source(bootstrap, group) as source:
        monitor = Monitor(pipeline, source, sink)
        pipeline.subscribe(pipeline.source, lambda tick: tell(monitor.counters) if len(tick.arrival_us) else None)
        monitor.run(stop, until=tell)


if __name__ == "__main__":
    work(sys.argv[1], sys.argv[2])
