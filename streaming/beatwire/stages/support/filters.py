"""Design of the detection filter: from seconds and hertz to integer taps, once for each bank.

Source of the wavelet: N. Ricker, Geophysics 18 (1953) 10-40 (second derivative of a Gaussian).
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from beatwire.kernels.detection.jumps import FINE
from beatwire.records import I32

_DESIGNS = 256  # that are remembered
AFTER_S = 0.020  # behind a jump: the response reaches much farther ahead
FINE_HZ = 200.0  # at lower rates a QRS complex has as few samples as an edge


@dataclass(frozen=True, slots=True)
class Design:
    """A filter in seconds.

    sigma_s    standard deviation of the Gaussian whose second derivative the wavelet is
    support_s  half the length of the wavelet
    box_s      length of the box that sums the magnitude of the filtered signal
    """

    sigma_s: float = 0.014
    support_s: float = 0.056
    box_s: float = 0.050

    @property
    def delay_s(self) -> float:
        """Return the seconds after a sample that its response depends on."""
        return self.support_s + self.box_s / 2


@dataclass(frozen=True, slots=True)
class Filter:
    """The filter of one bank, in samples.

    taps   int32 [half + 1] of the wavelet, from its centre outwards
    box    samples on either side of a sample that its response sums
    shift  bits by which magnitudes are shifted right, so that sums fit int32
    after  samples that are looked at behind a jump
    unit   f at the peak of a Ricker-shaped wave of one unit: converts microvolts into f
    """

    taps: I32
    box: int
    shift: int
    after: int
    unit: float

    @property
    def delay(self) -> int:
        """Return how many samples after a sample its response depends on."""
        return len(self.taps) - 1 + self.box


def half_up(value: float) -> int:
    """Round to the nearest integer, halves up: the same on every platform."""
    return math.floor(value + 0.5)


@lru_cache(_DESIGNS)
def ricker_taps(rate_hz: float, sigma_s: float, support_s: float) -> I32:
    """Return the taps of a Ricker wavelet from its centre outwards, as integers; nobody writes to them.

    The wavelet is symmetric, sums to exactly zero (an offset has no response), and its magnitudes sum to at most
    32767 (the response to int16 samples fits int32).

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


@lru_cache(_DESIGNS)
def filter_for(design: Design, rate_hz: float, leads: int) -> Filter:
    """Return the filter of a bank, with the least shift that keeps the box sum of all leads within int32.

    It is the same one each time: nobody writes to its taps.
    """
    box = half_up(design.box_s / 2 * rate_hz - 0.5)
    shift = 6 + max(0, int(np.ceil(np.log2(leads * (2 * box + 1) / 128))))
    after = max(FINE, half_up(AFTER_S * rate_hz)) if rate_hz >= FINE_HZ else FINE - 1
    taps = ricker_taps(rate_hz, design.sigma_s, design.support_s)
    return Filter(taps, box, shift, after, _unit_response(taps, box, shift))


def _unit_response(taps: I32, box: int, shift: int) -> float:
    """Return ``Filter.unit``."""
    kernel = np.concatenate([taps[:0:-1], taps]).astype(np.float64)
    response = np.abs(np.convolve(kernel / kernel.max(), kernel))
    centre = len(response) // 2
    return float(response[centre - box : centre + box + 1].sum() / 2**shift)
