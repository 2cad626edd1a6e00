"""A worker of ``preloaded``, until its input ends.

``python -m beatwire.bench.broker.preloaded_worker BOOTSTRAP GROUP`` prints a line
 before and after each tick: the time in seconds of the machine's clock, and the number of messages
published so far.
"""

import sys
import threading
import time

from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming.source import Source
from beatwire.kafka.publishing.sink import Sink
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.service.monitor import Monitor
from beatwire.service.observing.counters import Counters
from beatwire.service.warmup import warm_up
from beatwire.signals import stop_with_parent


def work(bootstrap: str, group: str) -> None:
    """Monitor as the service does, and print the progress."""
    pipeline, stop = Pipeline(Settings()), threading.Event()
    warm_up(lambda _: None)
    stop_with_parent(stop.set)

    def print_progress(counters: Counters) -> bool:
        sys.stdout.write(f"{time.time()} {counters.messages}\n")
        sys.stdout.flush()
        return False

    with Sink(Cluster(bootstrap)) as sink, Source(Cluster(bootstrap), group) as source:
        monitor = Monitor(pipeline, source, sink)
        counters = monitor.counters
        pipeline.subscribe(pipeline.source, lambda tick: print_progress(counters) if len(tick.arrival_us) else None)
        monitor.run(stop, until=print_progress)


if __name__ == "__main__":
    work(sys.argv[1], sys.argv[2])
