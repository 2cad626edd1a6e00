"""Mains hum in samples that are at hand, by the kernel that takes it out of rings.

In:  int16 samples, raw
Out: for each lead and window, the frequency and the amplitude of its hum

A window is the ``SPANS`` spans that must be one sine, about 2.4 s. Windows are counted from sample 0 of a stream, and
each is measured alone: what is said of a stream does not depend on how it was cut.
"""

import math
from typing import NamedTuple

import numpy as np

from beatwire.backends.cpu import CPU
from beatwire.kernels.intake.converter import limit_of
from beatwire.kernels.intake.holes import MOST, NO_VALUE
from beatwire.kernels.intake.one_sine import SPANS
from beatwire.kernels.intake.sines import FINE, LAG
from beatwire.records import F64, I16, I32, I64, Bool
from beatwire.records.columns import HUM_IM, HUM_OF, HUM_RE
from beatwire.records.detection import FreshLanes
from beatwire.records.hum import Hum
from beatwire.stages.support.mains import hum_filter_for, mains_hz, shapes_of_hum

LEAST_MV = 0.05  # half a millimetre of ECG paper: less is not said
LEAST_SHARE = 0.05  # of what else is in a window, where samples have no unit
NO_GAP = np.zeros((0, 2), np.int64)
_BLOCK = 1 << 22  # samples that are copied at a time

Sign = dict[str, float | None]


class MeasuredHum(NamedTuple):
    """The hum of leads in windows.

    hz         float64 [leads, windows]  50 or 60; NaN: no hum
    amplitude  float64 [leads, windows]  peak, in units of a sample; NaN: no hum
    """

    hz: F64
    amplitude: F64


def window_of(rate_hz: float) -> int:
    """Return the samples of a window; 0: no mains is resolved at this sampling rate.

    >>> window_of(250.0), window_of(100.0)
    (600, 0)
    """
    return SPANS * hum_filter_for(rate_hz).tables.shape[1] if mains_hz(rate_hz) else 0


def measured_hum(samples: I16, rate_hz: float, uv_per_unit: float) -> MeasuredHum:
    """Return the hum of leads, int16 [leads, n], whose first sample begins a window; the rest of ``n`` is left out.

    Less than ``LEAST_MV`` is none. A window of which fewer than half of the samples have a value has none.
    """
    leads, width = samples.shape[0], window_of(rate_hz)
    count = samples.shape[1] // width if width else 0
    at_once = max(1, _BLOCK // max(1, leads * width))
    blocks = [np.full((leads, 0, 2), np.nan)]
    for first in range(0, count, at_once):
        stop = min(count, first + at_once)
        windows = samples[:, first * width : stop * width].reshape(leads, stop - first, width)
        blocks.append(_block(windows, rate_hz, uv_per_unit))
    found = np.concatenate(blocks, axis=1)
    return MeasuredHum(found[..., 0], found[..., 1])


def newest_hum(samples: I16, first: int, rate_hz: float, uv_per_unit: float, windows: int) -> list[Sign | None]:
    """Return the hum of each lead in the newest whole windows of samples, int16 [leads, n]; empty without any.

    A lead hums if it does in at least half of them: a sign that comes and goes is none. It has ``hz`` and ``mv``, peak
    (None: not calibrated).

    Parameters
    ----------
    first
        Index of the first sample in the stream.
    windows
        At most so many are looked at.
    """
    width = window_of(rate_hz)
    if not width:
        return []
    begin, stop = -(-first // width) * width, (first + samples.shape[1]) // width * width
    begin = max(begin, stop - windows * width)
    hz, amplitude = measured_hum(samples[:, begin - first : max(begin, stop) - first], rate_hz, uv_per_unit)
    signs: list[Sign | None] = []
    for lead in range(len(hz)):
        hums = np.isfinite(hz[lead])
        if not len(hums) or 2 * hums.sum() < len(hums):
            signs.append(None)
            continue
        mv = round(float(np.median(amplitude[lead][hums])) * uv_per_unit / 1000, 3) if uv_per_unit > 0 else None
        signs.append({"hz": float(hz[lead][hums][-1]), "mv": mv})
    return signs if any(signs) else []


def take_out_hum(
    x: I16, n: int, rate_hz: float, uv_per_unit: float, *, first: int = 0, hole: int = 0, gap: I64 = NO_GAP
) -> I32:
    """Take hum out of the samples ``[first, n)`` of lanes, int16 [lanes, leads, R], in place, as of rings.

    Holes of up to ``hole`` samples are filled in, and the gaps bridged, int64 [g, 2], first and last + 1 sample. The
    sample before the first one has no value then.

    Returns
    -------
    int32 [lanes, leads, LAG, HUM_COLUMNS]
        The last sines, ``records.hum.Hum.sines``.
    """
    lanes, leads, _ = x.shape
    hum_filter = hum_filter_for(rate_hz, hole)
    of_spans, of_sines, of_filled = shapes_of_hum(lanes, leads, hum_filter)
    hum = Hum(np.zeros(of_spans, np.int32), np.zeros(of_sines, np.int32), np.zeros(of_filled, np.uint8))
    lane, begin = np.arange(lanes, dtype=np.int64), np.full(lanes, first, np.int64)
    fresh = FreshLanes(lane, lane, begin, np.full(lanes, n, np.int64), begin)
    marked, uv = np.full(lanes, hole > 0), np.full(lanes, uv_per_unit, np.float64)
    quiet = np.concatenate([np.repeat(lane, len(gap))[:, None], np.tile(gap, (lanes, 1))], axis=1)
    CPU.kernels.take_out_hum(lanes, fresh, marked, quiet, uv, hum_filter, hum, x)
    return hum.sines


def humming(sines: I32, uv_per_unit: F64) -> Bool:
    """Return which lanes have a lead with hum of at least ``LEAST_MV``, by what is taken out of their newest spans.

    Parameters
    ----------
    sines : int32 [lanes, leads, LAG, HUM_COLUMNS]
        ``records.hum.Hum.sines``.
    uv_per_unit : float64 [lanes]
        0: not calibrated, which is no hum.
    """
    uv = np.hypot(sines[..., HUM_RE], sines[..., HUM_IM]) / FINE * uv_per_unit[:, None, None]
    hums = (sines[..., HUM_OF] > 0) & (uv >= 1000 * LEAST_MV)
    found: Bool = np.any(np.all(hums, axis=2), axis=1)
    return found


def _block(windows: I16, rate_hz: float, uv_per_unit: float) -> F64:
    """Return frequency and amplitude of windows, int16 [leads, k, width], as float64 [leads, k, 2].

    From a lead at the limits of its converter none is taken out. That of half its values, at no limit, is measured.
    """
    sines = take_out_hum(np.array(windows.swapaxes(0, 1), order="C"), windows.shape[2], rate_hz, uv_per_unit)
    sine = sines[:, :, (SPANS - 1) % LAG].swapaxes(0, 1)
    amplitude = np.hypot(sine[..., HUM_RE], sine[..., HUM_IM]) / FINE
    missing = windows == NO_VALUE
    lowest, highest = np.where(missing, np.int16(MOST), windows).min(axis=2), windows.max(axis=2)
    far = limit_of(math.floor(1000.0 * uv_per_unit + 0.5))
    limited = (sine[..., HUM_OF] == 0) & ((highest >= far) | (lowest <= -far))
    if limited.any():
        half = np.where(missing[limited], windows[limited], windows[limited] // np.int16(2))
        halves = take_out_hum(half[:, None], windows.shape[2], rate_hz, 0.0)
        sine[limited] = halves[:, 0, (SPANS - 1) % LAG]
        amplitude[limited] = 2 * np.hypot(sine[limited][:, HUM_RE], sine[limited][:, HUM_IM]) / FINE
    least: F64 | float = LEAST_MV * 1000 / uv_per_unit if uv_per_unit > 0 else 0.0
    if uv_per_unit == 0:
        least = LEAST_SHARE * (highest.astype(np.float64) - lowest - 2 * amplitude)
    hums = (sine[..., HUM_OF] > 0) & (amplitude >= least) & (2 * missing.sum(axis=2) <= windows.shape[2])
    hz = np.array(mains_hz(rate_hz))[np.maximum(sine[..., HUM_OF] - 1, 0) // 2]
    return np.where(hums[..., None], np.stack([hz, amplitude], axis=2), np.nan)
