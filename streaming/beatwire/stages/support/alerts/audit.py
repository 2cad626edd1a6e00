"""Records of the audit log: what staff changed, and from which sample on it was in force.

Each record is written in the transaction of the tick in which it came into force, so it is there once. A worker that
begins with a stream that has been silent applies its limits anew: a change is recorded only with a chunk that arrived
within a minute, as every stream that was heard of in the last minute is part of the replay.
"""

from typing import Any

from beatwire.records import I64, TickBeats
from beatwire.records.columns import EVENT_PASS, EVENT_SAMPLE, EVENT_SESSION, EVENT_SLOT, EVENT_VALUE, LIMITS_ARRIVED_US
from beatwire.stages.support.alerts.alert_messages import device_times
from beatwire.stages.support.alerts.limits import Limits
from beatwire.stages.support.streams.stretches import restarts_up_to
from beatwire.wire.staff import limits_record

RECORDED_US = 60_000_000  # ``Settings.silence_s``: streams that were silent for longer are not replayed


def acknowledgement_record(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return the record of an acknowledgement that changed an alert from ``before`` to ``after``."""
    return {
        "what": "acknowledged",
        "stream": after["stream"],
        "by": after["ack_by"],
        "at_us": after["ack_us"],
        "alert": after["id"],
        "rule": after["rule"],
        "before": before["state"],
        "after": after["state"],
        "session": after["session"],
        "sample": after["decided"],
    }


def limit_records(limits: Limits, audited: dict[str, int], event: I64, tick: TickBeats) -> list[dict[str, Any]]:
    """Return the records of the changes that an event of ``Aligned.limits`` brought into force.

    Parameters
    ----------
    audited
        Stream -> number of the limits up to which its changes are recorded; read and written.
    """
    slot, session, sample, number = event[[EVENT_SLOT, EVENT_SESSION, EVENT_SAMPLE, EVENT_VALUE]].tolist()
    stream = limits.directory.names[slot]
    changes = limits.between(stream, audited.get(stream, 0), number)
    audited[stream] = number
    restarts = restarts_up_to(tick.aligned, slot, int(event[EVENT_PASS]))
    (sample_us,) = device_times(tick, slot, session, [sample], sample, restarts)
    return [
        limits_record("limits in force", change) | {"session": session, "sample": sample, "sample_us": sample_us}
        for change in changes
        if int(event[LIMITS_ARRIVED_US]) - change.since_us <= RECORDED_US
    ]
