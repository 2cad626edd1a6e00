"""The only loop: poll -> ``graph.emit(tick)`` -> publish -> commit.

In: the ticks of a `Source`; out: what the graph makes of them, through a `Sink`. State: the number
of the tick, and for every tick that may still be replayed from the offsets at its start.

Recovery is replay. With every tick goes, per partition, the offset from which a successor has to
start for its graph to be what ours is: the start of tick ``graph.rewind_tick(partition)``. When the
assignment changes everything is forgotten: the graph is reset, fed the replay with its output
discarded, told the alerts that stand in the log (`Graph.adopt`), and goes on publishing. Invariant:
the published beats and alerts are those of a monitor that never stopped.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from beatwire.errors import FatalError
from beatwire.kafka.batch import Taken
from beatwire.kafka.positions import Position
from beatwire.kafka.readers import read_active_alerts
from beatwire.kafka.sink import Sink, StaleError
from beatwire.kafka.source import Source
from beatwire.records import I64, Outgoing, RawTick
from beatwire.wire import names
from beatwire.wire.dead_letters import Origin

IDLE_S = 0.1
_OUTAGE_S = 120.0


class Graph(Protocol):
    """What the monitor feeds. Ticks are numbered by the calls of `emit` since `reset`, from 0."""

    def emit(self, tick: RawTick, origin: Origin) -> Sequence[Outgoing]:
        """Take a tick through all stages; return what is to be published."""

    def rewind_tick(self, partition: int) -> int:
        """Return the tick from whose start `partition` must be replayed to rebuild the state after the last."""

    def reset(self) -> None:
        """Forget everything."""

    def adopt(self, alerts: list[dict[str, Any]]) -> None:
        """Take over the alerts that are not off according to the log; called once, after a replay."""


class Latency:
    """How long messages took: counts by the millisecond, up to ten seconds."""

    def __init__(self) -> None:
        self.counts: I64 = np.zeros(10_001, np.int64)

    def add(self, now_us: int, arrival_us: I64) -> None:
        """Count messages that arrived at `arrival_us` and are done at `now_us`, microseconds."""
        taken_ms = np.clip((now_us - arrival_us) // 1000, 0, len(self.counts) - 1)
        self.counts += np.bincount(taken_ms, minlength=len(self.counts))

    def quantile_ms(self, q: float) -> float | None:
        """Return the `q`-quantile in milliseconds, None when nothing was counted.

        Examples
        --------
        >>> latency = Latency()
        >>> latency.add(5_000, np.array([0, 1_000, 4_500]))
        >>> latency.quantile_ms(0.5)
        4.0
        """
        total = int(self.counts.sum())
        return float(np.searchsorted(np.cumsum(self.counts), q * total)) if total else None


@dataclass
class Counters:
    """What happened since the start; `latency` is from arrival at the broker to publication."""

    ticks: int = 0
    messages: int = 0
    message_bytes: int = 0
    beats: int = 0
    alerts: int = 0
    rejects: int = 0
    replayed: int = 0
    epochs: int = 0
    stale_ticks: int = 0
    latency: Latency = field(default_factory=Latency)


class TickLog:
    """Where each partition stood at the start of each tick, for as long as it may be asked.

    Examples
    --------
    >>> log = TickLog()
    >>> log.add({0: 10}); log.add({0: 15})
    >>> log.start(0, 1), log.start(0, 7, otherwise=20)
    (15, 20)
    """

    def __init__(self) -> None:
        self._starts: deque[Mapping[int, int]] = deque()
        self._first = 0

    def add(self, start: Mapping[int, int]) -> None:
        """Note the start of the next tick."""
        self._starts.append(start)

    def start(self, partition: int, tick: int, otherwise: int = 0) -> int:
        """Return where `partition` stood at the start of `tick`; of a later one than any, `otherwise`."""
        row = max(tick - self._first, 0)
        return self._starts[row].get(partition, otherwise) if row < len(self._starts) else otherwise

    def forget_before(self, tick: int) -> None:
        """Drop what nobody will ask for any more."""
        while self._starts and self._first < tick:
            self._starts.popleft()
            self._first += 1


class Monitor:
    """Runs a graph between a source and a sink.

    Parameters
    ----------
    graph
        See `Graph`.
    source, sink
        Entered and closed by the caller.
    read_alerts
        Returns the alerts that are not off; by default from the alerts topic.
    clock_us
        Microseconds since 1970.
    score_within_s
        So far behind the broker, beats are no longer scored; 0: always score.
    """

    def __init__(
        self,
        graph: Graph,
        source: Source,
        sink: Sink,
        *,
        read_alerts: Callable[[], list[dict[str, Any]]] | None = None,
        clock_us: Callable[[], int] = lambda: time.time_ns() // 1000,
        score_within_s: float = 0.0,
    ) -> None:
        self.counters = Counters()
        self._score_within_us = round(score_within_s * 1e6)
        self._graph, self._source, self._sink = graph, source, sink
        self._read_alerts = read_alerts or (lambda: read_active_alerts(source.bootstrap))
        self._clock_us = clock_us
        self._log = TickLog()
        self._epoch = -1
        self._adopted = False

    def run(self, stop: threading.Event, *, until: Callable[[Counters], bool] | None = None) -> Counters:
        """Work until `stop` is set or `until` says so; the tick in work is finished and published.

        Raises
        ------
        UserError, FatalError
            What makes going on impossible.
        """
        while not stop.is_set() and not (until is not None and until(self.counters)):
            taken = self._source.take(IDLE_S)
            if taken is not None:
                self._work(taken)
            elif unsettled := self._source.take_unsettled():
                self._sink.settle(unsettled, self._source)
        return self.counters

    def _work(self, taken: Taken) -> None:
        if taken.epoch != self._epoch:
            self._begin(taken.epoch)
        if not taken.replay and not self._adopted:
            self._adopt()
        self._log.add(taken.start)
        tick = taken.tick if taken.replay else self._relieved(taken.tick)  # a replay leads to the same past
        outgoing = self._graph.emit(tick, taken.origin)
        if taken.replay:
            self.counters.replayed += len(taken.tick.arrival_us)
        else:
            self._publish(taken, outgoing)

    def _adopt(self) -> None:
        """Tell the graph the alerts that stand in the log; a broker that is away is waited for."""
        deadline = time.monotonic() + _OUTAGE_S
        while not self._adopted:
            self._sink.finish_alerts()
            try:
                alerts = self._read_alerts()
            except FatalError:
                if time.monotonic() > deadline:
                    raise
            else:
                self._graph.adopt(alerts)
                self._adopted = True

    def _relieved(self, tick: RawTick) -> RawTick:
        """Spare the tick the scoring when it comes too late: beats and rules first."""
        if not self._score_within_us or not len(tick.arrival_us):
            return tick
        behind_us = self._clock_us() - int(tick.arrival_us.max())
        return replace(tick, overloaded=behind_us > self._score_within_us)

    def _begin(self, epoch: int) -> None:
        self._graph.reset()
        self._log = TickLog()
        self._epoch, self._adopted = epoch, False
        self.counters.epochs += 1

    def _publish(self, taken: Taken, outgoing: Sequence[Outgoing]) -> None:
        positions = self._positions(taken)
        try:
            if outgoing or positions:
                self._sink.publish(outgoing, positions, self._source, taken.epoch)
        except StaleError:
            self.counters.stale_ticks += 1
            self._source.rewind()  # the tick comes again, or is another's
            return
        self._count(taken.tick, outgoing)

    def _positions(self, taken: Taken) -> dict[int, Position]:
        """Return how far the input has come with this tick, and from where a successor must replay."""
        rewind = {p: self._graph.rewind_tick(p) for p in taken.start}
        self._log.forget_before(min(rewind.values(), default=0))
        return {
            p: Position(offset, self._log.start(p, rewind[p], otherwise=offset))
            for p, offset in taken.positions.items()
        }

    def _count(self, tick: RawTick, outgoing: Iterable[Outgoing]) -> None:
        counters = self.counters
        counters.ticks += 1
        counters.messages += len(tick.arrival_us)
        counters.message_bytes += len(tick.payload)
        sent = dict.fromkeys((names.BEATS, names.ALERTS, names.DEAD_LETTERS), 0)
        for messages in outgoing:
            sent[messages.topic] = sent.get(messages.topic, 0) + len(messages.values)
        counters.beats += sent[names.BEATS]
        counters.alerts += sent[names.ALERTS]
        counters.rejects += sent[names.DEAD_LETTERS]
        counters.latency.add(self._clock_us(), tick.arrival_us)
