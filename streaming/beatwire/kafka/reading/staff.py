"""What staff enter, read by every worker outside the group: acknowledgements, and limits of streams.

In: all of ``ecg.acks`` and ``ecg.settings``. Out: the acknowledgements that are new, the changes of limits in order.
State: threads with a follower, a watch over the feed and one over what topics lose, the last acknowledgement of each
alert, the last changes of each stream.

A change of limits is in force for the chunks that the broker receives ``EFFECT_S`` after it. So a worker must not
decide about such a chunk before it has read the change. The thread requests the ends of the topics every tenth of a
second and reads up to them; `wait` returns when a request that began at most ``EFFECT_S`` ago has been answered and
read up to. A chunk that the caller has received was received by the broker before: every change that is older by
``EFFECT_S`` than that chunk lay at the broker when the request was made. Only differences between the clocks of brokers
remain, which have to be smaller than ``EFFECT_S``.
"""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Self

from beatwire.alerts.limits import MOST_CHANGES, check_limits
from beatwire.alerts.settings import Settings
from beatwire.errors import FatalError, UserError
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.reading.feed_watch import FeedWatch
from beatwire.kafka.reading.follower import BEGINNING, Follower
from beatwire.kafka.reading.newest import Read, place_of
from beatwire.kafka.reading.record import Record
from beatwire.kafka.reading.removed import Removed
from beatwire.kafka.rights import check_visible
from beatwire.records import Acknowledgement, LimitChange
from beatwire.records.feed import Watched
from beatwire.wire import names
from beatwire.wire.fields import Unusable
from beatwire.wire.staff import decode_ack, decode_limits

EFFECT_S = 0.3
KEPT = names.ALERTS, names.SETTINGS, names.AUDIT  # no message of these may be lost, but by compaction
MOST_ACKS = 100_000  # that are kept for alerts of streams that this worker will take over; the oldest are dropped
MOST_REJECTED = 100
_INTERVAL_S = 0.1  # between two requests for the ends
_READ_S = 5.0  # for reading up to the ends; then they are requested anew
_OUTAGE_S = 120.0  # an outage of the broker that is waited for
_CHECK_S = 5.0  # without the topics: a broker leaves those that this client may not see out of its list
_REMOVED = (
    "expected limits; got no value: the broker removes those of the stream, which hold until another worker takes it "
    "over (to reset them: beatwire limits STREAM --reset)"
)
_STOP_S = 1.0  # an answer is waited for, once the monitor is to stop


class StaffReader:
    """Reads until it is closed.

    Parameters
    ----------
    defaults
        Limits of the rules by number, where a stream has none of its own.

    Attributes
    ----------
    rejected : list of Unusable
        Why messages could not be used, the last ones; whoever reports them removes them.
    """

    def __init__(self, cluster: Cluster, defaults: tuple[float, ...] = Settings().limits) -> None:
        self._cluster, self._defaults = cluster, defaults
        self._changes: dict[str, list[Read[LimitChange]]] = {}  # by stream, those that a graph keeps
        self._new_changes: dict[str, list[Read[LimitChange]]] = {}  # those of them that no call has returned
        self.rejected: list[Unusable] = []
        self._feed, self._removed = FeedWatch(cluster), Removed(cluster, KEPT)
        self._acks: dict[str, Acknowledgement] = {}
        self._new_acks: list[Acknowledgement] = []
        self._checked_s = time.monotonic()  # when it was asked whether the topics may be seen
        self._current_s = float("-inf")  # when the last request began whose answer has been read up to
        self._changed = threading.Condition()
        self._stop = threading.Event()
        self._failure: BaseException | None = None
        self._threads = [
            threading.Thread(target=self._guard, args=(run,), name=name, daemon=True)
            for name, run in (
                ("staff-reader", self._read),
                ("feed-watch", lambda: self._feed.run(self._stop)),
                ("kept-topics", lambda: self._removed.run(self._stop)),
            )
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the threads, and wait for their end for a moment: a broker that is away holds requests up."""
        self._stop.set()
        until_s = time.monotonic() + _STOP_S
        for thread in self._threads:
            thread.join(max(0.0, until_s - time.monotonic()))

    def wait(self, stop: threading.Event | None = None, timeout_s: float = _OUTAGE_S) -> bool:
        """Wait until every change is read that may concern a chunk received so far.

        Parameters
        ----------
        stop
            When it is set, the broker is waited for no longer.
        timeout_s
            For which the broker is waited for otherwise.

        Returns
        -------
        bool
            Whether all is read; False: the monitor is to stop, and the broker does not answer.

        Raises
        ------
        FatalError
            The broker did not answer in `timeout_s` seconds.
        """
        begin_s = time.monotonic()
        since_s, until_s, stopping = begin_s - EFFECT_S, begin_s + timeout_s, False
        with self._changed:
            while self._current_s < since_s and self._failure is None and time.monotonic() < until_s:
                self._changed.wait(min(_INTERVAL_S, max(0.0, until_s - time.monotonic())))
                if stop is not None and stop.is_set() and not stopping:
                    stopping, until_s = True, min(until_s, time.monotonic() + _STOP_S)
            current = self._current_s >= since_s
        if isinstance(self._failure, UserError):
            raise self._failure
        if self._failure is not None:
            raise FatalError(f"kafka: expected to read {names.SETTINGS}; got {self._failure}") from self._failure
        if not current and not stopping:
            raise FatalError(
                f"kafka: expected to read {names.SETTINGS} and {names.ACKS} at {self._cluster} to their ends in "
                f"{timeout_s:g} s; got no answer (missing topics are created by: beatwire topics)"
            )
        return current

    @property
    def silent_s(self) -> float | None:
        """Return for how long no chunk of any stream has arrived, seconds; None: unknown."""
        return self._feed.silent_s

    @property
    def watched(self) -> Watched:
        """Return what is known of the feed, by a clock that advances only while a broker answers."""
        return self._feed.watched

    @property
    def changes(self) -> list[LimitChange]:
        """Return the changes of limits that a graph keeps, those of a stream in order."""
        with self._changed:
            return _in_order(self._changes)

    @property
    def partitions(self) -> int:
        """Return the number of partitions of the samples; 0: unknown."""
        return self._feed.partitions

    def take_lost(self) -> set[str]:
        """Return the topics of `KEPT` that have lost messages since the last call."""
        return self._removed.take()

    def take_changes(self) -> list[LimitChange]:
        """Return the changes of limits that no earlier call has returned, those of a stream in order."""
        with self._changed:
            taken, self._new_changes = self._new_changes, {}
        return _in_order(taken)

    def take_all_changes(self) -> list[LimitChange]:
        """Return the changes of limits that a graph keeps; `take_changes` then returns those that come later."""
        with self._changed:
            self._new_changes = {}
            return _in_order(self._changes)

    def take_acks(self) -> list[Acknowledgement]:
        """Return the acknowledgements that no earlier call has returned."""
        with self._changed:
            taken, self._new_acks = self._new_acks, []
        return taken

    def take_all_acks(self) -> list[Acknowledgement]:
        """Return the last acknowledgement of every alert; `take_acks` then returns those that come later."""
        with self._changed:
            self._new_acks = []
            return list(self._acks.values())

    def _read(self) -> None:
        with Follower(self._cluster, {names.ACKS: BEGINNING, names.SETTINGS: BEGINNING}, ends=True) as follower:
            while not self._stop.is_set():
                self._read_to_ends(follower)
                self._stop.wait(_INTERVAL_S)

    def _guard(self, run: Callable[[], None]) -> None:
        """Run a thread; its error is raised again by `wait`."""
        try:
            run()
        except BaseException as error:
            self._failure = error
            with self._changed:
                self._changed.notify_all()

    def _read_to_ends(self, follower: Follower) -> None:
        """Read up to the ends that the topics have now."""
        began_s = time.monotonic()
        self._add(follower.records(0.0))
        ends = follower.ends()
        if {name for name, _ in ends or ()} != {names.ACKS, names.SETTINGS} and began_s > self._checked_s + _CHECK_S:
            self._checked_s = began_s
            check_visible(self._cluster, [names.ACKS, names.SETTINGS])
        while ends is not None and not self._stop.is_set() and time.monotonic() - began_s < _READ_S:
            if {name for name, _ in ends} == {names.ACKS, names.SETTINGS} and follower.has_read(ends):
                with self._changed:
                    self._current_s = began_s
                    self._changed.notify_all()
                return
            self._add(follower.records(0.02))

    def _add(self, records: list[Record]) -> None:
        with self._changed:
            for record in records:
                try:
                    if record.topic == names.SETTINGS:
                        self._add_change(record)
                    elif record.value is not None:
                        self._add_ack(decode_ack(record.value, record.key), record.time_us)
                except (ValueError, UserError) as error:
                    self.rejected.append(Unusable(record.topic, record.key, str(error)))
                    del self.rejected[:-MOST_REJECTED]

    def _add_ack(self, ack: dict[str, Any], received_us: int) -> None:
        given = Acknowledgement(ack["alert"], ack["stream"], ack["by"], ack["at_us"], received_us)
        self._acks.pop(given.alert, None)
        self._acks[given.alert] = given
        self._new_acks.append(given)
        del self._new_acks[:-MOST_ACKS]
        if len(self._acks) > MOST_ACKS:
            del self._acks[next(iter(self._acks))]

    def _add_change(self, record: Record) -> None:
        """Add a change in its place; one that is read again has one, or is older than those that are kept."""
        if record.value is None:
            raise ValueError(_REMOVED)
        found = decode_limits(record.value, record.key)
        for limits in (found["limits"], found["before"]):
            check_limits(found["stream"], limits, self._defaults)
        since_us = record.time_us + round(EFFECT_S * 1e6)
        change = LimitChange(found["stream"], found["limits"], found["before"], found["by"], found["at_us"], since_us)
        one = Read(record.partition, record.time_us, change)
        known = self._changes.setdefault(change.stream, [])
        if one in known or (len(known) == MOST_CHANGES and one.time_us < known[0].time_us):
            return
        if any(_is_same(change, other.content) for other in known):
            return
        is_newest = (place := place_of(one, known)) == len(known)
        known.insert(place, one)
        # A worker without partitions takes none. One that is not the newest is not in force any more.
        new = self._new_changes.setdefault(change.stream, [])
        new += [one] if is_newest else []
        for kept in (known, new):
            del kept[:-MOST_CHANGES]


def _is_same(change: LimitChange, other: LimitChange) -> bool:
    """Return whether a change is another one, written again because the topic had lost it (`orders.restore_limits`)."""
    is_repeated = (change.by, change.at_us, change.limits) == (other.by, other.at_us, other.limits)
    return is_repeated and change.before == change.limits


def _in_order(changes: Mapping[str, list[Read[LimitChange]]]) -> list[LimitChange]:
    """Return all changes, those of a stream in order."""
    return [one.content for of_stream in changes.values() for one in of_stream]
