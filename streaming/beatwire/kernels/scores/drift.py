"""Bodies that count a stream's beats in bins, by blocks of time, and compare them with the model's reference.

In:    the beats of a tick with their scores and latents; the events of a tick, by stream and in order
Out:   the bins of each beat; events where the distance from the reference crosses the limit
State: ``DriftState``, by slot

Work item ``i`` of ``track_drift`` is the run of events of one stream, as in ``kernels.alerts.rules``. Beats are counted
in blocks of a fixed number of samples, aligned to the absolute sample index. At the end of each block the last
``DRIFT_BLOCKS`` blocks are compared with the reference.

The distance is the mean, over the ``COMPARED`` compared quantities, of the largest difference at the reference's
quantiles between the reference's share below and the stream's share below. This is the one-sided statistic of
Kolmogorov and Smirnov: only values that are larger than the reference's increase it.

Invariant: a distance depends on the beats of ``DRIFT_BLOCKS`` blocks and on nothing else.
"""

import math

from beatwire.records import F32, F64, I64, U8, Bool
from beatwire.records.alerting import Borders, Crossings, DriftState
from beatwire.records.columns import (
    ORDERED_BANK,
    ORDERED_KIND,
    ORDERED_SAMPLE,
    ORDERED_SESSION,
    ORDERED_SLOT,
    ORDERED_VALUE,
)
from beatwire.records.events import BEAT, DRIFTED, RESTART, WATERMARK

DRIFT_BLOCKS = 3
MOST_BINS = 256  # of a beat all together: a bin's number is a uint8
FEWEST_BEATS = 20  # of a comparison
COMPARED = 2  # the last groups of bins are compared: radius and reconstruction error
BLOCKS_TO_EMPTY = DRIFT_BLOCKS + 1  # after so many blocks without beats no count is left: no more are stepped through


def find_bins(
    i: int, score: F32, latent: F32, reconstruction_error: F32, borders: Borders, bins: U8, radius: F32
) -> None:
    """Find the bins of beat ``i``.

    Parameters
    ----------
    score, latent, reconstruction_error : float32 [b], [b, 8], [b]
    bins : uint8 [b, 11], written
        The number of its bin for score, latents, radius and reconstruction error; the bins of a quantity are numbered
        from the last bin of the quantity before.
    radius : float32 [b], written
        Length of ``(latent - centre) @ whitener``.
    """
    latents = len(borders.centre)
    square = 0.0
    for k in range(latents):
        along = 0.0
        for j in range(latents):
            along += (float(latent[i, j]) - borders.centre[j]) * borders.whitener[j, k]
        square += along * along
    radius[i] = math.sqrt(square)
    first = 0
    bins[i, 0] = borders_below(borders.score, float(score[i]))
    first += len(borders.score) + 1
    for k in range(latents):
        bins[i, 1 + k] = first + borders_below(borders.latents[k], float(latent[i, k]))
        first += borders.latents.shape[1] + 1
    bins[i, 1 + latents] = first + borders_below(borders.radius, float(radius[i]))
    first += len(borders.radius) + 1
    bins[i, 2 + latents] = first + borders_below(borders.reconstruction_error, float(reconstruction_error[i]))


def borders_below(borders: F64, value: float) -> int:
    """Return how many borders are at most ``value``."""
    count = 0
    for k in range(len(borders)):
        count += borders[k] <= value
    return count


def track_drift(
    i: int, run: I64, events: I64, bins: U8, scored: Bool, block_samples: I64, levels: F64, limit: float,
    state: DriftState, crossings: Crossings,
) -> None:  # fmt: skip
    """Count the beats of one stream and find where its distance from the reference crosses the limit.

    Parameters
    ----------
    events : int64 [e, 6]
        Columns ``ORDERED_SLOT``, ... of ``records.columns``.
    bins : uint8 [b, 11]
        Of the beats that events of kind BEAT name, see ``find_bins``.
    scored : bool [b]
        Beats that are counted: those with a score.
    block_samples : int64 [banks]
        Length of a block.
    levels : float64 [q]
        Shares of the reference below the borders of the compared quantities. These have ``q + 1`` bins each, the last
        ones of ``state.counts``.
    limit
        Distance above which a stream has drifted.
    state
        Read and written.
    crossings
        Written.
    """
    first = BLOCKS_TO_EMPTY * int(run[i])
    n = first
    for e in range(run[i], run[i + 1]):
        event = events[e]
        slot, kind = int(event[ORDERED_SLOT]), int(event[ORDERED_KIND])
        sample, value = int(event[ORDERED_SAMPLE]), int(event[ORDERED_VALUE])
        length = block_samples[event[ORDERED_BANK]]
        if kind == RESTART:
            for k in range(DRIFT_BLOCKS):
                clear_counts(state.counts[slot, k])
            state.block[slot] = sample // length
            state.distance[slot] = -1.0
            state.above[slot] = False
        elif kind == BEAT or kind == WATERMARK:
            now = sample // length
            last = min(now, state.block[slot] + BLOCKS_TO_EMPTY)
            while state.block[slot] < last:
                state.block[slot] += 1
                state.distance[slot] = distance_to_reference(state.counts[slot], levels)
                if (state.distance[slot] > limit) != state.above[slot]:
                    state.above[slot] = not state.above[slot]
                    n = write_crossing(state, event, int(state.block[slot] * length), e, crossings, n)
                shift_blocks(state.counts[slot])
            state.block[slot] = max(int(state.block[slot]), now)
            if kind == BEAT and scored[value]:
                for k in range(bins.shape[1]):
                    state.counts[slot, 0, bins[value, k]] += 1
    crossings.counts[i] = n - first


def write_crossing(state: DriftState, event: I64, sample: int, place: int, crossings: Crossings, n: int) -> int:
    """Write row ``n`` of the crossings, of the stream of an event and before it, and return the next row."""
    slot = event[ORDERED_SLOT]
    thousandths = round(1000.0 * max(state.distance[slot], 0.0))
    row = crossings.rows[n]
    crossings.place[n] = place
    row[ORDERED_SLOT] = slot
    row[ORDERED_SESSION] = event[ORDERED_SESSION]
    row[ORDERED_KIND] = DRIFTED
    row[ORDERED_SAMPLE] = sample
    row[ORDERED_VALUE] = thousandths if state.above[slot] else -thousandths
    row[ORDERED_BANK] = event[ORDERED_BANK]
    return n + 1


def shift_blocks(counts: U8) -> None:
    """Begin a block: every block becomes the one before."""
    for k in range(DRIFT_BLOCKS - 1, 0, -1):
        for j in range(counts.shape[1]):
            counts[k, j] = counts[k - 1, j]
    clear_counts(counts[0])


def clear_counts(counts: U8) -> None:
    """Remove the beats of a block."""
    for j in range(len(counts)):
        counts[j] = 0


def distance_to_reference(counts: U8, levels: F64) -> float:
    """Return the distance of the blocks' compared quantities from the reference; -1 with too few beats."""
    borders = len(levels)
    total = 0.0
    for group in range(COMPARED):
        first = counts.shape[1] - (COMPARED - group) * (borders + 1)
        beats = 0
        for k in range(DRIFT_BLOCKS):
            for j in range(borders + 1):
                beats += int(counts[k, first + j])
        if beats < FEWEST_BEATS:
            return -1.0
        below = 0
        furthest = 0.0
        for j in range(borders):
            for k in range(DRIFT_BLOCKS):
                below += int(counts[k, first + j])
            furthest = max(furthest, levels[j] - below / beats)
        total += furthest
    return total / COMPARED
