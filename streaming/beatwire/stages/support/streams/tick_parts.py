"""Parts of a tick: a stream that restarts is taken stretch by stretch, as if the tick were cut at each restart.

In:    Alerts
Out:   Alerts of each part: transitions and events of it, and the sessions that streams have at its end
State: none

What becomes of an alert depends on the session in which it is, and a session number may come again in the same tick.
A part begins with the restart, and has the transitions that the restart causes. Only streams that restart and have
alerts are cut; all others are in the first part.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from beatwire.records import I64, Alerts, Bool
from beatwire.records.columns import (
    ORDERED_BANK,
    ORDERED_KIND,
    ORDERED_SAMPLE,
    ORDERED_SESSION,
    ORDERED_SLOT,
    ORDERED_VALUE,
)
from beatwire.records.events import RESTART
from beatwire.stages.support.streams.stretches import begins


def parts_of(alerts: Alerts, with_alerts: I64) -> Iterator[Alerts]:
    """Yield the parts of a tick, in order; the last one has the evictions.

    Parameters
    ----------
    with_alerts : int64 [n]
        Slots of the streams that have alerts, besides those of the transitions.
    """
    tick = alerts.beats
    slots, restarts = tick.events[:, ORDERED_SLOT], tick.events[:, ORDERED_KIND] == RESTART
    if not restarts.any():
        yield alerts
        return
    with_alerts = np.concatenate([with_alerts, np.array(alerts.slots, np.int64)])
    cut = np.intersect1d(slots[restarts], with_alerts)
    if not len(cut):
        yield alerts
        return
    part = _part_of_events(slots, restarts, cut)
    left = dict.fromkeys(cut.tolist(), 0)  # stretches that begin behind a part
    rows: dict[int, list[int]] = defaultdict(list)  # of the transitions of a part
    for row, (slot, k) in enumerate(zip(alerts.slots, alerts.stretches, strict=True)):
        rows[k if slot in left else 0].append(row)
    last = int(part.max())
    now, before = tick.aligned.slots, tick.aligned.before
    now = now._replace(session=now.session.copy(), bank=now.bank.copy())
    if before is not None:
        known = cut[cut < len(before.session)]
        now.session[known], now.bank[known] = before.session[known], before.bank[known]
    order = np.argsort(part, kind="stable")
    parts = np.split(tick.events[order], np.flatnonzero(np.diff(part[order])) + 1)
    for slot in _of_stretches(tick.events[part > 0]):
        left[slot] += 1
    for k, events in enumerate(parts if part.min() == 0 else [tick.events[:0], *parts]):
        begun = events[events[:, ORDERED_KIND] == RESTART] if k > 0 else events[:0]
        for slot in _of_stretches(begun):
            left[slot] -= 1
        if k > 0:
            before = now
            now = now._replace(session=now.session.copy(), bank=now.bank.copy())
        now.session[begun[:, ORDERED_SLOT]] = begun[:, ORDERED_SESSION]
        now.bank[begun[:, ORDERED_SLOT]] = begun[:, ORDERED_BANK]
        aligned = replace(
            tick.aligned,
            slots=now,
            before=before,
            later=left.copy(),
            seen=tick.aligned.seen if k == 0 else np.unique(events[:, ORDERED_SLOT]),
            evicted=tick.aligned.evicted if k == last else np.zeros(0, np.int64),
        )
        yield replace(
            alerts,
            beats=replace(tick, events=events, run=None, aligned=aligned),
            transitions=[alerts.transitions[row] for row in rows[k]],
            slots=[alerts.slots[row] for row in rows[k]],
            stretches=[alerts.stretches[row] for row in rows[k]],
        )


def _of_stretches(events: I64) -> list[int]:
    """Return the streams of the events that begin a stretch."""
    begun = begins(*(events[:, column] for column in (ORDERED_KIND, ORDERED_SAMPLE, ORDERED_VALUE)))
    slots: list[int] = events[begun, ORDERED_SLOT].tolist()
    return slots


def _part_of_events(slots: I64, restarts: Bool, cut: I64) -> I64:
    """Return the part of each event: the restarts of its stream up to it, 0 of a stream that is not cut."""
    is_cut = np.isin(slots, cut)
    count = np.cumsum(restarts & is_cut)
    first = np.searchsorted(slots, slots)  # the first event of the same stream
    earlier: I64 = count[first] - restarts[first]
    return np.where(is_cut, count - earlier, 0)
