"""Synthetic ECG with the truth about it: a person's beats, a rhythm, noise, and planted events.

In:  a seed, a sampling rate, leads, seconds, events.
Out: int16 samples [leads, n] at 2 microvolts a unit; the exact sample of every R peak; the events.

Deterministic in its arguments. Nothing here is per sample in Python: templates are added beat by
beat, and noise is cut from tables that streams share.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from beatwire.errors import UserError
from beatwire.recordings.record import MAX_LEADS, MAX_RATE_HZ, MIN_RATE_HZ, Recording
from beatwire.recordings.synthetic.morphology import LEADS, PHASES, VENTRICULAR, Morphology, morphology
from beatwire.recordings.synthetic.rhythm import ASYSTOLE, GAP, LEAD_OFF, Event, beat_times
from beatwire.records import F32, F64, I64

UV_PER_UNIT = 2.0
_TABLE_S = 64
_AROUND_S = 0.5  # of a gap or a lead that is off: whether a beat there is found is not told


@dataclass(frozen=True)
class Synthetic:
    """A synthetic recording and the truth about it.

    beats    int64 [b]      sample of every R peak that the heart made
    wide     bool [b]       it is a ventricular one
    events   what was planted
    unsure   int64 [u, 2]   from sample to sample: a gap or a lead off, where a beat may be missed
    """

    recording: Recording
    beats: I64
    wide: np.ndarray
    events: tuple[Event, ...]
    unsure: I64

    def sure_beats(self) -> I64:
        """Return the beats that a detector has to find."""
        hidden = np.zeros(len(self.beats), np.bool_)
        for start, stop in self.unsure:
            hidden |= (self.beats >= start) & (self.beats < stop)
        return self.beats[~hidden]


def synthesise(
    seed: int | Sequence[int],
    *,
    name: str = "synthetic",
    rate_hz: float = 250.0,
    leads: int = 1,
    seconds: float = 60.0,
    events: Sequence[Event] = (),
    bpm: float | None = None,
    ectopy: float = 0.0,
    noise: float = 1.0,
) -> Synthetic:
    """Make one person's ECG.

    Parameters
    ----------
    seed
        an integer, or several; the same seed is the same person, rhythm and noise.
    leads
        1-12, the first of ``LEADS``.
    bpm
        mean rate; drawn from 55-90 when None.
    ectopy
        fraction of single early ventricular beats.
    noise
        scale of wander, muscle noise and hum; 0 is none at all.
    """
    rng = np.random.default_rng(seed)
    n = round(seconds * rate_hz)
    person = morphology(rng, rate_hz, leads)
    time_s, kind = beat_times(rng, seconds, events, bpm, ectopy)
    beats = np.rint(time_s * rate_hz).astype(np.int64)
    phase = np.clip(np.rint((beats - time_s * rate_hz) * PHASES).astype(np.int64) + PHASES // 2, 0, PHASES - 1)
    x = _noise(rng, n, rate_hz, leads, noise)
    spans = [(e.kind, int(e.start_s * rate_hz), min(n, int(e.stop_s * rate_hz))) for e in events]
    for what, start, stop in spans:
        if what == ASYSTOLE:
            x[:, start:stop] *= 0.5
    _add_beats(x, person, beats, phase, kind, rate_hz, rng)
    for what, start, stop in spans:
        if what == LEAD_OFF:  # an open electrode: hum around an offset, no heart
            hum = 0.25 * np.sin(2 * np.pi * 50.0 / rate_hz * np.arange(stop - start))
            x[:, start:stop] = rng.uniform(-4, 4) + hum
    samples = np.clip(np.rint(x * (1000.0 / UV_PER_UNIT)), -32767, 32767).astype(np.int16)
    around = round(_AROUND_S * rate_hz)
    unsure = [(start - around, stop + around) for what, start, stop in spans if what in (LEAD_OFF, GAP)]
    return Synthetic(
        recording=Recording(name, float(rate_hz), LEADS[:leads], UV_PER_UNIT, samples),
        beats=beats,
        wide=kind >= VENTRICULAR,
        events=tuple(events),
        unsure=np.array(unsure, np.int64).reshape(-1, 2),
    )


def synthetic_recording(source: str, rate_hz: float | None = None) -> Recording:
    """Make the recording that ``synthetic[:key=value,...]`` names.

    Keys are ``seconds leads rate seed bpm ectopy noise``.

    Raises
    ------
    UserError
        a key that is not one of these, or a value out of its range.
    """
    limits = {
        "seconds": (1.0, 86400.0), "leads": (1.0, float(MAX_LEADS)), "rate": (MIN_RATE_HZ, MAX_RATE_HZ),
        "seed": (0.0, 2.0**53), "bpm": (20.0, 250.0), "ectopy": (0.0, 0.5), "noise": (0.0, 100.0),
    }  # fmt: skip
    given: dict[str, float] = {}
    for part in source.partition(":")[2].split(","):
        key, _, text = part.partition("=")
        if not part:
            continue
        if key not in limits:
            raise UserError(f"{source}: expected keys among {', '.join(limits)}; got {key!r}")
        try:
            value = float(text)
        except ValueError:
            raise UserError(f"{source}: expected a number for {key}; got {text!r}") from None
        low, high = limits[key]
        if not low <= value <= high or (key in ("leads", "seed") and value != int(value)):
            raise UserError(f"{source}: expected {key} within {low:g}-{high:g}; got {text}")
        given[key] = value
    if rate_hz is not None and given.get("rate", rate_hz) != rate_hz:
        raise UserError(f"{source}: expected --fs {given['rate']:g}, as the source says; got --fs {rate_hz:g}")
    return synthesise(
        int(given.get("seed", 0)),
        rate_hz=given.get("rate", rate_hz or 250.0),
        leads=int(given.get("leads", 1)),
        seconds=given.get("seconds", 60.0),
        bpm=given.get("bpm"),
        ectopy=given.get("ectopy", 0.0),
        noise=given.get("noise", 1.0),
    ).recording


def _add_beats(
    x: F32, person: Morphology, beats: I64, phase: I64, kind: I64, rate_hz: float, rng: np.random.Generator
) -> None:
    """Add every beat's waves, and its T wave as far behind as the interval before it says."""
    n = x.shape[1]
    rr_s = np.diff(beats, prepend=beats[:1] - round(0.85 * rate_hz)) / rate_hz
    top = beats + np.rint(person.qt_s * np.sqrt(np.clip(rr_s, 0.3, 1.2)) * rate_hz).astype(np.int64)
    size = (1.0 + 0.04 * np.sin(2 * np.pi * 0.25 * beats / rate_hz) + rng.normal(0, 0.02, len(beats))).astype(
        np.float32
    )
    for b in range(len(beats)):
        waves = person.waves[kind[b], phase[b]]
        _add(x, waves, beats[b] - person.peak, n, size[b])
        _add(x, person.t_waves[kind[b]], top[b] - person.t_peak, n, size[b])


def _add(x: F32, wave: F32, start: int, n: int, size: np.float32) -> None:
    cut, stop = max(0, -start), min(n, start + wave.shape[1])
    if stop > start + cut:
        x[:, start + cut : stop] += size * wave[:, cut : stop - start]


def _noise(rng: np.random.Generator, n: int, rate_hz: float, leads: int, level: float) -> F32:
    """Draw wander, muscle noise and hum, float32 [leads, n] in millivolts."""
    if level == 0:
        return np.zeros((leads, n), np.float32)
    table = _muscle(round(rate_hz * _TABLE_S))
    hum = _hum(rate_hz)
    x = np.empty((leads, n), np.float32)
    sway_mv = 0.08 * level * rng.lognormal(0, 0.4)
    muscle = np.float32(0.010 * level * rng.lognormal(0, 0.4))
    hum_mv = np.float32(0.004 * level * rng.lognormal(0, 0.6))
    knots_s = np.arange(0, n / rate_hz + 1.0, 0.25)
    grid_s = np.arange(n) / rate_hz
    for lead in range(leads):
        slow = np.convolve(rng.normal(0, 1, len(knots_s) + 15), np.hanning(16) / 2.5, "valid")
        breath = np.sin(2 * np.pi * 0.24 * knots_s + rng.uniform(0, 6.28))
        x[lead] = np.interp(grid_s, knots_s, sway_mv * (slow + 0.5 * breath))
        _lay(x[lead], table, int(rng.integers(len(table))), muscle)
        _lay(x[lead], hum, int(rng.integers(len(hum))), hum_mv)
    return x


def _lay(row: F32, table: F32, at: int, size: np.float32) -> None:
    """Add a table over and over to a row, starting anywhere in it."""
    done = 0
    while done < len(row):
        part = table[at : at + len(row) - done]
        row[done : done + len(part)] += size * part
        done, at = done + len(part), 0


@functools.lru_cache(maxsize=16)
def _muscle(length: int) -> F32:
    """White noise less its slow part, unit variance: one table a length for all streams."""
    white = np.random.default_rng(20_260_000).normal(0, 1, length + 8)
    rough = white[8:] - np.convolve(white, np.ones(9) / 9, "valid")
    return np.asarray(rough / rough.std(), np.float32)


@functools.lru_cache(maxsize=16)
def _hum(rate_hz: float) -> F32:
    t_s: F64 = np.arange(round(rate_hz) * 8) / rate_hz
    return np.asarray(np.sin(2 * np.pi * 50.0 * t_s) + 0.2 * np.sin(2 * np.pi * 150.0 * t_s), np.float32)
