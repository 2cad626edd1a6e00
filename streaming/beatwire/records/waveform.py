"""Arguments of the kernel that judges doubtful peaks by their waveform, grouped."""

from typing import NamedTuple

from beatwire.records.arrays import F32, F64, I16, I64


class WaveNetwork(NamedTuple):
    """A network of integers, see ``kernels.peaks.wave_network``; matrices hold integers as float32.

    first, second   float32 [8 * 6, c], [8 * c, h]    of the two layers that halve the rate
    wide, narrow    float32 [depth, 5 * h, h], [depth, h, h]  of the layers that look back
    factor, offset  int64 [2 + 2 * depth, h]          of each layer, see ``wave_network.requantised``
    residual, most  int64 [depth], [2 + 2 * depth]    factor of what a layer adds to; largest value of its output
    head            int64 [h + 1]                     of the logit, in ``wave_network.LOGIT_UNIT``; the last is added
    compressed      int16 [ratios]                    of a ratio to the running mean magnitude
    combination     float64 [2, 4]                    weights of 1, the logit of the trees, and the mean and the largest
                                                      logit of the leads; row 0 for one lead, row 1 for several
    """

    first: F32
    second: F32
    wide: F32
    narrow: F32
    factor: I64
    offset: I64
    residual: I64
    most: I64
    head: I64
    compressed: I16
    combination: F64


class WaveGrid(NamedTuple):
    """Where the network reads the samples around a peak, at the sampling rate of a bank.

    offset                  int64 [grid]  of each point of the grid from the peak, in sixteenths of a sample
    apart                   samples whose mean is a point
    recent                  samples before a peak that are read from the ring; older ones are read from the past
    halvings                the mean of 1 << halvings samples is a value of the past (``kernels.peaks.past_samples``)
    hidden_from, hidden_to  samples before a peak in which it hides another
    """

    offset: I64
    apart: int
    recent: int
    halvings: int
    hidden_from: int
    hidden_to: int


class WaveScratch(NamedTuple):
    """Scratch of a lane: int64 [4, grid], float32 [2, frames * channels], float32 [3, 4, inputs of a layer]."""

    numbers: I64
    frames: F32
    rows: F32


class LogitTables(NamedTuple):
    """Tables by logit, at equal distances.

    scale        float64 [knots]  of combined logits the trees' logits of the same probability
    probability  float64 [knots]  of a beat by the logit of the trees
    """

    scale: F64
    probability: F64


class RiskChanges(NamedTuple):
    """How the risks of the last doubtful peaks of each lane were changed, see ``kernels.peaks.doubt``.

    log     int64 [lanes, CHANGE_COLUMNS]  their number, and the sample of the last one
    sample  int16 [lanes, PAST_CHANGES]    samples of the last ones (``kernels.short_times``)
    past    int16 [lanes, PAST_CHANGES]    changes, in ``RISK_UNIT``
    """

    log: I64
    sample: I16
    past: I16
