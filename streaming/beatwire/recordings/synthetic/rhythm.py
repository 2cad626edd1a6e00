"""The times of a synthetic heart's beats: respiratory and slow variation of the rate, and planted events.

In:  a random generator, a duration, events. Out: the time and kind of every beat.

The heart rate is a curve over time, and beats are where its integral crosses integers (integral pulse frequency
modulation). Tachycardia and bradycardia change the curve. The beats of a ventricular run replace those of the curve.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from beatwire.recordings.synthetic.morphology import NORMAL, VARIANT, VENTRICULAR
from beatwire.records import F64, I64

GRID_HZ = 20.0  # of the rate curve
TACHYCARDIA_BPM = 160.0  # above every default limit of the rate rules
BRADYCARDIA_BPM = 34.0  # below them
RUN_RR_S = 0.40  # a ventricular run at 150 beats per minute
_RAMP_S = 2.0  # in which a tachycardia reaches its rate

ASYSTOLE, TACHYCARDIA, BRADYCARDIA = "asystole", "tachycardia", "bradycardia"
VENTRICULAR_RUN, LEAD_OFF, GAP, MALFORMED = "ventricular_run", "lead_off", "gap", "malformed"


@dataclass(frozen=True)
class Event:
    """A planted event.

    kind             one of the constants of this module
    start_s, stop_s  seconds from the start of the stream
    """

    kind: str
    start_s: float
    stop_s: float


def beat_times(
    rng: np.random.Generator,
    seconds: float,
    events: Sequence[Event] = (),
    bpm: float | None = None,
    ectopy: float = 0.0,
) -> tuple[F64, I64]:
    """Draw the times of a heart's beats.

    Parameters
    ----------
    rng
        The random generator.
    seconds
        Duration.
    events
        The planted events.
    bpm
        Mean heart rate, beats per minute; None: drawn from 55-90.
    ectopy
        Fraction of beats that are single early ventricular beats, each followed by a pause.

    Returns
    -------
    time_s, kind
        float64 [beats], ascending; int64 [beats], a kind of :mod:`beatwire.recordings.synthetic.morphology`.
    """
    curve_s = np.arange(0.0, seconds + 2.0, 1.0 / GRID_HZ)
    bpm = float(rng.uniform(55, 90)) if bpm is None else float(bpm)
    breath_hz, phases = rng.uniform(0.18, 0.32), rng.uniform(0, 2 * np.pi, 3)
    sway = (
        rng.uniform(0.01, 0.045) * np.sin(2 * np.pi * breath_hz * curve_s + phases[0])
        + rng.uniform(0.01, 0.03) * np.sin(2 * np.pi * 0.095 * curve_s + phases[1])
        + 0.02 * np.sin(2 * np.pi * 0.021 * curve_s + phases[2])
    )
    rate_bpm = np.full(len(curve_s), bpm)
    for event in events:
        if event.kind in (TACHYCARDIA, BRADYCARDIA):
            target = TACHYCARDIA_BPM if event.kind == TACHYCARDIA else BRADYCARDIA_BPM
            ramp_s = _RAMP_S if event.kind == TACHYCARDIA else 0.5
            inside = np.clip((curve_s - event.start_s) / ramp_s, 0, 1) * np.clip(
                (event.stop_s - curve_s) / ramp_s + 1, 0, 1
            )
            rate_bpm += inside * (target - rate_bpm)
            sway *= 1 - 0.8 * inside
    count = np.concatenate([[0.0], np.cumsum((rate_bpm * (1 + sway) / 60.0)[:-1] / GRID_HZ)])
    whole = np.arange(0, int(count[-1]) + 1) + rng.uniform(0.2, 0.8)
    time_s = np.interp(whole, count, curve_s)
    time_s += rng.normal(0, 0.006, len(time_s))  # the irregularity that respiration does not explain
    kind = np.where(rng.random(len(time_s)) < 0.12, VARIANT, NORMAL)
    if ectopy > 0:
        early = (rng.random(len(time_s)) < ectopy) & (np.arange(len(time_s)) > 0)
        early[1:] &= ~early[:-1]
        rr_s = np.diff(time_s, prepend=time_s[0] - 60.0 / bpm)
        time_s, kind = time_s - 0.35 * rr_s * early, np.where(early, VENTRICULAR, kind)
    for event in events:
        if event.kind == ASYSTOLE:
            time_s, kind = _without(time_s, kind, event.start_s, event.stop_s)
        if event.kind == VENTRICULAR_RUN:
            before = time_s[time_s < event.start_s]
            start_s = max(event.start_s, (before[-1] if len(before) else 0.0) + RUN_RR_S)
            run_s = start_s + RUN_RR_S * np.arange(max(3, int((event.stop_s - start_s) / RUN_RR_S) + 1))
            run_s = run_s + rng.normal(0, 0.008, len(run_s))
            time_s, kind = _without(time_s, kind, run_s[0] - 0.01, run_s[-1] + 0.75)  # the pause after the run included
            time_s = np.concatenate([time_s, run_s])
            kind = np.concatenate([kind, np.full(len(run_s), VENTRICULAR)])
    order = np.argsort(time_s, kind="stable")
    time_s, kind = time_s[order], kind[order]
    inside = (time_s > 0.05) & (time_s < seconds - 0.05)
    return time_s[inside], kind[inside].astype(np.int64)


def _without(time_s: F64, kind: I64, start_s: float, stop_s: float) -> tuple[F64, I64]:
    """Remove the beats in [start_s, stop_s)."""
    keep = (time_s < start_s) | (time_s >= stop_s)
    return time_s[keep], kind[keep]
