"""Bodies that find blocks at rest, a lead without a wave as steep as this stream's beats, and busy ones, full of them.

In:    the description of a block (``kernels.rhythms.wave_shape``), and the blocks before it
Out:   whether the block is at rest, or busy
State: int32 ``past[COLUMNS]``: the steepest slopes of the last ``BLOCKS`` blocks, and which of them had an artefact: a
       wave of ``ARTEFACT_UV`` in a calibrated stream

A lead whose electrode came off is at rest too. It differs from a heart that is silent by what was before: an artefact
that no heart makes, after which the lead is dead, or returns slowly from the limits of its amplifier.
"""

import math

from beatwire.kernels.rhythms.wave_shape import (
    ABSENT,
    CREST,
    CROWDED,
    HALF,
    SIZE,
    STEEP,
    UNCALIBRATED,
    UPWARD,
    number_of,
)
from beatwire.records import I32

BLOCKS = 15  # half a minute
COUNT, ARTEFACT_BITS = range(BLOCKS, BLOCKS + 2)  # behind the slopes: blocks so far; a bit a block, the last one lowest
COLUMNS = BLOCKS + 2
MOST = (1 << 31) - 1  # what is more is stored as this

LIVING_UV = 30.0  # a wave of a living signal: without one the lead may be dead
LONGEST_HALF = 100  # of the mean period: a slower signal may be returning from a limit
ARTEFACT_UV = 3000  # no wave of a heart in a usual lead is as large
LOW_UV, HIGH_UV = 40.0, 120.0  # slopes as low as that are no beat, those above the other limit may be one
SHARE = 0.4  # of the median of the steepest slopes before: between these limits, that is no beat of this stream
BUSY_SHARE, BUSY_WAVES = 0.5, 8  # the same of waves that may be beats; so many in a block are more than 240 a minute


def steepest_slope(description: int) -> int:
    """Return the steepest slope of a block in microvolts, or quarters of a unit, from point to point (1/64 s)."""
    size = 2.0 ** (number_of(description, SIZE) / 8.0)
    mean = 4.0 * math.pi * size / max(1, number_of(description, HALF))
    return int(mean * number_of(description, STEEP) / 4.0)


def largest_wave(description: int) -> int:
    """Return the largest point of a block in microvolts."""
    return int(2.0 ** (number_of(description, SIZE) / 8.0) * number_of(description, CREST) / 8.0)


def median_slope(past: I32) -> int:
    """Return the median of the stored slopes, the lower one of two; 0 without any."""
    n = min(BLOCKS, int(past[COUNT]))
    found = 0
    for p in range(n):
        below = 0
        for q in range(n):
            below += int(past[q] < past[p])
        if below <= (n - 1) // 2:
            found = max(found, int(past[p]))
    return found


def has_artefact(past: I32) -> bool:
    """Return True if there was an artefact in one of the stored blocks."""
    return bool(past[ARTEFACT_BITS] != 0)


def is_busy(description: int, past: I32) -> bool:
    """Return True if one wave follows the other, each as steep as beats: they may be beats too fast to be counted.

    Parameters
    ----------
    description
        Packed; of a block that has one.
    past : int32 [COLUMNS]
        With the block.
    """
    if number_of(description, UPWARD) < BUSY_WAVES:
        return False
    return is_steep(description, past, HIGH_UV)


def is_too_fast(description: int, past: I32) -> bool:
    """Return True if one wave follows the other, as high as each other and as steep as beats: not all are counted.

    The parameters are those of ``is_busy``.
    """
    return description & CROWDED > 0 and is_steep(description, past, LOW_UV)


def is_steep(description: int, past: I32, least_uv: float) -> bool:
    """Return True if the steepest wave of a block, at least ``least_uv`` in a calibrated stream, may be a beat."""
    least = least_uv if description & UNCALIBRATED == 0 else 1.0
    return steepest_slope(description) >= max(least, BUSY_SHARE * median_slope(past))


def is_at_rest(description: int, past: I32) -> bool:
    """Return True if a block is at rest, and store it; one of a signal that is not calibrated is, unless it is busy.

    Where a lead lacks values the others must be living: the heart may beat on that lead.

    Parameters
    ----------
    description
        Packed; of a block that has one.
    past : int32 [COLUMNS]
        Read and written.
    """
    calibrated = description & UNCALIBRATED == 0
    slope, wave, usual = steepest_slope(description), largest_wave(description), median_slope(past)
    at = int(past[COUNT]) % BLOCKS
    past[at] = min(MOST, slope)
    has_large = calibrated and wave >= ARTEFACT_UV
    past[ARTEFACT_BITS] = ((int(past[ARTEFACT_BITS]) << 1) | int(has_large)) & ((1 << BLOCKS) - 1)
    past[COUNT] += 1
    if not calibrated:
        return not is_busy(description, past)
    is_low = slope <= max(LOW_UV, min(HIGH_UV, SHARE * usual))
    is_dead = description & ABSENT > 0 or has_artefact(past)
    is_living = wave >= LIVING_UV and number_of(description, HALF) < LONGEST_HALF
    return is_low and (is_living or not is_dead)
