"""Lifecycle: what becomes of an alert after the rules have raised it, and what is written to the audit log.

In:    Alerts, the transitions of the rules; acknowledgements, in ``State.acks``; deleted samples, in ``State.expired``
Out:   Alerts, the transitions to publish, and the records of the audit log
State: the alerts that are not off, by id, each with the message published last; those that are held

    on -> ack -> off        acknowledged while its condition holds
    on -> off               its condition has ended
    on -> latched -> off    asystole, ventricular fibrillation or tachycardia: ended, and then acknowledged

An alert lasts for ``shortest_s`` at least, by device time, so that it can be read: if its condition ends sooner it is
held, and if the condition occurs again meanwhile it is the same alert. No more of its samples come where its stream
begins anew, its leads are off or no data arrive: then its end is published at once, with the time at which it has
lasted long enough. An alert that nobody acknowledges is published again after each interval of its priority, with the
number of that reminder.

Everything is decided by samples, so a replay gives the same, except reminders of alerts that the clock decided. The
state is that of the log: ``adopt`` takes it over, and only what the log does not have is published.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from beatwire.alerts.settings import Lifecycle
from beatwire.jit import cpu
from beatwire.records import I64, Acknowledgement, Alerts, Expired, TickBeats
from beatwire.records.columns import ORDERED_KIND, ORDERED_SAMPLE, ORDERED_SLOT, ORDERED_VALUE
from beatwire.records.events import RESTART
from beatwire.stages.support.alerts.alert_messages import acknowledged, over
from beatwire.stages.support.alerts.audit import acknowledgement_record, limit_records
from beatwire.stages.support.alerts.held_alerts import end_held, end_with_stream, goes_on, held_until, touched
from beatwire.stages.support.alerts.limits import Limits
from beatwire.stages.support.alerts.open_alerts import OpenAlerts
from beatwire.stages.support.alerts.reminders import remind_by_clock, remind_by_samples, remind_until
from beatwire.stages.support.alerts.service_alerts import (
    begin_of_expired,
    end_of_expired,
    end_of_interrupted,
    feed_transition,
)
from beatwire.stages.support.alerts.turned_away import TurnedAway, transitions_of
from beatwire.stages.support.alerts.unseen import Unseen, end_of_unseen
from beatwire.stages.support.runs import runs_of
from beatwire.stages.support.streams.tick_parts import parts_of

MOST_GIVEN = 100_000  # acknowledgements that are kept; the oldest are dropped
_SCAN_US = 1_000_000  # between two searches for what the clock decides
# Of these rules alerts go on over a restart with such a value of its event or more, see ``kernels.alerts.rules``.
_ENDED_BELOW = {"cannot analyse": -1, "conflicting senders": -1, "lead off": 0}
_WITHOUT_SAMPLES = frozenset({"lead off", "no data"})  # where one begins, no more samples come


@dataclass(slots=True)
class State:
    """The alerts that are not off, and what staff entered.

    limits     of each stream
    alerts     that are not off
    audited    stream -> number of the limits up to which changes are in the audit log
    acks       acknowledgements that have not been applied
    given      id -> its acknowledgement, of all alerts: a group that begins anew raises them again
    ignored    acknowledgements for streams of this worker of no open alert, or of another stream's
    expired    partition -> what retention deleted before it was read, and has not been published
    repeat     all alerts are to be published again as they are: the log has lost some
    feed_newest_us  arrival of the newest chunk of any stream; 0: unknown, or another worker watches the feed
    scanned_us time of the last search for what the clock decides
    unseen     streams of alerts from the log that have not been seen
    turned     streams of which no message could be used
    """

    settings: Lifecycle
    limits: Limits
    alerts: OpenAlerts = field(init=False)
    audited: dict[str, int] = field(default_factory=dict)
    acks: list[Acknowledgement] = field(default_factory=list)
    given: dict[str, Acknowledgement] = field(default_factory=dict)
    expired: dict[int, Expired] = field(default_factory=dict)
    repeat: bool = False
    feed_newest_us: int = 0
    ignored: int = 0
    scanned_us: int = 0
    unseen: Unseen = field(default_factory=Unseen)
    turned: TurnedAway = field(default_factory=TurnedAway)

    def __post_init__(self) -> None:
        """Begin without alerts."""
        self.alerts = OpenAlerts(self.limits.directory)


def step(state: State, alerts: Alerts) -> tuple[State, Alerts]:
    """Repeat what the log has lost; apply acknowledgements, transitions of the rules, what is due, in this order."""
    tick, kept, s = alerts.beats, state.alerts, state.settings
    kept.find_streams(len(tick.aligned.anchors))
    published = [one.message for one in kept.by_id.values()] if state.repeat else []
    state.repeat = False
    audit = [record for row in tick.aligned.limits for record in limit_records(state.limits, state.audited, row, tick)]
    for ack in state.acks:
        _acknowledge(state, ack, published, audit)
    state.acks.clear()
    begun = _restarts(tick)
    for part in parts_of(alerts, kept.having(begun[:, ORDERED_SLOT])) if len(begun) else [alerts]:
        _apply_part(state, part, published, audit)
    published += feed_transition(kept, state.feed_newest_us, tick.aligned.now_us)
    published += transitions_of(kept, state.turned, state.limits, tick.aligned)
    published += begin_of_expired(kept, state.expired, tick.aligned.now_us)
    state.expired.clear()
    if kept.by_id:
        published += end_of_interrupted(kept, tick.aligned.now_us)
        if tick.aligned.caught_up:
            published += end_of_expired(kept, tick.aligned.now_us, s.shortest_s)
        aligned = tick.aligned
        if aligned.now_us and aligned.caught_up and abs(aligned.now_us - state.scanned_us) >= _SCAN_US:
            state.scanned_us = aligned.now_us
            published += end_of_unseen(kept, state.unseen, aligned)
            published += remind_by_clock(kept, tick, s.remind_s)
        kept.forget_evicted(aligned)
    kept.note_restarts(begun[:, ORDERED_SLOT], begun[:, ORDERED_SAMPLE])
    return state, Alerts(tick, published, audit=audit)


def _restarts(tick: TickBeats) -> I64:
    """Return the restarts of a tick or a part of one, int64 [r, ORDERED_COLUMNS]."""
    if not len(tick.aligned.restarts):
        return tick.events[:0]
    begun: I64 = tick.events[tick.events[:, ORDERED_KIND] == RESTART]
    return begun


def _apply_part(state: State, part: Alerts, out: list[dict[str, Any]], audit: list[dict[str, Any]]) -> None:
    """Apply the transitions of a part of a tick, and what is due by its samples."""
    tick, kept, s = part.beats, state.alerts, state.settings
    begun = _restarts(tick)
    ending = _end_at_restarts(state, tick, begun, out) if kept.by_id else frozenset()
    for slot, message in zip(part.slots, part.transitions, strict=True):
        _apply(state, tick, slot, message, ending, out)
        given = state.given.get(message["id"]) if message["state"] == "on" else None
        if given is not None and (not given.received_us or given.received_us >= _began_us(tick, slot, message)):
            _acknowledge(state, given, out, audit)
    marks, passed = _ends(kept, tick)
    if kept.by_id:
        if kept.held:
            end_held(kept, s, tick, marks, touched(part, marks), out)
        out += remind_by_samples(
            kept, tick, marks, begun[:, ORDERED_SLOT], s.remind_s, lambda one: held_until(s, tick, one)
        )
    kept.passed = passed


def adopt(
    state: State,
    alerts: Sequence[dict[str, Any]],
    acks: Sequence[Acknowledgement] = (),
    over: AbstractSet[str] = frozenset(),
    said_us: Mapping[str, int] = {},
) -> None:
    """Replace the alerts that a replay has found by those in the log; what the replay holds stays held.

    Parameters
    ----------
    alerts
        That are not off.
    acks
        All that were given so far: those that the log does not show are applied with the next tick.
    over
        The ids of alerts whose rule does not hold any more. The log does not end them, so they are held: the replay
        does not hold one that ended before it, where a long silence followed.
    said_us
        Id -> when it was published last, microseconds since 1970: reminders by the clock go on from there.
    """
    state.alerts.replace(alerts, over, said_us)
    state.given = {ack.alert: ack for ack in acks}
    state.acks = [state.given[name] for name in state.alerts.by_id if name in state.given]


def _ends(kept: OpenAlerts, tick: TickBeats) -> tuple[I64, I64]:
    """Return the last watermark of each slot in a tick, -1: none, and session and last watermark after it."""
    marks, passed = np.full(len(kept.due), -1), kept.passed.copy()
    n, run = runs_of(tick.events, tick.run)
    cpu.kernels.find_end(n, run, tick.events, marks, passed)
    return marks, passed


def _end_at_restarts(state: State, tick: TickBeats, begun: I64, out: list[dict[str, Any]]) -> AbstractSet[str]:
    """End the held alerts of streams that begin anew in a part; return the ids of alerts that this ends, once over.

    Parameters
    ----------
    begun : int64 [r, ORDERED_COLUMNS]
        The restarts: the part begins with them.
    """
    kept, s, ending = state.alerts, state.settings, set[str]()
    for slot, value in begun[:, [ORDERED_SLOT, ORDERED_VALUE]].tolist():
        for one in kept.of_slot(slot):
            name = one.message["id"]
            if name in kept.held:
                end_with_stream(kept, s, tick, one, out)
            elif value < _ENDED_BELOW.get(one.message["rule"], value + 1):
                ending.add(name)
    return ending


def _apply(
    state: State,
    tick: TickBeats,
    slot: int,
    message: dict[str, Any],
    ending: AbstractSet[str],
    out: list[dict[str, Any]],
) -> None:
    """Apply a transition of a rule; alerts ``ending`` are not held, see ``_end_at_restarts``."""
    kept, s = state.alerts, state.settings
    message = message | {"partition": int(state.limits.directory.partition[slot])}
    one = kept.current_of(message)
    if message["state"] == "on":
        if one is not None and one.message["id"] in kept.held:
            if goes_on(kept, s, tick, one, message, out):
                return
        elif one is not None:  # of the log alone: a rule holds once, so that one is over
            kept.remove(one)
            out.append(over(one.message))
        kept.add(message, slot, tick.aligned.now_us)
        out.append(message)
        if message["rule"] in _WITHOUT_SAMPLES and kept.held:
            for other in [other for other in kept.of_slot(slot) if other.message["id"] in kept.held]:
                stop = message["onset"] if other.message["session"] == message["session"] else None
                end_with_stream(kept, s, tick, other, out, stop)
        return
    if one is None:
        if message["state"] == "latched":
            kept.add(message, slot, tick.aligned.now_us)
        out.append(message)
        return
    later = message["session"] != one.message["session"]  # it has outlasted its session
    out += remind_until(one, tick, message["decided"], s.remind_s, decided=True, session=message["session"])
    message = message | one.lasting
    went_back = not later and message["decided"] < message["onset"]  # its samples may not come again for hours
    if went_back:
        message |= {"decided": message["onset"], "decided_us": message["onset_us"]}
    if message["state"] == "latched" and one.message["state"] != "ack":
        kept.latch(one, message)
        out.append(message)
    elif message["state"] == "latched":
        kept.remove(one)
        out.append(over(message))
    elif not later and message["decided"] < held_until(s, tick, one):
        kept.held[message["id"]] = message
        if went_back or message["id"] in ending:
            end_with_stream(kept, s, tick, one, out)
    else:
        kept.remove(one)
        out.append(message)


def _began_us(tick: TickBeats, slot: int, message: dict[str, Any]) -> float:
    """Return when the samples with which an alert began arrived, by the broker's clock, if they came evenly.

    An acknowledgement that is older is of no alert that anybody could see: ids can be computed ahead.
    """
    slots = tick.aligned.slots
    arrived_us = float(slots.arrived_us[slot])
    if slots.session[slot] != message["session"]:
        return arrived_us
    rate_hz = float(tick.aligned.banks[int(slots.bank[slot])].rate_hz)
    return arrived_us - max(0, int(slots.expected[slot]) - int(message["onset"])) * 1e6 / rate_hz


def _acknowledge(
    state: State, ack: Acknowledgement, out: list[dict[str, Any]], audit: list[dict[str, Any]]
) -> None:  # fmt: skip
    """Apply an acknowledgement; one that has been applied before changes nothing."""
    state.given[ack.alert] = ack
    if len(state.given) > MOST_GIVEN:
        del state.given[next(iter(state.given))]
    one = state.alerts.by_id.get(ack.alert)
    if one is None or one.message["stream"] != ack.stream:
        directory = state.limits.directory
        state.ignored += one is not None or ack.stream in state.alerts.of_stream or ack.stream in directory.names
        return
    before = one.message
    if before["state"] == "ack":
        return
    one.message = acknowledged(before, ack.by, ack.at_us)
    if one.message["state"] == "off":
        state.alerts.remove(one)
    out.append(one.message)
    audit.append(acknowledgement_record(before, one.message))
