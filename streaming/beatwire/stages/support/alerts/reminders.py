"""Reminders: alerts that nobody has acknowledged are published again.

By samples: of an alert that samples decided, when its stream has gone on for the interval of its priority. The number
of a reminder says when it is due, so a replay and any cut give the same reminders. By the clock: of an alert that the
clock decided, of which no samples arrive.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from beatwire.kernels.intake import clock
from beatwire.records import I64, Bool, TickBeats
from beatwire.records.columns import ORDERED_BANK, ORDERED_KIND, ORDERED_SAMPLE, ORDERED_SESSION
from beatwire.records.events import RESTART, WATERMARK
from beatwire.stages.support.alerts.alert_messages import device_times
from beatwire.stages.support.alerts.open_alerts import BY_CLOCK, NEVER, Open, OpenAlerts
from beatwire.stages.support.streams.sessions import events_of
from beatwire.stages.support.streams.stretches import anchors_of, stretch_of

_BEFORE = 5  # intervals that may have passed from the last watermark of a tick to the first event of the next one

_SET_S = 1.0  # a clock that differs by more from what it was was set: what is due is searched for at once

Interval = Callable[[str], float]  # priority -> seconds, 0: never


@dataclass(frozen=True, slots=True)
class Stretch:
    """What a part of a tick has of a stream, which restarts at its beginning or not at all (`streams.tick_parts`).

    session    of the device
    bank       of the stream in it
    begin      first sample, -1: it began before the part
    earliest   least sample of its events in the part
    mark       its last watermark, -1: none
    """

    session: int
    bank: int
    begin: int
    earliest: int
    mark: int


def remind_by_samples(
    alerts: OpenAlerts,
    tick: TickBeats,
    marks: I64,
    restarted: I64,
    interval: Interval,
    held_until: Callable[[Open], int],
) -> list[dict[str, Any]]:
    """Return the reminders that are due by the watermarks of a tick, int64 [slots].

    Parameters
    ----------
    restarted
        Slots of the streams that restarted in the tick.
    held_until
        Returns the sample at which a held alert ends.
    """
    due = (marks >= alerts.due) | _clock_was_set(alerts, tick)
    due[restarted] = True
    published: list[dict[str, Any]] = []
    for slot in np.flatnonzero(due).tolist():
        alerts.due[slot] = NEVER
        mark = int(marks[slot])
        for one in alerts.of_slot(slot):
            end = held_until(one) if one.message["id"] in alerts.held else None
            published += remind_until(one, tick, end, interval)
            # Without a watermark in the tick, which only restarted the stream, the next one decides.
            alerts.due[slot] = min(alerts.due[slot], _next_due(one, tick, mark, interval) if mark >= 0 else 0)
    return published


def _clock_was_set(alerts: OpenAlerts, tick: TickBeats) -> Bool:
    """Return the streams with an alert whose device clock was set since the last call, bool [slots]."""
    waiting = np.flatnonzero(alerts.due < NEVER)
    anchors, was_set = tick.aligned.anchors, np.zeros(len(alerts.due), np.bool_)
    if not len(waiting):
        return was_set
    count = anchors[waiting, clock.COUNT]
    at = clock.FIRST_ANCHOR + clock.OF_ANCHOR * ((count - 1) % clock.MAX_ANCHORS) + 1
    zero_us = anchors[waiting, at]
    known, known_us = alerts.clock[waiting].T
    was_set[waiting] = (count > known + 1) | ((count != known) & (np.abs(zero_us - known_us) > _SET_S * 1e6))
    alerts.clock[waiting] = np.column_stack([count, zero_us])
    return was_set


def remind_until(
    one: Open,
    tick: TickBeats,
    end: int | None,
    interval: Interval,
    *,
    decided: bool = False,
    session: int | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield the reminders of an alert that are due in a part of a tick, and count them in the alert.

    In the session of the alert samples decide; in a later one, device time. Of what was due between two sessions, or
    in a hole of the samples that restarts the stream, the last is published where the samples go on: so the log says
    how many have passed.

    Parameters
    ----------
    end
        The sample at which it ends; None: it goes on.
    decided
        What ends it is in this part: what is due by ``end`` is before it, also if that is ahead of the watermark, or
        where no samples came.
    session
        That of ``end``; None: the alert's.
    """
    session = one.message["session"] if session is None else session
    interval_s = _interval_s(one, interval)
    if not interval_s or one.slot < 0 or tick.aligned.slots.bank[one.slot] < 0:
        return
    stretch = _stretch(tick, one.slot)
    if end is not None and (stretch.begin >= end or stretch.session != session):
        return
    if stretch.begin >= 0:
        yield from _last_due(one, tick, stretch, stretch.begin, interval_s)
    mark = stretch.mark if end is None else min(end, stretch.mark)
    if mark >= 0:
        # The interval may be shorter than it was: no more are published than samples came for.
        came_for = (stretch.mark - stretch.earliest) // _step(tick, stretch.bank, interval_s)
        for first, last in _numbers_due(one, tick, stretch, mark, interval_s):
            if first > one.message["reminders"]:
                _count(one, first)
                yield one.message
            _count(one, last - _BEFORE - came_for)
            while one.message["reminders"] < last:
                _count(one, one.message["reminders"] + 1)
                yield one.message
    if decided and end is not None and end > mark:
        yield from _last_due(one, tick, stretch, end, interval_s)


def _last_due(one: Open, tick: TickBeats, stretch: Stretch, sample: int, interval_s: float) -> Iterator[dict[str, Any]]:
    """Yield the last of the reminders that are due by a sample, if it has not been published."""
    number = _passed(one, tick, stretch, sample, interval_s)
    if number > one.message["reminders"]:
        _count(one, number)
        yield one.message


def _numbers_due(
    one: Open, tick: TickBeats, stretch: Stretch, mark: int, interval_s: float
) -> Iterator[tuple[int, int]]:
    """Yield the numbers of the reminders that are due at the first and the last sample of each part of a stretch.

    In the session of the alert its samples decide: one part, of which nothing was due before its beginning. In a later
    one device time does, and a part ends where the clock was set: of what it jumps over the last one is published.
    """
    if stretch.session == one.message["session"]:
        yield 0, _passed(one, tick, stretch, mark, interval_s)
        return
    aligned, rate_hz = tick.aligned, float(tick.aligned.banks[stretch.bank].rate_hz)
    first, zero_us = anchors_of(aligned, one.slot, stretch_of(aligned, one.slot, stretch.session))
    last = np.minimum(np.append(first[1:], mark + 1) - 1, mark)
    for a, b, of_zero_us in zip(first.tolist(), last.tolist(), zero_us.tolist(), strict=True):
        a = max(a, stretch.begin if stretch.begin >= 0 else one.begun)
        if a <= b:
            times_us = (of_zero_us + math.floor(sample * 1e6 / rate_hz + 0.5) for sample in (a, b))
            begin, end = (math.floor((at_us - one.message["onset_us"]) / 1e6 / interval_s) for at_us in times_us)
            yield begin, end


def _count(one: Open, number: int) -> None:
    """Let the reminder of a number be the last one, if it is a later one."""
    if number > one.message["reminders"]:
        one.message = one.message | {"reminders": number}


def _interval_s(one: Open, interval: Interval) -> float:
    """Return the seconds between two reminders of an alert, 0: samples decide none."""
    by_samples = one.message["state"] != "ack" and one.message["rule"] not in BY_CLOCK
    return interval(one.message["priority"]) if by_samples else 0.0


def _step(tick: TickBeats, bank: int, interval_s: float) -> int:
    """Return the samples between two reminders."""
    return math.ceil(interval_s * float(tick.aligned.banks[bank].rate_hz))


def _passed(one: Open, tick: TickBeats, stretch: Stretch, sample: int, interval_s: float) -> int:
    """Return the intervals from the onset of an alert to a sample of a stretch: by samples, or by device time."""
    if stretch.session == one.message["session"]:
        onset = int(one.message["onset"])
        return (sample - onset) // _step(tick, stretch.bank, interval_s)
    (time_us,) = device_times(tick, one.slot, stretch.session, [sample], sample)
    onset_us = int(one.message["onset_us"])
    return math.floor((time_us - onset_us) / 1e6 / interval_s)


def _next_due(one: Open, tick: TickBeats, mark: int, interval: Interval) -> int:
    """Return the watermark from which the next reminder of an alert is due, in the present session of its stream."""
    interval_s = _interval_s(one, interval)
    if not interval_s or tick.aligned.slots.bank[one.slot] < 0:
        return NEVER
    message, step = one.message, _step(tick, int(tick.aligned.slots.bank[one.slot]), interval_s)
    session = int(tick.aligned.slots.session[one.slot])
    if session == message["session"]:
        return int(message["onset"] + (message["reminders"] + 1) * step)
    (mark_us,) = device_times(tick, one.slot, session, [mark], mark)
    left_s = float((message["reminders"] + 1) * interval_s - (mark_us - message["onset_us"]) / 1e6) - _SET_S
    return mark + max(1, math.floor(left_s / interval_s * step))


def _stretch(tick: TickBeats, slot: int) -> Stretch:
    """Return what a part of a tick has of a stream: without events the stream is where it was."""
    events = events_of(tick, slot)
    if not len(events):
        return Stretch(int(tick.aligned.slots.session[slot]), int(tick.aligned.slots.bank[slot]), -1, -1, -1)
    kind, sample = events[:, ORDERED_KIND], events[:, ORDERED_SAMPLE]
    marks = sample[kind == WATERMARK]
    return Stretch(
        session=int(events[0, ORDERED_SESSION]),
        bank=int(events[0, ORDERED_BANK]),
        begin=int(sample[0]) if kind[0] == RESTART else -1,
        earliest=int(sample.min()),  # leads may come off behind the hole that precedes a restart
        mark=int(marks[-1]) if len(marks) else -1,
    )


def remind_by_clock(alerts: OpenAlerts, tick: TickBeats, interval: Interval) -> list[dict[str, Any]]:
    """Return the reminders that are due by the clock of a tick; of several of an alert the last one."""
    published: list[dict[str, Any]] = []
    for one in alerts.by_clock.values():
        interval_us, now_us = round(1e6 * interval(one.message["priority"])), tick.aligned.now_us
        if not one.said_us or now_us < one.said_us:  # a clock was set back
            one.said_us = now_us
        passed = (now_us - one.said_us) // interval_us if interval_us else 0
        if one.message["state"] == "on" and passed:
            one.said_us += passed * interval_us
            _count(one, one.message["reminders"] + passed)
            published.append(one.message)
    return published
