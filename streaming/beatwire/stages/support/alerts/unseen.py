"""Alerts from the log of streams that this worker has not seen: they end as those of evicted streams do.

A stream that was silent when its worker began has no slot, so nothing evicts it. Its alerts end when it has sent
nothing for as long since.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from beatwire.alerts.rules import NUMBERS, RULES
from beatwire.records import Aligned
from beatwire.settings import Streams
from beatwire.stages.support.alerts.alert_messages import over
from beatwire.stages.support.alerts.open_alerts import OpenAlerts


@dataclass(slots=True)
class Unseen:
    """Since when streams have not been seen.

    evict_s   after which they are forgotten
    since_us  stream -> time of the first tick without it, microseconds since 1970
    oldest_us, newest_us  the first and the last of these
    """

    evict_s: float = Streams().evict_s
    since_us: dict[str, int] = field(default_factory=dict)
    oldest_us: int = 0
    newest_us: int = 0

    def forgotten(self, streams: Collection[str], aligned: Aligned) -> list[str]:
        """Return those of the streams without a slot that have not been seen for so long."""
        if not streams or not aligned.now_us or not aligned.caught_up:
            return []
        now_us = aligned.now_us  # a clock that was set back begins anew
        if now_us < self.newest_us or self.since_us.keys() != set(streams):
            self.since_us = {stream: min(now_us, self.since_us.get(stream, now_us)) for stream in streams}
            self.oldest_us, self.newest_us = min(self.since_us.values()), max(self.since_us.values())
        if now_us - self.oldest_us <= self.evict_s * 1e6:
            return []
        return [stream for stream, since_us in self.since_us.items() if now_us - since_us > self.evict_s * 1e6]


def end_of_unseen(kept: OpenAlerts, unseen: Unseen, aligned: Aligned) -> list[dict[str, Any]]:
    """Return the messages that end the alerts of streams that were never seen; some latch, as with eviction."""
    of_devices = kept.unseen - kept.of_service.keys() - kept.of_unknown.keys()
    alerts = {
        name: kept.by_id[name].message["stream"]
        for name in of_devices
        if kept.by_id[name].message["rule"] in NUMBERS and kept.by_id[name].message["state"] != "latched"
    }
    gone = set(unseen.forgotten(set(alerts.values()), aligned))
    published = []
    for one in [one for name, one in kept.by_id.items() if alerts.get(name) in gone] if gone else []:
        rule = RULES[NUMBERS[one.message["rule"]]]
        if rule.latches and one.message["state"] == "on":
            kept.latch(one, one.message | {"state": "latched", "text": rule.text_of("latched", 0.0, 0.0)})
            published.append(one.message)
        else:
            kept.remove(one)
            published.append(over(one.message))
    return published
