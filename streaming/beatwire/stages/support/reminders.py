"""Reminders: alerts that nobody has acknowledged are published again.

By samples: of an alert that samples decided, when its stream has gone on for the interval of its priority. The number
of a reminder says when it is due, so a replay and any cut give the same reminders. By the clock: of an alert that the
clock decided, of which no samples arrive.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from beatwire.records import I64, TickBeats
from beatwire.records.columns import ORDERED_KIND, ORDERED_SAMPLE, ORDERED_SESSION, ORDERED_SLOT
from beatwire.records.events import BEAT, RESTART, WATERMARK
from beatwire.stages.support.alert_messages import device_times
from beatwire.stages.support.open_alerts import NEVER, Open, OpenAlerts

# Rules about streams that send nothing, or of which nothing is analysed, and about whole partitions.
BY_CLOCK = ("no data", "refused", "expired")

Interval = Callable[[str], float]  # priority -> seconds, 0: never


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a tick in which a stream did not restart.

    session    of the device
    begin      first sample, -1: it began before the tick
    earliest   sample of its first event in the tick
    last_beat  sample of its last beat in the tick, -1: none
    mark       its last watermark, -1: none
    last       False if the stream restarted after it
    """

    session: int
    begin: int
    earliest: int
    last_beat: int
    mark: int
    last: bool


def remind_by_samples(alerts: OpenAlerts, tick: TickBeats, marks: I64, interval: Interval) -> list[dict[str, Any]]:
    """Return the reminders that are due by the watermarks of a tick, int64 [slots]."""
    due = marks >= alerts.due
    restarted = tick.events[tick.events[:, ORDERED_KIND] == RESTART, ORDERED_SLOT]
    due[restarted] |= marks[restarted] >= 0  # it may have been due in the session before
    published: list[dict[str, Any]] = []
    for slot in np.flatnonzero(due).tolist():
        alerts.due[slot] = NEVER
        for one in alerts.of_slot(slot):
            published += remind_until(one, tick, None, interval)
            alerts.due[slot] = min(alerts.due[slot], _next_due(one, tick, int(marks[slot]), interval))
    return published


def remind_until(one: Open, tick: TickBeats, end: int | None, interval: Interval) -> Iterator[dict[str, Any]]:
    """Yield the reminders of an alert that are due in a tick, and count them in the alert.

    In the session of the alert samples decide; in a later one, device time. What was due between two sessions, or in
    a hole of the samples that restarts the stream, is counted and not published: nobody was monitored.

    Parameters
    ----------
    end
        The sample of the alert's session at which it ends; None: it goes on. An alert that nothing ends after the last
        beat of its session ends with the session.
    """
    interval_s = _interval_s(one, interval)
    if not interval_s or one.slot < 0 or tick.aligned.slots.bank[one.slot] < 0:
        return
    step = _step(one, tick, interval_s)
    stretches = _stretches(tick, one.slot)
    own = [number for number, stretch in enumerate(stretches) if stretch.session == one.message["session"]]
    for stretch in stretches[own[0] if own else 0 :]:
        if end is not None and stretch.begin >= end:
            return
        if stretch.mark < 0:
            continue
        if stretch.session == one.message["session"]:
            whole = end is None or (not stretch.last and end >= stretch.last_beat)
            mark = stretch.mark if whole or end is None else min(end, stretch.mark)
            if stretch.begin >= 0:  # after a hole: one message may claim one of 2**53 samples
                _count(one, (stretch.begin - one.message["onset"]) // step)
            number = (mark - one.message["onset"]) // step
        elif end is None:
            before, now = _intervals_passed(one, tick, stretch, interval_s)
            if stretch.begin >= 0:
                _count(one, before)
            # The clock of a device may jump within a session: no more than samples have come for.
            number = now
            _count(one, now - 2 - (stretch.mark - stretch.earliest) // step)
        else:
            return
        while one.message["reminders"] < number:
            _count(one, one.message["reminders"] + 1)
            yield one.message


def _count(one: Open, number: int) -> None:
    """Let the reminder of a number be the last one, if it is a later one."""
    if number > one.message["reminders"]:
        one.message = one.message | {"reminders": number}


def _interval_s(one: Open, interval: Interval) -> float:
    """Return the seconds between two reminders of an alert, 0: samples decide none."""
    by_samples = one.message["state"] != "ack" and one.message["rule"] not in BY_CLOCK
    return interval(one.message["priority"]) if by_samples else 0.0


def _step(one: Open, tick: TickBeats, interval_s: float) -> int:
    """Return the samples between two reminders."""
    rate_hz = float(tick.aligned.banks[tick.aligned.slots.bank[one.slot]].rate_hz)
    return math.ceil(interval_s * rate_hz)


def _intervals_passed(one: Open, tick: TickBeats, stretch: Stretch, interval_s: float) -> tuple[int, int]:
    """Return the intervals from the onset of an alert to the begin and to the end of a stretch of a later session."""
    times_us = [
        device_times(tick, one.slot, stretch.session, [sample], sample)[0]
        for sample in (max(stretch.begin, stretch.earliest), stretch.mark)
    ]
    before, now = (math.floor((time_us - one.message["onset_us"]) / 1e6 / interval_s) for time_us in times_us)
    return before, now


def _next_due(one: Open, tick: TickBeats, mark: int, interval: Interval) -> int:
    """Return the watermark from which the next reminder of an alert is due, in the present session of its stream."""
    interval_s = _interval_s(one, interval)
    if not interval_s or tick.aligned.slots.bank[one.slot] < 0:
        return NEVER
    message, step = one.message, _step(one, tick, interval_s)
    session = int(tick.aligned.slots.session[one.slot])
    if session == message["session"]:
        return int(message["onset"] + (message["reminders"] + 1) * step)
    (mark_us,) = device_times(tick, one.slot, session, [mark], mark)
    left_s = float((message["reminders"] + 1) * interval_s - (mark_us - message["onset_us"]) / 1e6)
    return mark + max(1, math.floor(left_s / interval_s * step))


def last_mark(tick: TickBeats, slot: int, session: int) -> int:
    """Return the last watermark of a stream in a tick that belongs to a session, -1: none."""
    return max((stretch.mark for stretch in _stretches(tick, slot) if stretch.session == session), default=-1)


def _stretches(tick: TickBeats, slot: int) -> list[Stretch]:
    """Return the stretches of a stream in a tick, in order."""
    slots = tick.events[:, ORDERED_SLOT]
    events = tick.events[np.searchsorted(slots, slot) : np.searchsorted(slots, slot, "right")]
    parts = [part for part in np.split(events, np.flatnonzero(events[:, ORDERED_KIND] == RESTART)) if len(part)]
    return [_stretch(part, last=number == len(parts) - 1) for number, part in enumerate(parts)]


def _stretch(events: I64, *, last: bool) -> Stretch:
    kind, sample = events[:, ORDERED_KIND], events[:, ORDERED_SAMPLE]
    beats, marks = sample[kind == BEAT], sample[kind == WATERMARK]
    return Stretch(
        session=int(events[0, ORDERED_SESSION]),
        begin=int(sample[0]) if kind[0] == RESTART else -1,
        earliest=int(sample[0]),
        last_beat=int(beats[-1]) if len(beats) else -1,
        mark=int(marks[-1]) if len(marks) else -1,
        last=last,
    )


def remind_by_clock(alerts: OpenAlerts, tick: TickBeats, interval: Interval) -> list[dict[str, Any]]:
    """Return the reminders that are due by the clock of a tick; of several of an alert the last one."""
    published: list[dict[str, Any]] = []
    for one in alerts.by_id.values():
        interval_s = interval(one.message["priority"])
        if one.message["rule"] in BY_CLOCK and one.message["state"] == "on" and interval_s:
            arrived_us = int(tick.aligned.slots.arrived_us[one.slot]) if one.slot >= 0 else 0
            since_us = one.raised_us or arrived_us or one.message["onset_us"]
            count = int((tick.aligned.now_us - since_us) / 1e6 / interval_s)
            if count > one.message["reminders"]:
                one.message = one.message | {"reminders": count}
                published.append(one.message)
    return published
