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
from beatwire.stages.support.alerts.turned_away import is_of_unknown
from beatwire.wire.names import SAMPLES


@dataclass(slots=True)
class Unseen:
    """Since when streams have not been seen.

    evict_s   after which they are forgotten
    since_us  stream -> time of the first tick without it, microseconds since 1970
    """

    evict_s: float = Streams().evict_s
    since_us: dict[str, int] = field(default_factory=dict)

    def forgotten(self, streams: Collection[str], aligned: Aligned) -> list[str]:
        """Return those of the streams without a slot that have not been seen for so long."""
        if not streams or not aligned.now_us or not aligned.caught_up:
            return []
        now_us = aligned.now_us  # a clock that was set back begins anew
        self.since_us = {stream: min(now_us, self.since_us.get(stream, now_us)) for stream in streams}
        return [stream for stream, since_us in self.since_us.items() if now_us - since_us > self.evict_s * 1e6]


def end_of_unseen(kept: OpenAlerts, unseen: Unseen, aligned: Aligned) -> list[dict[str, Any]]:
    """Return the messages that end the alerts of streams that were never seen; some latch, as with eviction."""
    alerts = [
        one
        for one in kept.by_id.values()
        if one.slot < 0 and one.message["rule"] in NUMBERS and one.message["stream"] != SAMPLES
        and one.message["state"] != "latched" and not is_of_unknown(one.message)
    ]  # fmt: skip
    gone = set(unseen.forgotten({one.message["stream"] for one in alerts}, aligned))
    published = []
    for one in [one for one in alerts if one.message["stream"] in gone]:
        rule = RULES[NUMBERS[one.message["rule"]]]
        if rule.latches and one.message["state"] == "on":
            kept.latch(one, one.message | {"state": "latched", "text": rule.text_of("latched", 0.0, 0.0)})
            published.append(one.message)
        else:
            kept.remove(one)
            published.append(over(one.message))
    return published
