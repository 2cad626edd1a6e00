"""Noise added to clean records at a stated signal-to-noise ratio, and electrode motion made up.

The calibration is that of the noise stress test database (Moody, Muldrow, Mark, Computers in
Cardiology 1984; program ``nst``), lead by lead: the signal's power is p^2 / 8 with p the mean
peak-to-peak amplitude of the QRS complexes (+-50 ms about the first 300 annotated beats, the
largest and the smallest 5 % left out), the noise's is the square of its mean RMS over one-second
windows (the same 5 % left out), and SNR = 10 log10(signal / noise). By default noise is on the
whole record; ``alternate`` puts it on every second two minutes from the sixth minute on, as the
database has it. Everything is seeded; the same seed adds the same noise at every ratio.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
from scipy.signal import resample_poly

from beatwire.evaluation.records import Annotated
from beatwire.recordings import NO_VALUE, read_recording
from beatwire.records import F64, I64

ELECTRODE_MOTION = "electrode-motion"
_QRS_S = 0.05
_TRIM = 0.05


def qrs_amplitude(lead: F64, beat: I64, rate_hz: float) -> float:
    """Mean peak-to-peak amplitude of the QRS complexes of a lead, in its own units."""
    reach = max(1, round(_QRS_S * rate_hz))
    heights = [np.ptp(lead[b - reach : b + reach + 1]) for b in beat[:300] if reach <= b < len(lead) - reach]
    return _trimmed_mean(np.array(heights, np.float64))


def noise_rms(noise: F64, rate_hz: float) -> float:
    """Mean RMS of a noise over one-second windows, each about its own mean."""
    second = max(2, round(rate_hz))
    windows = noise[: len(noise) // second * second].reshape(-1, second)
    return _trimmed_mean(windows.std(axis=1))


def _trimmed_mean(values: F64) -> float:
    if len(values) == 0:
        return 0.0
    cut = int(len(values) * _TRIM)
    return float(np.sort(values)[cut : len(values) - cut].mean())


def read_noise(source: str, rate_hz: float, seed: int, *, samples: int, leads: int) -> F64:
    """Noise of a WFDB record, or made up, at another rate and of any length.

    Parameters
    ----------
    source
        a WFDB record, several joined by ``+`` (added after each was brought to unit RMS), or
        ``electrode-motion``.
    rate_hz, samples, leads
        of the record it is meant for. Noise that is too short goes round.

    Returns
    -------
    float64 [leads, samples]
        of unit RMS a lead, in the sense of :func:`noise_rms`.
    """
    rng = np.random.default_rng(seed)
    total = np.zeros((leads, samples))
    for part in source.split("+"):
        if part == ELECTRODE_MOTION:
            noise = electrode_motion(samples, leads, rate_hz, rng)
        else:
            recording = read_recording(Path(part) if Path(part).suffix else Path(part + ".hea"))
            own = np.where(recording.samples == NO_VALUE, 0, recording.samples).astype(np.float64)
            own -= np.median(own, axis=1, keepdims=True)
            ratio = Fraction(rate_hz / recording.rate_hz).limit_denominator(1000)
            own = resample_poly(own, ratio.numerator, ratio.denominator, axis=1)
            start = int(rng.integers(own.shape[1]))
            rows = np.arange(leads) % own.shape[0]
            noise = own[rows][:, np.arange(start, start + samples) % own.shape[1]]
        for lead in range(leads):
            rms = noise_rms(noise[lead], rate_hz)
            total[lead] += noise[lead] / rms if rms > 0 else 0.0
    for lead in range(leads):
        rms = noise_rms(total[lead], rate_hz)
        total[lead] /= rms if rms > 0 else 1.0
    return total


def add_noise(record: Annotated, noise: F64, snr_db: float, *, alternate: bool = False) -> Annotated:
    """Return the record with noise of unit RMS scaled to ``snr_db`` on every lead."""
    recording = record.recording
    out = recording.samples.copy()
    on = np.ones(out.shape[1], bool)
    if alternate:
        minute = np.arange(out.shape[1]) / (60.0 * recording.rate_hz)
        on = (minute >= 5) & ((minute - 5) % 4 < 2)
    for lead in range(out.shape[0]):
        there = recording.samples[lead] != NO_VALUE
        clean = recording.samples[lead].astype(np.float64)
        height = qrs_amplitude(np.where(there, clean, np.median(clean[there])), record.beat, recording.rate_hz)
        gain = height / np.sqrt(8.0) * 10.0 ** (-snr_db / 20.0)
        noisy = np.clip(np.rint(clean + gain * noise[lead] * on), -32767, 32767)
        out[lead] = np.where(there, noisy, NO_VALUE)
    return replace(record, recording=replace(recording, samples=out))


def electrode_motion(samples: int, leads: int, rate_hz: float, rng: np.random.Generator) -> F64:
    """Simulate electrode motion: steps with slow recovery and sharp transients, in bursts.

    From its description in the literature (Moody and Mark 1984; Webster 1984; Friesen et al.
    1990): the half-cell potential jumps when skin is stretched and recovers over a second or so;
    between the jumps it wanders; fast pulls give transients of 40-150 ms, in the band of the QRS.
    Half of an event is common to the leads (a shared electrode), half is the lead's own.

    Returns
    -------
    float64 [leads, samples]
        arbitrary units.
    """
    out = np.zeros((leads, samples))
    seconds, time_s = samples / rate_hz, 0.0
    while time_s < seconds:
        length_s = float(rng.exponential(12.0)) + 1.0
        rate, sharp = float(rng.uniform(1.0, 6.0)), float(rng.uniform(0.15, 0.5))
        for at_s in rng.uniform(time_s, time_s + length_s, rng.poisson(rate * length_s)):
            _add_event(out, float(at_s), sharp, rate_hz, rng)
        time_s += length_s + float(rng.exponential(1.0))
    for lead in range(leads):
        out[lead] += 0.4 * _wander(samples, rate_hz, rng) + 0.02 * rng.standard_normal(samples)
    return out


def _add_event(out: F64, at_s: float, sharp: float, rate_hz: float, rng: np.random.Generator) -> None:
    """Add one pull at the electrodes to all leads; ``sharp`` is the share of fast transients."""
    kind = float(rng.uniform())
    if kind < sharp:  # one to three swings under a bell
        width_s, swings = float(rng.uniform(0.015, 0.06)), float(rng.uniform(0.0, 2.5))
        t = np.arange(int(6 * width_s * rate_hz)) / rate_hz - 3 * width_s
        shape = np.exp(-0.5 * (t / width_s) ** 2) * np.cos(
            2 * np.pi * swings * t / (4 * width_s) + rng.uniform(0, 6.28)
        )
    elif kind < sharp + 0.4:  # a step: fast rise, slow recovery
        rise_s, fall_s = float(rng.uniform(0.02, 0.12)), float(rng.uniform(0.15, 1.2))
        t = np.arange(int(5 * fall_s * rate_hz)) / rate_hz
        shape = (1 - np.exp(-3 * t / rise_s)) * np.exp(-t / fall_s)
    else:  # a slow push
        width_s = float(rng.uniform(0.1, 0.4))
        t = np.arange(int(6 * width_s * rate_hz)) / rate_hz - 3 * width_s
        shape = np.exp(-0.5 * (t / width_s) ** 2)
    shape = shape * float(rng.lognormal(0.0, 0.4))
    first, common = int(at_s * rate_hz), 1.0 if rng.uniform() < 0.5 else -1.0
    last = min(out.shape[1], first + len(shape))
    for lead in range(out.shape[0]):
        own = 0.7 * common + 0.7 * float(rng.uniform(-1.0, 1.0))
        if last > first:
            out[lead, first:last] += own * shape[: last - first]


def _wander(samples: int, rate_hz: float, rng: np.random.Generator) -> F64:
    """Slow drift of unit RMS: noise falling as 1/f between 0.05 and 8 Hz."""
    frequency = np.fft.rfftfreq(samples, 1 / rate_hz)
    band = (frequency > 0.05) & (frequency < 8.0)
    spectrum = np.zeros(len(frequency), complex)
    spectrum[band] = rng.standard_normal(int(band.sum())) + 1j * rng.standard_normal(int(band.sum()))
    spectrum[band] /= frequency[band]
    drift: F64 = np.fft.irfft(spectrum, samples)
    scale = float(drift.std())
    return drift / scale if scale > 0 else drift
