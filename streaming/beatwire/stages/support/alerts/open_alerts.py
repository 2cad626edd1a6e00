"""The alerts that are not off: by id, by stream, by rule, and those that something looks for in each tick."""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from beatwire.records import I64, Aligned
from beatwire.stages.support.alerts.alert_messages import over
from beatwire.stages.support.streams.directory import Directory
from beatwire.wire.names import SAMPLES, is_of_service

NEVER = int(np.iinfo(np.int64).max)
# What an alert has from its beginning on, and each of its messages repeats.
_LASTING = ("id", "session", "onset", "onset_us", "partition", "ack_by", "ack_us", "reminders")
# What older messages do not have.
_DEFAULTS = {"partition": 0, "ack_by": None, "ack_us": None, "reminders": 0}
# Rules about streams that send nothing, or of which nothing is analysed, and about whole partitions.
BY_CLOCK = frozenset({"no data", "not monitored", "samples lost", "conflicting senders"})


@dataclass(slots=True)
class Open:
    """An alert that is not off.

    message  published last
    slot     of its stream; -1: not seen yet
    said_us  when it was raised, or its last reminder by the clock was due; of one that was taken over, when it was
             published last; 0: unknown
    begun    sample at which its stream restarted last, before this tick
    """

    message: dict[str, Any]
    slot: int
    said_us: int = 0
    begun: int = 0

    @property
    def lasting(self) -> dict[str, Any]:
        """Return what every later message of the alert repeats."""
        return {name: self.message[name] for name in _LASTING}


@dataclass(slots=True)
class OpenAlerts:
    """The alerts that are not off.

    directory  the streams by slot
    by_id      id -> alert
    of_stream  stream -> ids of its alerts
    current    (stream, rule, priority) -> id of its alert that is not latched
    of_service, of_unknown, by_clock  id -> alert, those about the feed or a partition; about streams of which nothing
               was ever placed; and those of the rules ``BY_CLOCK``
    unseen     ids of the alerts without a slot
    held       id -> the message that ends it
    due        int64 [slots]: watermark from which the stream has a reminder to be published
    passed     int64 [slots, 2]: session and last watermark of the stream; a session may end a tick later
    begun      int64 [slots]: sample at which the stream restarted last
    clock      int64 [slots, 2]: the number of anchors of the stream (``kernels.intake.clock``) and the newest one
    """

    directory: Directory
    by_id: dict[str, Open] = field(default_factory=dict)
    of_stream: dict[str, set[str]] = field(default_factory=dict)
    current: dict[tuple[str, str, str], str] = field(default_factory=dict)
    of_service: dict[str, Open] = field(default_factory=dict)
    of_unknown: dict[str, Open] = field(default_factory=dict)
    by_clock: dict[str, Open] = field(default_factory=dict)
    unseen: set[str] = field(default_factory=set)
    held: dict[str, dict[str, Any]] = field(default_factory=dict)
    due: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    passed: I64 = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    begun: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    clock: I64 = field(default_factory=lambda: np.zeros((0, 2), np.int64))

    def add(self, message: dict[str, Any], slot: int, said_us: int = 0) -> None:
        """Add an alert by its message."""
        name, stream = message["id"], message["stream"]
        begun = int(self.begun[slot]) if slot >= 0 else 0
        one = self.by_id[name] = Open(_DEFAULTS | message, slot, said_us, begun)
        if is_of_service(stream):
            self.of_service[name] = one
        if is_of_unknown(message):
            self.of_unknown[name] = one
        if message["rule"] in BY_CLOCK:
            self.by_clock[name] = one
        if slot < 0:
            self.unseen.add(name)
        else:
            self.unseen.discard(name)
        self.of_stream.setdefault(stream, set()).add(name)
        if message["state"] != "latched":
            self.current[stream, message["rule"], message["priority"]] = name
        if slot >= 0:
            self.due[slot] = 0  # computed with the next watermark

    def current_of(self, message: dict[str, Any]) -> Open | None:
        """Return the alert of the message's stream, rule and priority that is not latched."""
        name = self.current.get((message["stream"], message["rule"], message["priority"]))
        return None if name is None else self.by_id[name]

    def latch(self, one: Open, message: dict[str, Any]) -> None:
        """Keep an alert although its condition has ended."""
        one.message = message
        del self.current[message["stream"], message["rule"], message["priority"]]

    def remove(self, one: Open) -> None:
        """Remove an alert that is off."""
        name, stream = one.message["id"], one.message["stream"]
        del self.by_id[name]
        groups: tuple[dict[str, Any], ...] = self.held, self.of_service, self.of_unknown, self.by_clock
        for group in groups:
            group.pop(name, None)
        self.unseen.discard(name)
        place = stream, one.message["rule"], one.message["priority"]
        if self.current.get(place) == name:
            del self.current[place]
        self.of_stream[stream].discard(name)
        if not self.of_stream[stream]:
            del self.of_stream[stream]

    def replace(
        self, messages: Iterable[dict[str, Any]], over_ids: AbstractSet[str], said_us: Mapping[str, int]
    ) -> None:
        """Replace all alerts by those of messages; held are those that were and those of ``over_ids``."""
        slots = {name: slot for slot, name in enumerate(self.directory.names)}
        held, self.held = self.held, {}
        for kept in (self.by_id, self.of_stream, self.current, self.of_service, self.of_unknown, self.by_clock):
            kept.clear()
        self.unseen.clear()
        self.due[:] = NEVER
        for message in messages:
            self.add(message, slots.get(message["stream"], -1), said_us.get(message["id"], 0))
        going_on = set(self.current.values())
        self.held = {
            name: held.get(name) or over(self.by_id[name].message)
            for name in sorted(going_on)
            if name in held or name in over_ids
        }

    def find_streams(self, slots: int) -> None:
        """Give alerts from the log the slots of streams that were seen for the first time; make room for ``slots``."""
        if slots > len(self.due):
            unseen = slots - len(self.due)
            self.due = np.append(self.due, np.full(unseen, NEVER))
            self.passed = np.append(self.passed, np.full((unseen, 2), -1), axis=0)
            self.begun = np.append(self.begun, np.zeros(unseen, np.int64))
            self.clock = np.append(self.clock, np.full((unseen, 2), -1), axis=0)
        for slot in self.directory.claimed if self.by_id else ():
            for name in self.of_stream.get(self.directory.names[slot], ()):
                self.by_id[name].slot = slot
                self.unseen.discard(name)
                self.due[slot] = 0

    def note_restarts(self, slots: I64, samples: I64) -> None:
        """Note where streams restarted in a tick that is over, each in order."""
        self.begun[slots] = samples
        for slot in np.unique(slots).tolist() if self.by_id else ():
            for one in self.of_slot(slot):
                one.begun = int(self.begun[slot])

    def forget_evicted(self, aligned: Aligned) -> None:
        """Take their slots from the alerts of evicted streams: they will be those of others."""
        for slot in aligned.evicted.tolist():
            self.due[slot], self.passed[slot] = NEVER, -1
            for name in self.of_stream.get(self.directory.names[slot], ()):
                self.by_id[name].slot = -1
                self.unseen.add(name)

    def having(self, slots: I64) -> I64:
        """Return those of the slots whose streams have alerts, int64 [n]."""
        found = [slot for slot in np.unique(slots).tolist() if any(one.slot >= 0 for one in self.of_slot(slot))]
        return np.array(found, np.int64)

    def of_slot(self, slot: int) -> list[Open]:
        """Return the alerts of the stream of a slot, by id."""
        return [self.by_id[name] for name in sorted(self.of_stream.get(self.directory.names[slot], ()))]


def is_of_unknown(message: dict[str, Any]) -> bool:
    """Return True if an alert is of a stream of which nothing had been placed when it began."""
    return (
        message["rule"] in ("no data", "not monitored")
        and message["stream"] != SAMPLES
        and message["onset"] == 0
        and message["session"] == message["onset_us"]
    )
