"""The processes of ``live_many``: a worker until SIGTERM, or a producer.

``python -m beatwire.bench.broker.live_many_worker work BOOTSTRAP BACKEND WORKERS SHARING`` or
``... feed BOOTSTRAP NUMBER STREAMS SECONDS BUNDLE``. No module imports this one: it is only run.
"""

import json
import sys
import threading
from dataclasses import replace

from beatwire_producers.replay import play
from beatwire_producers.ward import ward

from beatwire.backends.choose import choose
from beatwire.bench.broker.live_many import CHUNK_MS, GROUP, READY, SETTLE_S
from beatwire.jit.threads import share_of_cores, use
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming.source import Source
from beatwire.kafka.publishing.sender import Sender
from beatwire.kafka.publishing.sink import Sink
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.service.monitor import Monitor
from beatwire.service.warmup import warm_up
from beatwire.signals import stop_on_signals


def work(bootstrap: str, kind: str, workers: int, sharing: int) -> None:
    """Run a worker until SIGTERM; print its counters, with the histogram of latencies by millisecond, as JSON."""
    backend = choose(kind, sharing=sharing)
    use(share_of_cores(workers))
    pipeline = Pipeline(Settings(), backend)
    warm_up(lambda _: None, backend)
    with stop_on_signals() as stop, Sink(Cluster(bootstrap)) as sink, Source(Cluster(bootstrap), GROUP) as source:
        monitor = Monitor(pipeline, source, sink)
        counters = monitor.counters

        def clear_latencies() -> None:
            while not counters.messages and not stop.wait(0.05):
                pass
            if not stop.wait(SETTLE_S):
                counters.latency.counts[:] = 0

        threading.Thread(target=clear_latencies, daemon=True).start()
        print(READY, flush=True)  # noqa: T201
        monitor.run(stop)
    summary = {"messages": counters.messages, "beats": counters.beats, "latency": counters.latency.counts.tolist()}
    print(json.dumps(summary))  # noqa: T201


def feed(bootstrap: str, number: int, streams: int, seconds: float, bundle: int) -> None:
    """Run a producer; print the number of messages sent, and of chunks."""
    synthetic = ward(streams, 60, seed=number, events=(), distinct=64)
    feeds = [replace(feed, stream=f"ward-{number}-{k}") for k, feed in enumerate(synthetic.feeds)]
    with Sender(Cluster(bootstrap)) as sender:
        summary = play(feeds, sender, chunk_ms=CHUNK_MS, seconds=seconds, bundle=bundle)
    print(json.dumps([summary.messages, summary.chunks]))  # noqa: T201


if __name__ == "__main__":
    if sys.argv[1] == "work":
        work(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
    else:
        feed(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]), int(sys.argv[6]))
