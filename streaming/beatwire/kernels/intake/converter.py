"""Body that finds blocks in which leads stand at the limits of their converters: there is no signal in them.

In:    the samples of a block
Out:   whether a lead is saturated, or all are throughout
State: none

A lead stands at a limit if an eighth of the block, a quarter of a second of two, equals the largest or the least
sample, and that is ``FAR_NANOVOLTS`` from zero or more. Messages do not contain the limits; monitors take 5 mV (IEC
60601-2-27), and no wave of a heart stays at one value for so long. It stands there throughout if three quarters of the
block do: of waves that are clipped not even half.
"""

from beatwire.kernels.extremes import highest, lowest
from beatwire.kernels.intake.holes import NO_VALUE
from beatwire.kernels.team import WIDTH, added, member
from beatwire.records import I16

FAR_NANOVOLTS = 4_000_000
FAR_UNITS = 32_000  # without calibration
SHARE = 8  # of the block is one of so many parts
THROUGHOUT = 3  # quarters of the block
NO_LEAD, A_LEAD, ALL_LEADS = range(3)


def limited_leads(leads: I16, first: int, length: int, nanovolts: int) -> int:
    """Return which leads, rings of samples, are saturated in the block that begins at sample ``first``.

    ``A_LEAD`` is one at least, ``ALL_LEADS`` all that have values, throughout.

    Parameters
    ----------
    nanovolts
        Of a unit; 0: not calibrated. All members of the team call it.
    """
    far = min(FAR_UNITS, FAR_NANOVOLTS // nanovolts) if nanovolts > 0 else FAR_UNITS
    found, all_leads = False, True
    for k in range(leads.shape[0]):
        lead = leads[k]
        largest, least = highest(lead, first, length), lowest(lead, first, length)
        held = 0
        if least > NO_VALUE and (largest >= far or least <= -far):
            size = lead.shape[0]
            before = first % size
            high = low = 0
            for j in range(member(), length, WIDTH):
                column = before + j
                value = int(lead[column if column < size else column - size])
                high += int(value == largest)
                low += int(value == least)
            high, low = added(high), added(low)
            held = max(high if largest >= far else 0, low if least <= -far else 0)
        found = found or SHARE * held >= length
        if largest > NO_VALUE and 4 * held < THROUGHOUT * length:  # a lead that is absent says nothing
            all_leads = False
    if not found:
        return NO_LEAD
    return ALL_LEADS if all_leads else A_LEAD
