"""Alerts from their begin to their end, as the summary and the report count them.

In:  transitions of alerts in order
Out: :class:`Episode` by onset. An alert whose priority rises is one: it goes on
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from beatwire.alerts.rules import RULES, number_of


@dataclass(frozen=True, slots=True)
class Episode:
    """An alert from its onset to its end.

    rule, priority, technical, text   as in the transition that raised it, or its priority, last
    onset, decided, end               sample indices; ``end`` is None if it was still on at the end
    """

    rule: str
    priority: str
    technical: bool
    text: str
    onset: int
    decided: int
    end: int | None


def episodes_of(alerts: Iterable[Mapping[str, Any]]) -> tuple[Episode, ...]:
    """Return the episodes of transitions, by onset; one ends where it is off or only latched."""
    found: list[Episode] = []
    begun: dict[str, int] = {}  # id -> place in ``found`` of the alerts that are on
    newest: dict[str, int] = {}  # rule -> place of its newest alert
    for alert in alerts:
        rule, name = alert["rule"], alert["id"]
        if alert["state"] == "on":
            last = found[newest[rule]] if rule in newest else None
            text = {"priority": alert["priority"], "text": alert["text"]}
            if last is not None and RULES[number_of(rule, alert["priority"])].raises and last.end == alert["onset"]:
                found[newest[rule]] = replace(last, end=None, **text)
            else:
                newest[rule] = len(found)
                onset, decided = int(alert["onset"]), int(alert["decided"])
                found.append(
                    Episode(rule, technical=bool(alert["technical"]), onset=onset, decided=decided, end=None, **text)
                )
            begun[name] = newest[rule]
        elif name in begun:
            k = begun.pop(name)
            found[k] = replace(found[k], end=int(alert["decided"]))
    return tuple(sorted(found, key=lambda e: (e.onset, e.rule)))
