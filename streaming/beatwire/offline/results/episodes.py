"""Alerts from their begin to their end, as the summary and the report count them.

In:  transitions of alerts in order, and the samples
Out: :class:`Episode` by onset. An alert whose priority rises is one: it goes on. One that ends because samples come
     again after a gap has ended with the samples before it
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from beatwire.alerts.rules import RULES, number_of
from beatwire.recordings.record import NO_VALUE
from beatwire.records import I16
from beatwire.tables import host_array


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


def episodes_of(alerts: Sequence[Mapping[str, Any]], samples: I16) -> tuple[Episode, ...]:
    """Return the episodes of transitions, by onset; one ends where it is off or only latched.

    Parameters
    ----------
    samples
        Of the recording, int16 [leads, n] on the host or a GPU.
    """
    before = _before_gaps(samples) if alerts else {}
    found: list[Episode] = []
    begun: dict[str, int] = {}  # id -> place in ``found`` of the alerts that are on
    newest: dict[str, int] = {}  # rule -> place of its newest alert
    ended: dict[str, int] = {}  # rule -> sample at which an alert of it ended last
    for alert in alerts:
        rule, name = alert["rule"], alert["id"]
        if alert["state"] == "on":
            text = {"priority": alert["priority"], "text": alert["text"]}
            if RULES[number_of(rule, alert["priority"])].raises and ended.get(rule) == alert["onset"]:
                found[newest[rule]] = replace(found[newest[rule]], end=None, **text)
            else:
                newest[rule] = len(found)
                onset, decided = int(alert["onset"]), int(alert["decided"])
                found.append(
                    Episode(rule, technical=bool(alert["technical"]), onset=onset, decided=decided, end=None, **text)
                )
            begun[name] = newest[rule]
        elif name in begun:
            k = begun.pop(name)
            ended[rule] = int(alert["decided"])
            found[k] = replace(found[k], end=before.get(ended[rule], ended[rule]))
    last = before.get(samples.shape[1])  # None: there are samples up to the end
    if last is not None:
        found = [replace(e, end=max(e.onset, last)) if e.end is None else e for e in found]
    return tuple(sorted(found, key=lambda e: (e.onset, e.rule)))


def _before_gaps(samples: I16) -> dict[int, int]:
    """Return the sample after each gap of all leads, and the end of one at the end -> the first sample of the gap."""
    present = np.zeros(samples.shape[1] + 2, np.bool_)
    present[[0, -1]] = True
    for lead in samples:
        present[1:-1] |= host_array(lead) != NO_VALUE
    edges = np.flatnonzero(present[1:] != present[:-1]).reshape(-1, 2)
    return {stop: first for first, stop in edges.tolist()}
