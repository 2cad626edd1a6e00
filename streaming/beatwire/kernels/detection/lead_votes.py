"""Body that decides late between the leads: whether a beat is one of all leads together or of the best lead alone.

In:    the peaks of all leads together, and those of each lead alone, with logits and expected errors
       (``kernels.peaks.classify``)
Out:   ``ChosenPeaks``: the peaks that the next stage selects beats from
State: int64 ``state[lane, source, VOTE_COLUMNS]`` and float64 ``errors[lane, source]``; source 0 are all leads
       together, source ``k + 1`` is lead ``k``

All leads together are better than any of them, until one is noisier than its beats are high: then its noise hides the
beats of the others. The *best* lead is the one whose trees expect the fewest errors among those that had an accepted
peak in the last ``SEEN_S``: a lead without beats may be sure that there are none. Where it and all leads together find
the same beat, nothing has to be decided. For a peak that only one of them has, ``evidence`` is a weighted sum of what
speaks for the best lead: the expected errors of both and of the second best lead, how irregular the accepted peaks of
both are, and how many of each the other lacks. If it is above zero a peak of all leads is overruled (a fast rhythm may
need it nevertheless), else one of the best lead left out; a lead that is not the best has no vote. The weights are
those of a logistic regression on half of the people, with noise on one lead at a time.

So is a peak if a chosen one of another source is less than ``APART_S`` before it: it is the same beat.

Invariant: a choice depends on the accepted peaks and the expected errors of the last ten seconds, not on earlier
choices but those within ``APART_S``: so on the samples of 42.4 s.
"""

from __future__ import annotations

from beatwire.kernels.detection.beats import is_disturbance
from beatwire.kernels.team import member
from beatwire.records import F64, I64
from beatwire.records.columns import (
    PEAK_BESIDE,
    PEAK_CEILING,
    PEAK_MEDIAN,
    PEAK_OF_LEAD,
    PEAK_OVERRULED,
    PEAK_QUANTILE,
    PEAK_RESPONSE,
    PEAK_SAMPLE,
)
from beatwire.records.detection import ChosenPeaks, FreshLanes, LeadVotes, PeakTable, VoteLimits

SEEN_S, PAST_S, NEAR_S, YOUNG_S, APART_S = 1.5, 10.0, 0.12, 0.15, 0.2
KEPT = 48  # more than the accepted peaks of ten seconds
FEWEST = 4  # accepted peaks whose intervals tell how irregular they are
NO_LEAD = 99.0  # errors where there is no such lead
LONG_AGO = 1 << 40  # samples

# Of the evidence for the best lead, see there.
TOGETHER_TENTH, TOGETHER_ONE = -1.25, 3.02
BEST_TENTH, BEST_ONE = -0.63, -2.75
SECOND_TENTH, SECOND_ONE = 2.1, -0.08
IRREGULAR_TOGETHER, IRREGULAR_LEAD = -0.18, -0.39
ALONE_TOGETHER, ALONE_LEAD = -0.29, 0.99
A_BEAT = 1.11  # either way: more beats that one source lacks are beats
ALWAYS = 0.16

# Columns of ``state`` of a source: its next row in this pass; sample of its last accepted peak (of all leads together,
# of their last candidate) and of its last chosen peak; number of its accepted peaks so far; from ``FIRST`` on the
# sample of accepted peak ``k`` at ``k % KEPT``.
NEXT, LAST, CHOSEN, COUNT, FIRST = range(5)
VOTE_COLUMNS = FIRST + KEPT


def begin_votes(state: I64, errors: F64, base: int) -> None:
    """Begin the state of a lane whose first sample is ``base``: no peak is known."""
    for source in range(state.shape[0]):
        state[source, LAST] = state[source, CHOSEN] = base - LONG_AGO
        state[source, COUNT] = 0
        errors[source] = 0.0


def is_accepted(peak: I64, logit: float, floor: int) -> bool:
    """Return True if a peak would be a beat (``kernels.detection.beats``); no beat is below ``floor``."""
    height = int(peak[PEAK_RESPONSE])
    return bool(
        logit > 0.0
        and height >= floor
        and 100 * height > 9 * int(peak[PEAK_QUANTILE])
        and not is_disturbance(height, int(peak[PEAK_MEDIAN]), int(peak[PEAK_CEILING]))
    )


def count_recent(row: I64, since: int) -> int:
    """Return how many accepted peaks of a source are at sample ``since`` or after it."""
    total = int(row[COUNT])
    most = min(total, KEPT)
    n = 0
    while n < most and row[FIRST + (total - 1 - n) % KEPT] >= since:
        n += 1
    return n


def irregularity(row: I64, n: int) -> float:
    """Return the mean change of the intervals between the last ``n`` accepted peaks over their mean, at most 1."""
    if n < FEWEST:
        return 0.5
    total = int(row[COUNT])
    newer = changes = 0
    for k in range(1, n):
        interval = int(row[FIRST + (total - k) % KEPT]) - int(row[FIRST + (total - 1 - k) % KEPT])
        if k > 1:
            changes += abs(interval - newer)
        newer = interval
    whole = int(row[FIRST + (total - 1) % KEPT]) - int(row[FIRST + (total - n) % KEPT])
    return min(1.0, changes / max(1, whole))


def count_alone(row: I64, n: int, other: I64, n_other: int, before: int, near: int) -> int:
    """Return how many of the last ``n`` accepted peaks, those before sample ``before``, the other source lacks."""
    total, other_total = int(row[COUNT]), int(other[COUNT])
    alone = j = 0
    for k in range(n):
        sample = int(row[FIRST + (total - 1 - k) % KEPT])
        if sample >= before:
            continue
        while j < n_other and other[FIRST + (other_total - 1 - j) % KEPT] > sample + near:
            j += 1
        if j == n_other or other[FIRST + (other_total - 1 - j) % KEPT] < sample - near:
            alone += 1
    return alone


def share(value: float, half: float) -> float:
    """Return a value as a share of itself and ``half``: 0 to 1."""
    return value / (value + half)


def evidence(
    together: float, best: float, second: float, all_leads: I64, lead: I64, t: int, limits: VoteLimits, of_lead: bool
) -> float:
    """Return the evidence for the best lead at sample ``t``; above 0 it is better than all leads together.

    Parameters
    ----------
    together, best, second
        Errors expected of all leads together, of the best lead, and of the second best.
    all_leads, lead : int64 [VOTE_COLUMNS]
        ``state`` of all leads together and of the best lead.
    of_lead
        Whether the peak at ``t`` is one of the lead.
    """
    n, n_lead = count_recent(all_leads, t - limits.past), count_recent(lead, t - limits.past)
    alone = count_alone(all_leads, n, lead, n_lead, t - limits.young, limits.near)
    lead_alone = count_alone(lead, n_lead, all_leads, n, t - limits.young, limits.near)
    total = ALWAYS + (A_BEAT if of_lead else -A_BEAT)
    total += TOGETHER_TENTH * share(together, 0.1) + TOGETHER_ONE * share(together, 1.0)
    total += BEST_TENTH * share(best, 0.1) + BEST_ONE * share(best, 1.0)
    total += SECOND_TENTH * share(second, 0.1) + SECOND_ONE * share(second, 1.0)
    total += IRREGULAR_TOGETHER * irregularity(all_leads, n) + IRREGULAR_LEAD * irregularity(lead, n_lead)
    total += ALONE_TOGETHER * share(float(alone), 2.0) + ALONE_LEAD * share(float(lead_alone), 2.0)
    return total


def next_source(peaks: PeakTable, own: PeakTable, i: int, state: I64) -> int:
    """Return the source with the earliest peak that has not been looked at, -1: there is none."""
    leads = state.shape[0] - 1
    found, earliest = -1, 0
    for source in range(leads + 1):
        k = int(state[source, NEXT])
        if source == 0:
            is_left = k < peaks.found[i]
            sample = int(peaks.peaks[i, k, PEAK_SAMPLE]) if is_left else 0
        else:
            row = i * leads + source - 1
            is_left = k < own.found[row]
            sample = int(own.peaks[row, k, PEAK_SAMPLE]) if is_left else 0
        if is_left and (found < 0 or sample < earliest):
            found, earliest = source, sample
    return found


def vote_leads(
    i: int, fresh: FreshLanes, peaks: PeakTable, logits: F64, own: PeakTable, own_logits: F64, uv_per_unit: F64,
    limits: VoteLimits, votes: LeadVotes, chosen: ChosenPeaks,
) -> None:  # fmt: skip
    """Choose the peaks of lane ``fresh.lane[i]``.

    Parameters
    ----------
    peaks, logits
        Of all leads together, see ``kernels.peaks.classify.classify_peaks``.
    own, own_logits
        The same of each lead alone: of lead ``k`` in row ``i * leads + k``.
    uv_per_unit : float64 [n]
        0: not calibrated, the floor does not apply.
    votes
        Read and written.
    chosen
        Written.
    """
    if member() > 0:
        return
    state, errors = votes.state[fresh.lane[i]], votes.errors[fresh.lane[i]]
    sources = state.shape[0]
    if fresh.start[i] == fresh.base[i]:
        begin_votes(state, errors, int(fresh.base[i]))
    for source in range(sources):
        state[source, NEXT] = 0
    floor = 0
    if uv_per_unit[i] > 0:
        floor = round(limits.floor / uv_per_unit[i])
    n = 0
    source = next_source(peaks, own, i, state)
    while source >= 0:
        k = int(state[source, NEXT])
        state[source, NEXT] = k + 1
        row = i * (sources - 1) + max(0, source - 1)
        peak = peaks.peaks[i, k] if source == 0 else own.peaks[row, k]
        values = logits[i, k] if source == 0 else own_logits[row, k]
        t, logit, expected = int(peak[PEAK_SAMPLE]), float(values[0]), float(values[1])
        if expected >= 0.0:  # else it is no candidate
            errors[source] = expected
            if source == 0:
                state[source, LAST] = t
        accepted = is_accepted(peak, logit, floor)
        if accepted:
            state[source, LAST] = t
            state[source, FIRST + int(state[source, COUNT]) % KEPT] = t
            state[source, COUNT] += 1
        best, least, second = 0, NO_LEAD, NO_LEAD
        for lead in range(1, sources):
            if t - state[lead, LAST] < limits.seen and errors[lead] < second:
                if errors[lead] < least:
                    best, least, second = lead, float(errors[lead]), least
                else:
                    second = float(errors[lead])
        is_chosen = source == 0
        if best > 0 and (source == 0 or (source == best and accepted)):
            together = float(errors[0]) if t - state[0, LAST] < limits.past else 0.0
            proof = evidence(together, least, second, state[0], state[best], t, limits, source > 0)
            is_chosen = proof > 0.0 if source > 0 else proof <= 0.0
        if is_chosen and accepted:
            state[source, CHOSEN] = t
            for other in range(sources):
                if other != source and t - state[other, CHOSEN] <= limits.apart:
                    is_chosen = False
        if source == 0 or is_chosen:
            for column in range(peak.shape[0]):
                chosen.peaks[i, n, column] = peak[column]
            chosen.peaks[i, n, PEAK_BESIDE] |= PEAK_OF_LEAD if source > 0 else (0 if is_chosen else PEAK_OVERRULED)
            chosen.logits[i, n, 0], chosen.logits[i, n, 1] = logit, expected
            n += 1
        source = next_source(peaks, own, i, state)
    chosen.found[i] = n
