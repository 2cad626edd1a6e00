"""Body that cuts the window of a beat out of the ring, without offset and slope, in units of its size.

In:    R of each beat, the newest sample that its decision depends on, and the rings
Out:   windows float32 [n, 256], and their size in units of the device
State: none

A window is 0.52 s in 256 points at every sampling rate. Its centre is the centroid of the energy of the QRS complex, at
most 40 ms from R, or less where the window would end after the newest sample that the decision depends on: the ring has
later samples only if the pass does not end there. Its size is its root mean square.

Invariant: a window depends on the samples in [R - 0.30 s, R + 0.31 s] up to that newest one. Sums are of integers: the
same on every backend and in any order.
"""

import math

from numpy import float32

from beatwire.kernels.intake.holes import present_lead
from beatwire.kernels.intake.ring import unroll
from beatwire.kernels.team import WIDTH, added, member, narrow, wait
from beatwire.records import F32, I16, I32, I64

WINDOW = 256  # points
HALF_S = 0.26  # half of a window: from the P wave to the end of the QRS complex and the ST segment
SHIFT_S = 0.04  # how far the centre may lie from R
EARLIEST_S = 0.30  # samples that a window depends on: HALF_S + SHIFT_S before R, and one of interpolation after it
LATEST_S = 0.31
ENERGY_S = 0.10  # on either side of R, whose centroid is the centre
SLOPE_S = 0.006  # over which a slope is taken
LEAST_SIZE = 0.5  # in units of the device; a smaller window is a flat line
FIXED_POINT = 1 << 16  # positions between samples are integers in this unit


def cut_window(
    i: int, lane: I64, at: I64, decided: I64, base: I64, rate_hz: float, x: I16, work: I32, window: F32, amplitude: F32
) -> None:
    """Cut ``window[i]`` out of the ring of ``lane[i]`` around R at sample ``at[i]``.

    Parameters
    ----------
    lane, at, decided, base : int64 [n]
        Lane and R of each beat, the newest sample that may be read, and the first sample of the lane.
    x : int16 [lanes, leads, R]
        Rings of at least 0.62 s; the first lead that has values there is cut.
    work : int32 [1 or more, 0.62 s or more]
        Scratch.
    window, amplitude : float32 [n, 256], [n], written
        The window, scaled to a root mean square of 1, and its size. Zero and NaN where the window would begin before
        ``base``, where it is flat, and where no lead has values.
    """
    before = int(math.ceil(EARLIEST_S * rate_hz))
    last = before + min(int(math.floor(LATEST_S * rate_hz)), int(decided[i] - at[i]))
    out = window[i]
    first = int(at[i]) - before
    lead = present_lead(x[lane[i]], first, first, last + 1, 0)
    if first < base[i] or lead < 0:
        amplitude[i] = blank(out)
        return
    samples = work[0]
    unroll(x[lane[i], lead], first, last + 1, samples)
    length = 2.0 * HALF_S * rate_hz
    middle = before + energy_centroid(samples, before, rate_hz)
    begin = max(min(middle - 0.5 * length, last - length - 0.01), 0.0)
    amplitude[i] = resample(samples, begin, length, last, out)


def blank(out: F32) -> float:
    """Set a window to zero and return its size, NaN."""
    for j in range(member(), WINDOW, WIDTH):
        out[j] = 0.0
    return math.nan


def energy_centroid(samples: I32, peak: int, rate_hz: float) -> float:
    """Return how far the centroid of the squared slope lies from ``peak``, in samples, at most ``SHIFT_S``."""
    reach = round(ENERGY_S * rate_hz)
    k = max(1, round(SLOPE_S * rate_hz))
    ahead = samples[peak - reach + k :]
    behind = samples[peak - reach - k :]
    energy = 0
    moment = 0
    for j in range(member(), 2 * reach + 1, WIDTH):
        slope = narrow(int(ahead[j]) - int(behind[j]))
        energy += slope * slope
        moment += narrow(slope * j) * slope
    energy = added(energy)
    moment = added(moment)
    if energy == 0:
        return 0.0
    limit = SHIFT_S * rate_hz
    return min(max(moment / energy - reach, -limit), limit)


def resample(samples: I32, begin: float, length: float, last: int, out: F32) -> float:
    """Write 256 points of the ``length`` samples from ``begin`` on, without mean and slope, and return their size.

    ``samples`` is overwritten.
    """
    first = int(begin)
    n = min(int(begin + length) + 2, last + 1) - first
    part = samples[first : last + 1]  # interpolation may round to one sample beyond the n of the sums
    origin = int(part[n // 2])
    total = 0
    moment = 0
    squares = 0
    for j in range(member(), n, WIDTH):
        value = narrow(int(part[j]) - origin)
        total += value
        moment += value * narrow(2 * j - (n - 1))
        squares += value * value
    total = added(total)
    moment = added(moment)
    squares = added(squares)
    spread = n * (n * n - 1) // 3
    variance = (squares - total / n * total - moment / spread * moment) / n
    if variance < LEAST_SIZE * LEAST_SIZE:
        return blank(out)
    size = math.sqrt(variance)
    slope = 2.0 * moment / spread
    level = origin + total / n - slope * 0.5 * (n - 1)
    scale = 1.0 / size
    flat = part.view(float32)  # each value overwrites the sample that it is computed from
    for j in range(member(), len(part), WIDTH):
        flat[j] = (int(part[j]) - level - slope * j) * scale
    wait()
    interpolate(flat, round((begin - first) * FIXED_POINT), round(length * FIXED_POINT / (WINDOW - 1)), out)
    return size


def interpolate(flat: F32, start: int, step: int, out: F32) -> None:
    """Write 256 points of ``flat`` from ``start`` on, in steps of ``step``, both in ``1 / FIXED_POINT`` of a sample."""
    fraction = float32(1.0 / FIXED_POINT)
    for j in range(member(), WINDOW, WIDTH):
        p = start + j * step
        b = (p >> 16) & 0xFFFF
        low = flat[b]
        out[j] = low + float32(p & 0xFFFF) * fraction * (flat[b + 1] - low)
    wait()
