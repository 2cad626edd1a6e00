"""Streams that nobody knows because every message of theirs is turned away: they are announced by the clock.

A message that is rejected, or waits for a bank, may name a stream of which no sample was ever placed: no rule sees it.
If it has come again, and no sample was placed within what ``no data`` takes, that alert begins (law 8), or ``not
monitored`` if there is no room for another stream. It ends with the first chunk of use, or ``FORGOTTEN_S`` after the
last message. A message that is damaged may name any stream: an id counts when it comes again, and both the ids that are
remembered and the alerts are bounded.

Onset and id are those of the first message. So until the alert begins a successor must read that message:
``oldest_ticks``.
"""

import itertools
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from beatwire.alerts.rules import NUMBERS, RULES
from beatwire.records import Aligned
from beatwire.records.columns import CHUNK_ID_HASH
from beatwire.stages.support.alerts.limits import Limits
from beatwire.stages.support.alerts.open_alerts import Open, OpenAlerts
from beatwire.stages.support.alerts.service_alerts import ended, service_message
from beatwire.stages.support.streams.read_ids import ReadIds

MOST_KNOWN = 10_000  # ids that are remembered
MOST_ALERTS = 1_000  # of streams that were never analysed, at once
# A longer pause between two messages: the stream begins anew. There are devices that send a minute at a time. A key may
# be that of a gateway of many devices, of which one errs now and then.
PAUSE_S, KEY_PAUSE_S = 90.0, 12.0
FORGOTTEN_S = 300.0  # without a message: the device has been switched off
NO_DATA, NOT_MONITORED = RULES[NUMBERS["no data"]], RULES[NUMBERS["not monitored"]]
LEAST_S, MOST_S = 1.0, 600.0  # that ``no data`` may take, see ``beatwire.alerts.rules``


class Turned(NamedTuple):
    """What is known of such a stream.

    first_us, last_us  arrivals of its first and its last message
    digest             hash of its id, see ``kernels.intake.avro.hash_of``
    partition          of its last message
    pause_s            that may pass until the next message
    no_room            nothing was wrong with that, but there was no room for another stream
    tick               number of the tick of its first message
    """

    first_us: int
    last_us: int
    digest: int
    partition: int
    pause_s: float = PAUSE_S
    no_room: bool = False
    tick: int = 0

    def is_past(self, now_us: int) -> bool:
        """Return True if the stream is forgotten unless it has an alert, also if the clock was set back meanwhile."""
        return abs(now_us - self.last_us) > self.pause_s * 1e6


@dataclass(slots=True)
class TurnedAway:
    """Streams by id, in the order of their last message.

    once       those that have come once, in that order, by pause and partition
    waiting    those that have come again, and may still get an alert
    announced  those that have one
    """

    streams: dict[str, Turned] = field(default_factory=dict)
    once: dict[tuple[float, int], dict[str, None]] = field(default_factory=dict)
    waiting: set[str] = field(default_factory=set)
    announced: set[str] = field(default_factory=set)

    def note(self, name: str, message: Turned) -> None:
        """Note a message of a stream that could not be used."""
        before = self._remove(name)
        self.waiting.discard(name)
        if before is not None and not before.is_past(message.last_us):
            first_us = min(before.first_us, message.first_us)
            message = message._replace(first_us=first_us, tick=before.tick)
            self.waiting.add(name)
        elif name not in self.announced:
            self.once.setdefault((message.pause_s, message.partition), {})[name] = None
        self.streams[name] = message
        if len(self.streams) > MOST_KNOWN:
            self._make_room(name)

    def forget(self, name: str) -> None:
        """Forget a stream; two alerts of one stream may end at once."""
        self._remove(name)
        self.waiting.discard(name)
        self.announced.discard(name)

    def forget_past(self, now_us: int) -> None:
        """Forget the streams of which one message came, and no other in time."""
        for names in self.once.values():
            for name in list(itertools.takewhile(lambda one: self.streams[one].is_past(now_us), names)):
                self.forget(name)

    def oldest_ticks(self) -> dict[int, int]:
        """Return by partition the tick of the oldest first message of a stream whose alert may still begin."""
        once = [names for names in self.once.values() if names]
        newest = [next(reversed(names)) for names in once]
        newest_us = max((self.streams[name].last_us for name in (*newest, *self.waiting)), default=0)

        def is_on(one: Turned) -> bool:
            lasts_us = one.last_us - one.first_us
            return not one.is_past(newest_us) and lasts_us <= MOST_S * 1e6 and one.first_us > 0  # 0: there is no clock

        oldest: dict[int, int] = {}
        for names in (*once, self.waiting):
            waiting = (one for one in map(self.streams.__getitem__, names) if is_on(one))
            for one in waiting if names is self.waiting else itertools.islice(waiting, 1):  # the others came later
                oldest[one.partition] = min(one.tick, oldest.get(one.partition, one.tick))
        return oldest

    def _remove(self, name: str) -> Turned | None:
        stream = self.streams.pop(name, None)
        if stream is not None:
            self.once.get((stream.pause_s, stream.partition), {}).pop(name, None)
        return stream

    def _make_room(self, newest: str) -> None:
        """Forget the oldest of those that have come once; else of those that have no alert."""
        firsts = [next(iter(names)) for names in self.once.values() if names]
        oldest = min(firsts, key=lambda name: self.streams[name].last_us, default=newest)
        if oldest == newest:
            oldest = next((known for known in self.streams if known not in self.announced), newest)
        self.forget(oldest)


def transitions_of(kept: OpenAlerts, turned: TurnedAway, limits: Limits, aligned: Aligned) -> list[dict[str, Any]]:
    """Return the messages that begin and end the alerts of streams of which nothing was ever placed.

    Parameters
    ----------
    kept
        The alerts that are not off; they are added and removed.
    turned
        The streams; those whose alert ends, or that have stopped before it began, are forgotten.
    """
    if not aligned.now_us or not aligned.caught_up:
        return []
    alerts = list(kept.of_unknown.values())
    published = _ended(kept, turned, alerts, aligned) if alerts else []
    room = MOST_ALERTS - len(alerts) + len(published)
    turned.forget_past(aligned.now_us)
    for name, limit_s in _due(kept, turned, limits, aligned) if turned.waiting else []:
        turned.waiting.discard(name)
        if room > 0:
            begun = _begun(name, turned.streams[name], limit_s)
            kept.add(begun, -1, aligned.now_us)
            turned.announced.add(name)
            published.append(begun)
            room -= 1
    return published


def _due(kept: OpenAlerts, turned: TurnedAway, limits: Limits, aligned: Aligned) -> list[tuple[str, float]]:
    """Return the streams whose alert begins, and the limit of each; forget those that have stopped or are analysed."""
    now_us, late = aligned.now_us, []
    for name in list(turned.waiting):
        stream = turned.streams[name]
        if name in kept.of_stream and _has(kept, name):
            turned.waiting.discard(name)
        elif stream.is_past(now_us):
            turned.forget(name)
        elif now_us - stream.first_us >= LEAST_S * 1e6:
            late.append(name)
    due = []
    for name, placed_us in zip(sorted(late), _placed_us(kept, turned, sorted(late), aligned), strict=True):
        limit_s = limits.of_stream(name, NUMBERS[NO_DATA.name], now_us)
        if placed_us > 0:
            turned.forget(name)
        elif now_us - turned.streams[name].first_us >= limit_s * 1e6:
            due.append((name, limit_s))
    return due


def _placed_us(kept: OpenAlerts, turned: TurnedAway, names: list[str], aligned: Aligned) -> list[int]:
    """Return when the last sample of each stream was placed; 0: none ever was."""
    if not names:
        return []
    ids = ReadIds.of([name.encode() for name in names], [turned.streams[name].digest for name in names])
    used_us = np.append(aligned.slots.used_us, 0)  # the last one is of those without a slot
    placed_us: list[int] = used_us[kept.directory.look_up(ids.payload, ids.ints)].tolist()
    return placed_us


def _begun(name: str, stream: Turned, limit_s: float) -> dict[str, Any]:
    rule = NOT_MONITORED if stream.no_room else NO_DATA
    text = rule.text.format(limit=limit_s) + ("" if stream.no_room else "; each was refused")
    limit_s = 0.0 if stream.no_room else limit_s
    return service_message(
        name, rule, stream.first_us, stream.partition, limit_s, text, rule.definition_of(limit_s)
    )  # fmt: skip


def _has(kept: OpenAlerts, stream: str) -> bool:
    """Return True if a stream has one of the alerts already."""
    return any((stream, rule.name, rule.priority) in kept.current for rule in (NO_DATA, NOT_MONITORED))


def _ended(kept: OpenAlerts, turned: TurnedAway, alerts: list[Open], aligned: Aligned) -> list[dict[str, Any]]:
    """End the alerts of streams that are analysed, or have stopped; forget these streams."""
    published, now_us = [], aligned.now_us
    names = [one.message["stream"] for one in alerts]
    for one, name in zip(alerts, names, strict=True):
        if name not in turned.streams:  # of an earlier worker
            digest = int(ReadIds.of([name.encode()]).ints[0, CHUNK_ID_HASH])
            turned.streams[name] = Turned(now_us, now_us, digest, one.message["partition"])
    turned.announced.update(names)
    placed_us = _placed_us(kept, turned, names, aligned)
    last_us = [turned.streams[name].last_us for name in names]
    for one, name, placed, last in zip(alerts, names, placed_us, last_us, strict=True):
        if placed > 0 or now_us - last > FORGOTTEN_S * 1e6:
            kept.remove(one)
            turned.forget(name)
            published.append(ended(one.message, now_us, (now_us - one.message["onset_us"]) / 1e6))
    return published
