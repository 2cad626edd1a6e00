"""Body that judges doubtful peaks again, by the waveform.

In:    the peaks of the lanes of a pass, with the logits and expected errors of the trees (``kernels.peaks.classify``)
Out:   the same, changed where the trees are in doubt
State: ``DoubtMemory``

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
from beatwire.kernels.team import member, wait
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


def updated_errors(
    c: int, errors: float, doubted: bool, logit: float, again: float, probability: F64, log: I64, risk: F64,
    lookback: int,
) -> float:  # fmt: skip
    """Return the expected errors up to a peak after the judgements of the last ten seconds; note one of the peak."""
    if doubted:
        row = int(log[0]) % PAST_PEAKS
        log[1 + row] = c
        risk[row] = risk_of(again, probability) - risk_of(logit, probability)
        log[0] += 1
    row = int(log[0]) % PAST_PEAKS
    for _ in range(min(PAST_PEAKS, int(log[0]))):
        row = PAST_PEAKS - 1 if row == 0 else row - 1
        if c - log[1 + row] > lookback:
            break
        errors += float(risk[row])
    return max(errors, 0.0)


def judge_again(
    i: int, fresh: FreshLanes, peaks: PeakTable, rings: Rings, grid: WaveGrid, network: WaveNetwork, probability: F64,
    memory: DoubtMemory, scratch: WaveScratch, lookback: int, logits: F64,
) -> None:  # fmt: skip
    """Judge the doubtful peaks of lane ``fresh.lane[i]`` again.

    Parameters
    ----------
    memory
        Read and written.
    lookback
        Ten seconds, in samples.
    logits : float64 [n, most, 2]
        Of each peak the logit and the expected errors; read and written.
    """
    lane, base = int(fresh.lane[i]), int(fresh.base[i])
    log, risk = memory.log[lane], memory.risk[lane]
    if fresh.start[i] == fresh.base[i] and member() == 0:
        log[0] = 0
    for k in range(int(peaks.found[i])):
        logit, errors = float(logits[i, k, 0]), float(logits[i, k, 1])
        c = int(peaks.peaks[i, k, PEAK_SAMPLE])
        if not errors >= 0.0:  # no candidate
            continue
        again = logit
        doubted = c - base >= lookback // START_PART and in_doubt(logit, errors)
        if doubted:
            again = combined(logit, c, base, rings, lane, grid, network, scratch)
            again = min(LOGIT_RANGE, max(-LOGIT_RANGE, again))
        wait()  # all members have read the logit
        if member() == 0:
            logits[i, k, 0] = again
            logits[i, k, 1] = updated_errors(c, errors, doubted, logit, again, probability, log, risk, lookback)
