"""The producer process of ``live``: ``python -m beatwire.bench.broker.live_feeder BOOTSTRAP STREAMS SECONDS``.

It prints the number of chunks that it sent.
"""

import sys

from beatwire_producers.replay import play
from beatwire_producers.ward import ward

from beatwire.kafka.cluster import Cluster
from beatwire.kafka.publishing.sender import Sender

if __name__ == "__main__":
    bootstrap, streams, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    feeds = ward(streams, seconds, seed=1, events=(), distinct=64).feeds
    with Sender(Cluster(bootstrap)) as sender:
        summary = play(feeds, sender, chunk_ms=200.0, seconds=seconds)
    sys.stdout.write(f"{summary.chunks}\n")
