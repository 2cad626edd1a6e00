"""Which stretches of a recording are worth a strip: the onsets of alerts, extremes, and doubtful beats.

In:  Study
Out: :class:`Event` by kind, in the order in which people read them, and how many of each kind were left out
"""

from dataclasses import dataclass

import numpy as np

from beatwire.alerts.rule import PRIORITIES
from beatwire.evaluation.beats.match import inside, pair
from beatwire.offline.results.clock import clock
from beatwire.offline.results.episodes import Episode
from beatwire.offline.results.summary import rates
from beatwire.records import I64
from beatwire.report.figures.paper import MM_PER_S, WIDTH_MM
from beatwire.report.study import CLASSES, MATCH_S, PAUSE_S, Study

ROW_S = WIDTH_MM / MM_PER_S  # seconds in a row of a strip
MOST_ROWS = 3
PER_KIND = 6  # strips of a kind of event
LEAD_IN_S = 5.0  # before an event: most are decided by what precedes them, asystole by 4 s
_RATE_S = 1.0  # before the beat of a rate, which is a median of the beats before it


@dataclass(frozen=True, slots=True)
class Event:
    """A stretch that is shown as a strip.

    title      what is shown
    at         sample index of the event
    first      first sample of the strip
    rows       of the strip, each ``ROW_S`` long
    episode    the alert that it shows; None: no alert
    mark       what is written at the event; None: it is not marked
    """

    title: str
    at: int
    first: int
    rows: int
    episode: Episode | None = None
    mark: str | None = None


@dataclass(frozen=True, slots=True)
class Kind:
    """Events of one kind: those that are shown, and how many there are."""

    name: str
    events: tuple[Event, ...]
    total: int


def kinds_of(study: Study) -> list[Kind]:
    """Return the events of a study by kind."""
    found = [_examples(study), *_alerts(study), *_classes(study), *_disagreements(study)]
    return [kind for kind in found if kind.events]


def _event(
    study: Study, title: str, at: int, *, until: int | None = None, episode: Episode | None = None,
    mark: str | None = None,
) -> Event:  # fmt: skip
    """Return an event with its strip: from ``LEAD_IN_S`` before it to its decision, inside the recording."""
    rate_hz, n = study.recording.rate_hz, study.recording.samples.shape[1]
    seconds = LEAD_IN_S + ((until or at) - at) / rate_hz + 1.0
    rows = min(MOST_ROWS, max(1, int(np.ceil(seconds / ROW_S))))
    length = round(rows * ROW_S * rate_hz)
    first = min(max(0, at - round(LEAD_IN_S * rate_hz)), max(0, n - length))
    return Event(title, at, first, rows, episode, mark)


def _kind(study: Study, name: str, at: I64) -> Kind:
    """Return a kind of the first events at the given samples."""
    rate_hz = study.recording.rate_hz
    events = tuple(_event(study, f"{name}, {clock(s / rate_hz, 1)}", int(s), mark="beat") for s in at[:PER_KIND])
    return Kind(name, events, len(at))


def _alerts(study: Study) -> list[Kind]:
    """Return a kind for each rule, those of high priority first."""
    rules = {e.rule: e.priority for e in study.episodes}
    found = []
    for rule in sorted(rules, key=lambda r: (PRIORITIES.index(rules[r]), r)):
        own = [e for e in study.episodes if e.rule == rule]
        shown = tuple(_event(study, e.text, e.onset, until=e.decided, episode=e, mark="onset") for e in own[:PER_KIND])
        found.append(Kind(f"Alert: {rule}", shown, len(own)))
    return found


def _examples(study: Study) -> Kind:
    """Return the usual rhythm, the highest and the lowest rate, and the longest interval."""
    rr_ms, rate_bpm, known = study.rr_ms, np.asarray(study.beats["rate_bpm"], np.float64), rates(study.beats)
    found = []

    def add(title: str, rate: float | None, at_s: float | None) -> None:
        if rate is not None and at_s is not None:
            at = round((at_s - _RATE_S) * study.recording.rate_hz)
            found.append(_event(study, f"{title}: {rate:.0f}/min, {clock(at_s, 1)}", max(0, at)))

    if known["median_rate_bpm"] is not None:
        usual = int(np.nanargmin(np.abs(rate_bpm - known["median_rate_bpm"])))
        add("Median rate", known["median_rate_bpm"], study.time_s[usual])
    add("Highest rate", known["max_rate_bpm"], known["max_rate_at_s"])
    add("Lowest rate", known["min_rate_bpm"], known["min_rate_at_s"])
    if np.isfinite(rr_ms).any():
        longest = int(np.nanargmax(rr_ms))
        kind = "Longest pause" if rr_ms[longest] > 1000 * PAUSE_S else "Longest interval"
        begin = max(0, int(study.sample[longest] - rr_ms[longest] / 1000 * study.recording.rate_hz))
        title = f"{kind}: {rr_ms[longest] / 1000:.2f} s, {clock(study.time_s[longest], 1)}"
        found.append(_event(study, title, begin, until=int(study.sample[longest])))
    return Kind("Rhythm", tuple(found), len(found))


def _classes(study: Study) -> list[Kind]:
    """Return examples of each class of beats that is not normal."""
    return [
        _kind(study, f"Class {group.name}, {CLASSES[group.name]}", _apart(study, study.sample[group.rows]))
        for group in study.groups if group.name != "N"
    ]  # fmt: skip


def _disagreements(study: Study) -> list[Kind]:
    """Return annotated beats that were not found, and found beats that are not annotated."""
    annotations = study.annotations
    if annotations is None or not study.annotated:
        return []
    partner = pair(annotations.beat, study.sample, round(MATCH_S * study.recording.rate_hz))
    missed = np.setdiff1d(annotations.beat, annotations.beat[partner[partner >= 0]])
    extra = study.sample[partner < 0]
    return [
        _kind(study, name, _apart(study, at[~inside(at, annotations.excluded)]))
        for name, at in (("Annotated beat not found", missed), ("Beat that is not annotated", extra))
    ]


def _apart(study: Study, at: I64) -> I64:
    """Return the samples that no strip of an earlier one shows."""
    least = round((ROW_S - LEAD_IN_S) * study.recording.rate_hz)
    kept: list[int] = []
    for sample in at.tolist():
        if not kept or sample - kept[-1] >= least:
            kept.append(sample)
    return np.array(kept, np.int64)
