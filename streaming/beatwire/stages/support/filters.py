"""Design of the detection filter: seconds and hertz become integer taps, once per bank.

Source of the wavelet: N. Ricker, Geophysics 18 (1953) 10-40 (second derivative of a Gaussian).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.fft

from beatwire.records import I32


@dataclass(frozen=True, slots=True)
class Design:
    """sigma_s, support_s: of the wavelet, half its length; box_s: of the sum over its magnitude."""

    sigma_s: float = 0.014
    support_s: float = 0.056
    box_s: float = 0.050


@dataclass(frozen=True, slots=True)
class Filter:
    """The filter of one bank, in samples: taps from the centre outwards, half box, shift."""

    taps: I32
    box: int
    shift: int

    @property
    def delay(self) -> int:
        """Samples after a sample that its response waits for."""
        return len(self.taps) - 1 + self.box


def half_up(value: float) -> int:
    """Round to the nearest integer, halves up: the same on every platform."""
    return int(np.floor(value + 0.5))


def ricker_taps(rate_hz: float, sigma_s: float, support_s: float) -> I32:
    """Return the taps of a Ricker wavelet from its centre outwards, as integers.

    The whole kernel is symmetric, sums to exactly zero (no response to an offset), and its
    magnitudes sum to at most 32767 (the response of int16 samples fits int32).

    >>> taps = ricker_taps(250, 0.014, 0.056)
    >>> int(taps[0] + 2 * taps[1:].sum()), len(taps)
    (0, 15)
    """
    half = max(1, half_up(support_s * rate_hz))
    t = np.arange(-half, half + 1) / (sigma_s * rate_hz)
    kernel = (1 - t**2) * np.exp(-(t**2) / 2)
    kernel -= kernel.mean()
    taps = np.trunc(kernel * 32767 / np.abs(kernel).sum()).astype(np.int64)
    taps[half] -= taps.sum()
    while np.abs(taps).sum() > 32767:
        taps[half] -= 2
        taps[[half - 1, half + 1]] += 1
    whole: I32 = taps[half:].astype(np.int32)
    return whole


def filter_for(design: Design, rate_hz: float, leads: int) -> Filter:
    """Return the filter of a bank; the shift keeps the box sum of all leads within int32."""
    box = half_up(design.box_s / 2 * rate_hz - 0.5)
    shift = 6 + max(0, int(np.ceil(np.log2(leads * (2 * box + 1) / 128))))
    return Filter(ricker_taps(rate_hz, design.sigma_s, design.support_s), box, shift)


def unit_response(one: Filter) -> float:
    """Return f at the peak of a Ricker-shaped wave of one unit: what turns a floor in microvolts into f."""
    kernel = np.concatenate([one.taps[:0:-1], one.taps]).astype(np.float64)
    response = np.abs(np.convolve(kernel / kernel.max(), kernel))
    centre = len(response) // 2
    return float(response[centre - one.box : centre + one.box + 1].sum() / 2**one.shift)


def filter_fft(x: np.ndarray[Any, Any], taps: I32) -> I32:
    """Filter ``x [..., n + 2 half]`` into int32 ``[..., n]`` by FFT; rounding makes it exact.

    The largest response is below 2**30 and the error of the transform below 2**-20 of that in
    double precision, so the nearest integer is the direct form's.
    """
    half = len(taps) - 1
    kernel = np.concatenate([taps[:0:-1], taps])
    size = scipy.fft.next_fast_len(x.shape[-1] + 2 * half, real=True)
    spectrum = scipy.fft.rfft(x.astype(np.float64), size) * scipy.fft.rfft(kernel.astype(np.float64), size)
    full = scipy.fft.irfft(spectrum, size)[..., 2 * half : x.shape[-1]]
    exact: I32 = np.rint(full).astype(np.int32)
    return exact
