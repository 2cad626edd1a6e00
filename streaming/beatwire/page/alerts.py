"""Alerts in force and acknowledgements, as the compacted topics have them.

In: keys and values of ``ecg.alerts`` and ``ecg.acks``. Out: the alerts in force of a stream, as the protocol has them,
and the priority by which the ward is sorted. State: alerts by id, those of each stream, acknowledgements by id of the
alert; at most ``MOST`` of each, the oldest are dropped first.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from beatwire.alerts.rule import PRIORITIES, lead_list
from beatwire.alerts.rules import NUMBERS, RULES
from beatwire.wire.alerts import decode_alert
from beatwire.wire.staff import decode_ack

RANK = {priority: 3 - k for k, priority in enumerate(PRIORITIES)}  # 0: no alert
MOST = 100_000
_STATES = ("on", "latched", "ack")  # in the order in which they are listed: what goes on before what has ended
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
    _rank: dict[str, int] = field(default_factory=dict)  # of each stream, the highest of its alerts

    def add_alert(self, key: bytes | None, value: bytes | None) -> str | None:
        """Apply a message of ``ecg.alerts``; return the stream whose alerts changed, None if none did."""
        name = (key or b"").decode("utf-8", "replace")
        try:
            alert = None if value is None else decode_alert(value, key or b"")
        except ValueError:
            self.malformed += 1
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

    def add_ack(self, key: bytes | None, value: bytes | None) -> str | None:
        """Apply a message of ``ecg.acks``; return the stream of its alert, None if that is not in force."""
        name = (key or b"").decode("utf-8", "replace")
        try:
            ack = None if value is None else decode_ack(value)
        except ValueError:
            self.malformed += 1
            return None
        if ack is not None and ack["alert"] != name:
            self.malformed += 1
            return None
        self.acks.pop(name, None)
        if ack is not None:
            if len(self.acks) >= MOST:
                self.acks.pop(next(iter(self.acks)))
            self.acks[name] = ack
        alert = self.alerts.get(name)
        return None if alert is None else str(alert["stream"])

    def in_force(self, stream: str, leads: Sequence[str] = ()) -> list[dict[str, Any]]:
        """Return the alerts of a stream, as the protocol has them: by priority, state, the newest first."""
        found = [self._as_json(self.alerts[name], leads) for name in self.of_stream.get(stream, ())]
        return sorted(found, key=_order)

    def rank(self, stream: str) -> int:
        """Return the highest rank of the alerts in force, 0 if there are none."""
        return self._rank.get(stream, 0)

    def counts(self) -> dict[str, int]:
        """Return the number of streams by the priority of their highest alert."""
        ranks = list(self._rank.values())
        return {priority: ranks.count(rank) for priority, rank in RANK.items()}

    def _as_json(self, alert: dict[str, Any], leads: Sequence[str]) -> dict[str, Any]:
        ack = self.acks.get(alert["id"])
        if alert.get("ack_by"):  # the monitor has read it
            ack = {"by": alert["ack_by"], "at_us": alert["ack_us"]}
        sent = {name: alert.get(name) for name in _SENT}
        if ack is not None:
            sent["state"] = "ack"
        value = alert["value"] if alert["state"] in ("on", "ack") else None  # of one that is over, as it ended
        rule = RULES[NUMBERS[alert["rule"]]] if alert["rule"] in NUMBERS else None
        sent["short"] = rule.short_of(value) if rule else alert["rule"]
        sent["prevents"] = rule.prevents if rule else ""
        if alert["rule"] == "lead off" and alert["value"] and alert["state"] == "on":
            sent["short"] = sent["text"] = f"lead off: {lead_list(alert['value'], leads)}"
        return sent | {"ack_by": ack and ack["by"], "ack_us": ack and ack["at_us"]}

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
            self._rank[stream] = max(RANK[self.alerts[name]["priority"]] for name in names)


def _order(alert: dict[str, Any]) -> tuple[float, ...]:
    return -RANK[alert["priority"]], _STATES.index(alert["state"]), -alert["decided_us"]
