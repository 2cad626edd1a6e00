"""Transforms of recordings for data augmentation: added T and P waves, ventricular beats, mixed leads, noise.

Detectors failed on unseen subjects where T or P waves were tall and where ventricular beats lay in noise. The training
records contain few of either, so they are simulated. Each function takes float64 ``[leads, n]`` and returns a changed
copy. Amplitudes are relative to the record's QRS amplitude. A shape is drawn once per record and varies slightly from
beat to beat. All random numbers come from the given generator.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from beatwire.evaluation.beats.noise import qrs_amplitude
from beatwire.records import F64, I64


def amplitudes(x: F64, beat: I64, rate_hz: float) -> F64:
    """Return the QRS amplitude of every lead, at least one unit: float64 [leads]."""
    return np.array([max(1.0, qrs_amplitude(lead, beat, rate_hz)) for lead in x])


def with_t_waves(x: F64, beat: I64, rate_hz: float, rng: np.random.Generator) -> F64:
    """Add a T wave to every beat, 200-340 ms after it at 60/min, at most 1.14 of the QRS amplitude."""
    after_s, sigma_s = rng.uniform(0.20, 0.34), rng.uniform(0.028, 0.065)
    height, skew = rng.uniform(0.2, 0.95), rng.uniform(0.5, 1.0)
    rr_s = np.clip(np.diff(beat, append=beat[-1] + int(rate_hz)) / rate_hz, 0.35, 1.2)
    at_s = beat / rate_hz + after_s * np.sqrt(rr_s)
    sizes = height * rng.uniform(0.5, 1.2, len(x)) * rng.choice([1.0, 1.0, -1.0], len(x))
    return _add_waves(x, at_s, sigma_s, skew, sizes * amplitudes(x, beat, rate_hz), 0.10, rate_hz, rng)


def with_p_waves(x: F64, beat: I64, rate_hz: float, rng: np.random.Generator) -> F64:
    """Add a P wave to every beat, 130-220 ms before it, at most 0.75 of the QRS amplitude."""
    before_s, sigma_s, height = rng.uniform(0.13, 0.22), rng.uniform(0.016, 0.032), rng.uniform(0.15, 0.75)
    at_s = beat / rate_hz - before_s + 0.006 * rng.standard_normal(len(beat))
    sizes = height * rng.choice([1.0, -1.0], len(x)) * amplitudes(x, beat, rate_hz)
    return _add_waves(x, at_s, sigma_s, 1.0, sizes, 0.12, rate_hz, rng)


def _add_waves(
    x: F64, at_s: F64, sigma_s: float, skew: float, sizes: F64, spread: float, rate_hz: float, rng: np.random.Generator
) -> F64:
    """Add a Gaussian of amplitude ``sizes`` [leads] at every time; its right half is ``skew`` times as wide.

    ``spread`` is the relative standard deviation of the amplitude from beat to beat.
    """
    out = x.copy()
    reach = int(4 * sigma_s * rate_hz)
    t = np.arange(-reach, reach + 1) / rate_hz
    wave = np.exp(-0.5 * (t / np.where(t < 0, sigma_s, sigma_s * skew)) ** 2)
    for centre, size in zip(
        (at_s * rate_hz).astype(np.int64), 1 + spread * rng.standard_normal(len(at_s)), strict=True
    ):
        if centre >= reach and centre + reach < x.shape[1]:
            out[:, centre - reach : centre + reach + 1] += size * sizes[:, None] * wave
    return out


@dataclass(frozen=True)
class VentricularShape:
    """Shape of a ventricular beat: two lobes, a notch before them, a T wave of opposite polarity.

    Times are in seconds from the R peak, amplitudes relative to the first lobe; ``sizes`` float64 [leads] scales the
    QRS amplitude of each lead.
    """

    sigma_s: float
    second_s: float
    after_s: float
    second: float
    notch: float
    t_sigma_s: float
    t_after_s: float
    t_height: float
    sizes: F64

    @staticmethod
    def draw(leads: int, rng: np.random.Generator) -> VentricularShape:
        """Draw a random shape."""
        return VentricularShape(
            sigma_s=float(rng.uniform(0.018, 0.045)),
            second_s=float(rng.uniform(0.025, 0.055)),
            after_s=float(rng.uniform(0.04, 0.10)),
            second=float(rng.uniform(0.1, 0.9)),
            notch=float(rng.uniform(-0.3, 0.3)),
            t_sigma_s=float(rng.uniform(0.045, 0.08)),
            t_after_s=float(rng.uniform(0.22, 0.32)),
            t_height=float(rng.uniform(0.1, 0.5)),
            sizes=rng.choice([1.0, -1.0], leads) * rng.uniform(0.4, 2.2, leads),
        )

    def at(self, t: F64) -> F64:
        """Return the shape at times ``t`` [n] from the R peak, in seconds."""

        def gaussian(after_s: float, sigma_s: float) -> F64:
            wave: F64 = np.exp(-0.5 * ((t - after_s) / sigma_s) ** 2)
            return wave

        lobes = gaussian(0.0, self.sigma_s) - self.second * gaussian(self.after_s, self.second_s)
        t_wave = self.t_height * gaussian(self.t_after_s, self.t_sigma_s)
        return lobes + self.notch * gaussian(-0.045, 0.02) - t_wave


def with_ventricular_beats(x: F64, beat: I64, rate_hz: float, rng: np.random.Generator) -> tuple[F64, I64]:
    """Replace 5-30 % of the beats by premature wide ones.

    Returns
    -------
    x, beat
        float64 [leads, n], the samples, and int64 [b], the sample index of each beat after the change.
    """
    out, moved = x.copy(), beat.copy()
    sizes = amplitudes(x, beat, rate_hz)
    median_rr_s = float(np.median(np.diff(beat))) / rate_hz
    shapes = [VentricularShape.draw(len(x), rng) for _ in range(int(rng.integers(1, 4)))]
    share = rng.uniform(0.05, 0.3)
    k = 2
    while k < len(beat) - 2:
        rr_s = (beat[k] - beat[k - 1]) / rate_hz
        k += 1
        if rng.uniform() >= share or not 0.5 < rr_s < 1.6:
            continue
        replaced = beat[k - 1]
        at = int(beat[k - 2] + rng.uniform(max(0.33, 0.42 * rr_s), 0.85 * rr_s) * rate_hz)
        first, last = int(replaced - 0.2 * rate_hz), int(replaced + min(0.38, 0.45 * median_rr_s) * rate_hz)
        if (
            first < beat[k - 2] + 0.2 * rate_hz
            or last >= beat[k] - 0.2 * rate_hz
            or first < 10
            or last > x.shape[1] - 10
            or beat[k] - at < 0.5 * rate_hz
        ):
            continue
        _flatten(out, first, last)
        shape = shapes[int(rng.integers(len(shapes)))]
        samples = np.arange(max(0, at - int(0.3 * rate_hz)), min(x.shape[1], at + int(0.7 * rate_hz)))
        size = sizes * shape.sizes * (1 + 0.08 * rng.standard_normal())
        out[:, samples] += size[:, None] * shape.at((samples - at) / rate_hz)
        moved[k - 1] = at
        k += 1
    return out, moved


def _flatten(x: F64, first: int, last: int) -> None:
    """Replace the samples by a straight line plus a twentieth of their deviation from it, in place."""
    left = np.median(x[:, first - 3 : first + 3], axis=1, keepdims=True)
    right = np.median(x[:, last - 3 : last + 3], axis=1, keepdims=True)
    line = left + (right - left) * np.linspace(0, 1, last - first)
    x[:, first:last] = line + 0.05 * (x[:, first:last] - line)


def mixed_leads(x: F64, beat: I64, rate_hz: float, rng: np.random.Generator) -> F64:
    """Return two leads as of other electrodes: projections of the first two leads at random angles."""
    if len(x) < 2:
        return x.copy()
    centred = x[:2] - np.median(x[:2], axis=1, keepdims=True)
    sizes = amplitudes(x[:2], beat, rate_hz)
    angles = rng.uniform(0, 2 * np.pi, 2)
    unit = centred / sizes[:, None]
    mixed: F64 = sizes.mean() * np.stack([np.cos(a) * unit[0] + np.sin(a) * unit[1] for a in angles])
    return mixed


def random_snr_db(samples: int, rate_hz: float, low: float, high: float, rng: np.random.Generator) -> F64:
    """Return a signal-to-noise ratio per sample [samples], drawn anew every minute between two limits, in dB."""
    minute = int(60 * rate_hz)
    values: F64 = np.repeat(rng.uniform(low, high, samples // minute + 1), minute)[:samples]
    return values


def one_lead_mask(leads: int, samples: int, rate_hz: float, rng: np.random.Generator) -> F64:
    """Return a mask float64 [leads, samples] that is 1 on at most one random lead at a time, for at least 1 s each."""
    mask = np.zeros((leads, samples))
    at = 0
    while at < samples:
        end = at + int((1.0 + rng.exponential(15.0)) * rate_hz)
        lead = int(rng.integers(leads + 1))
        if lead < leads:
            mask[lead, at:end] = 1.0
        at = end
    return mask


def add_scaled(x: F64, noise: F64, beat: I64, rate_hz: float, snr_db: F64) -> F64:
    """Add noise of unit RMS [leads, n] at a ratio per sample, calibrated as in ``evaluation.beats.noise``."""
    gain = amplitudes(x, beat, rate_hz)[:, None] / np.sqrt(8.0) * 10.0 ** (-snr_db / 20.0)
    noisy: F64 = x + gain * noise
    return noisy
