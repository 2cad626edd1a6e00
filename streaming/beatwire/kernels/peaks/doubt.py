"""Bodies that judge doubtful peaks again, by the waveform.

In:    the peaks of the lanes of a pass, with the logits and expected errors of the trees (``kernels.peaks.classify``)
Out:   the same, with other logits where the trees are in doubt, and other expected errors
State: the changes of the risks of ten seconds, of each lane

Doubtful peaks are counted and listed, those of all lanes in one list, and each is judged by itself.

The trees are in doubt about a peak if they expect errors in the ten seconds up to it, and the more of them, the larger
the logits that are doubted, up to a limit. Of such a peak the network judges up to ``MOST_LEADS`` leads that have a
signal there, and the logits of the trees and of the leads are combined. The result is the trees' logit of the same
probability.

A peak hides others before it, and the network knows nothing of it: where it denies a beat at the peak, it is asked for
one where the response was as high shortly before, too. A paced beat that is fused with another one has two such waves.

What the risks of these peaks become changes the expected errors of ten seconds. The disturbance stays what the trees
expect: the rules and the judges of rhythms were made for it.

Invariant: whether the network is asked depends on the trees alone, so on the samples that these depend on.
"""

import math

from beatwire.kernels.intake.holes import NO_VALUE
from beatwire.kernels.peaks.peak_features import PAST_PEAKS
from beatwire.kernels.peaks.peak_history import forget_before
from beatwire.kernels.peaks.risk import beat_probability, risk_of
from beatwire.kernels.peaks.wave_input import BACK_S, BEFORE, gather, write_channels
from beatwire.kernels.peaks.wave_network import LOGIT_UNIT, judge_waveform
from beatwire.kernels.short_times import shortest, until
from beatwire.kernels.team import member, wait
from beatwire.records import F64, I32, I64, U8
from beatwire.records.columns import OVERRULED, PEAK_DISTURBANCE, PEAK_ERRORS, PEAK_LOGIT, PEAK_SAMPLE, PEAK_SOURCE
from beatwire.records.detection import FreshLanes, PeakTable, Rings
from beatwire.records.waveform import LogitTables, RiskChanges, WaveGrid, WaveNetwork, WaveScratch

LEAST_ERRORS = 0.1  # expected in ten seconds
# Logits that are doubted at most: below, most changes are wrong; above, few are right but in the strongest motion.
FIRST_DOUBTED, LAST_DOUBTED = -2.5, 6.0
LEAST_DOUBT, DOUBT_PER_ERROR = 2.0, 5.0
MOST_LEADS = 4
WEIGHT_UNIT = 10_000  # of the weights that combine logits: sums of integers are the same on every machine
RISK_UNIT = 1 << 14  # changes of risks are int16, this many an error: their sum is the same in any order
PAST_CHANGES = PAST_PEAKS
CHANGE_COUNT, LAST_CHANGE = range(2)  # columns of ``RiskChanges.log``
CHANGE_COLUMNS = 2
HIDDEN_S = 0.15, 0.1  # before a peak: what is further away is another wave, what is nearer the same
REACH_S = BACK_S + HIDDEN_S[0]  # of the samples before a peak that are read
HIDDEN_TENTHS = 6  # of a peak's response: a lower wave before it is not asked for


def in_doubt(logit: float, errors: float) -> bool:
    """Return True if a peak with this logit and these expected errors is judged again; NaN: it is no candidate."""
    last = min(LAST_DOUBTED, LEAST_DOUBT + DOUBT_PER_ERROR * errors)
    doubted: bool = errors > LEAST_ERRORS and FIRST_DOUBTED < logit < last
    return doubted


def hidden_peak(f: I32, base: int, c: int, grid: WaveGrid) -> int:
    """Return the sample of the largest response before the peak ``c`` that hides it; ``c`` if that is much lower."""
    size, found = f.shape[0], c
    highest = HIDDEN_TENTHS * int(f[c % size]) // 10
    for k in range(max(base, c - grid.hidden_from), c - grid.hidden_to + 1):
        if f[k % size] > highest:
            found, highest = k, int(f[k % size])
    return found


def weight_of(network: WaveNetwork, row: int, k: int) -> int:
    """Return a weight of the combined logit in ``WEIGHT_UNIT``."""
    weight: int = round(network.combination[row, k] * WEIGHT_UNIT)
    return weight


def odds(
    logit: float, c: int, source: int, base: int, rings: Rings, past: U8, lane: int, grid: WaveGrid,
    network: WaveNetwork, scratch: WaveScratch,
) -> float:  # fmt: skip
    """Return the logit of the trees combined with those of the leads at sample ``c``; NaN if no lead has a signal.

    Of a peak of one lead alone (``source``, see ``PEAK_SOURCE``) it is that lead.
    """
    x, points, used = rings.x[lane], grid.offset.shape[0], 0
    total = highest = 0
    for lead in range(x.shape[0]):
        if used == MOST_LEADS or (source > 0 and lead != source - 1) or x[lead, c % x.shape[1]] == NO_VALUE:
            continue
        early = max(0, gather(x[lead], past[lane, lead], base, c, grid, scratch.numbers) - BEFORE)
        if write_channels(scratch.numbers, points, network.compressed, early, scratch.frames[0]) == 0:
            continue
        found = judge_waveform(scratch.frames[0], early, network, scratch.frames, scratch.rows)
        total += found
        highest = found if used == 0 else max(highest, found)
        used += 1
    if used == 0:
        return math.nan
    row = min(used, 2) - 1
    sums = weight_of(network, row, 0) * LOGIT_UNIT + weight_of(network, row, 1) * round(logit * LOGIT_UNIT)
    sums += weight_of(network, row, 2) * (total // used) + weight_of(network, row, 3) * highest
    return sums / (WEIGHT_UNIT * LOGIT_UNIT)


def combined(
    logit: float, c: int, source: int, base: int, rings: Rings, past: U8, lane: int, grid: WaveGrid,
    network: WaveNetwork, scale: F64, scratch: WaveScratch,
) -> float:  # fmt: skip
    """Return the logit of the trees combined with those of the leads; itself if no lead has a signal.

    ``scale`` has the trees' logit of the same probability, at knots as those of ``risk.beat_probability``.
    """
    together = odds(logit, c, source, base, rings, past, lane, grid, network, scratch)
    if math.isnan(together):
        return logit
    if together <= 0.0 < logit and source == 0:
        hidden = hidden_peak(rings.f[lane], base, c, grid)
        if hidden < c:
            there = odds(logit, hidden, source, base, rings, past, lane, grid, network, scratch)
            if there > together:
                together = there
    return beat_probability(together, scale)


def is_doubtful(i: int, k: int, peaks: PeakTable, logits: F64) -> bool:
    """Return True if peak ``k`` of row ``i`` is judged again."""
    return peaks.peaks[i, k, PEAK_SOURCE] != OVERRULED and in_doubt(
        float(logits[i, k, PEAK_LOGIT]), float(logits[i, k, PEAK_DISTURBANCE])
    )


def copy_logits(i: int, peaks: PeakTable, logits: F64, judged: F64) -> None:
    """Write the logits and expected errors of the peaks of row ``i`` to ``judged``, of the same shape."""
    for k in range(int(peaks.found[i])):
        for column in range(logits.shape[2]):
            judged[i, k, column] = logits[i, k, column]


def count_doubts(i: int, peaks: PeakTable, logits: F64, count: I64) -> None:
    """Write the number of doubtful peaks of row ``i`` to ``count[i]``.

    Parameters
    ----------
    logits : float64 [n, most, LOGIT_COLUMNS]
        Of each peak the logit and the expected errors, see ``classify.classify_peaks``.
    """
    doubts = 0
    for k in range(int(peaks.found[i])):
        if is_doubtful(i, k, peaks, logits):
            doubts += 1
    count[i] = doubts


def list_doubts(i: int, peaks: PeakTable, logits: F64, first: I64, asked: I64) -> None:
    """Write item and number of the doubtful peaks of row ``i`` to the rows of ``asked`` from ``first[i]`` on."""
    at = int(first[i])
    for k in range(int(peaks.found[i])):
        if is_doubtful(i, k, peaks, logits):
            asked[at, 0], asked[at, 1] = i, k
            at += 1


def judge_doubt(
    j: int, asked: I64, fresh: FreshLanes, peaks: PeakTable, rings: Rings, past: U8, grid: WaveGrid,
    network: WaveNetwork, tables: LogitTables, scratch: WaveScratch, logits: F64, change: I64,
) -> None:  # fmt: skip
    """Replace the logit of the peak in row ``j`` of ``asked`` by the combined one.

    ``change[j]`` becomes the change of the peak's risk, in ``RISK_UNIT``.
    """
    i, k = int(asked[j, 0]), int(asked[j, 1])
    lane, base, c = int(fresh.lane[i]), int(fresh.base[i]), int(peaks.peaks[i, k, PEAK_SAMPLE])
    of_trees = float(logits[i, k, PEAK_LOGIT])
    logit = combined(
        of_trees, c, int(peaks.peaks[i, k, PEAK_SOURCE]), base, rings, past, lane, grid, network, tables.scale, scratch
    )
    wait()  # all members have read the logit
    if member() == 0:
        logits[i, k, PEAK_LOGIT] = logit
        more = risk_of(logit, tables.probability) - risk_of(of_trees, tables.probability)
        change[j] = round(more * RISK_UNIT)


def correct_errors(
    i: int, fresh: FreshLanes, peaks: PeakTable, asked: I64, first: I64, change: I64, lookback: int,
    changes: RiskChanges, logits: F64,
) -> None:  # fmt: skip
    """Add to the expected errors of each peak of a lane the changes of the risks of ten seconds.

    Parameters
    ----------
    asked, first, change
        The doubtful peaks of the lane are the rows ``first[i]`` to ``first[i + 1]``; ``change`` as ``judge_doubt``
        writes it.
    lookback
        Ten seconds in samples.
    changes
        Of the lanes; read and written.
    """
    lane = fresh.lane[i]
    log, sample, past = changes.log[lane], changes.sample[lane], changes.past[lane]
    if fresh.start[i] == fresh.base[i]:
        log[CHANGE_COUNT] = 0
    row = int(first[i])
    for k in range(int(peaks.found[i])):
        c = int(peaks.peaks[i, k, PEAK_SAMPLE])
        forget_before(c, lookback, CHANGE_COUNT, LAST_CHANGE, log)
        if row < first[i + 1] and asked[row, 1] == k:
            at = int(log[CHANGE_COUNT]) % PAST_CHANGES
            sample[at], past[at] = shortest(c), change[row]
            log[LAST_CHANGE] = c
            log[CHANGE_COUNT] += 1
            row += 1
        total, at, count = 0, int(log[CHANGE_COUNT]) % PAST_CHANGES, min(PAST_CHANGES, int(log[CHANGE_COUNT]))
        for _ in range(count):
            at = PAST_CHANGES - 1 if at == 0 else at - 1
            if until(c, int(sample[at])) > lookback:
                break
            total += int(past[at])
        if total != 0 and logits[i, k, PEAK_ERRORS] >= 0.0:  # it is a candidate
            logits[i, k, PEAK_ERRORS] = max(0.0, float(logits[i, k, PEAK_ERRORS]) + total / RISK_UNIT)
