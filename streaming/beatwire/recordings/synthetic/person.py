"""Synthetic ECG of one person with its ground truth.

In:  a seed, a sampling rate, leads, seconds, events.
Out: int16 samples [leads, n] at 2 microvolts a unit; the sample index of every R peak; the events.

The result is a function of the arguments alone. Nothing runs once a sample in Python: templates are added beat by beat,
and noise is copied from tables that all streams share.
"""

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
_TABLE_S = 64  # length of the noise table
_EXCLUDED_S = 0.5  # around a gap or a lead-off episode: beats there may be missed


@dataclass(frozen=True)
class Synthetic:
    """A synthetic recording and its ground truth.

    recording  the samples
    beats      int64 [b]      sample index of every R peak
    wide       bool [b]       the beat is ventricular
    events     the planted events
    excluded   int64 [u, 2]   ranges of samples around gaps and lead-off episodes, where a detector may miss beats
    """

    recording: Recording
    beats: I64
    wide: np.ndarray
    events: tuple[Event, ...]
    excluded: I64

    def detectable_beats(self) -> I64:
        """Return the beats that a detector must find: those outside the excluded ranges."""
        hidden = np.zeros(len(self.beats), np.bool_)
        for start, stop in self.excluded:
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
    hum_mv: float = 0.0,
) -> Synthetic:
    """Synthesise the ECG of one person.

    Parameters
    ----------
    seed
        One or several integers; they determine person, rhythm and noise.
    name
        The name of the recording.
    rate_hz
        Sampling rate.
    leads
        Number of leads, 1-12: the first ones of ``LEADS``.
    seconds
        Duration.
    events
        Planted events; gaps and malformed messages do not change the samples.
    bpm
        Mean heart rate, beats per minute; None: drawn from 55-90.
    ectopy
        Fraction of beats that are single early ventricular beats.
    noise
        Scale of baseline wander, muscle noise and a little mains hum; 0: no noise.
    hum_mv
        Amplitude of the hum of loose contacts, millivolts.
    """
    rng = np.random.default_rng(seed)
    n = round(seconds * rate_hz)
    person = morphology(rng, rate_hz, leads)
    time_s, kind = beat_times(rng, seconds, events, bpm, ectopy)
    beats = np.rint(time_s * rate_hz).astype(np.int64)
    phase = np.clip(np.rint((beats - time_s * rate_hz) * PHASES).astype(np.int64) + PHASES // 2, 0, PHASES - 1)
    x = _noise(rng, n, rate_hz, leads, noise)
    if hum_mv:
        x += hum_mv * np.sin(2 * np.pi * 50.0 / rate_hz * np.arange(n) + np.arange(leads)[:, None])
    spans = [(e.kind, int(e.start_s * rate_hz), min(n, int(e.stop_s * rate_hz))) for e in events]
    for event, start, stop in spans:
        if event == ASYSTOLE:
            x[:, start:stop] *= 0.5
    _add_beats(x, person, beats, phase, kind, rate_hz, rng)
    for event, start, stop in spans:
        if event == LEAD_OFF:  # an open electrode: an offset and mains hum, no ECG
            hum = 0.25 * np.sin(2 * np.pi * 50.0 / rate_hz * np.arange(stop - start))
            x[:, start:stop] = rng.uniform(-4, 4) + hum
    samples = np.clip(np.rint(x * (1000.0 / UV_PER_UNIT)), -32767, 32767).astype(np.int16)
    margin = round(_EXCLUDED_S * rate_hz)
    excluded = [(start - margin, stop + margin) for event, start, stop in spans if event in (LEAD_OFF, GAP)]
    return Synthetic(
        recording=Recording(name, float(rate_hz), LEADS[:leads], UV_PER_UNIT, samples),
        beats=beats,
        wide=kind >= VENTRICULAR,
        events=tuple(events),
        excluded=np.array(excluded, np.int64).reshape(-1, 2),
    )


def synthetic_recording(source: str, rate_hz: float | None = None) -> Recording:
    """Return the recording that the source ``synthetic[:key=value,...]`` describes.

    Parameters
    ----------
    source
        The keys are ``seconds``, ``leads``, ``rate``, ``seed``, ``bpm``, ``ectopy``, ``noise`` and ``hum`` (mV), see
        `synthesise`.
    rate_hz
        The sampling rate if the source has none; otherwise it must be the same.

    Raises
    ------
    UserError
        A key is unknown, or a value is out of its range.
    """
    limits = {
        "seconds": (1.0, 86400.0), "leads": (1.0, float(MAX_LEADS)), "rate": (MIN_RATE_HZ, MAX_RATE_HZ),
        "seed": (0.0, 2.0**53), "bpm": (20.0, 250.0), "ectopy": (0.0, 0.5), "noise": (0.0, 100.0),
        "hum": (0.0, 10.0),
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
        raise UserError(f"{source}: expected --fs {given['rate']:g}, the rate of the source; got --fs {rate_hz:g}")
    return synthesise(
        int(given.get("seed", 0)),
        rate_hz=given.get("rate", rate_hz or 250.0),
        leads=int(given.get("leads", 1)),
        seconds=given.get("seconds", 60.0),
        bpm=given.get("bpm"),
        ectopy=given.get("ectopy", 0.0),
        noise=given.get("noise", 1.0),
        hum_mv=given.get("hum", 0.0),
    ).recording


def _add_beats(
    x: F32, person: Morphology, beats: I64, phase: I64, kind: I64, rate_hz: float, rng: np.random.Generator
) -> None:
    """Add the waves of every beat; the delay of the T wave follows the preceding RR interval (Bazett's formula)."""
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
    """Return baseline wander, muscle noise and mains hum, float32 [leads, n] in millivolts."""
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
        _add_repeated(x[lead], table, int(rng.integers(len(table))), muscle)
        _add_repeated(x[lead], hum, int(rng.integers(len(hum))), hum_mv)
    return x


def _add_repeated(row: F32, table: F32, at: int, size: np.float32) -> None:
    """Add a table to a row, from index ``at`` of the table on and repeated."""
    done = 0
    while done < len(row):
        part = table[at : at + len(row) - done]
        row[done : done + len(part)] += size * part
        done, at = done + len(part), 0


@functools.lru_cache(maxsize=16)
def _muscle(length: int) -> F32:
    """Return white noise without its slow part, unit variance: one table a length, shared by all streams."""
    white = np.random.default_rng(20_260_000).normal(0, 1, length + 8)
    rough = white[8:] - np.convolve(white, np.ones(9) / 9, "valid")
    return np.asarray(rough / rough.std(), np.float32)


@functools.lru_cache(maxsize=16)
def _hum(rate_hz: float) -> F32:
    t_s: F64 = np.arange(round(rate_hz) * 8) / rate_hz
    return np.asarray(np.sin(2 * np.pi * 50.0 * t_s) + 0.2 * np.sin(2 * np.pi * 150.0 * t_s), np.float32)
