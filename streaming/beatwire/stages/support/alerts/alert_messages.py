"""Messages of the alerts topic, without the model: one for each transition of an alert."""

import math
from typing import Any

import numpy as np

from beatwire.alerts.rule import STATES, alert_id
from beatwire.alerts.rules import NUMBERS, RULES
from beatwire.jit import cpu
from beatwire.kernels.intake import clock
from beatwire.records import TickBeats
from beatwire.stages.support.streams.sessions import bank_of
from beatwire.stages.support.streams.stretches import place_of, stretch_of

DOUBTFUL = " (signal doubtful)"  # behind the text of an alert that a beat in noise has begun


def message_of(
    tick: TickBeats, stream: str, row: list[int], value: float, limit: float, since_us: int | None,
    until_us: int | None, by_samples: bool, doubtful: bool,
) -> dict[str, Any]:  # fmt: skip
    """Return a transition as a message.

    Parameters
    ----------
    row
        Columns ``TRANSITION_SLOT``, ... of ``records.columns``.
    value, limit
        What was found, and the limit of the rule; a value that is not finite is None in the message, and so is the 0
        of a rule that measures nothing.
    since_us, until_us
        Device times of the onset and of the sample at which it is decided, where they are known from the log; None: by
        the clock of the stream.
    by_samples
        Whether the rules decided it, and the row has the stretch in which they did.
    doubtful
        Whether errors are expected in the signal before the beat that decided it.
    """
    slot, session, number, state, onset, at, _, _, restarts = row
    rule = RULES[number]
    onset_us, at_us = device_times(tick, slot, session, [onset, at], at, restarts if by_samples else None)
    since_us = onset_us if since_us is None else since_us
    until_us = at_us if until_us is None else until_us
    text = rule.text_of(STATES[state], value, limit)
    if doubtful and STATES[state] == "on" and not rule.technical:
        text += DOUBTFUL
    return {
        "id": alert_id(stream, session, rule.key, onset),
        "stream": stream,
        "session": session,
        "rule": rule.name,
        "priority": rule.priority,
        "technical": rule.technical,
        "state": STATES[state],
        "onset": onset,
        "onset_us": since_us,
        "decided": at,
        "decided_us": until_us if at > onset else since_us,
        "value": round(value, 3) if math.isfinite(value) and (value or rule.measures) else None,
        "limit": limit,
        "definition": rule.definition_of(limit),
        "text": text,
        "ack_by": None,
        "ack_us": None,
        "reminders": 0,
    }


def acknowledged(alert: dict[str, Any], by: str, at_us: int) -> dict[str, Any]:
    """Return the message of an alert, on or latched, that someone has acknowledged: one that was latched is over."""
    if alert["state"] == "latched":
        return over(alert | {"ack_by": by, "ack_us": at_us})
    return alert | {"state": "ack", "ack_by": by, "ack_us": at_us}


def over(alert: dict[str, Any]) -> dict[str, Any]:
    """Return the message that ends an alert, with what else is in its last one."""
    rule = RULES[NUMBERS[alert["rule"]]]
    return alert | {"state": "off", "text": rule.text_of("off", 0.0, alert["limit"])}


def device_times(
    tick: TickBeats, slot: int, session: int, samples: list[int], at: int, restarts: int | None = None
) -> list[int]:
    """Return the device time of samples of a stream, microseconds, for an output that is decided at sample ``at``.

    A session number may come again in the tick, with another clock: ``restarts`` of the stream in it say which is
    meant; None: the newest.
    """
    n = len(samples)
    place = None if restarts is None else place_of(tick, slot, session, restarts)
    bank, stretch = place or (bank_of(tick, slot, session), stretch_of(tick.aligned, slot, session))
    later = int(tick.aligned.anchors[slot, clock.STRETCH]) - stretch
    time_us = np.empty(n, np.int64)
    cpu.kernels.device_time(
        n, np.full(n, slot), np.full(n, later), np.array(samples), np.full(n, at),
        np.full(n, tick.aligned.banks[bank].rate_hz), tick.aligned.anchors, tick.aligned.clocks, time_us,
    )  # fmt: skip
    return time_us.tolist()
