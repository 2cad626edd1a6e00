"""Alarms compared with the episodes that the annotations define.

In:  an annotated record and the alarms of a detector
Out: for each rule the number of annotated episodes, of detected episodes and of false alarms

Reference episodes by rule:

ventricular fibrillation  between the annotations ``[`` and ``]``, and the rhythms VFL and VF
asystole          no annotated beat for longer than 4 s outside of these, and the rhythm ASYS
tachycardia       the median of the last eight annotated RR intervals is a rate above 120/min
ventricular run   three or more consecutive beats annotated V
pause             an annotated RR interval of 3-4 s
irregular rhythm  atrial fibrillation (AFIB), in records with rhythm annotations only

An episode is detected when an alarm of its rule is on during the episode or within 10 s after it. An alarm is false
when it belongs to no episode in this sense.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beatwire.alerts.rules import NUMBERS, RULES
from beatwire.evaluation.beats.detection import Alarm
from beatwire.evaluation.beats.match import inside
from beatwire.evaluation.records import AnnotatedRecord
from beatwire.records import F64

# Defaults of the monitor's rules.
ASYSTOLE_S = 4.0
PAUSE_S = 3.0
RUN_BEATS = 3
TACHYCARDIA_BPM = 120.0
MEDIAN_BEATS = 8  # RR intervals of the median rate
ALLOWED_DELAY_S = 10.0  # of an alarm, as the bedside standards allow for asystole and rate limits


@dataclass(frozen=True)
class AlarmCounts:
    """Annotated episodes of one rule, how many of them were detected (``found``), and false alarms."""

    episodes: int = 0
    found: int = 0
    false: int = 0

    def __add__(self, other: AlarmCounts) -> AlarmCounts:
        return AlarmCounts(self.episodes + other.episodes, self.found + other.found, self.false + other.false)


def reference_episodes(
    record: AnnotatedRecord, *, tachycardia_bpm: float = TACHYCARDIA_BPM
) -> dict[str, list[tuple[int, int]]]:
    """Return the first and last sample of every annotated episode, by rule."""
    rate_hz = record.recording.rate_hz
    fibrillation = [(int(a), int(b)) for a, b in record.excluded]
    fibrillation += [(r.first, r.last) for r in record.rhythms if r.name in ("VFL", "VF")]
    asystole = [(r.first, r.last) for r in record.rhythms if r.name == "ASYS"]
    rr = np.diff(record.beat)
    for k in np.flatnonzero(rr > ASYSTOLE_S * rate_hz):
        a, b = int(record.beat[k]), int(record.beat[k + 1])
        if not any(first <= b and a <= last for first, last in fibrillation):
            asystole.append((a, b))
    fast = np.zeros(len(rr), bool)
    fast[MEDIAN_BEATS - 1 :] = running_median(rr, MEDIAN_BEATS) < 60.0 * rate_hz / tachycardia_bpm
    edges = np.flatnonzero(np.diff(np.concatenate([[False], fast, [False]]).astype(int)))
    tachycardia = [(int(record.beat[a]), int(record.beat[b])) for a, b in edges.reshape(-1, 2)]
    pauses = np.flatnonzero((rr > PAUSE_S * rate_hz) & (rr <= ASYSTOLE_S * rate_hz))
    episodes = {
        "asystole": _merged(asystole),
        "tachycardia": _merged(tachycardia),
        "ventricular fibrillation": _merged(fibrillation),
        "ventricular run": _ventricular_runs(record),
        "pause": _merged([(int(record.beat[k]), int(record.beat[k + 1])) for k in pauses]),
    }
    if record.rhythms:
        episodes["irregular rhythm"] = _merged([(r.first, r.last) for r in record.rhythms if r.name == "AFIB"])
    return episodes


def running_median(values: NDArray[Any], n: int) -> F64:
    """Return the median of every ``n`` values that follow one another; none of fewer.

    >>> running_median(np.array([1, 5, 3, 9]), 3).tolist(), running_median(np.array([1, 5]), 3).tolist()
    ([3.0, 5.0], [])
    """
    if len(values) < n:
        return np.zeros(0)
    found: F64 = np.median(np.lib.stride_tricks.sliding_window_view(values, n), axis=1)
    return found


def _ventricular_runs(record: AnnotatedRecord) -> list[tuple[int, int]]:
    """Return the first and last sample of each run of at least ``RUN_BEATS`` ventricular beats."""
    ventricular = np.array([c == "V" for c in record.beat_class], np.int8)
    edges = np.flatnonzero(np.diff(ventricular, prepend=0, append=0)).reshape(-1, 2)
    return [(int(record.beat[a]), int(record.beat[b - 1])) for a, b in edges.tolist() if b - a >= RUN_BEATS]


def _merged(episodes: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join episodes that overlap or touch."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(episodes):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged


def about_the_heart(alarms: Iterable[Alarm], *priorities: str) -> list[Alarm]:
    """Return the alarms about the heart with one of these priorities.

    >>> raised = [Alarm(rule, 0, 1, 2) for rule in ("tachycardia", "missed beat", "cannot analyse")]
    >>> [alarm.rule for alarm in about_the_heart(raised, "medium", "high")]
    ['tachycardia']
    """
    return [a for a in alarms if (r := RULES[NUMBERS[a.rule]]).priority in priorities and not r.technical]


def count_load(alarms: Iterable[Alarm], end: int) -> dict[str, int]:
    """Return by rule how many alarms about the heart, of medium or high priority, were decided before sample ``end``.

    True ones count too: it is what a ward hears of this bed.
    """
    return dict(Counter(a.rule for a in about_the_heart(alarms, "medium", "high") if a.decided < end))


def load_line(load: dict[str, Any]) -> list[str]:
    """Return a line of how many such alarms there were a bed and day; none without a record.

    >>> load_line({"hours": 48.0, "alarms": 6, "rules": {"tachycardia": 4, "pause": 2}})
    ['Alarms about the heart, medium and high: 3.0 a bed and day (6 in 48.0 h: tachycardia 4, pause 2)']
    """
    if not load["hours"]:
        return []
    rules = ", ".join(f"{rule} {n}" for rule, n in load["rules"].items())
    counts = f"{load['alarms']} in {load['hours']:.1f} h" + (f": {rules}" if rules else "")
    per_day = 24.0 * load["alarms"] / load["hours"]
    return [f"Alarms about the heart, medium and high: {per_day:.1f} a bed and day ({counts})"]


def count_alarms(record: AnnotatedRecord, alarms: Iterable[Alarm]) -> dict[str, AlarmCounts]:
    """Count detected episodes and false alarms by rule; alarms of rules without a reference are ignored."""
    allowed = int(ALLOWED_DELAY_S * record.recording.rate_hz)
    alarms = list(alarms)
    counts = {}
    for rule, episodes in reference_episodes(record).items():
        of_rule = [a for a in alarms if a.rule == rule]
        accepted = [(first, last + allowed) for first, last in episodes]
        found = sum(any(a.onset <= last and a.ended >= first for a in of_rule) for first, last in accepted)
        false = [a for a in of_rule if not any(a.onset <= last and a.ended >= first for first, last in accepted)]
        if rule != "ventricular fibrillation":  # alarms of other rules within fibrillation are not counted
            false = [a for a in false if not inside(np.array([a.onset, a.decided]), record.excluded).any()]
        counts[rule] = AlarmCounts(len(episodes), int(found), len(false))
    return counts
