"""Body that finds blocks in which a lead stands at the limits of its converter: there is no signal in it.

In:    the samples of a block
Out:   whether a lead is saturated
State: none

A lead stands at a limit if an eighth of the block, a quarter of a second of two, equals the largest or the least
sample, and that is ``FAR_NANOVOLTS`` from zero or more. Messages do not contain the limits; monitors take 5 mV (IEC
60601-2-27), and no wave of a heart stays at one value for so long.
"""

from beatwire.kernels.extremes import highest, lowest
from beatwire.kernels.intake.holes import NO_VALUE
from beatwire.kernels.team import WIDTH, added, member
from beatwire.records import I16

FAR_NANOVOLTS = 4_000_000
FAR_UNITS = 32_000  # without calibration
SHARE = 8  # of the block is one of so many parts


def is_limited(leads: I16, first: int, length: int, nanovolts: int) -> bool:
    """Return True if one of the leads, rings of samples, is saturated in the block that begins at sample ``first``.

    Parameters
    ----------
    nanovolts
        Of a unit; 0: not calibrated. All members of the team call it.
    """
    far = min(FAR_UNITS, FAR_NANOVOLTS // nanovolts) if nanovolts > 0 else FAR_UNITS
    found = False
    for k in range(leads.shape[0]):
        lead = leads[k]
        largest, least = highest(lead, first, length), lowest(lead, first, length)
        if least > NO_VALUE and (largest >= far or least <= -far):  # a lead that is absent says nothing
            size = lead.shape[0]
            before = first % size
            high = low = 0
            for j in range(member(), length, WIDTH):
                column = before + j
                value = int(lead[column if column < size else column - size])
                high += int(value == largest)
                low += int(value == least)
            high, low = added(high), added(low)
            found = found or (largest >= far and SHARE * high >= length) or (least <= -far and SHARE * low >= length)
    return found
