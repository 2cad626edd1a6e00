"""Body that counts how a stream's beats look, by blocks of time, and compares with what the model knows.

Work item ``i`` is one stream's run of events, as in ``rules``. Beats are counted in bins of absolute
blocks of a fixed number of samples; at the end of each block the last ``BLOCKS`` of them are compared
with the reference, so that what is told is a function of these and of nothing else.

How unlike: of each of the two compared distributions the largest distance, over the reference's
quantiles, of the share below from what it should be (Kolmogorov and Smirnov's statistic, one side: only
stranger counts), and of the two the mean.
"""

from __future__ import annotations

import math

from beatwire.records import F32, F64, I64, U8, Bool
from beatwire.records.events import BEAT, DRIFTED, RESTART, WATERMARK

BLOCKS = 3
MOST_BINS = 256
FEWEST_BEATS = 20
COMPARED = 2  # the last groups of bins are what is compared
LOST = BLOCKS + 1  # after so many blocks nothing is left of a stream that was silent


def find_bins(
    i: int, score: F32, latent: F32, reconstruction_error: F32, centre: F64, whitener: F64, of_score: F64,
    of_latents: F64, of_radius: F64, of_reconstruction_error: F64, bins: U8, radius: F32,
) -> None:  # fmt: skip
    """Write for each quantity of beat ``i`` the place of its bin, uint8 [b, 11], and the radius [b].

    The bins of a quantity stand after those of the one before: score, latents, radius, reconstruction
    error; ``of_*`` are their borders. The radius is the length of ``(latent - centre) @ whitener``.
    """
    latents = len(centre)
    square = 0.0
    for k in range(latents):
        along = 0.0
        for j in range(latents):
            along += (float(latent[i, j]) - centre[j]) * whitener[j, k]
        square += along * along
    radius[i] = math.sqrt(square)
    first = 0
    bins[i, 0] = below(of_score, float(score[i]))
    first += len(of_score) + 1
    for k in range(latents):
        bins[i, 1 + k] = first + below(of_latents[k], float(latent[i, k]))
        first += of_latents.shape[1] + 1
    bins[i, 1 + latents] = first + below(of_radius, float(radius[i]))
    first += len(of_radius) + 1
    bins[i, 2 + latents] = first + below(of_reconstruction_error, float(reconstruction_error[i]))


def below(borders: F64, value: float) -> int:
    """Return how many borders are not above a value."""
    found = 0
    for k in range(len(borders)):
        found += borders[k] <= value
    return found


def watch(
    i: int,
    run: I64,
    events: I64,
    bins: U8,
    seen: Bool,
    bank: I64,
    length: I64,
    levels: F64,
    limit: float,
    counts: U8,
    block: I64,
    unlike: F64,
    over: Bool,
    count: I64,
    where: I64,
    out: I64,
) -> None:
    """Count one stream's beats and tell where the comparison begins and ceases to be above the limit.

    Parameters
    ----------
    bins : uint8 [b, k]
        Of each beat the place in ``counts`` for each of ``k`` groups of bins.
    seen : bool [b]
        Whether the model has looked at it.
    bank : int64 [slots]
        Bank of each stream.
    length : int64 [banks]
        Samples of a block.
    levels : float64 [q]
        Shares of the reference below the borders of the compared groups, which have ``q + 1`` bins each
        and stand last in ``counts``.
    counts : uint8 [slots, BLOCKS, bins]
        The current block, the one before, ...
    block, unlike, over : [slots]
        Number of the current block; the last comparison, -1 with too few beats; whether it was above.
    count, where, out : [runs], [.], [., 5], written
        Events of run ``i``, from ``LOST run[i]`` on, and before which of the events each belongs.
    """
    first = LOST * int(run[i])
    n = first
    block_samples = length[bank[events[run[i], 0]]]
    for e in range(run[i], run[i + 1]):
        slot, kind, sample = int(events[e, 0]), int(events[e, 2]), int(events[e, 3])
        if kind == RESTART:
            for k in range(BLOCKS):
                clear(counts[slot, k])
            block[slot] = sample // block_samples
            unlike[slot] = -1.0
            over[slot] = False
        elif kind == BEAT or kind == WATERMARK:
            now = sample // block_samples
            if now - block[slot] > LOST:
                block[slot] = now - LOST
            while block[slot] < now:
                block[slot] += 1
                unlike[slot] = compare(counts[slot], levels)
                if (unlike[slot] > limit) != over[slot]:
                    over[slot] = not over[slot]
                    where[n] = e
                    out[n, 0] = slot
                    out[n, 1] = events[e, 1]
                    out[n, 2] = DRIFTED
                    out[n, 3] = block[slot] * block_samples
                    told = round(1000.0 * max(unlike[slot], 0.0))
                    out[n, 4] = told if over[slot] else -told
                    n += 1
                for k in range(BLOCKS - 1, 0, -1):
                    for j in range(counts.shape[2]):
                        counts[slot, k, j] = counts[slot, k - 1, j]
                clear(counts[slot, 0])
            if kind == BEAT:
                beat = int(events[e, 4])
                if seen[beat]:
                    for k in range(bins.shape[1]):
                        counts[slot, 0, bins[beat, k]] += 1
    count[i] = n - first


def clear(counts: U8) -> None:
    """Forget the beats of a block."""
    for j in range(len(counts)):
        counts[j] = 0


def compare(counts: U8, levels: F64) -> float:
    """Return how unlike the reference the blocks' compared distributions are; -1 with too few beats."""
    borders = len(levels)
    total = 0.0
    for group in range(COMPARED):
        first = counts.shape[1] - (COMPARED - group) * (borders + 1)
        beats = 0
        for k in range(BLOCKS):
            for j in range(borders + 1):
                beats += int(counts[k, first + j])
        if beats < FEWEST_BEATS:
            return -1.0
        below = 0
        furthest = 0.0
        for j in range(borders):
            for k in range(BLOCKS):
                below += int(counts[k, first + j])
            furthest = max(furthest, levels[j] - below / beats)
        total += furthest
    return total / COMPARED
