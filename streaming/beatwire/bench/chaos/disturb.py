"""One disturbance of the workers, of the broker, of the network between them, of the feed, or of the machine.

In: its kind, what is disturbed, a source of random numbers. Out: whether it could be made.
"""

import random
import time

from beatwire.bench.chaos.feed import LiveFeed
from beatwire.bench.chaos.plan import BROKER, NETWORK, Kind
from beatwire.bench.chaos.workers import Workers
from beatwire.kafka.local.broker import LocalKafka
from beatwire.wire import names

FREEZE_S = (4.0, 20.0)  # shorter and longer than the group's session timeout, 6 s at the local broker
MOST_WORKERS = 4
_START_S = 60.0  # the start of a worker; a broker that is away ends a worker that has not joined yet
_AWAY_S = 3.0  # at most, between two processes
STALL_S = (1.0, 8.0)
PAUSE_S = (3.0, 30.0)
BUSY_S = (20.0, 90.0)


def disturb(kind: Kind, workers: Workers, kafka: LocalKafka, feed: LiveFeed, rng: random.Random) -> bool:
    """Make a disturbance; return False if there is no worker for it at present.

    Raises
    ------
    UserError
        The broker does not start again.
    """
    if kind in BROKER:
        return _restart_broker(kind, workers, kafka, rng)
    if kind in NETWORK:
        return _disturb_network(kind, workers, kafka, rng)
    if kind is Kind.PAUSE:
        feed.pause(rng.uniform(*PAUSE_S))
        return True
    if kind is Kind.BUSY:
        return workers.burn(rng.uniform(*BUSY_S))
    if kind is Kind.GROW:
        if len(workers.running) >= MOST_WORKERS:
            return False
        workers.start()
        return True
    free = workers.free()
    if len(free) < (2 if kind is Kind.SHRINK else 1):
        return False
    worker = free[-1] if kind is Kind.KILL_NEWEST else rng.choice(free)
    if kind is Kind.FREEZE:
        workers.freeze(worker, rng.uniform(*FREEZE_S))
    elif kind in (Kind.KILL, Kind.KILL_NEWEST):
        workers.kill(worker)
    else:
        # Before it has joined, a worker ends by the signal itself: there is nothing to leave yet.
        if not workers.wait_until(lambda: worker.ready or worker not in workers.running, _START_S):
            return False
        if worker not in workers.running:
            return False
        workers.stop(worker)
    if kind in (Kind.KILL, Kind.KILL_NEWEST, Kind.LEAVE):
        workers.pause(rng.uniform(0.0, _AWAY_S))
        workers.start()
    return True


def _restart_broker(kind: Kind, workers: Workers, kafka: LocalKafka, rng: random.Random) -> bool:
    """End the broker, and start it again, once every worker has joined: one that finds no broker gives up."""
    if not workers.wait_ready(_START_S):
        return False
    if kind is Kind.BROKER_KILL:
        kafka.kill()
    else:
        kafka.stop()
    time.sleep(rng.uniform(0.0, _AWAY_S))
    kafka.start()
    return True


def _disturb_network(kind: Kind, workers: Workers, kafka: LocalKafka, rng: random.Random) -> bool:
    """Disturb the network, once every worker has joined: one that finds no broker gives up."""
    assert kafka.network is not None
    if not workers.wait_ready(_START_S):
        return False
    if kind is Kind.CUT:
        kafka.network.cut()
    elif kind is Kind.STALL:
        kafka.network.stall(seconds := rng.uniform(*STALL_S))
        time.sleep(seconds)
    elif kind is Kind.REFUSE:
        kafka.network.refuse(kafka.cluster.topic(rng.choice((names.BEATS, names.ALERTS))))
    else:
        kafka.network.lose_answer()
    return True
