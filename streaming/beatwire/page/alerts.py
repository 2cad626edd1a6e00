"""Alerts in force and acknowledgements, as the compacted topics have them.

In: messages of ``ecg.alerts`` and ``ecg.acks``. Out: the alerts in force of a stream, as the protocol has them,
and the rank by which the ward is sorted. State: alerts by id, those of each stream, acknowledgements by id of the
alert; at most ``MOST`` of each, the oldest are dropped first.
"""

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from beatwire.alerts.rule import PRIORITIES, lead_list
from beatwire.alerts.rules import NUMBERS, RULES
from beatwire.kafka.reading.newest import Newest
from beatwire.kafka.reading.record import Record
from beatwire.wire.alerts import decode_alert
from beatwire.wire.staff import decode_ack

MOST = 100_000
LOST = "lost alerts"  # a topic of no broker: of records whose key is the id of an alert that is nobody's any more
_STATES = ("on", "latched", "ack")  # in the order in which they are listed: what goes on before what has ended
# Of an alert, by which it is listed; 0: no alert.
_RANKS = {place: len(PRIORITIES) * len(_STATES) - k for k, place in enumerate(itertools.product(PRIORITIES, _STATES))}
_OFF = "off"
_SENT = (
    "id", "rule", "priority", "technical", "state", "onset_us", "decided_us", "value", "limit", "text", "definition",
    "reminders",
)  # fmt: skip


@dataclass(slots=True)
class Alerts:
    """Alerts by id, ids by stream, acknowledgements by id of the alert; ``malformed``: messages that are neither."""

    alerts: dict[str, dict[str, Any]] = field(default_factory=dict)
    of_stream: dict[str, dict[str, None]] = field(default_factory=dict)
    acks: dict[str, dict[str, Any]] = field(default_factory=dict)
    malformed: int = 0
    _newest: Newest = field(default_factory=lambda: Newest(MOST))
    _rank: dict[str, int] = field(default_factory=dict)  # of each stream, the highest of its alerts

    def add_alert(self, message: Record) -> str | None:
        """Apply a message of ``ecg.alerts``; return the stream whose alerts changed, None if none did."""
        key, value = message.key or b"", message.value
        name = key.decode("utf-8", "replace")
        try:
            alert = None if value is None else decode_alert(value, key)
        except ValueError:
            self.malformed += 1
            return None
        if not self._newest.takes(key, message.partition, message.time_us):
            return None
        before = self.alerts.pop(name, None)
        if before is not None:
            self._unlink(before)
        if alert is None or alert["state"] == _OFF:
            return None if before is None else str(before["stream"])
        if len(self.alerts) >= MOST:
            oldest = self.alerts.pop(next(iter(self.alerts)))
            self._unlink(oldest)
        self.alerts[name] = alert
        self.of_stream.setdefault(alert["stream"], {})[name] = None
        self._rank_anew(alert["stream"])
        return str(alert["stream"])

    def add_lost(self, message: Record) -> str | None:
        """Apply a record of `LOST`; return the stream whose alerts changed, None if none did."""
        alert = self.alerts.pop((message.key or b"").decode("utf-8", "replace"), None)
        if alert is None:
            return None
        self._unlink(alert)
        return str(alert["stream"])

    def add_ack(self, message: Record) -> str | None:
        """Apply a message of ``ecg.acks``; return the stream of its alert, None if that is not in force."""
        name = (message.key or b"").decode("utf-8", "replace")
        try:
            ack = None if message.value is None else decode_ack(message.value, message.key)
        except ValueError:
            self.malformed += 1
            return None
        self.acks.pop(name, None)
        if ack is not None:
            if len(self.acks) >= MOST:
                self.acks.pop(next(iter(self.acks)))
            self.acks[name] = ack
        alert = self.alerts.get(name)
        if alert is None:
            return None
        self._rank_anew(alert["stream"])
        return str(alert["stream"])

    def in_force(self, stream: str, leads: Sequence[str] = ()) -> list[dict[str, Any]]:
        """Return the alerts of a stream, as the protocol has them: by priority, state, the newest first."""
        found = [self._as_json(self.alerts[name], leads) for name in self.of_stream.get(stream, ())]
        return sorted(found, key=_order)

    def rank(self, stream: str) -> int:
        """Return the highest rank of the alerts in force, by priority and then by state; 0 if there are none."""
        return self._rank.get(stream, 0)

    def counts(self) -> dict[str, int]:
        """Return the number of streams by the priority of their highest alert."""
        ranks = Counter(self._rank.values())
        return {priority: sum(ranks[_RANKS[priority, state]] for state in _STATES) for priority in PRIORITIES}

    def _as_json(self, alert: dict[str, Any], leads: Sequence[str]) -> dict[str, Any]:
        ack = self._ack_of(alert)
        sent = {name: alert.get(name) for name in _SENT} | {"state": self._state_of(alert)}
        sent["short"] = alert["rule"]  # without its value, which is that of the onset: beside it is the present rate
        sent["prevents"] = RULES[NUMBERS[alert["rule"]]].prevents if alert["rule"] in NUMBERS else ""
        if alert["rule"] == "lead off" and alert["value"] and alert["state"] == "on":
            sent["short"] = sent["text"] = f"lead off: {lead_list(alert['value'], leads)}"
        return sent | {"ack_by": ack and ack["by"], "ack_us": ack and ack["at_us"]}

    def _ack_of(self, alert: dict[str, Any]) -> dict[str, Any] | None:
        if alert.get("ack_by"):  # the monitor has read it
            return {"by": alert["ack_by"], "at_us": alert["ack_us"]}
        ack = self.acks.get(alert["id"])
        return ack if ack is not None and ack["stream"] == alert["stream"] else None  # as the monitor has it

    def _state_of(self, alert: dict[str, Any]) -> str:
        return str(alert["state"]) if self._ack_of(alert) is None else "ack"

    def _unlink(self, alert: dict[str, Any]) -> None:
        of_stream = self.of_stream[alert["stream"]]
        of_stream.pop(alert["id"], None)
        if not of_stream:
            del self.of_stream[alert["stream"]]
        self._rank_anew(alert["stream"])

    def _rank_anew(self, stream: str) -> None:
        names = self.of_stream.get(stream)
        if names is None:
            self._rank.pop(stream, None)
        else:
            alerts = [self.alerts[name] for name in names]
            self._rank[stream] = max(_RANKS[alert["priority"], self._state_of(alert)] for alert in alerts)


def _order(alert: dict[str, Any]) -> tuple[float, ...]:
    return -_RANKS[alert["priority"], alert["state"]], -alert["decided_us"]
