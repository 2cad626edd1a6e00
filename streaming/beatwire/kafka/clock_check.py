"""Whether the clocks of this machine and of the broker agree, by the samples that arrive while one looks.

In: a cluster. Out: seconds, or None. No state. Kafka has no request for the time; but it stamps every chunk.
"""

import time

from beatwire.kafka.cluster import Cluster
from beatwire.kafka.reading.follower import END, Follower
from beatwire.kafka.topic_kinds import has_broker_clock
from beatwire.wire.names import SAMPLES

_ENOUGH = 3  # polls with messages, of which the fastest counts


def clock_ahead_s(cluster: Cluster, *, within_s: float = 2.0) -> float | None:
    """Return by how much the clock of this machine is ahead of the broker's; None: no samples show it."""
    if not has_broker_clock(cluster, timeout_s=within_s):
        return None
    until_s = time.monotonic() + within_s
    found: list[float] = []
    with Follower(cluster, {SAMPLES: END}) as follower:
        while time.monotonic() < until_s and len(found) < _ENOUGH:
            tick = follower.ticks(0.1)
            if tick is not None:
                found.append((tick.now_us - int(tick.arrival_us.max())) / 1e6)
    return min(found, default=None)
