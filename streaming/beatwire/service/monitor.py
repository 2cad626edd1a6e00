"""The only loop of the service: poll -> ``graph.emit(tick)`` -> publish -> commit.

In: the ticks of a `Source`. Out: the messages that the graph returns, published through a `Sink`. State: the epoch,
and the input offsets at the start of each tick that may have to be replayed.

Recovery is replay. The commit of each tick contains, per partition, the offset from which a successor has to begin so
that its graph reaches the same state: the offset at the start of tick ``graph.rewind_tick(partition)``. When the
assignment changes, the graph is reset, processes the replay with its output discarded, adopts the alerts that the log
holds as not off, and then publishes again. Invariant: the published beats and alerts are those of a monitor that never
stopped.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Protocol

from beatwire.errors import FatalError
from beatwire.kafka.batch import PolledTick
from beatwire.kafka.positions import Position
from beatwire.kafka.readers import read_active_alerts
from beatwire.kafka.sink import Sink, StaleError
from beatwire.kafka.source import Source
from beatwire.records import Outgoing, RawTick
from beatwire.service.counters import Counters
from beatwire.service.tick_log import TickLog
from beatwire.wire import names
from beatwire.wire.dead_letters import Origin

IDLE_S = 0.1  # interval of empty ticks while no messages arrive: the resolution of rules decided by time alone
_OUTAGE_S = 120.0  # an outage of the broker that is waited for


class Graph(Protocol):
    """The graph that the monitor runs. Ticks are numbered by the calls of `emit` since `reset`, from 0."""

    def emit(self, tick: RawTick, origin: Origin) -> Sequence[Outgoing]:
        """Process a tick in all stages; return the messages to publish."""

    def rewind_tick(self, partition: int) -> int:
        """Return the tick from whose start `partition` must be replayed to rebuild the present state."""

    def reset(self) -> None:
        """Return to the initial state."""

    def adopt(self, alerts: list[dict[str, Any]]) -> None:
        """Add the alerts that are not off according to the log; called once an epoch, after its replay."""


class Monitor:
    """Runs a graph between a source and a sink.

    Parameters
    ----------
    graph
        See `Graph`.
    source, sink
        Opened and closed by the caller.
    read_alerts
        Returns the alerts that are not off; by default from the alerts topic.
    clock_us
        Returns microseconds since 1970.
    score_within_s
        Beats of a tick that is further behind the broker, in seconds, are not scored; 0: all beats are scored.

    Attributes
    ----------
    counters : Counters
        What the monitor has done so far.
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
        """Run until `stop` is set or `until` returns True; the tick in work is finished and published.

        Raises
        ------
        UserError, FatalError
            An error after which the monitor cannot continue.
        """
        while not stop.is_set() and not (until is not None and until(self.counters)):
            polled = self._source.take(IDLE_S)
            if polled is not None:
                self._process(polled)
            elif pending := self._source.take_pending():
                self._sink.end_pending_transaction(pending, self._source)
        return self.counters

    def _process(self, polled: PolledTick) -> None:
        """Process one tick: begin its epoch if it is the first, run the graph, publish."""
        if polled.epoch != self._epoch:
            self._begin_epoch(polled.epoch)
        if not polled.replay and not self._adopted:
            self._adopt_alerts()
        self._log.add(polled.start)
        # A replay is never marked as overloaded: it has to rebuild the history of all beats.
        tick = polled.tick if polled.replay else self._mark_overload(polled.tick)
        outgoing = self._graph.emit(tick, polled.origin)
        if polled.replay:
            self.counters.replayed += len(polled.tick.arrival_us)
        else:
            self._publish(polled, outgoing)

    def _adopt_alerts(self) -> None:
        """Pass the alerts in the log to the graph; wait for a broker that is away."""
        deadline = time.monotonic() + _OUTAGE_S
        while not self._adopted:
            self._sink.end_alerts_transaction()
            try:
                alerts = self._read_alerts()
            except FatalError:
                if time.monotonic() > deadline:
                    raise
            else:
                self._graph.adopt(alerts)
                self._adopted = True

    def _mark_overload(self, tick: RawTick) -> RawTick:
        """Return the tick, marked as overloaded if it is too late: its beats are not scored, its rules are decided."""
        if not self._score_within_us or not len(tick.arrival_us):
            return tick
        behind_us = self._clock_us() - int(tick.arrival_us.max())
        return replace(tick, overloaded=behind_us > self._score_within_us)

    def _begin_epoch(self, epoch: int) -> None:
        self._graph.reset()
        self._log = TickLog()
        self._epoch, self._adopted = epoch, False
        self.counters.epochs += 1

    def _publish(self, polled: PolledTick, outgoing: Sequence[Outgoing]) -> None:
        positions = self._positions_after(polled)
        try:
            if outgoing or positions:
                self._sink.publish(outgoing, positions, self._source, polled.epoch)
        except StaleError:
            self.counters.stale_ticks += 1
            self._source.rewind()  # the tick is read again, here or by another member
            return
        self._count(polled.tick, outgoing)

    def _positions_after(self, polled: PolledTick) -> dict[int, Position]:
        """Return, for each partition of a tick, the offset after it and the offset from which to replay."""
        rewind = {p: self._graph.rewind_tick(p) for p in polled.start}
        self._log.discard_before(min(rewind.values(), default=0))
        return {
            p: Position(offset, self._log.offset(p, rewind[p], otherwise=offset))
            for p, offset in polled.positions.items()
        }

    def _count(self, tick: RawTick, outgoing: Iterable[Outgoing]) -> None:
        counters = self.counters
        counters.ticks += 1
        counters.messages += len(tick.arrival_us)
        sent = dict.fromkeys((names.BEATS, names.ALERTS, names.DEAD_LETTERS), 0)
        for messages in outgoing:
            sent[messages.topic] = sent.get(messages.topic, 0) + len(messages.values)
        counters.beats += sent[names.BEATS]
        counters.alerts += sent[names.ALERTS]
        counters.rejects += sent[names.DEAD_LETTERS]
        counters.latency.add(self._clock_us(), tick.arrival_us)
