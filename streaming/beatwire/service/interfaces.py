"""What the loop of the monitor needs of others: a graph, and what staff enter."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

from beatwire.records import Acknowledgement, Expired, LimitChange, Outgoing, RawTick
from beatwire.records.feed import Watched
from beatwire.records.samples import BankKind
from beatwire.wire.dead_letters import Origin
from beatwire.wire.fields import Unusable


class Graph(Protocol):
    """The graph that the monitor runs. Ticks are numbered by the calls of `emit` since `reset`, from 0."""

    @property
    def model_name(self) -> str:
        """Return version and hash of the scoring model, which alerts carry."""

    def emit(
        self, tick: RawTick, origin: Origin, ahead: Callable[[Sequence[Outgoing]], None] | None
    ) -> Sequence[Outgoing]:
        """Process a tick in all stages; return the messages to publish.

        The first of them may be passed to `ahead` as soon as they are known, once.
        """

    def rewind_tick(self, partition: int) -> int:
        """Return the tick from whose start `partition` must be replayed to rebuild the present state."""

    @property
    def open_banks(self) -> frozenset[BankKind] | None:
        """Return the banks that are open, which a successor must know to replay; None: the graph has none."""

    def reset(self) -> None:
        """Return to the initial state."""

    def adopt(
        self, alerts: list[dict[str, Any]], acks: Sequence[Acknowledgement], said_us: Mapping[str, int]
    ) -> None:  # fmt: skip
        """Add the alerts that are not off according to the log, and all acknowledgements; once an epoch.

        `said_us`: when alerts were published last, by id.
        """

    def acknowledge(self, acks: Sequence[Acknowledgement]) -> None:
        """Apply acknowledgements with the next tick."""

    def change_limits(self, changes: Sequence[LimitChange]) -> None:
        """Take changes of the limits of streams."""

    def count_partitions(self, counts: Sequence[int]) -> None:
        """Take the numbers of partitions that the topic of samples has had, the present one last."""

    def repeat_alerts(self) -> int:
        """Publish the alerts that are not off as they are with the next tick; return their number."""

    def report_expired(self, expired: Mapping[int, Expired]) -> None:
        """Take, by partition, what retention deleted before it was read: it is published with the next tick."""

    def watch_feed(self, watched: Watched, newest_us: int) -> None:
        """Take what is known of the feed; `newest_us`: arrival of its newest chunk, 0: unknown or not to be raised."""


class Staff(Protocol):
    """What staff enter, see `beatwire.kafka.reading.staff.StaffReader`."""

    def take_changes(self) -> list[LimitChange]:
        """Return the changes of limits that no earlier call has returned, those of a stream in order."""

    def take_all_changes(self) -> list[LimitChange]:
        """Return all changes of limits; `take_changes` then returns those that come later."""

    @property
    def rejected(self) -> list[Unusable]:
        """Return why messages could not be used; whoever reports them removes them."""

    @property
    def silent_s(self) -> float | None:
        """Return for how long no chunk of any stream has arrived, seconds; None: unknown."""

    @property
    def watched(self) -> Watched:
        """Return what is known of the feed, by a clock that advances only while a broker answers."""

    @property
    def partitions(self) -> int:
        """Return the number of partitions of the samples; 0: unknown."""

    @property
    def changes(self) -> list[LimitChange]:
        """Return the changes of limits that a graph keeps, those of a stream in order."""

    def take_lost(self) -> set[str]:
        """Return the topics that have lost messages since the last call, of those that should keep them."""

    def wait(self, stop: threading.Event) -> bool:
        """Wait until every change is read that may concern a chunk received so far; return False if `stop` is set."""

    def take_acks(self) -> list[Acknowledgement]:
        """Return the acknowledgements that no earlier call has returned."""

    def take_all_acks(self) -> list[Acknowledgement]:
        """Return the last acknowledgement of every alert."""


class NoStaff:
    """Nobody enters anything."""

    silent_s = None
    partitions = 0
    changes: ClassVar[list[LimitChange]] = []

    @property
    def watched(self) -> Watched:
        """Return the time."""
        return Watched(time.monotonic_ns() // 1000)

    def __init__(self) -> None:
        self.rejected: list[Unusable] = []

    def take_lost(self) -> set[str]:
        """Return none."""
        return set()

    def wait(self, stop: threading.Event) -> bool:
        """Return True at once."""
        del stop
        return True

    def take_changes(self) -> list[LimitChange]:
        """Return none."""
        return []

    def take_all_changes(self) -> list[LimitChange]:
        """Return none."""
        return []

    def take_acks(self) -> list[Acknowledgement]:
        """Return none."""
        return []

    def take_all_acks(self) -> list[Acknowledgement]:
        """Return none."""
        return []
