"""Arguments of the kernels that take the hum of the mains out of samples (``kernels.intake.hum``), grouped."""

from typing import NamedTuple

from beatwire.records.arrays import F64, I16, I32, I64, U8


class HumFilter(NamedTuple):
    """The frequencies of the mains at the sampling rate of a bank, two rows for each.

    tables  int16 [2 * frequencies, span]  cosine and minus sine at the samples of a span, in
                                           parts of ``1 << TABLE_BITS``
    sums    int64 [2 * frequencies]        of each row
    turns   float64 [2 * frequencies]      cosine and sine of the angle by which the phase advances in a span
    offsets int16 [span]                   of the samples from the middle of a span, in half samples
    scale   of a sum of products: amplitudes in the parts of a unit in which they are stored
    hole    the longest hole that is filled in; 0: none is
    """

    tables: I16
    sums: I64
    turns: F64
    offsets: I16
    scale: float
    hole: int


class Hum(NamedTuple):
    """The hum of the lanes of a bank.

    amplitudes  int32 [lanes, leads, 2 * frequencies, SPANS]  real and imaginary parts, of span ``k`` in column
                                                              ``k % SPANS``
    sines       int32 [lanes, leads, LAG, HUM_COLUMNS]        columns ``HUM_OF``, ... of ``records.columns``: what is
                                                              taken out of span ``k`` in row ``k % LAG``
    filled      uint8 [lanes, leads, bytes]                   a bit of each sample in the spans that are not measured
                                                              yet: it was filled in, or bridged
    """

    amplitudes: I32
    sines: I32
    filled: U8
