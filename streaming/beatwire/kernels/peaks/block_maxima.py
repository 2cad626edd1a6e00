"""Bodies of the last block maxima of a lane: those that a candidate peak is compared with.

In:    the blocks that became complete, in order
Out:   a candidate with the largest and the least of the last ``PAST_BLOCKS`` maxima
State: the columns ``BLOCK_COUNT`` and ``BLOCK_MAXIMA`` of a lane (``kernels.peaks.peak_features``)
"""

from beatwire.kernels.detection.level import TIMES
from beatwire.kernels.peaks.peak_features import BLOCK_COUNT, BLOCK_MAXIMA, PAST_BLOCKS
from beatwire.kernels.team import member, wait
from beatwire.records import I64
from beatwire.records.classification import Candidate
from beatwire.records.columns import BLOCK_END, BLOCK_MAXIMUM


def with_block_maxima(peak: Candidate, log: I64) -> Candidate:
    """Return a candidate with the largest and least block maxima: its own, or if they are negative those of ``log``.

    Maxima far above the level are of disturbances and do not count.
    """
    largest = smallest = peak.level
    if peak.largest_maximum >= 0:
        largest, smallest = max(largest, peak.largest_maximum), min(smallest, peak.least_maximum)
    else:
        for j in range(min(PAST_BLOCKS, int(log[BLOCK_COUNT]))):
            maximum = int(log[BLOCK_MAXIMA + j])
            if maximum <= TIMES * peak.level:
                largest = max(largest, maximum)
            smallest = min(smallest, maximum)
    return Candidate(peak.sample, peak.height, peak.level, largest, max(1, smallest), peak.muted)


def store_block_maxima(log: I64, blocks: I64, stored: int, closed: int, stop: int) -> int:
    """Store the maxima of the blocks from row ``stored`` on that end by sample ``stop``; return the row after them."""
    first = stored
    while stored < closed and blocks[stored, BLOCK_END] <= stop:
        stored += 1
    if stored > first:
        if member() == 0:
            for k in range(first, stored):
                log[BLOCK_MAXIMA + int(log[BLOCK_COUNT]) % PAST_BLOCKS] = blocks[k, BLOCK_MAXIMUM]
                log[BLOCK_COUNT] += 1
        wait()
    return stored
