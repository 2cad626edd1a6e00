"""The only loop of the service: poll -> ``graph.emit(tick)`` -> publish -> commit.

In: the ticks of a `Source`. Out: the messages that the graph returns, published through a `Sink`. State: the epoch,
and the positions of its ticks.

Recovery is replay. The commit of each tick contains, per partition, the offset from which a successor has to begin so
that its graph reaches the same state: the offset at the start of tick ``graph.rewind_tick(partition)``. When the
assignment changes, the graph is reset, processes the replay with its output discarded, adopts the alerts that the log
holds as not off, and then publishes again. If this worker keeps all of its partitions, the graph is not reset, and only
partitions that are new are replayed. Invariant: the published beats and alerts are those of a monitor that never
stopped.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from beatwire.kafka.consuming.batch import PolledTick
from beatwire.kafka.consuming.positions import Position
from beatwire.kafka.consuming.progress import Beginning
from beatwire.kafka.consuming.source import Source
from beatwire.kafka.publishing.sink import Sink, StaleError
from beatwire.records import Outgoing
from beatwire.service.adoption import Adoption
from beatwire.service.broker_time import BrokerTime
from beatwire.service.ended_alerts import AlertLog, EndedAlerts, own_alerts, read_log
from beatwire.service.interfaces import Graph, NoStaff, Staff
from beatwire.service.interruption import Interruption
from beatwire.service.observing.counters import Counters
from beatwire.service.observing.health import LoopState
from beatwire.service.observing.instruments import Instruments
from beatwire.service.observing.logs import log_event, log_expired
from beatwire.service.observing.unusable import UnusableLog
from beatwire.service.process_tuning import LARGE_TICK, MemoryReturn
from beatwire.service.restoring import Restoring
from beatwire.service.tick_positions import TickPositions

IDLE_S = 0.1  # interval of empty ticks while no messages arrive: the resolution of rules decided by time alone
_MOST_COUNTS = 8  # of partitions that are remembered: they are added, now and then


class Result(NamedTuple):
    """What a tick gave: messages, and partition -> position after it."""

    polled: PolledTick
    outgoing: Sequence[Outgoing]
    positions: Mapping[int, Position]


class Monitor:
    """Runs a graph between a source and a sink.

    Parameters
    ----------
    graph
        See `Graph`.
    source, sink
        Opened and closed by the caller.
    staff
        What staff enter; None: nothing.
    read_alerts
        Returns the alerts that are not off; by default from the alerts topic.
    instruments
        What is measured of the graph; None: nothing.
    counters, loop
        What is counted, and what the loop writes each turn, for probes; None: its own.
    clock_us, clock_s
        Return microseconds since 1970, and seconds that never decrease.
    score_within_s
        Beats of a tick that is further behind the broker, in seconds, are not scored; 0: all beats are scored.
    keep_ended_s
        Seconds after which an alert that has ended is removed from the log.

    Attributes
    ----------
    counters : Counters
        What the monitor has done so far.
    loop : LoopState
        Whether it turns, and what it covers.
    """

    def __init__(
        self,
        graph: Graph,
        source: Source,
        sink: Sink,
        *,
        staff: Staff | None = None,
        read_alerts: Callable[[], list[dict[str, Any]]] | None = None,
        instruments: Instruments | None = None,
        counters: Counters | None = None,
        loop: LoopState | None = None,
        clock_us: Callable[[], int] = lambda: time.time_ns() // 1000,
        clock_s: Callable[[], float] = time.monotonic,
        score_within_s: float = 0.0,
        keep_ended_s: float = 7 * 86_400.0,
    ) -> None:
        self.counters = Counters() if counters is None else counters
        self.loop = LoopState() if loop is None else loop
        self._instruments = instruments
        self._graph, self._source, self._sink = graph, source, sink
        self._staff: Staff = NoStaff() if staff is None else staff
        self._is_new = True  # the graph has no limits of streams yet
        self._unusable = UnusableLog(self.counters.unusable)
        self._ended, self._restoring = EndedAlerts(keep_ended_s), Restoring(source.cluster, self._staff, graph)
        self._adoption = Adoption(partial(read_log, source, self._unusable.add, read_alerts), self._turn)
        self._time, self._clock_s = BrokerTime(clock_us, score_within_s), clock_s
        self._send = sink.publish if instruments is None else instruments.timed("send", sink.publish)
        self._memory, self._positions = MemoryReturn(clock_s=clock_s), TickPositions(graph)
        self._epoch, self._adopted = -1, False
        self._counts: list[int] = []  # of partitions, one after the other
        self._unknown: Result | None = None  # of the last tick, if it may not have been published
        self._interruption = Interruption(self.counters, self.loop, self._time.now_us, clock_s)

    def run(self, stop: threading.Event, *, until: Callable[[Counters], bool] | None = None) -> Counters:
        """Run until `stop` is set or `until` returns True; the tick in work is finished and published.

        Raises
        ------
        UserError, FatalError
            An error after which the monitor cannot continue.
        """
        try:
            while not stop.is_set() and not (until is not None and until(self.counters)):
                self._turn()
                polled = self._source.take(IDLE_S)
                if polled is not None:
                    self._process(polled, stop)
                elif pending := self._source.take_pending():
                    self._sink.end_pending_transactions(pending, self._source)
                tick = None if polled is None else polled.tick
                messages, caught_up = (0, False) if tick is None else (len(tick.arrival_us), tick.caught_up)
                polled = tick = None  # frees its messages before those of the next tick are joined
                self._memory.after_tick(messages, caught_up=caught_up)
        finally:
            self.loop.ended = True
        return self.counters

    @property
    def is_published(self) -> bool:
        """Return whether the last tick is known to be published."""
        return self._unknown is None

    def _turn(self) -> None:
        """Write what probes read: that the loop turns, and whether the streams of its partitions are covered."""
        source, covered = self._source, self._adopted and self._epoch == self._source.epoch
        if self._interruption.turn(source.partitions, source.held, covered=covered):
            # Without offsets, which the transaction of a killed worker may lock for seconds: so it is not fenced.
            with contextlib.suppress(StaleError):  # a later turn says it, if it is so still
                self._interruption.publish(
                    lambda messages: self._sink.publish([messages], {}, source, source.epoch),
                    source.assigned, self._graph.model_name,
                )  # fmt: skip

    def _process(self, polled: PolledTick, stop: threading.Event) -> None:
        """Process one tick: begin its epoch if it is the first, run the graph, publish."""
        if polled.epoch != self._epoch and not self._begin_epoch(polled):
            return
        if not self._staff.wait(stop):
            return
        self._graph.change_limits(self._staff.take_all_changes() if self._is_new else self._staff.take_changes())
        self._is_new = False
        self._unusable.take(self._staff.rejected)
        self._count_partitions()
        if not polled.replay:
            if not self._adopted and not self._adopt_alerts(stop):
                return
            self._restoring.turn()
            self._graph.acknowledge(self._staff.take_acks())
            if polled.expired:
                self._graph.report_expired(polled.expired)
        self._watch_feed(polled)
        begin_s = self._clock_s()
        self._positions.add(polled)
        tick = self._time.marked(polled)
        before = self._begin_tick(polled)
        emitted_s = time.perf_counter()
        outgoing = self._graph.emit(tick, polled.origin, None if polled.replay else self._send_ahead)
        self._source.took(len(tick.arrival_us), time.perf_counter() - emitted_s)
        if polled.replay:
            self.counters.replayed += len(polled.tick.arrival_us)
            self._end_tick(published=False)
            return
        outgoing = [*outgoing, *self._ended.due(outgoing, polled.tick.now_us)]
        positions = self._positions.after(polled, outgoing, before)
        if self._publish(Result(polled, outgoing, positions)):
            self.counters.tick_s.add(self._clock_s() - begin_s)

    def _watch_feed(self, polled: PolledTick) -> None:
        silent_s, is_own = self._staff.silent_s, not polled.replay and 0 in self._source.assigned
        newest_us = polled.tick.now_us - round(silent_s * 1e6) if is_own and silent_s is not None else 0
        self._graph.watch_feed(self._staff.watched, newest_us)

    def _count_partitions(self) -> None:
        """Pass on that partitions were added: some streams are another worker's from then on."""
        count = self._staff.partitions
        if count and [count] != self._counts[-1:]:
            self._counts = [*self._counts[-_MOST_COUNTS:], count]
        if len(self._counts) > 1:
            self._graph.count_partitions(self._counts)

    def _begin_tick(self, polled: PolledTick) -> Mapping[int, Position] | None:
        """Begin to publish a tick before it is computed, where that is soon; return the positions that it may commit.

        A transaction that is open for long would be ended by the broker.
        """
        if polled.replay or not polled.positions or len(polled.tick.arrival_us) > LARGE_TICK:
            return None
        before = self._positions.before(polled)
        self._sink.begin_tick(before, self._source, self._epoch)
        return before

    def _send_ahead(self, outgoing: Sequence[Outgoing]) -> None:
        """Send what is known of a tick while the rest is computed."""
        self._sink.send_ahead(outgoing, self._source, self._epoch)

    def _adopt_alerts(self, stop: threading.Event) -> bool:
        """Pass the alerts in the log to the graph; return False if the monitor is to stop, or the epoch is over."""
        log: AlertLog | None = self._adoption.wait(
            lambda: stop.is_set() or self._source.epoch > self._epoch,
            lambda: self._sink.end_open_transactions(self._source),
        )
        if log is None:
            return False
        assigned, partitions = self._source.assigned, self._staff.partitions
        self._ended.begin(log.ended, assigned, partitions)
        known = {alert["id"] for alert in log.alerts}
        alerts = [*log.alerts, *(alert for alert in self._interruption.alerts if alert["id"] not in known)]
        self._graph.adopt(own_alerts(alerts, assigned, partitions), self._staff.take_all_acks(), log.said_us)
        self._adopted = True
        return True

    def _begin_epoch(self, polled: PolledTick) -> bool:
        """Begin the epoch of its first tick; return False if the last tick of the one before is stale once more."""
        self._epoch, self._adopted = polled.epoch, False
        self.counters.epochs += 1
        last, self._unknown = self._unknown, None
        if polled.beginning is Beginning.ANEW:
            self._graph.reset()
            self._positions, self._is_new = TickPositions(self._graph), True
            self._end_tick(published=False)
            return True
        if last is not None and polled.beginning is Beginning.UNPUBLISHED:
            return self._publish(last, polled.epoch)
        if last is not None:
            self._count(last)
        return True

    def _end_tick(self, *, published: bool) -> None:
        if self._instruments is not None:
            self._instruments.end_tick(published=published)

    def _publish(self, result: Result, again_in: int | None = None) -> bool:
        """Publish and commit the result of a tick; return False if that is unknown.

        Parameters
        ----------
        again_in
            The epoch, if the tick is of the one before.
        """
        epoch = result.polled.epoch if again_in is None else again_in
        try:
            if result.outgoing or result.positions:
                self._send(result.outgoing, result.positions, self._source, epoch)
        except StaleError:
            self.counters.stale_ticks += 1
            self._unknown = result
            self._source.rewind(anew=again_in is not None)  # if so, the first tick of the epoch was not processed
            text = "a tick may not have been published, and will be: the assignment changed, or its outcome is unknown"
            log_event("stale tick", text, level=logging.WARNING)
            return False
        self._count(result)
        return True

    def _count(self, result: Result) -> None:
        """Count a tick that is published, and once what retention deleted: positions after it are committed."""
        polled = result.polled
        self.counters.add_tick(polled.tick, result.outgoing, self._time.now_us(polled))
        if polled.expired:
            log_expired(*self.counters.add_expired(polled.expired), sorted(polled.expired))
        self._end_tick(published=True)
