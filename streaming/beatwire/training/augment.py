"""Recordings as they might have been: other T and P waves, ventricular beats, other leads, noise.

What made detectors fail on people they had not seen were tall T and P waves, and beats of the
ventricles in noise. There are few of either in any training set, so they are made: each function
takes float64 ``[leads, n]`` and returns a changed copy; sizes are relative to the record's own QRS
amplitude, shapes are drawn once a record and vary a little from beat to beat. All is seeded by the
generator that is handed in.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from beatwire.evaluation.noise import qrs_amplitude
from beatwire.records import F64, I64


def amplitudes(x: F64, beat: I64, rate_hz: float) -> F64:
    """QRS amplitude of every lead, at least one unit."""
    return np.array([max(1.0, qrs_amplitude(lead, beat, rate_hz)) for lead in x])


def with_t_waves(x: F64, beat: I64, rate_hz: float, rng: np.random.Generator) -> F64:
    """Add a T wave to every beat: 200-340 ms after it at 60/min, up to 0.95 of the QRS on a lead."""
    after_s, sigma_s = rng.uniform(0.20, 0.34), rng.uniform(0.028, 0.065)
    height, fall = rng.uniform(0.2, 0.95), rng.uniform(0.5, 1.0)
    rr_s = np.clip(np.diff(beat, append=beat[-1] + int(rate_hz)) / rate_hz, 0.35, 1.2)
    at_s = beat / rate_hz + after_s * np.sqrt(rr_s)
    sizes = height * rng.uniform(0.5, 1.2, len(x)) * rng.choice([1.0, 1.0, -1.0], len(x))
    return _add_bumps(x, at_s, sigma_s, fall, sizes * amplitudes(x, beat, rate_hz), 0.10, rate_hz, rng)


def with_p_waves(x: F64, beat: I64, rate_hz: float, rng: np.random.Generator) -> F64:
    """Add a P wave to every beat: 130-220 ms before it, up to 0.75 of the QRS."""
    before_s, sigma_s, height = rng.uniform(0.13, 0.22), rng.uniform(0.016, 0.032), rng.uniform(0.15, 0.75)
    at_s = beat / rate_hz - before_s + 0.006 * rng.standard_normal(len(beat))
    sizes = height * rng.choice([1.0, -1.0], len(x)) * amplitudes(x, beat, rate_hz)
    return _add_bumps(x, at_s, sigma_s, 1.0, sizes, 0.12, rate_hz, rng)


def _add_bumps(
    x: F64, at_s: F64, sigma_s: float, fall: float, sizes: F64, varies: float, rate_hz: float, rng: np.random.Generator
) -> F64:
    """Add a bell at every time; its right side is ``fall`` times as wide."""
    out = x.copy()
    reach = int(4 * sigma_s * rate_hz)
    t = np.arange(-reach, reach + 1) / rate_hz
    bell = np.exp(-0.5 * (t / np.where(t < 0, sigma_s, sigma_s * fall)) ** 2)
    for centre, size in zip(
        (at_s * rate_hz).astype(np.int64), 1 + varies * rng.standard_normal(len(at_s)), strict=True
    ):
        if centre >= reach and centre + reach < x.shape[1]:
            out[:, centre - reach : centre + reach + 1] += size * sizes[:, None] * bell
    return out


@dataclass(frozen=True)
class Ventricular:
    """Shape of an ectopic beat: two lobes, a notch before them, a T wave the other way."""

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
    def draw(leads: int, rng: np.random.Generator) -> Ventricular:
        """Draw a shape."""
        return Ventricular(
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
        """Return the shape at times from the R peak, seconds."""

        def bell(after_s: float, sigma_s: float) -> F64:
            lobe: F64 = np.exp(-0.5 * ((t - after_s) / sigma_s) ** 2)
            return lobe

        lobes = bell(0.0, self.sigma_s) - self.second * bell(self.after_s, self.second_s)
        return lobes + self.notch * bell(-0.045, 0.02) - self.t_height * bell(self.t_after_s, self.t_sigma_s)


def with_ventricular_beats(x: F64, beat: I64, rate_hz: float, rng: np.random.Generator) -> tuple[F64, I64]:
    """Replace 5-30 % of the beats by early wide ones.

    Returns
    -------
    x, beat
        the samples, and where the beats are now.
    """
    out, now = x.copy(), beat.copy()
    sizes = amplitudes(x, beat, rate_hz)
    usual = float(np.median(np.diff(beat))) / rate_hz
    shapes = [Ventricular.draw(len(x), rng) for _ in range(int(rng.integers(1, 4)))]
    share = rng.uniform(0.05, 0.3)
    k = 2
    while k < len(beat) - 2:
        rr_s = (beat[k] - beat[k - 1]) / rate_hz
        k += 1
        if rng.uniform() >= share or not 0.5 < rr_s < 1.6:
            continue
        here = beat[k - 1]
        at = int(beat[k - 2] + rng.uniform(max(0.33, 0.42 * rr_s), 0.85 * rr_s) * rate_hz)
        first, last = int(here - 0.2 * rate_hz), int(here + min(0.38, 0.45 * usual) * rate_hz)
        if (
            first < beat[k - 2] + 0.2 * rate_hz
            or last >= beat[k] - 0.2 * rate_hz
            or first < 10
            or last > x.shape[1] - 10
            or beat[k] - at < 0.5 * rate_hz
        ):
            continue
        _erase(out, first, last)
        shape = shapes[int(rng.integers(len(shapes)))]
        where = np.arange(max(0, at - int(0.3 * rate_hz)), min(x.shape[1], at + int(0.7 * rate_hz)))
        size = sizes * shape.sizes * (1 + 0.08 * rng.standard_normal())
        out[:, where] += size[:, None] * shape.at((where - at) / rate_hz)
        now[k - 1] = at
        k += 1
    return out, now


def _erase(x: F64, first: int, last: int) -> None:
    """Leave a straight line and a twentieth of what was there."""
    left = np.median(x[:, first - 3 : first + 3], axis=1, keepdims=True)
    right = np.median(x[:, last - 3 : last + 3], axis=1, keepdims=True)
    line = left + (right - left) * np.linspace(0, 1, last - first)
    x[:, first:last] = line + 0.05 * (x[:, first:last] - line)


def mixed_leads(x: F64, beat: I64, rate_hz: float, rng: np.random.Generator) -> F64:
    """Mix the leads of a record, as if the electrodes were elsewhere: sums at random angles of its first two."""
    if len(x) < 2:
        return x.copy()
    centred = x[:2] - np.median(x[:2], axis=1, keepdims=True)
    sizes = amplitudes(x[:2], beat, rate_hz)
    angles = rng.uniform(0, 2 * np.pi, 2)
    unit = centred / sizes[:, None]
    mixed: F64 = sizes.mean() * np.stack([np.cos(a) * unit[0] + np.sin(a) * unit[1] for a in angles])
    return mixed


def changing_snr_db(samples: int, rate_hz: float, low: float, high: float, rng: np.random.Generator) -> F64:
    """Draw a ratio for every minute, uniform between two limits."""
    minute = int(60 * rate_hz)
    values: F64 = np.repeat(rng.uniform(low, high, samples // minute + 1), minute)[:samples]
    return values


def in_turn(leads: int, samples: int, rate_hz: float, rng: np.random.Generator) -> F64:
    """Draw whose turn it is: 1 on one lead or on none at a time, for 1 s and more, else 0; float64 [leads, samples]."""
    turn = np.zeros((leads, samples))
    at = 0
    while at < samples:
        end = at + int((1.0 + rng.exponential(15.0)) * rate_hz)
        lead = int(rng.integers(leads + 1))
        if lead < leads:
            turn[lead, at:end] = 1.0
        at = end
    return turn


def add_scaled(x: F64, noise: F64, beat: I64, rate_hz: float, snr_db: F64) -> F64:
    """Add noise of unit RMS at a ratio that may change with time (calibration of ``evaluation.noise``)."""
    gain = amplitudes(x, beat, rate_hz)[:, None] / np.sqrt(8.0) * 10.0 ** (-snr_db / 20.0)
    noisy: F64 = x + gain * noise
    return noisy
