"""Arguments of the kernels that find peaks, grouped: what a lane has new, the filter, the rings, the peaks.

Each is a NamedTuple, so that a body reads ``fresh.start[i]`` and a call names what it passes. Arrays are arrays of the
backend; host arrays (marked *host*) are uploaded with the call. How NamedTuples reach machine code is in
``jit.arguments``.
"""

from typing import NamedTuple

from beatwire.records.arrays import F64, I16, I32, I64


class FreshLanes(NamedTuple):
    """The lanes of a pass that have new samples, ``n`` of them (host); item ``i`` of a kernel is row ``i``.

    lane   int64 [n]  row of the lane in the rings of its bank
    slot   int64 [n]  slot of its stream
    start  int64 [n]  first new sample
    stop   int64 [n]  sample after the last new one
    base   int64 [n]  first sample of the lane: where it equals ``start`` the lane begins
    """

    lane: I64
    slot: I64
    start: I64
    stop: I64
    base: I64


class Rings(NamedTuple):
    """The rings of a bank: sample ``a`` of a lane is in column ``a % R``, with an ``R`` for each ring.

    x  int16 [lanes, leads, R]  samples, in units of the device; ``holes.NO_VALUE`` where a lead is absent
    f  int32 [lanes, R]         responses
    jumps  int64 [lanes, 3]     columns ``JUMP_STOP``, ... of ``records.columns``
    """

    x: I16
    f: I32
    jumps: I64


class ResponseFilter(NamedTuple):
    """The detection filter of a bank.

    taps   int32 [half + 1]  of the Ricker wavelet, from its centre outwards
    box    samples on either side of a sample that its response sums
    shift  bits by which magnitudes are shifted right, so that sums fit int32
    after  samples that are looked at behind a jump (``kernels.detection.jumps``)
    """

    taps: I32
    box: int
    shift: int
    after: int


class PeakSearch(NamedTuple):
    """Parameters of non-maximum suppression, in samples.

    delay  the response is known up to ``stop - delay``
    left   a peak is greater than all responses of so many samples before it
    right  a peak is at least all responses of so many samples after it
    block  length of a block of the level
    """

    delay: int
    left: int
    right: int
    block: int


class LevelLimits(NamedTuple):
    """What responses beats may have: a block beyond is one of a silence or of a disturbance. And what steps they may.

    uv_per_unit  float64 [n]  of each lane (host), microvolts; 0: not calibrated
    least, most  of a calibrated lane: response, times microvolts per unit
    least_raw    of a lane that is not calibrated: response
    jump         of a calibrated lane: step from a sample to the next, microvolts (``kernels.detection.jumps``)
    jump_raw     of a lane that is not calibrated: the same, units
    """

    uv_per_unit: F64
    least: float
    most: float
    least_raw: float
    jump: float
    jump_raw: float


class LeadLevels(NamedTuple):
    """Levels of a bank of several leads, see ``kernels.detection.lead_levels``.

    maxima  int64 [lanes, leads, LEAD_COLUMNS]         block maxima of each lead
    levels  int64 [lanes, rows, leads, LEVEL_COLUMNS]  levels when a block begins; ``rows`` is more than the
                                                       blocks that the response of a pass, and undecided samples, touch
    """

    maxima: I64
    levels: I64


class LeadResponses(NamedTuple):
    """Responses of leads alone: lead ``k`` of lane ``l`` is row ``l * leads + k``.

    f      int32 [lanes * leads, R]  as ``Rings.f``
    jumps  int64 [lanes * leads, 3]  as ``Rings.jumps``: those of the lane
    lift   bits by which the response of one lead has less shift than that of all
    leads  so many leads of each lane are stored
    """

    f: I32
    jumps: I64
    lift: int
    leads: int


class ChoiceSettings(NamedTuple):
    """Spans of ``kernels.detection.lead_choice``, in samples.

    part     of the window in which errors are expected
    silent   a source without an accepted peak for so long has missed beats
    overlap  a source stays chosen
    reach    on both sides of a peak a lead has values
    """

    part: int
    silent: int
    overlap: int
    reach: int


class ChosenPeaks(NamedTuple):
    """The peaks of each lane of a pass from which beats are selected.

    found   int64 [n]
    peaks   int64 [n, most, PEAK_COLUMNS]
    logits  float64 [n, most, LOGIT_COLUMNS]
    """

    found: I64
    peaks: I64
    logits: F64


class PeakTable(NamedTuple):
    """Peaks and blocks of the lanes of a pass; only the first ``found`` and ``closed`` entries of a row are set.

    found   int64 [n]           peaks of each lane
    peaks   int64 [n, most, 8]  columns ``PEAK_SAMPLE``, ``PEAK_RESPONSE``, ... of ``records.columns``
    bounds  int64 [n, most, 4]  columns ``BOUND_MOST``, ... of ``records.columns``; of one lead [n, 1, 4], not set
    closed  int64 [n]           blocks of the level of each lane that became complete
    blocks  int64 [n, most, 2]  columns ``BLOCK_END``, ``BLOCK_MAXIMUM``
    """

    found: I64
    peaks: I64
    bounds: I64
    closed: I64
    blocks: I64
