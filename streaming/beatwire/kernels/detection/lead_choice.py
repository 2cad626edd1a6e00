"""Body that chooses, peak by peak, between all leads together and the lead alone that expects the fewest errors.

In:    the peaks of all leads together, and those of each lead alone, with the logits of their trees
       (``kernels.peaks.classify``)
Out:   ``ChosenPeaks``: the peaks that the next stages judge and select beats from
State: int64 ``state[lane, source, CHOICE_COLUMNS]``; source 0 are all leads together, source ``k + 1`` is lead ``k``

All leads together are better than any of them, until one is noisier than its beats are high: then its noise hides the
beats of the others. What the trees expect says so: the errors of ``WINDOW_S``, of each source by its own peaks. All
leads together are left where these are more than ``LEAST_ERRORS`` and a lead alone expects less than half as many. A
source that accepts no peak for longer than its last interval, and half of it, or for ``SILENT_S``, has missed beats; a
lead without values is not chosen.

A chosen source stays so for ``OVERLAP_S``: a beat that two sources find at slightly different times is not lost between
them. That it may be found twice does not matter, since two beats are farther apart.

Invariant: a choice depends on the peaks of the last ``WINDOW_S``, so on the samples of 27.4 s.
"""

from beatwire.kernels.detection.beats import is_disturbance
from beatwire.kernels.intake.holes import has_absent
from beatwire.kernels.peaks.doubt import RISK_UNIT
from beatwire.kernels.peaks.risk import risk_of
from beatwire.kernels.team import member
from beatwire.records import F64, I64
from beatwire.records.columns import (
    LOGIT_COLUMNS,
    OVERRULED,
    PEAK_CEILING,
    PEAK_COLUMNS,
    PEAK_DISTURBANCE,
    PEAK_MEDIAN,
    PEAK_OF_TREES,
    PEAK_QUANTILE,
    PEAK_RESPONSE,
    PEAK_SAMPLE,
    PEAK_SOURCE,
)
from beatwire.records.detection import ChoiceSettings, ChosenPeaks, FreshLanes, PeakTable, Rings

WINDOW_S, SILENT_S, OVERLAP_S = 5.0, 2.0, 0.1
PARTS = 10  # of the window
LEAST_ERRORS = 0.3
SILENCE = 3  # errors of a source without beats
LONG_AGO = 1 << 40  # samples

# Columns of ``state`` of a source: its next row in this pass; samples of its last accepted peak and of the one
# before; the last sample where it was chosen; the latest part of the window that has a peak; from ``FIRST`` on the
# risks of part ``p`` at ``p % PARTS``, in ``RISK_UNIT``.
NEXT, ACCEPTED, BEFORE, CHOSEN, PART, FIRST = range(6)
CHOICE_COLUMNS = FIRST + PARTS


def begin_choice(state: I64, base: int, part: int) -> None:
    """Begin the state of a lane whose first sample is ``base``: no peak is known."""
    for source in range(state.shape[0]):
        state[source, ACCEPTED] = state[source, BEFORE] = state[source, CHOSEN] = base - LONG_AGO
        state[source, PART] = base // part
        for k in range(PARTS):
            state[source, FIRST + k] = 0


def enter(row: I64, part: int) -> None:
    """Move the window of a source on to ``part``; parts that it enters have no risk yet."""
    gone = min(PARTS, part - int(row[PART]))
    for k in range(gone):
        row[FIRST + (part - k) % PARTS] = 0
    row[PART] = part


def errors_of(row: I64, c: int, settings: ChoiceSettings) -> int:
    """Return the errors that a source expects at sample ``c``, in ``RISK_UNIT``."""
    enter(row, c // settings.part)
    longest = settings.silent
    if row[ACCEPTED] > row[BEFORE]:
        longest = min(longest, 3 * int(row[ACCEPTED] - row[BEFORE]) // 2)
    total = SILENCE * RISK_UNIT if c - row[ACCEPTED] > longest else 0
    for k in range(PARTS):
        total += int(row[FIRST + k])
    return total


def is_accepted(peak: I64, logit: float) -> bool:
    """Return True if a peak would be a beat (``kernels.detection.beats``) but for the floor."""
    height = int(peak[PEAK_RESPONSE])
    return bool(
        logit > 0.0
        and 100 * height > 9 * int(peak[PEAK_QUANTILE])
        and not is_disturbance(height, int(peak[PEAK_MEDIAN]), int(peak[PEAK_CEILING]))
    )


def next_source(peaks: PeakTable, alone: PeakTable, i: int, state: I64) -> int:
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
            is_left = k < alone.found[row]
            sample = int(alone.peaks[row, k, PEAK_SAMPLE]) if is_left else 0
        if is_left and (found < 0 or sample < earliest):
            found, earliest = source, sample
    return found


def best_source(c: int, base: int, lane: int, rings: Rings, state: I64, settings: ChoiceSettings) -> int:
    """Return the source that is best at sample ``c``."""
    together = errors_of(state[0], c, settings)
    if together <= int(LEAST_ERRORS * RISK_UNIT):  # as a rule
        return 0
    best, least = 0, together
    for source in range(1, state.shape[0]):
        errors = errors_of(state[source], c, settings)
        better = 2 * errors < together and errors < least
        if better and not has_absent(rings.x[lane, source - 1], base, c - settings.reach, 2 * settings.reach):
            best, least = source, errors
    return best


def choose_peaks(
    i: int, fresh: FreshLanes, peaks: PeakTable, logits: F64, alone: PeakTable, logits_alone: F64, probability: F64,
    settings: ChoiceSettings, rings: Rings, states: I64, chosen: ChosenPeaks,
) -> None:  # fmt: skip
    """Choose the peaks of lane ``fresh.lane[i]``.

    Parameters
    ----------
    peaks, logits
        Of all leads together, see ``kernels.peaks.classify.classify_peaks``.
    alone, logits_alone
        The same of each lead alone: of lead ``k`` in row ``i * leads + k``.
    probability : float64 [knots]
        Of a beat by its logit, see ``kernels.peaks.risk.beat_probability``.
    rings
        Of all leads.
    states : int64 [lanes, 1 + leads, CHOICE_COLUMNS]
        Read and written.
    chosen
        Written: all peaks of all leads together, those that are not chosen with ``OVERRULED``, and peaks of leads.
    """
    if member() > 0:
        return
    lane, base = int(fresh.lane[i]), int(fresh.base[i])
    state = states[lane]
    leads = state.shape[0] - 1
    if fresh.start[i] == base:
        begin_choice(state, base, settings.part)
    for source in range(leads + 1):
        state[source, NEXT] = 0
    n = 0
    source = next_source(peaks, alone, i, state)
    while source >= 0:
        k, row = int(state[source, NEXT]), i * leads + max(0, source - 1)
        state[source, NEXT] = k + 1
        peak = peaks.peaks[i, k] if source == 0 else alone.peaks[row, k]
        values = logits[i, k] if source == 0 else logits_alone[row, k]
        c, is_candidate = int(peak[PEAK_SAMPLE]), bool(values[PEAK_DISTURBANCE] >= 0.0)
        if is_candidate:
            enter(state[source], c // settings.part)
            risk = round(risk_of(float(values[PEAK_OF_TREES]), probability) * RISK_UNIT)
            state[source, FIRST + (c // settings.part) % PARTS] += risk
            if is_accepted(peak, float(values[PEAK_OF_TREES])):
                state[source, BEFORE], state[source, ACCEPTED] = state[source, ACCEPTED], c
        best = best_source(c, base, lane, rings, state, settings)
        state[best, CHOSEN] = c
        is_chosen = c - state[source, CHOSEN] <= settings.overlap
        if source == 0 or (is_chosen and is_candidate):
            for column in range(PEAK_COLUMNS):
                chosen.peaks[i, n, column] = peak[column]
            for column in range(LOGIT_COLUMNS):
                chosen.logits[i, n, column] = values[column]
            chosen.peaks[i, n, PEAK_SOURCE] = source if is_chosen else OVERRULED
            n += 1
        source = next_source(peaks, alone, i, state)
    chosen.found[i] = n
