"""Alarms against what the annotations say.

Reference stretches: *flutter*, between ``[`` and ``]`` and of the rhythms VFL and VF; *asystole*,
no annotated beat for longer than 4 s outside flutter, and the rhythm ASYS; *tachycardia*, where
the median of the last eight annotated intervals is faster than the limit; *ventricular run*, three annotated V
or more in a row; *pause*, an annotated interval of 3-4 s; *irregular rhythm*, atrial fibrillation, in records
that have rhythm marks. A stretch is found when
an alarm of its rule is on during it or is decided at most 10 s after its end; an alarm is false
when it belongs to no stretch in this sense.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from beatwire.evaluation.detection import Alarm
from beatwire.evaluation.match import inside
from beatwire.evaluation.records import Annotated

ASYSTOLE_S = 4.0
PAUSE_S = 3.0
RUN = 3
TACHYCARDIA_BPM = 120.0
ALLOWED_S = 10.0
_INTERVALS = 8


@dataclass(frozen=True)
class AlarmCounts:
    """Stretches of one kind, those found, false alarms."""

    episodes: int = 0
    found: int = 0
    false: int = 0

    def __add__(self, other: AlarmCounts) -> AlarmCounts:
        return AlarmCounts(self.episodes + other.episodes, self.found + other.found, self.false + other.false)


def reference_episodes(
    record: Annotated, *, tachycardia_bpm: float = TACHYCARDIA_BPM
) -> dict[str, list[tuple[int, int]]]:
    """First and last sample of every stretch in which an alarm is due, by rule."""
    rate_hz = record.recording.rate_hz
    flutter = [(int(a), int(b)) for a, b in record.excluded]
    flutter += [(r.first, r.last) for r in record.rhythms if r.name in ("VFL", "VF")]
    asystole = [(r.first, r.last) for r in record.rhythms if r.name == "ASYS"]
    rr = np.diff(record.beat)
    for k in np.flatnonzero(rr > ASYSTOLE_S * rate_hz):
        a, b = int(record.beat[k]), int(record.beat[k + 1])
        if not any(first <= b and a <= last for first, last in flutter):
            asystole.append((a, b))
    fast = np.zeros(len(rr), bool)
    if len(rr) >= _INTERVALS:
        medians = np.median(np.lib.stride_tricks.sliding_window_view(rr, _INTERVALS), axis=1)
        fast[_INTERVALS - 1 :] = medians < 60.0 * rate_hz / tachycardia_bpm
    edges = np.flatnonzero(np.diff(np.concatenate([[False], fast, [False]]).astype(int)))
    tachycardia = [(int(record.beat[a]), int(record.beat[b])) for a, b in edges.reshape(-1, 2)]
    out = {"asystole": _merge(asystole), "tachycardia": _merge(tachycardia), "flutter": _merge(flutter)}
    out["ventricular run"] = _runs(record)
    paused = np.flatnonzero((rr > PAUSE_S * rate_hz) & (rr <= ASYSTOLE_S * rate_hz))
    out["pause"] = _merge([(int(record.beat[k]), int(record.beat[k + 1])) for k in paused])
    if record.rhythms:
        out["irregular rhythm"] = _merge([(r.first, r.last) for r in record.rhythms if r.name == "AFIB"])
    return out


def _runs(record: Annotated) -> list[tuple[int, int]]:
    """Stretches of ``RUN`` ventricular beats or more in a row."""
    ventricular = np.array([c == "V" for c in record.beat_class], np.int8)
    edges = np.flatnonzero(np.diff(ventricular, prepend=0, append=0)).reshape(-1, 2)
    return [(int(record.beat[a]), int(record.beat[b - 1])) for a, b in edges.tolist() if b - a >= RUN]


def _merge(stretches: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join those that overlap."""
    out: list[tuple[int, int]] = []
    for first, last in sorted(stretches):
        if out and first <= out[-1][1] + 1:
            out[-1] = (out[-1][0], max(last, out[-1][1]))
        else:
            out.append((first, last))
    return out


def judge_alarms(record: Annotated, alarms: Iterable[Alarm]) -> dict[str, AlarmCounts]:
    """Count stretches found and false alarms by rule; other rules take no part."""
    allowed = int(ALLOWED_S * record.recording.rate_hz)
    given = list(alarms)
    out = {}
    for rule, episodes in reference_episodes(record).items():
        own = [a for a in given if a.rule == rule]
        reach = [(first, last + allowed) for first, last in episodes]
        found = sum(any(a.onset <= last and a.ended >= first for a in own) for first, last in reach)
        stray = [a for a in own if not any(a.onset <= last and a.ended >= first for first, last in reach)]
        if rule != "flutter":  # flutter is left out of everything else
            stray = [a for a in stray if not inside(np.array([a.onset, a.decided]), record.excluded).any()]
        out[rule] = AlarmCounts(len(episodes), int(found), len(stray))
    return out
