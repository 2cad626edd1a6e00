"""Reminders: alerts that nobody has acknowledged are published again.

By samples: of an alert that samples decided, when its stream has gone on for the interval of its priority. So a replay
and any cut give the same reminders. By the clock: of an alert that the clock decided, of which no samples arrive.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from beatwire.records import I64, TickBeats
from beatwire.stages.support.alert_messages import device_times
from beatwire.stages.support.open_alerts import NEVER, Open, OpenAlerts

# Rules about streams that send nothing, or of which nothing is analysed, and about whole partitions.
BY_CLOCK = ("no data", "refused", "expired")
# Of an alert of an earlier session in a tick: the clock of a device may jump by days between two sessions.
MOST_REMINDERS = 10

Interval = Callable[[str], float]  # priority -> seconds, 0: never


def remind_by_samples(alerts: OpenAlerts, tick: TickBeats, marks: I64, interval: Interval) -> list[dict[str, Any]]:
    """Return the reminders that are due by the watermarks of a tick, int64 [slots]."""
    published: list[dict[str, Any]] = []
    for slot in np.flatnonzero(marks >= alerts.due).tolist():
        next_due = NEVER
        for one in alerts.of_slot(slot):
            due, step = _due_sample(tick, one, int(marks[slot]), interval(one.message["priority"]))
            count = 0 if due > marks[slot] else 1 + (int(marks[slot]) - due) // step
            same_session = int(tick.aligned.slots.session[slot]) == one.message["session"]
            for k in range(count):
                one.message = one.message | {"reminders": one.message["reminders"] + 1}
                if same_session or count - k <= MOST_REMINDERS:
                    published.append(one.message)
            next_due = min(next_due, due + count * step)
        alerts.due[slot] = next_due
    return published


def _due_sample(tick: TickBeats, one: Open, mark: int, interval_s: float) -> tuple[int, int]:
    """Return the watermark from which the next reminder of an alert is due, and the samples to the one after it.

    In a later session than that of the alert, the device time of the watermark ``mark`` decides.
    """
    message, aligned = one.message, tick.aligned
    if message["state"] == "ack" or not interval_s or message["rule"] in BY_CLOCK:
        return NEVER, 0
    rate_hz = aligned.banks[aligned.slots.bank[one.slot]].rate_hz
    step = math.ceil(interval_s * rate_hz)
    session = int(aligned.slots.session[one.slot])
    if session == message["session"]:
        return message["onset"] + (message["reminders"] + 1) * step, step
    (mark_us,) = device_times(tick, one.slot, session, [mark], mark)
    passed = math.floor((mark_us - message["onset_us"]) * rate_hz / 1e6)
    return mark - passed + (message["reminders"] + 1) * step, step


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
