"""Noise added to clean records at a stated signal-to-noise ratio, recorded noise and simulated electrode motion.

The calibration is that of the MIT-BIH Noise Stress Test Database (Moody, Muldrow, Mark, Computers in Cardiology 1984;
program ``nst``), separately for each lead:

signal power  p^2 / 8, with p the mean peak-to-peak amplitude of the QRS complexes (50 ms on either side of the first
              300 annotated beats, without the largest and the smallest 5 %)
noise power   the square of the mean RMS over windows of one second, without the largest and the smallest 5 %
SNR           10 log10(signal power / noise power)

By default noise is added to the whole record; with ``alternate`` to every other two minutes from the sixth minute on,
as in the database. The same seed adds the same noise at every ratio.
"""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from beatwire.evaluation.records import AnnotatedRecord, record_seed
from beatwire.recordings import NO_VALUE, read_recording
from beatwire.records import F64, I64

ELECTRODE_MOTION = "electrode-motion"
_QRS_S = 0.05  # on either side of a beat
_QRS_BEATS = 300
_TRIM = 0.05  # of the values, at either end


def qrs_amplitude(lead: F64, beat: I64, rate_hz: float) -> float:
    """Return the mean peak-to-peak amplitude of the QRS complexes of a lead [n], in the lead's units."""
    reach = max(1, round(_QRS_S * rate_hz))
    heights = [np.ptp(lead[b - reach : b + reach + 1]) for b in beat[:_QRS_BEATS] if reach <= b < len(lead) - reach]
    return _trimmed_mean(np.array(heights, np.float64))


def noise_rms(noise: F64, rate_hz: float) -> float:
    """Return the mean RMS of a noise [n] over windows of one second, each about its own mean."""
    second = max(2, round(rate_hz))
    windows = noise[: len(noise) // second * second].reshape(-1, second)
    return _trimmed_mean(windows.std(axis=1))


def _trimmed_mean(values: F64) -> float:
    if len(values) == 0:
        return 0.0
    cut = int(len(values) * _TRIM)
    return float(np.sort(values)[cut : len(values) - cut].mean())


def read_noise(source: str, rate_hz: float, seed: int, *, samples: int, leads: int) -> F64:
    """Return recorded or simulated noise, resampled and repeated to fit a record.

    Parameters
    ----------
    source
        A WFDB record, ``electrode-motion`` (simulated), or several of these joined by ``+``, which are scaled to
        unit RMS and added.
    rate_hz, samples, leads
        Of the record that the noise is for. Noise that is too short is repeated.
    seed
        Random seed of the first sample of recorded noise and of the simulation.

    Returns
    -------
    float64 [leads, samples]
        Noise of unit RMS on each lead, as measured by :func:`noise_rms`.

    Raises
    ------
    UserError
        The WFDB record cannot be read.
    """
    rng = np.random.default_rng(seed)
    total = np.zeros((leads, samples))
    for part in source.split("+"):
        if part == ELECTRODE_MOTION:
            noise = electrode_motion(samples, leads, rate_hz, rng)
        else:
            recording = read_recording(Path(part) if Path(part).suffix else Path(part + ".hea"))
            recorded = np.where(recording.samples == NO_VALUE, 0, recording.samples).astype(np.float64)
            recorded -= np.median(recorded, axis=1, keepdims=True)
            ratio = Fraction(rate_hz / recording.rate_hz).limit_denominator(1000)
            from scipy.signal import resample_poly  # a second, which most evaluations need not wait

            recorded = resample_poly(recorded, ratio.numerator, ratio.denominator, axis=1)
            start = int(rng.integers(recorded.shape[1]))
            rows = np.arange(leads) % recorded.shape[0]
            noise = recorded[rows][:, np.arange(start, start + samples) % recorded.shape[1]]
        for lead in range(leads):
            rms = noise_rms(noise[lead], rate_hz)
            total[lead] += noise[lead] / rms if rms > 0 else 0.0
    for lead in range(leads):
        rms = noise_rms(total[lead], rate_hz)
        total[lead] /= rms if rms > 0 else 1.0
    return total


def add_noise(record: AnnotatedRecord, noise: F64, snr_db: float, *, alternate: bool = False) -> AnnotatedRecord:
    """Return the record with noise of unit RMS [leads, n] scaled to ``snr_db`` on each lead."""
    recording = record.recording
    out = recording.samples.copy()
    on = np.ones(out.shape[1], bool)
    if alternate:
        minute = np.arange(out.shape[1]) / (60.0 * recording.rate_hz)
        on = (minute >= 5) & ((minute - 5) % 4 < 2)
    for lead in range(out.shape[0]):
        has_value = recording.samples[lead] != NO_VALUE
        clean = recording.samples[lead].astype(np.float64)
        height = qrs_amplitude(np.where(has_value, clean, np.median(clean[has_value])), record.beat, recording.rate_hz)
        gain = height / np.sqrt(8.0) * 10.0 ** (-snr_db / 20.0)
        noisy = np.clip(np.rint(clean + gain * noise[lead] * on), -32767, 32767)
        out[lead] = np.where(has_value, noisy, NO_VALUE)
    return replace(record, recording=replace(recording, samples=out))


def with_noise(record: AnnotatedRecord, noise: str, snr_db: float, seed: int) -> AnnotatedRecord:
    """Return the record with noise added; the segment of noise depends on the record's name and the seed only."""
    recording = record.recording
    leads, samples = recording.samples.shape
    segment = read_noise(noise, recording.rate_hz, record_seed(recording.name, seed), samples=samples, leads=leads)
    return add_noise(record, segment, snr_db)


def noise_name(noise: str) -> str:
    """Return the short name of a noise source, without folders."""
    return "+".join(Path(part).stem for part in noise.split("+"))


def electrode_motion(samples: int, leads: int, rate_hz: float, rng: np.random.Generator) -> F64:
    """Simulate electrode motion: steps with slow recovery and sharp transients, in bursts.

    The model follows the literature (Moody and Mark 1984; Webster 1984; Friesen et al. 1990). The half-cell
    potential jumps when the skin is stretched and recovers within about a second; between jumps it wanders; fast pulls
    cause transients of 40-150 ms, in the frequency band of the QRS. Half of an event is common to the leads (a shared
    electrode), half is independent.

    Returns
    -------
    float64 [leads, samples]
        Arbitrary units.
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
    """Add one event to all leads, in place; ``sharp`` is the probability of a fast transient."""
    kind = float(rng.uniform())
    if kind < sharp:  # a fast transient: a short oscillation in a Gaussian envelope
        width_s, swings = float(rng.uniform(0.015, 0.06)), float(rng.uniform(0.0, 2.5))
        t = np.arange(int(6 * width_s * rate_hz)) / rate_hz - 3 * width_s
        shape = np.exp(-0.5 * (t / width_s) ** 2) * np.cos(
            2 * np.pi * swings * t / (4 * width_s) + rng.uniform(0, 6.28)
        )
    elif kind < sharp + 0.4:  # a step: fast rise, slow recovery
        rise_s, fall_s = float(rng.uniform(0.02, 0.12)), float(rng.uniform(0.15, 1.2))
        t = np.arange(int(5 * fall_s * rate_hz)) / rate_hz
        shape = (1 - np.exp(-3 * t / rise_s)) * np.exp(-t / fall_s)
    else:  # a slow deflection
        width_s = float(rng.uniform(0.1, 0.4))
        t = np.arange(int(6 * width_s * rate_hz)) / rate_hz - 3 * width_s
        shape = np.exp(-0.5 * (t / width_s) ** 2)
    shape = shape * float(rng.lognormal(0.0, 0.4))
    first, common = int(at_s * rate_hz), 1.0 if rng.uniform() < 0.5 else -1.0
    last = min(out.shape[1], first + len(shape))
    for lead in range(out.shape[0]):
        gain = 0.7 * common + 0.7 * float(rng.uniform(-1.0, 1.0))
        if last > first:
            out[lead, first:last] += gain * shape[: last - first]


def _wander(samples: int, rate_hz: float, rng: np.random.Generator) -> F64:
    """Return slow drift of unit RMS: noise with an amplitude of 1/f between 0.05 and 8 Hz."""
    frequency = np.fft.rfftfreq(samples, 1 / rate_hz)
    band = (frequency > 0.05) & (frequency < 8.0)
    spectrum = np.zeros(len(frequency), complex)
    spectrum[band] = rng.standard_normal(int(band.sum())) + 1j * rng.standard_normal(int(band.sum()))
    spectrum[band] /= frequency[band]
    drift: F64 = np.fft.irfft(spectrum, samples)
    scale = float(drift.std())
    return drift / scale if scale > 0 else drift
