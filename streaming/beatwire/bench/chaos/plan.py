"""Which disturbances there are, and in which order they come.

In: a set of kinds or a number of each, and a seed. Out: kinds, one after another. No state.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, fields
from enum import StrEnum
from itertools import repeat


class Kind(StrEnum):
    """A disturbance.

    KILL          SIGKILL to a worker; another one is started
    KILL_NEWEST   the same to the one that was started last: the first takes over again and again
    FREEZE        SIGSTOP to a worker, SIGCONT 4-20 s later
    LEAVE         SIGTERM to a worker; another one is started
    GROW          one worker more
    SHRINK        SIGTERM to a worker
    BROKER_KILL   SIGKILL to the broker; it is started again
    BROKER_STOP   SIGTERM to the broker; it is started again
    CUT           all connections are cut
    STALL         the network passes nothing on for 1-8 s
    REFUSE        the broker refuses the next write of beats or alerts once
    LOSE          the answer to the next write, commit or end of a transaction is lost, and its connection cut
    PAUSE         nothing is sent for 3-30 s, and then what has waited at once
    BUSY          another process has a core for 20-90 s
    """

    KILL = "kill"
    KILL_NEWEST = "newest killed"
    FREEZE = "freeze"
    LEAVE = "leave"
    GROW = "grow"
    SHRINK = "shrink"
    BROKER_KILL = "broker kill"
    BROKER_STOP = "broker stop"
    CUT = "connections cut"
    STALL = "network stall"
    REFUSE = "write refused"
    LOSE = "answer lost"
    PAUSE = "feed paused"
    BUSY = "machine busy"


SCALE = (Kind.LEAVE, Kind.GROW, Kind.SHRINK)
BROKER = (Kind.BROKER_KILL, Kind.BROKER_STOP)
NETWORK = (Kind.REFUSE, Kind.LOSE, Kind.CUT, Kind.STALL)
_WORKER = (Kind.KILL, Kind.KILL, Kind.KILL, Kind.FREEZE, *SCALE)
# Name of a set -> its kinds; one that is listed more often comes more often.
SETS: dict[str, tuple[Kind, ...]] = {
    "kill": (Kind.KILL,),
    "freeze": (Kind.FREEZE,),
    "scale": SCALE,
    "worker": _WORKER,
    "broker": BROKER,
    "network": NETWORK,
    "all": (*_WORKER, Kind.BROKER_KILL, *NETWORK),
    "soak": (Kind.KILL_NEWEST, Kind.PAUSE, Kind.BUSY, Kind.BUSY),
    "none": (),
}


@dataclass(frozen=True, slots=True)
class Counts:
    """How many disturbances of each family are made."""

    kills: int = 0
    freezes: int = 0
    scale_changes: int = 0
    broker_restarts: int = 0
    network_faults: int = 0

    def __bool__(self) -> bool:
        return any(getattr(self, field.name) for field in fields(self))


def endless(events: str, seed: int) -> Iterator[Kind]:
    """Yield kinds of the set `events` at random without end; the set ``none`` yields nothing."""
    kinds, rng = SETS[events], random.Random(seed)  # noqa: S311
    for _ in repeat(None) if kinds else ():
        yield rng.choice(kinds)


def counted(counts: Counts, seed: int) -> Iterator[Kind]:
    """Yield exactly so many disturbances of each family, in random order.

    Scale changes take turns, one more worker and one less, so that each can be made.
    """
    rng = random.Random(seed)  # noqa: S311
    families = [
        *repeat("kill", counts.kills),
        *repeat("freeze", counts.freezes),
        *repeat("scale", counts.scale_changes),
        *repeat("broker", counts.broker_restarts),
        *repeat("network", counts.network_faults),
    ]
    rng.shuffle(families)
    turns = {"scale": (Kind.GROW, Kind.LEAVE, Kind.SHRINK), "broker": BROKER, "network": NETWORK}
    made = dict.fromkeys(turns, 0)
    for family in families:
        if family in turns:
            kinds = turns[family]
            yield kinds[made[family] % len(kinds)]
            made[family] += 1
        else:
            yield Kind(family)
