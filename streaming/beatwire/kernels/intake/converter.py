"""Body that finds blocks in which a lead stands at the limits of its converter: there is no signal in it.

In:    the samples of a block
Out:   whether a lead is saturated
State: none

A lead stands at a limit if an eighth of the block, a quarter of a second of two, equals the largest or the least
sample, and that is ``FAR_NANOVOLTS`` from zero or more. Messages do not contain the limits; monitors take 5 mV (IEC
60601-2-27), and no wave of a heart stays at one value for so long.
"""

from beatwire.kernels.team import WIDTH, added, member
from beatwire.records import I16

FAR_NANOVOLTS = 4_000_000
FAR_UNITS = 32_000  # without calibration
SHARE = 8  # of the block is one of so many parts


def is_limited(ring: I16, first: int, length: int, least: int, largest: int, nanovolts: int) -> bool:
    """Return True if a lead is saturated in the block that begins at sample ``first``; all members call it.

    Parameters
    ----------
    ring
        Its samples; those of the block have values.
    least, largest
        Of the block.
    nanovolts
        Of a unit; 0: not calibrated.
    """
    far = limit_of(nanovolts)
    if largest < far and least > -far:
        return False
    size = ring.shape[0]
    before = first % size
    high = low = 0
    for j in range(member(), length, WIDTH):
        column = before + j
        value = int(ring[column if column < size else column - size])
        high += int(value == largest)
        low += int(value == least)
    return are_limits(least, added(low), largest, added(high), length, nanovolts)


def are_limits(least: int, low: int, largest: int, high: int, length: int, nanovolts: int) -> bool:
    """Return True if the least or the largest of ``length`` samples, which so many equal, is a limit."""
    far = limit_of(nanovolts)
    return (largest >= far and SHARE * high >= length) or (least <= -far and SHARE * low >= length)


def limit_of(nanovolts: int) -> int:
    """Return from where on a sample may be at a limit."""
    return min(FAR_UNITS, FAR_NANOVOLTS // nanovolts) if nanovolts > 0 else FAR_UNITS
