"""Bodies that describe a candidate peak by scale-free features, for the trees of ``kernels.peaks.classify``.

In:    a candidate peak, the rings of its lane (samples and response), and the lane's past peaks
Out:   the features of the peak (``kernels.peaks.peak_features``)

The features are the height of the peak relative to the level, the response around it, the magnitudes of Ricker wavelets
of 8, 22 and 32 ms, the slope and the swing of the signal, and comparisons with the peaks of the last ten seconds
(``kernels.peaks.peak_history``). In streams of several leads, magnitudes and swings are added over the leads, as the
response is, so a silent lead changes nothing, and neither does one that has no value there, or is muted.

The bodies are written for a team (``kernels.team``): its members share sums and extremes of integers; one member
computes the rest.
"""

from beatwire.kernels.detection.nms import largest, least
from beatwire.kernels.detection.ricker import unroll_steady
from beatwire.kernels.intake.holes import hold_absent
from beatwire.kernels.intake.ring import unroll
from beatwire.kernels.peaks.peak_features import (
    ABSENT,
    AFTER_60,
    AFTER_120,
    AGAIN,
    BEFORE_120,
    COMPACT,
    HEIGHT,
    LEAD_RESPONSES,
    LEFT_45,
    LEFT_75,
    MS8,
    MS45,
    MS60,
    MS75,
    MS120,
    MS220,
    MS230,
    OF_LARGEST,
    OF_LEAST,
    RIGHT_45,
    RIGHT_75,
    SIZE,
    SLOPE,
    VALLEY_LEFT,
    VALLEY_RIGHT,
    W8,
    W22,
    W32,
)
from beatwire.kernels.peaks.peak_history import compare_with_all_peaks, compare_with_recent_peaks
from beatwire.kernels.team import WIDTH, added, member, most, narrow, wait
from beatwire.records import F32, I16, I32, I64
from beatwire.records.classification import Candidate, FeatureSettings, PeakMemory, PeakScratch

CUT_OFF, OF_CUT_OFF = 7, 10  # a lane that begins with so large a share of a wave's deviation begins within it


def wavelet_magnitude(x: I32, centre: int, taps: I32, half: int) -> int:
    """Return the magnitude of a wavelet's response at ``x[centre]``; the wavelet has ``2 half + 1`` taps."""
    part = x[centre - half : centre + half + 1]
    total = narrow(0)
    for k in range(member(), 2 * half + 1, WIDTH):
        total = narrow(total + int(taps[k]) * int(part[k]))
    return abs(added(total))


def write_response_features(f: I32, at: int, height: float, spans: I64, features: F32) -> None:
    """Write the features of the response on both sides of the peak at ``f[at]``."""
    ms45, ms60, ms75, ms120 = int(spans[MS45]), int(spans[MS60]), int(spans[MS75]), int(spans[MS120])
    ms220, ms230 = int(spans[MS220]), int(spans[MS230])
    before_120 = largest(f[at - ms230 :], ms230 - ms120 + 1)
    after_60 = largest(f[at + ms60 :], ms120 - ms60)
    after_120 = largest(f[at + ms120 :], ms220 - ms120 + 1)
    valley_left = least(f[at - ms220 :], ms220 + 1)
    valley_right = least(f[at:], ms220 + 1)
    again = at + ms120
    while again < at + ms220 and 10 * int(f[again]) <= 7 * int(f[at]):
        again += 1
    if member() == 0:
        features[BEFORE_120] = before_120 / height
        features[AFTER_60] = after_60 / height
        features[AFTER_120] = after_120 / height
        features[LEFT_45] = int(f[at - ms45]) / height
        features[RIGHT_45] = int(f[at + ms45]) / height
        features[LEFT_75] = int(f[at - ms75]) / height
        features[RIGHT_75] = int(f[at + ms75]) / height
        features[VALLEY_LEFT] = valley_left / height
        features[VALLEY_RIGHT] = valley_right / height
        features[AGAIN] = (again - at) / float(ms220)
    wait()


def read_lead(x: I16, lead: int, jumps: I64, base: int, c: int, muted: int, spans: I64, stretch: I32) -> bool:
    """Copy the samples of a lead around sample ``c`` to ``stretch``; return False if it is left out.

    Of several leads one is that is ``muted``, or has no value near ``c``. The other parameters are those of
    ``write_wavelet_features``.
    """
    if (muted >> lead) & 1:
        return False
    reach, n = int(spans[MS230]), int(spans[MS230]) + int(spans[MS220]) + 1
    unroll_steady(x[lead], jumps, base, c - reach, n, stretch)
    return x.shape[0] == 1 or hold_absent(stretch, n, reach, int(spans[MS75]))


def write_wavelet_features(
    x: I16, jumps: I64, base: int, c: int, muted: int, magnitude: float, settings: FeatureSettings, work: PeakScratch
) -> None:
    """Write the features of the wavelets around the peak at sample ``c``, and the response of each lead.

    The wavelet of 8 ms is averaged over five places, the others over three, within the box of the response.

    Parameters
    ----------
    x : int16 [leads, R]
        Rings of a lane whose first sample is ``base``.
    jumps : int64 [3]
        Its columns of ``Rings.jumps``; jumps are taken out.
    muted
        A bit for each lead that is left out.
    magnitude
        Mean magnitude of the detection wavelet at the peak.
    """
    spans, taps, half, box = settings.spans, settings.taps, settings.half, settings.box
    stretch, features = work.stretch, work.features
    reach = int(spans[MS230])
    w8 = w22 = w32 = 0
    for lead in range(x.shape[0]):
        if not read_lead(x, lead, jumps, base, c, muted, spans, stretch):
            if member() == 0:
                work.numbers[LEAD_RESPONSES + lead] = ABSENT
            continue
        for j in range(5):
            w8 += wavelet_magnitude(stretch, reach + (j - 2) * box // 2, taps[0], int(half[0]))
        of_lead = 0
        for j in range(3):
            of_lead += wavelet_magnitude(stretch, reach + (j - 1) * box, taps[1], int(half[1]))
            w32 += wavelet_magnitude(stretch, reach + (j - 1) * box, taps[2], int(half[2]))
        w22 += of_lead
        if member() == 0:
            work.numbers[LEAD_RESPONSES + lead] = of_lead
        wait()
    if member() == 0:
        features[W8] = w8 / (5.0 * magnitude)
        features[W22] = w22 / (3.0 * magnitude)
        features[W32] = w32 / (3.0 * magnitude)
    wait()


def write_swing_features(
    x: I16, jumps: I64, base: int, c: int, muted: int, magnitude: float, spans: I64, stretch: I32, features: F32
) -> None:
    """Write the features of the signal's slope and swing around the peak at sample ``c``.

    The swing is the largest sample minus the least. The steepest slope and the swings of the leads are added.
    Parameters are those of ``write_wavelet_features``.
    """
    reach, n = int(spans[MS230]), int(spans[MS230]) + int(spans[MS220]) + 1
    near, lag = int(spans[MS60]), int(spans[MS8])
    slopes = swing = whole_swing = 0
    for lead in range(x.shape[0]):
        if not read_lead(x, lead, jumps, base, c, muted, spans, stretch):
            continue
        middle = stretch[reach - near :]
        low, high = least(middle, 2 * near + 1), largest(middle, 2 * near + 1)
        swing += high - low
        whole_swing += largest(stretch, n) - least(stretch, n)
        slope = 0
        early, late = stretch[reach - near - lag :], stretch[reach - near + lag :]
        for j in range(member(), 2 * near + 1, WIDTH):
            slope = max(slope, abs(int(late[j]) - int(early[j])))
        slopes += most(slope)
        wait()
    if member() == 0:
        features[SLOPE] = slopes / float(max(1, swing))
        features[COMPACT] = swing / float(max(1, whole_swing))
        features[SIZE] = 1000.0 * swing / magnitude
    wait()


def is_cut_off(x: I16, jumps: I64, base: int, c: int, muted: int, spans: I64, stretch: I32) -> bool:
    """Return True if a lane begins within the wave whose peak is at sample ``c``, 0.12 s after its first at most.

    It does if its first sample deviates nearly as much as any up to 0.06 s behind the peak, from the mean between
    0.12 s and 0.22 s behind it. The deviations of the leads are added. The other parameters are those of
    ``write_wavelet_features``.
    """
    reach, near = int(spans[MS230]), int(spans[MS60])
    first, late, n = reach - (c - base), reach + int(spans[MS120]), reach + int(spans[MS220]) + 1
    begin = whole = 0
    for lead in range(x.shape[0]):
        if not read_lead(x, lead, jumps, base, c, muted, spans, stretch):
            continue
        total = deviation = 0
        for j in range(late + member(), n, WIDTH):
            total += int(stretch[j])
        total = added(total)
        for j in range(first + member(), reach + near + 1, WIDTH):
            deviation = max(deviation, abs((n - late) * int(stretch[j]) - total))
        begin += abs((n - late) * int(stretch[first]) - total)
        whole += most(deviation)
        wait()
    return OF_CUT_OFF * begin > CUT_OFF * whole


def write_basic_features(
    peak: Candidate, base: int, settings: FeatureSettings, x: I16, f: I32, jumps: I64, memory: PeakMemory,
    work: PeakScratch,
) -> None:  # fmt: skip
    """Write the features by which a peak is typical (``kernels.peaks.classify.is_typical``), and those that are stored.

    Parameters
    ----------
    peak
        Its level is above zero.
    base
        First sample of the lane.
    x, f, jumps : int16 [leads, R], int32 [R], int64 [3]
        Rings of the lane's samples and response, and its columns of ``Rings.jumps``.
    memory
        The lane's past peaks.
    work
        Scratch of the team; its ``features`` are written.
    """
    spans, stretch, features = settings.spans, work.stretch, work.features
    c, height = peak.sample, float(peak.height)
    first = c - int(spans[MS230])
    missing = max(0, base - first)
    for j in range(member(), missing, WIDTH):
        stretch[j] = 0
    n = int(spans[MS230]) + int(spans[MS220]) + 1 - missing
    unroll(f, first + missing, n, stretch[missing:])  # type: ignore[arg-type]
    write_response_features(stretch, int(spans[MS230]), height, spans, features)
    write_wavelet_features(x, jumps, base, c, peak.muted, height * settings.scale, settings, work)
    if member() == 0:
        features[HEIGHT] = height / peak.level
        compare_with_recent_peaks(c, height, float(peak.level), spans, memory, work.numbers, features)
    wait()


def write_further_features(
    peak: Candidate, base: int, settings: FeatureSettings, x: I16, jumps: I64, memory: PeakMemory, work: PeakScratch
) -> None:
    """Write the other features of one lead; parameters are those of ``write_basic_features``."""
    spans, features, height, least_maximum = settings.spans, work.features, float(peak.height), peak.least_maximum
    magnitude = height * settings.scale
    write_swing_features(x, jumps, base, peak.sample, peak.muted, magnitude, spans, work.stretch, features)
    if member() == 0:
        features[OF_LARGEST] = height / peak.largest_maximum
        features[OF_LEAST] = height / least_maximum
        compare_with_all_peaks(
            peak.sample, height, float(peak.level), float(least_maximum), spans, memory, work.numbers,
            features,
        )  # fmt: skip
    wait()
