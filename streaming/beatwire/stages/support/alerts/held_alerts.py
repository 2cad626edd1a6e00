"""Alerts whose condition is over and that last nevertheless: none ends before its shortest duration."""

import math
from typing import Any

import numpy as np

from beatwire.alerts.rules import RULES
from beatwire.alerts.settings import Lifecycle
from beatwire.kernels.alerts.alert_state import LEADS_OFF
from beatwire.records import I64, Alerts, Bool, TickBeats
from beatwire.stages.support.alerts.alert_messages import device_times
from beatwire.stages.support.alerts.open_alerts import Open, OpenAlerts
from beatwire.stages.support.alerts.reminders import remind_until
from beatwire.stages.support.streams.sessions import bank_of

_LEAD_OFF = RULES[LEADS_OFF].name


def held_until(s: Lifecycle, tick: TickBeats, one: Open) -> int:
    """Return the sample up to which an alert lasts at least."""
    bank = bank_of(tick, one.slot, one.message["session"])
    rate_hz = tick.aligned.banks[bank].rate_hz if bank >= 0 else 0.0
    return int(one.message["onset"]) + math.ceil(s.shortest_s * rate_hz)


def touched(alerts: Alerts, marks: I64) -> Bool:
    """Return whether anything in this tick can end a held alert, bool [slots + 1]: of each stream; the last of none."""
    aligned = alerts.beats.aligned
    touched: Bool = np.append(marks >= 0, True)
    for slots in (aligned.seen, aligned.evicted, alerts.slots):
        touched[slots] = True
    return touched


def end_held(
    kept: OpenAlerts, s: Lifecycle, tick: TickBeats, marks: I64, touched: Bool, out: list[dict[str, Any]]
) -> None:  # fmt: skip
    """End the alerts that have lasted long enough, and those whose session has ended.

    Of streams that send nothing many may be held: they are passed over by ``touched``, see there.
    """
    aligned = tick.aligned
    for name in [name for name in kept.held if touched[kept.by_id[name].slot]]:
        one = kept.by_id[name]
        if one.slot in aligned.evicted or aligned.slots.session[one.slot] != one.message["session"]:
            end_with_stream(kept, s, tick, one, out)
        elif marks[one.slot] >= held_until(s, tick, one):
            end_one(kept, s, tick, one, out)


def end_with_stream(
    kept: OpenAlerts, s: Lifecycle, tick: TickBeats, one: Open, out: list[dict[str, Any]], stop: int | None = None
) -> None:
    """End a held alert of whose samples no more come: it lasts as long as any other one.

    When its condition ended is known to no successor whose replay began later, so it has no part in the message.

    Parameters
    ----------
    stop
        The sample from which on no more come; None: the session has ended, and what was due by then is published.
    """
    session, until = one.message["session"], held_until(s, tick, one)
    passed_session, passed = (session, stop) if stop is not None else kept.passed[one.slot].tolist()
    if passed_session == session and passed >= until:
        end_one(kept, s, tick, one, out, decided=stop is not None)
        return
    if stop is not None:
        out += remind_until(one, tick, stop, s.remind_s, decided=True)
    lasts_us = round(s.shortest_s * 1e6) if until > one.message["onset"] else 0
    end = {"decided": until, "decided_us": one.message["onset_us"] + lasts_us}
    out.append(kept.held[one.message["id"]] | one.lasting | end)
    kept.remove(one)


def end_one(
    kept: OpenAlerts, s: Lifecycle, tick: TickBeats, one: Open, out: list[dict[str, Any]], *, decided: bool = False
) -> None:
    """End a held alert where its shortest duration ends; ``decided``: as of `remind_until`."""
    until = held_until(s, tick, one)
    out += remind_until(one, tick, until, s.remind_s, decided=decided)
    (at_us,) = device_times(tick, one.slot, one.message["session"], [until], until)
    out.append(kept.held[one.message["id"]] | one.lasting | {"decided": until, "decided_us": at_us})
    kept.remove(one)


def goes_on(
    kept: OpenAlerts, s: Lifecycle, tick: TickBeats, one: Open, message: dict[str, Any], out: list[dict[str, Any]]
) -> bool:
    """Return True if a held alert goes on with one of its rule that begins; False: it has ended, that is another one.

    It does if that begins before it ends. Leads that are off and that it does not name are another alert.
    """
    same, onset = message["session"] == one.message["session"], message["onset"]
    lasts = same and onset < held_until(s, tick, one)
    if lasts and not _names_more(message, one.message):
        del kept.held[one.message["id"]]
        return True
    if lasts or not same:
        end_with_stream(kept, s, tick, one, out, onset if lasts else None)
    else:
        end_one(kept, s, tick, one, out)
    return False


def _names_more(message: dict[str, Any], held: dict[str, Any]) -> bool:
    return message["rule"] == _LEAD_OFF and bool(int(message["value"] or 0) & ~int(held["value"] or 0))
