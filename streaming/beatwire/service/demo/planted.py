"""Which planted events of a ward raised which alerts, and how soon: the tables that end a demo.

In:  the ward, the alerts that were raised and the messages that were rejected, each with the time at which it was seen
Out: rows by bed; lines on a terminal

An alert belongs to the event of its bed during which it began, or shortly after which; an event is *detected* if one of
the alerts of ``RULES_OF`` belongs to it. Times are seconds since the ward began, by the clock: a delay includes the
transport and the work of the monitor.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from beatwire_producers.ward import Planted, Ward
from rich.console import Console
from rich.text import Text

from beatwire.recordings.synthetic import rhythm
from beatwire.service.priorities import STARS, STYLES

# Kind of planted event -> the alerts that count as its detection.
RULES_OF = {
    rhythm.ASYSTOLE: {"asystole"},
    rhythm.TACHYCARDIA: {"tachycardia", "extreme tachycardia"},
    rhythm.BRADYCARDIA: {"bradycardia", "extreme bradycardia"},
    rhythm.VENTRICULAR_RUN: {"anomalous beats", "ventricular run"},
    rhythm.LEAD_OFF: {"lead off"},
    rhythm.GAP: {"no data"},
    rhythm.MALFORMED: {"dead letter"},
}
EVENT_NAMES = {rhythm.GAP: "missing data", rhythm.MALFORMED: "malformed message"}
EARLIEST_S, LATEST_S = 1.0, 8.0  # onset of an alert: at most this long before an event begins, or after it has ended


def alerts_by_bed(
    made: Ward, seen: Sequence[tuple[float, Mapping[str, Any]]], rejected_s: Sequence[float]
) -> list[dict[str, Any]]:
    """Return the alerts of each bed with the events that raised them.

    Parameters
    ----------
    made
        The ward.
    seen
        When each transition of an alert was seen, in seconds since the ward began, and the transition.
    rejected_s
        When each rejected message was seen. A rejected message has no stream: the first one is taken for the first
        malformed message of the ward, and so on.

    Returns
    -------
    list of dict
        By bed and time: ``bed``, ``event`` and ``from_s`` (None: no event was planted there), ``alert``, ``priority``,
        ``at_s`` and ``delay_s`` after ``from_s`` (None: the event was missed).
    """
    rows: list[dict[str, Any]] = []
    found: dict[Planted, list[dict[str, Any]]] = {event: [] for event in made.planted}
    for at_s, alert in seen:
        if alert["state"] == "on":
            event = _event_of(alert, made)
            row = _row(alert["stream"], event, alert["rule"], alert["priority"], at_s)
            (rows if event is None else found[event]).append(row)
    malformed = [event for event in made.planted if event.kind == rhythm.MALFORMED]
    for event, at_s in zip(malformed, sorted(rejected_s), strict=False):
        found[event].append(_row(event.stream, event, "dead letter", None, at_s))
    for event, of_event in found.items():
        rows += of_event
        if not any(row["alert"] in RULES_OF[event.kind] for row in of_event):
            rows.append(_row(event.stream, event, None, None, None))
    beds = [feed.stream for feed in made.feeds]
    return sorted(rows, key=lambda row: (beds.index(row["bed"]), row["from_s"] or row["at_s"], row["at_s"] or 0.0))


def is_detected(event: Planted, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Return True if a planted event has an alert of its own in the rows of :func:`alerts_by_bed`."""
    return any(
        row["bed"] == event.stream and row["from_s"] == event.start_s and row["alert"] in RULES_OF[event.kind]
        for row in rows
    )


def _event_of(alert: Mapping[str, Any], made: Ward) -> Planted | None:
    """Return the planted event that an alert belongs to: one that such an alert detects, else the last one."""
    rate_hz = next(feed.recording.rate_hz for feed in made.feeds if feed.stream == alert["stream"])
    near = [
        event
        for event in made.planted
        if event.stream == alert["stream"]
        and event.first - EARLIEST_S * rate_hz <= alert["onset"] <= event.last + LATEST_S * rate_hz
    ]
    fitting = [event for event in near if alert["rule"] in RULES_OF[event.kind]]
    return fitting[-1] if fitting else near[-1] if near else None


def _row(
    bed: str, event: Planted | None, alert: str | None, priority: str | None, at_s: float | None
) -> dict[str, Any]:
    return {
        "bed": bed,
        "event": None if event is None else event_name(event),
        "from_s": None if event is None else event.start_s,
        "alert": alert,
        "priority": priority,
        "at_s": None if at_s is None else round(at_s, 3),
        "delay_s": None if event is None or at_s is None else round(at_s - event.start_s, 3),
    }


def event_name(event: Planted) -> str:
    """Return the name of a planted event as people read it."""
    return EVENT_NAMES.get(event.kind, event.kind.replace("_", " "))


def print_events(console: Console, made: Ward, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print the planted events by time, and whether each was detected."""
    width = max([6, *(len(event.stream) for event in made.planted)])
    console.print()
    console.print(Text(f"{'STREAM':{width}}  {'PLANTED EVENT':17}  {'FROM':>6}  {'TO':>6}  RESULT", style="bold"))
    for event in made.planted:
        found = is_detected(event, rows)
        row = f"{event.stream:{width}}  {event_name(event):17}  {event.start_s:4.1f} s  {event.stop_s:4.1f} s"
        console.print(Text(f"{row}  {'detected' if found else 'missed'}", style="" if found else "red"))


def print_alerts(console: Console, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print the rows of :func:`alerts_by_bed`; a bed, and an event, stand in the first of their rows."""
    width = max([6, *(len(row["bed"]) for row in rows)])
    console.print()
    longest = max([20, *(len(row["alert"] or "") for row in rows)])
    head = f"{'STREAM':{width}}  {'PLANTED EVENT':17}  {'ALERT':{4 + longest}}  {'AT':>6}  {'DELAY':>6}"
    console.print(Text(head, style="bold"))
    before: Mapping[str, Any] = {"bed": None}
    for row in rows:
        same_bed = row["bed"] == before["bed"]
        same_event = same_bed and (row["event"], row["from_s"]) == (before["event"], before["from_s"])
        event = "" if same_event else row["event"] or "-"
        begin, alert, times = f"{'' if same_bed else row['bed']:{width}}  {event:17}  ", ("missed", "red"), ""
        if row["alert"] is not None:
            delay = "" if row["delay_s"] is None else f"{row['delay_s']:.1f} s"
            alert = f"{STARS.get(row['priority'], ''):4}{row['alert']:{longest}}", STYLES.get(row["priority"], "")
            times = f"  {row['at_s']:4.1f} s  {delay:>6}"
        line = Text.assemble(begin, alert, times)
        line.rstrip()
        console.print(line)
        before = row
