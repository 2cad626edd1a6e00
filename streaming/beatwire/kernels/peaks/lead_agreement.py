"""Body that compares the leads at a peak: a beat has its usual share on each of them, an artefact has not.

In:    the response of each lead, ``numbers[LEAD_RESPONSES:]``, and the lane's past peaks
Out:   five features (``kernels.peaks.peak_features``), written by one member of the team
State: none

The response of a lead is the magnitude of its wavelet of 22 ms. Its usual response is the mean at the last
``MOST_HIGH_PEAKS`` high peaks of the last ten seconds, at those where it has values. Leads that were silent at these
take no part, and neither do those without values at the peak, or at all but one of these.
"""

from beatwire.kernels.peaks.peak_features import (
    EVEN,
    FIRST_LEAD,
    HIGHEST_LEAD,
    LEAD_RESPONSES,
    LOOKBACK,
    LOWEST_LEAD,
    PAST_COLUMNS,
    PAST_HEIGHT,
    PAST_PEAKS,
    PEAK_COUNT,
    TURNED,
)
from beatwire.kernels.peaks.peak_history import is_disturbance
from beatwire.kernels.peaks.stored_peak import NO_SIZE, size_of
from beatwire.kernels.short_times import until
from beatwire.records import F32, F64, I64
from beatwire.records.classification import PeakMemory

MOST_HIGH_PEAKS = 9
FEWEST_HIGH_PEAKS = 2


def past_columns(leads: int) -> int:
    """Return the columns of a past peak in a stream of ``leads`` leads."""
    return PAST_COLUMNS + (leads if leads > 1 else 0)


def write_neutral(features: F32) -> None:
    """Write the features of a peak that can be compared with nothing."""
    features[FIRST_LEAD] = features[LOWEST_LEAD] = features[HIGHEST_LEAD] = features[EVEN] = 1.0
    features[TURNED] = 0.0


def compare_leads(
    c: int, height: float, level: float, spans: I64, memory: PeakMemory, numbers: F64, features: F32
) -> None:
    """Write the features of the leads at the peak at sample ``c``.

    Parameters
    ----------
    height, level
        Response of the peak, and level of the response.
    spans : int64 [11]
        ``peak_features.SPAN_S`` in samples.
    memory
        The lane's past peaks.
    numbers : float64 [PAST_PEAKS]
        Scratch; the leads' responses stand from ``LEAD_RESPONSES`` on.
    features : float32 [FEATURES], written
    """
    past = memory.past
    leads = past.shape[1] - PAST_COLUMNS
    usual, response = numbers[:leads], numbers[LEAD_RESPONSES : LEAD_RESPONSES + leads]
    present = numbers[LEAD_RESPONSES + leads : LEAD_RESPONSES + 2 * leads]
    for lead in range(leads):
        usual[lead] = present[lead] = 0.0
    high = 0
    total = int(memory.log[PEAK_COUNT])
    at = total % PAST_PEAKS
    for _ in range(min(total, PAST_PEAKS)):
        at = PAST_PEAKS - 1 if at == 0 else at - 1
        if high == MOST_HIGH_PEAKS or until(c, int(memory.sample[at])) > spans[LOOKBACK]:
            break
        other = size_of(past[at, PAST_HEIGHT])
        if other > 0.5 * level and not is_disturbance(other, height, level):
            high += 1
            for lead in range(leads):
                if past[at, PAST_COLUMNS + lead] != NO_SIZE:
                    usual[lead] += size_of(past[at, PAST_COLUMNS + lead])
                    present[lead] += 1.0
    write_neutral(features)
    response_sum = usual_sum = 0.0
    for lead in range(leads):
        if response[lead] < 0.0 or present[lead] < FEWEST_HIGH_PEAKS:
            present[lead] = 0.0
        else:
            usual[lead] = usual[lead] / present[lead]
            response_sum += response[lead]
            usual_sum += usual[lead]
    if high < FEWEST_HIGH_PEAKS or response_sum <= 0.0 or usual_sum <= 0.0:
        return
    compared = 0
    first = lowest = highest = ratios = turned = 0.0
    for lead in range(leads):
        if present[lead] == 0.0 or usual[lead] < 1.0:
            continue
        ratio = response[lead] / usual[lead]
        if compared == 0 and (lead == 0 or present[0] == 0.0):
            first = ratio
        lowest = ratio if compared == 0 else min(lowest, ratio)
        highest = max(highest, ratio)
        ratios += ratio
        turned += abs(response[lead] / response_sum - usual[lead] / usual_sum)
        compared += 1
    features[FIRST_LEAD], features[LOWEST_LEAD], features[HIGHEST_LEAD] = first, lowest, highest
    features[EVEN] = ratios / max(1, compared)
    features[TURNED] = turned
