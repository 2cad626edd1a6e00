"""Messages of the alerts topic, without the model: one for each transition of an alert."""

from __future__ import annotations

from typing import Any

import numpy as np

from beatwire.jit import cpu
from beatwire.records import Event, TickBeats
from beatwire.records.columns import ORDERED_KIND, ORDERED_SAMPLE, ORDERED_SESSION, ORDERED_SLOT, ORDERED_VALUE
from beatwire.stages.support.alert_rules import RULES, STATES, alert_id


def message_of(
    tick: TickBeats, stream: str, row: list[int], value: float, limit: float, since_us: int | None
) -> dict[str, Any]:
    """Return a transition as a message.

    Parameters
    ----------
    row
        Columns ``TRANSITION_SLOT``, ... of ``records.columns``.
    value, limit
        What was found, and the limit of the rule.
    since_us
        Device time of the onset where it is known from the log; None: by the clock of the stream.
    """
    slot, session, number, state, onset, at = row
    rule = RULES[number]
    onset_us, at_us = _device_times(tick, slot, session, [onset, at])
    since_us = onset_us if since_us is None else since_us
    return {
        "id": alert_id(stream, session, rule.name, onset),
        "stream": stream,
        "session": session,
        "rule": rule.name,
        "priority": rule.priority,
        "technical": rule.technical,
        "state": STATES[state],
        "onset": onset,
        "onset_us": since_us,
        "decided": at,
        "decided_us": at_us if at > onset else since_us,
        "value": round(value, 3),
        "limit": limit,
        "text": rule.text_of(value, limit) + _confidence(tick, slot, session, at),
    }


def _device_times(tick: TickBeats, slot: int, session: int, samples: list[int]) -> list[int]:
    """Return the device time of samples of a stream, microseconds."""
    n = len(samples)
    rate_hz = tick.aligned.banks[tick.aligned.slots.bank[slot]].rate_hz
    time_us = np.empty(n, np.int64)
    cpu.kernels.device_time(
        n, np.full(n, slot), np.full(n, session), np.array(samples), np.full(n, rate_hz), tick.aligned.anchors,
        tick.aligned.clocks, time_us,
    )  # fmt: skip
    return time_us.tolist()


def _confidence(tick: TickBeats, slot: int, session: int, at: int) -> str:
    """Return the confidence of the beat that decided a transition, and the errors expected in the signal before it."""
    slots = tick.events[:, ORDERED_SLOT]
    events = tick.events[np.searchsorted(slots, slot) : np.searchsorted(slots, slot, "right")]
    of_session = (events[:, ORDERED_SESSION] == session) & (events[:, ORDERED_SAMPLE] == at)
    for beat in events[of_session & (events[:, ORDERED_KIND] == Event.BEAT), ORDERED_VALUE].tolist():
        errors = float(tick.expected_errors[beat])
        if errors >= 0:
            return f" (beat confidence {100 * float(tick.quality[beat]):.0f} %, {errors:.1f} errors expected in 10 s)"
    return ""
