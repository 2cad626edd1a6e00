"""Bodies that judge doubtful peaks again, by the waveform.

In:    the peaks of the lanes of a pass, with the logits and expected errors of the trees (``kernels.peaks.classify``)
Out:   the same, changed where the trees are in doubt
State: ``DoubtMemory``

Doubtful peaks are counted and listed, those of all lanes in one list. Each is judged by itself, and lanes take their
peaks from the list in order.

The trees are in doubt about a peak if they expect errors in the ten seconds up to it, and the more of them, the larger
the logits that are doubted. Of such a peak the network judges up to ``MOST_LEADS`` leads that have a signal there, and
the logits of the trees and of the leads are combined.

Invariant: whether the network is asked depends on the trees alone, so on the samples that these depend on.
"""

from beatwire.kernels.intake.holes import NO_VALUE
from beatwire.kernels.peaks.classify import LOGIT_RANGE, beat_probability
from beatwire.kernels.peaks.peak_features import PAST_PEAKS
from beatwire.kernels.peaks.wave_input import BEFORE, gather, write_channels
from beatwire.kernels.peaks.wave_network import LOGIT_UNIT, judge_waveform
from beatwire.kernels.team import member
from beatwire.records import F64, I64
from beatwire.records.columns import PEAK_SAMPLE
from beatwire.records.detection import FreshLanes, PeakTable, Rings
from beatwire.records.waveform import DoubtMemory, WaveGrid, WaveNetwork, WaveScratch

LEAST_ERRORS = 0.3  # expected in ten seconds
LEAST_DOUBT, DOUBT_PER_ERROR = 2.0, 5.0  # logits that are doubted
MOST_LEADS = 4
START_PART = 25  # of the lookback: 0.4 s, in which the peaks of a lane stay with the trees (``classify.FIRST_LOGIT``)
LOG_COLUMNS = 1 + PAST_PEAKS


def in_doubt(logit: float, errors: float) -> bool:
    """Return True if a peak with this logit and these expected errors is judged again; NaN: it is no candidate."""
    doubted: bool = errors > LEAST_ERRORS and abs(logit) < min(LOGIT_RANGE, LEAST_DOUBT + DOUBT_PER_ERROR * errors)
    return doubted


def risk_of(logit: float, probability: F64) -> float:
    """Return the probability that the classification of a peak with this logit is wrong."""
    chance = beat_probability(logit, probability)
    return 1.0 - chance if logit > 0.0 else chance


def combined(
    logit: float, c: int, base: int, rings: Rings, lane: int, grid: WaveGrid, network: WaveNetwork, scratch: WaveScratch
) -> float:
    """Return the logit of the trees combined with those of the leads; itself if no lead has a signal."""
    x, points, used = rings.x[lane], grid.offset.shape[0], 0
    total = highest = 0
    for lead in range(x.shape[0]):
        if used == MOST_LEADS or x[lead, c % x.shape[1]] == NO_VALUE:
            continue
        early = max(0, gather(x[lead], base, c, grid, scratch.numbers) - BEFORE)
        if write_channels(scratch.numbers, points, network.compressed, early, scratch.frames[0]) == 0:
            continue
        found = judge_waveform(scratch.frames[0], early, network, scratch.frames, scratch.rows)
        total += found
        highest = found if used == 0 else max(highest, found)
        used += 1
    if used == 0:
        return logit
    weights = network.combination[min(used, 2) - 1]
    mean = total / (used * LOGIT_UNIT)
    return float(weights[0] + weights[1] * logit + weights[2] * mean + weights[3] * (highest / LOGIT_UNIT))


def is_doubtful(i: int, k: int, fresh: FreshLanes, peaks: PeakTable, lookback: int, logits: F64) -> bool:
    """Return True if peak ``k`` of lane ``fresh.lane[i]`` is judged again."""
    since = int(peaks.peaks[i, k, PEAK_SAMPLE]) - int(fresh.base[i])
    return since >= lookback // START_PART and in_doubt(float(logits[i, k, 0]), float(logits[i, k, 1]))


def count_doubts(i: int, fresh: FreshLanes, peaks: PeakTable, lookback: int, logits: F64, count: I64) -> None:
    """Write the number of doubtful peaks of lane ``fresh.lane[i]`` to ``count[i]``.

    Parameters
    ----------
    lookback
        Ten seconds, in samples.
    logits : float64 [n, most, 2]
        Of each peak the logit and the expected errors, see ``classify.classify_peaks``.
    """
    doubts = 0
    for k in range(int(peaks.found[i])):
        if is_doubtful(i, k, fresh, peaks, lookback, logits):
            doubts += 1
    count[i] = doubts


def list_doubts(
    i: int, fresh: FreshLanes, peaks: PeakTable, lookback: int, logits: F64, first: I64, asked: I64
) -> None:
    """Write item and number of the doubtful peaks of a lane to the rows of ``asked`` from ``first[i]`` on."""
    at = int(first[i])
    for k in range(int(peaks.found[i])):
        if is_doubtful(i, k, fresh, peaks, lookback, logits):
            asked[at, 0], asked[at, 1] = i, k
            at += 1


def judge_doubt(
    j: int, asked: I64, fresh: FreshLanes, peaks: PeakTable, rings: Rings, grid: WaveGrid, network: WaveNetwork,
    scratch: WaveScratch, logits: F64, again: F64,
) -> None:  # fmt: skip
    """Write the combined logit of the peak in row ``j`` of ``asked`` to ``again[j]``."""
    i, k = int(asked[j, 0]), int(asked[j, 1])
    lane, base, c = int(fresh.lane[i]), int(fresh.base[i]), int(peaks.peaks[i, k, PEAK_SAMPLE])
    logit = combined(float(logits[i, k, 0]), c, base, rings, lane, grid, network, scratch)
    if member() == 0:
        again[j] = min(LOGIT_RANGE, max(-LOGIT_RANGE, logit))


def note_doubts(
    i: int, fresh: FreshLanes, peaks: PeakTable, first: I64, asked: I64, again: F64, probability: F64,
    memory: DoubtMemory, lookback: int, logits: F64,
) -> None:  # fmt: skip
    """Change the logits and the expected errors of lane ``fresh.lane[i]`` by what was judged ``again``.

    Parameters
    ----------
    memory
        Read and written.
    logits
        Read and written.
    """
    log, risk = memory.log[int(fresh.lane[i])], memory.risk[int(fresh.lane[i])]
    if fresh.start[i] == fresh.base[i]:
        log[0] = 0
    at = int(first[i])
    for k in range(int(peaks.found[i])):
        c, errors = int(peaks.peaks[i, k, PEAK_SAMPLE]), float(logits[i, k, 1])
        if not errors >= 0.0:  # no candidate
            continue
        if at < first[i + 1] and asked[at, 1] == k:
            row = int(log[0]) % PAST_PEAKS
            log[1 + row] = c
            risk[row] = risk_of(float(again[at]), probability) - risk_of(float(logits[i, k, 0]), probability)
            log[0] += 1
            logits[i, k, 0] = again[at]
            at += 1
        row = int(log[0]) % PAST_PEAKS
        for _ in range(min(PAST_PEAKS, int(log[0]))):
            row = PAST_PEAKS - 1 if row == 0 else row - 1
            if c - log[1 + row] > lookback:
                break
            errors += float(risk[row])
        logits[i, k, 1] = max(errors, 0.0)
