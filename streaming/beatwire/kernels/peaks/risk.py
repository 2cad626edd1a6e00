"""Bodies of the risk of a peak: the probability that its classification is wrong, and the errors of ten seconds.

In:    logits of peaks, the trees' table of probabilities
Out:   probabilities, and the errors expected in the ten seconds up to a peak
State: the risks of the past peaks of a lane (``kernels.peaks.peak_features``)
"""

from beatwire.kernels.peaks.peak_features import LOOKBACK, PAST_PEAKS, PAST_RISK, PEAK_COUNT
from beatwire.kernels.peaks.stored_peak import RISK_PARTS, stored_risk
from beatwire.kernels.short_times import until
from beatwire.records import F64, I64
from beatwire.records.classification import PeakMemory

LOGIT_RANGE = 8.0  # the table of probabilities ends at plus and minus this logit


def store_risk(logit: float, probability: F64, memory: PeakMemory) -> None:
    """Store the risk of the peak that was stored last."""
    place = (int(memory.log[PEAK_COUNT]) - 1) % PAST_PEAKS
    memory.past[place, PAST_RISK] = stored_risk(risk_of(logit, probability))


def risk_of(logit: float, probability: F64) -> float:
    """Return the probability that the classification of a peak is wrong."""
    chance = beat_probability(logit, probability)
    return 1.0 - chance if logit > 0.0 else chance


def expected_errors(c: int, spans: I64, memory: PeakMemory) -> float:
    """Return the sum of the risks of the peaks in the ten seconds up to sample ``c``."""
    total, count = 0, int(memory.log[PEAK_COUNT])
    at = count % PAST_PEAKS
    for _ in range(min(PAST_PEAKS, count)):
        at = PAST_PEAKS - 1 if at == 0 else at - 1
        if until(c, int(memory.sample[at])) > spans[LOOKBACK]:
            break
        total += int(memory.past[at, PAST_RISK])
    return total / RISK_PARTS


def beat_probability(logit: float, probability: F64) -> float:
    """Return the probability of a beat, interpolated between the knots of a table.

    The knots lie at equal distances from ``-LOGIT_RANGE`` to ``LOGIT_RANGE``.
    """
    last = probability.shape[0] - 1
    at = (min(LOGIT_RANGE, max(-LOGIT_RANGE, logit)) + LOGIT_RANGE) * last / (2.0 * LOGIT_RANGE)
    knot = min(last - 1, int(at))
    return float(probability[knot] + (at - knot) * (probability[knot + 1] - probability[knot]))
