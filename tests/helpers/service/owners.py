"""Workers that share the partitions of a topic, in one process: the real monitor and graph, and brokers of memory.

A `Worker` is the source and the sink of its monitor. It reads what has arrived by the clock of a `Log`; how much of it
each tick has is drawn. Its epochs begin as those of `beatwire.kafka.consuming.poller` do.
"""

import random
import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming.batch import PolledTick
from beatwire.kafka.consuming.positions import Position
from beatwire.kafka.consuming.progress import Progress
from beatwire.kafka.consuming.replay import find_starts
from beatwire.kafka.publishing.sink import StaleError
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.records import Bank, LimitChange, Outgoing, RawTick
from beatwire.records.feed import Watched
from beatwire.records.letters import Addresses
from beatwire.service.interfaces import NoStaff
from beatwire.service.monitor import Monitor
from beatwire.stages import align
from beatwire.stages.support.streams.admission import Admission
from beatwire.wire import names
from confluent_kafka import TopicPartition
from memory_log import Commits, Log

PASS_S = 10.0  # a replay is a few passes: all the same by law 1, and several times as fast
NO_ID = SimpleNamespace(ask=lambda: None, known=None, wait=lambda: None)  # of the topic: a log of memory has none
STALE = ("lost", "published")  # what became of a tick whose outcome is unknown


class OneBank(Settings):
    """Settings with which the bank of most devices is open from the beginning on.

    The first chunk of a worker opens its bank at once, be it a stray. Which one that is depends on what the worker has.
    """

    def admission(self, admits: Callable[[list[Bank], list[int]], bool] | None = None) -> Admission:
        """Return an admission with this bank."""
        admission = super().admission(admits)
        admission.banks.append(Bank(0, 250.0, 1))
        admission.lanes.append(0)
        admission.free.append([])
        admission.durations = np.array([align.durations_of(self.align(), 250.0)], np.int64)
        return admission


class Staff(NoStaff):
    """The limits that are entered in time; nobody watches the feed: the clock is that of the ticks."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log, self._taken = log, 0

    def take_changes(self) -> list[LimitChange]:
        """Return the changes of limits that no earlier call has returned."""
        before, self._taken = self._taken, sum(one.since_us <= self._log.now_us for one in self._log.limits)
        return self._log.limits[before : self._taken]

    def take_all_changes(self) -> list[LimitChange]:
        """Return all changes of limits so far."""
        self._taken = 0
        return self.take_changes()

    @property
    def watched(self) -> Watched:
        """Return no time."""
        return Watched(0)


class Places(NamedTuple):
    """The origin of the messages of a tick."""

    places: Sequence[tuple[int, bytes | None]]

    def addresses(self, numbers: Sequence[int]) -> Addresses:
        """Return where messages are."""
        return Addresses(names.SAMPLES, [self.places[k][0] for k in numbers], [self.places[k][1] for k in numbers])


class Worker:
    """A member of the group: source, sink and monitor.

    Parameters
    ----------
    rng
        Draws how much a tick has.
    name
        For people.
    begun
        How its epochs begin is counted here.
    """

    cluster = Cluster("nowhere")
    held = 0

    def __init__(self, log: Log, rng: random.Random, name: int = 0, begun: Counter[str] | None = None) -> None:
        self.log, self.rng, self.name = log, rng, name
        self.begun = Counter[str]() if begun is None else begun
        self.owned: frozenset[int] = frozenset()
        self.stale: str | None = None  # of the next tick, what becomes of it
        self.loses: frozenset[int] | None = None  # in a new epoch, before the next tick is published
        self.most: float = 1.0  # part of what waits that a tick has at most
        self._progress = Progress()
        self._epoch, self._changing = 0, True
        self._start: dict[int, int] = {}
        self._next: dict[int, int] = {}
        self._until: dict[int, int] = {}
        self._banks: dict[int, Any] = {}
        self._turns = 0
        self.monitor = Monitor(
            Pipeline(OneBank(pass_s=PASS_S)), self, self, staff=Staff(log), read_alerts=log.active_alerts,  # type: ignore[arg-type]
            clock_us=lambda: log.now_us, clock_s=lambda: log.now_us / 1e6,
        )  # fmt: skip

    # ---- called by a test ----

    def own(self, partitions: Collection[int]) -> None:
        """Change the assignment."""
        after = frozenset(partitions)
        if not after >= self.owned:
            self._progress.lose(self._epoch)
        self.owned, self._changing = after, True

    def turn(self) -> None:
        """Let the monitor turn once."""
        if self.owned:
            self._turns = 0
            self.monitor.run(threading.Event(), until=lambda _: self._turns > 0)

    @property
    def lag(self) -> int:
        """Return how many messages of its partitions have arrived and were not published for."""
        return sum(self.log.end(p) - self.log.commits.get(p, (0, ""))[0] for p in self.owned)

    @property
    def is_behind(self) -> bool:
        """Return True while a turn has something to do."""
        return self._changing or not self.monitor.is_published or self.lag > 0 or self._is_replaying

    # ---- the source ----

    @property
    def epoch(self) -> int:
        """Return the present epoch."""
        return self._epoch + self._changing

    @property
    def partitions(self) -> int:
        """Return the number of partitions of the present epoch."""
        return 0 if self._changing else len(self._start)

    @property
    def assigned(self) -> set[int]:
        """Return the partitions of the present epoch."""
        return set(self._start)

    @property
    def _is_replaying(self) -> bool:
        return any(self._next[p] < until for p, until in self._until.items())

    def take(self, timeout_s: float) -> PolledTick | None:
        """Return a tick, as `beatwire.kafka.consuming.source.Source.take` does."""
        self._turns += 1
        if self._changing:
            self._begin_epoch()
        replay = self._is_replaying
        ends = self._until if replay else {p: self.log.end(p) for p in self._start}
        parts = self._poll(ends)
        if replay and not parts:
            return None
        if self._progress.epoch != self._epoch:
            self._progress.begin_epoch(self._epoch, self._start)
        positions = {p: stop for p, _, stop in parts}
        start = self._progress.take(positions)
        self._next |= positions
        caught_up = not replay and all(self._next[p] == end for p, end in ends.items())
        rows = [(p, offset) for p, begin, stop in parts for offset in range(begin, stop)]
        messages = [self.log.partitions[p][offset] for p, offset in rows]
        tick = RawTick.of(
            [one.value for one in messages],
            now_us=messages[0].arrived_us if replay else self.log.now_us,
            arrival_us=np.array([one.arrived_us for one in messages], np.int64),
            partition=np.array([p for p, _ in rows], np.int32),
            caught_up=caught_up,
        )
        if replay:
            tick = replace(tick, open_banks=self._banks)
        places = Places([(offset, one.key) for (_, offset), one in zip(rows, messages, strict=True)])
        return PolledTick(
            tick, places, self._epoch, replay, start, positions, beginning=self._progress.beginning  # type: ignore[arg-type]
        )  # fmt: skip

    def _poll(self, ends: Mapping[int, int]) -> list[tuple[int, int, int]]:
        """Return what a tick reads: partition and offsets, in the order of one poll or two."""
        at, parts = dict(self._next), []
        for _ in range(self.rng.choice([1, 2])):
            order = sorted(ends)
            self.rng.shuffle(order)
            for p in order:
                waits = ends[p] - at[p]
                count = waits if self.most >= 1.0 else self.rng.randint(0, max(min(waits, 1), round(self.most * waits)))
                if count > 0:
                    parts.append((p, at[p], at[p] + count))
                    at[p] += count
        return parts

    def _begin_epoch(self) -> None:
        assigned = [TopicPartition(names.SAMPLES, p) for p in sorted(self.owned)]
        starts = find_starts(Commits(self.log), assigned, self._progress, NO_ID, first=True)  # type: ignore[arg-type]
        self._changing, self._epoch = False, self._epoch + 1
        self.begun[self._progress.beginning.name] += 1
        self._next = {p: start.at.rewind for p, start in starts.items()}
        self._start = dict(self._next)
        self._banks = {p: start.at.banks for p, start in starts.items() if start.at.banks is not None}
        self._until = {p: start.at.offset for p, start in starts.items() if start.at.rewind < start.at.offset}

    def rewind(self, *, anew: bool = False) -> None:
        """Begin a new epoch at the commits, as the last tick may not have been published."""
        if anew:
            self._progress.lose(self._epoch)
        self._progress.doubt()
        self._changing = True

    def took(self, messages: int, seconds: float) -> None:
        pass

    def take_pending(self) -> list[TopicPartition]:
        """Return none."""
        return []

    # ---- the sink ----

    def publish(
        self, outgoing: Sequence[Outgoing], positions: Mapping[int, Position], source: object, epoch: int
    ) -> None:
        """Publish and commit; raise `StaleError` if the test says so, or the assignment has changed."""
        if positions and self.loses is not None:
            lost, self.loses = self.loses, None
            self.own(self.owned - lost)
        if epoch != self.epoch:
            raise StaleError
        stale = None
        if positions:
            stale, self.stale = self.stale, None
        if stale != "lost":
            self.log.append(outgoing, positions)
        if stale is not None:
            raise StaleError

    def begin_tick(self, positions: Mapping[int, Position], source: object, epoch: int) -> None:
        """Do nothing: `publish` gets the positions of the tick."""

    def send_ahead(self, outgoing: Sequence[Outgoing], source: object, epoch: int) -> None:
        """Do nothing: `publish` gets all messages of a tick."""

    def end_open_transactions(self, source: object) -> None:
        """Do nothing: there are none."""

    def end_pending_transactions(self, partitions: Sequence[TopicPartition], source: object) -> None:
        """Do nothing: there are none."""
