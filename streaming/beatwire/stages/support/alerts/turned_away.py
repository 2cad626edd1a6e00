"""Streams that nobody knows because every message of theirs is turned away: they are announced by the clock.

A message that is rejected, or waits for a bank, may name a stream of which no sample was ever placed: no rule sees it.
If one goes on to send for as long as ``no data`` takes, that alert begins (law 8), or ``not monitored`` if there is no
room for another stream. It ends with the first chunk of use, or ``FORGOTTEN_S`` after the last message. A message that
is damaged may name any stream: an id counts when it comes again and again, and both the ids that are remembered and the
alerts are bounded.
"""

from __future__ import annotations

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
from beatwire.wire.names import SAMPLES

MOST_KNOWN = 10_000  # ids that are remembered
MOST_ALERTS = 1_000  # of streams that were never analysed, at once
PAUSE_S = 30.0  # a longer one between two messages: the stream begins anew
FORGOTTEN_S = 300.0  # without a message: the device has been switched off
NO_DATA, NOT_MONITORED = RULES[NUMBERS["no data"]], RULES[NUMBERS["not monitored"]]


class Turned(NamedTuple):
    """What is known of such a stream.

    first_us, last_us  arrivals of its first and its last message
    digest             hash of its id, see ``kernels.intake.avro.hash_of``
    partition          of its last message
    no_room            nothing was wrong with that, but there was no room for another stream
    """

    first_us: int
    last_us: int
    digest: int
    partition: int
    no_room: bool


@dataclass(slots=True)
class TurnedAway:
    """Streams by id, in the order of their last message, and those that have sent since the last tick."""

    streams: dict[str, Turned] = field(default_factory=dict)
    noted: set[str] = field(default_factory=set)

    def note(self, name: str, digest: int, arrived_us: int, partition: int, *, no_room: bool) -> None:
        """Note a message of a stream that could not be used."""
        before = self.streams.pop(name, None)
        goes_on = before is not None and abs(arrived_us - before.last_us) <= PAUSE_S * 1e6
        first_us = before.first_us if before is not None and goes_on else arrived_us
        self.streams[name] = Turned(first_us, arrived_us, digest, partition, no_room)
        self.noted.add(name)
        if len(self.streams) > MOST_KNOWN:
            del self.streams[next(iter(self.streams))]


def transitions_of(kept: OpenAlerts, turned: TurnedAway, limits: Limits, aligned: Aligned) -> list[dict[str, Any]]:
    """Return the messages that begin and end the alerts of streams of which nothing was ever placed.

    Parameters
    ----------
    kept
        The alerts that are not off; they are added and removed.
    turned
        The streams; those whose alert ends are forgotten.
    """
    noted, turned.noted = turned.noted, set()
    if not aligned.now_us or not aligned.caught_up:
        return []
    alerts = [one for one in kept.by_id.values() if is_of_unknown(one.message)]
    published = _ended(kept, turned, alerts, aligned) if alerts else []
    room = MOST_ALERTS - len(alerts) + len(published)
    for name in sorted(noted & turned.streams.keys()):
        stream, limit_s = turned.streams[name], limits.of_stream(name, NUMBERS["no data"], aligned.now_us)
        if room > 0 and stream.last_us - stream.first_us >= limit_s * 1e6 and not _has(kept, name):
            begun = _begun(name, stream, limit_s)
            kept.add(begun, -1, aligned.now_us)
            published.append(begun)
            room -= 1
    return published


def is_of_unknown(message: dict[str, Any]) -> bool:
    """Return True if an alert is of a stream of which nothing had been placed when it began."""
    return (
        message["rule"] in (NO_DATA.name, NOT_MONITORED.name)
        and message["stream"] != SAMPLES
        and message["onset"] == 0
        and message["session"] == message["onset_us"]
    )


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
    for one in alerts:
        if one.message["stream"] not in turned.streams:  # of an earlier worker
            digest = ReadIds.of([one.message["stream"].encode()]).ints[0, CHUNK_ID_HASH]
            turned.note(one.message["stream"], int(digest), now_us, one.message["partition"], no_room=False)
    streams = [turned.streams[one.message["stream"]] for one in alerts]
    ids = ReadIds.of([one.message["stream"].encode() for one in alerts], [stream.digest for stream in streams])
    slot = kept.directory.look_up(ids.payload, ids.ints)
    used_us = np.append(aligned.slots.used_us, 0)  # the last one is of those without a slot
    for one, stream, placed_us in zip(alerts, streams, used_us[slot].tolist(), strict=True):
        if placed_us > 0 or now_us - stream.last_us > FORGOTTEN_S * 1e6:
            kept.remove(one)
            del turned.streams[one.message["stream"]]
            published.append(ended(one.message, now_us, (now_us - one.message["onset_us"]) / 1e6))
    return published
