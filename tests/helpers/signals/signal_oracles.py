"""Slow reference versions of the detector: response, R, levels, peaks."""

from collections.abc import Sequence

import numpy as np
from beatwire.stages.support.filters import Filter


def response_of(x: np.ndarray, one: Filter) -> np.ndarray:
    """Return the response of a lane from its first sample on, by numpy.convolve: int64 [n - delay]."""
    half = len(one.taps) - 1
    kernel = np.concatenate([one.taps[:0:-1], one.taps]).astype(np.int64)
    held = np.concatenate([np.repeat(x[:, :1], half, axis=1), x], axis=1).astype(np.int64)
    a = sum(np.abs(np.convolve(lead, kernel, "valid")) >> one.shift for lead in held)
    return np.convolve(np.concatenate([np.zeros(one.box, np.int64), a]), np.ones(2 * one.box + 1, np.int64), "valid")


def bounded_response_of(x: np.ndarray, one: Filter, base: int, block: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the response of several leads of a lane that begins at ``base``, and the response of each lead.

    The part of a lead above 1.5 times its level is divided by eight, as soon as two leads have a level.
    """
    each = np.array([response_of(lead[None], one) for lead in x])
    total = np.zeros(each.shape[1], np.int64)
    for number in range(base // block, (base + each.shape[1]) // block + 1):
        done = [levels_of(f, base, block, number * block) for f in each]
        level = [of_lead[0] if of_lead else 0 for of_lead in done]
        part = slice(max(0, number * block - base), max(0, (number + 1) * block - base))
        for f, median, known in zip(each, level, done, strict=True):
            limit = 3 * median // 2 if known and sum(m > 0 for m in level) > 1 else 1 << 40
            over = np.maximum(0, f[part] - limit)
            total[part] += f[part] - over + over // 8
    return total, each


def mark_of(x: np.ndarray, c: int, value: int, marking: Sequence[int], taps: np.ndarray) -> int:
    """Return R of a peak by a search over every response around it; ``x`` [leads, n] is longer than the search."""
    before, after, near, box, shift = (int(m) for m in marking)

    def size(lead: np.ndarray, of: np.ndarray, j: int) -> int:
        half = len(of) - 1
        around = lead[np.maximum(np.arange(j - half, j + half + 1), 0)].astype(int).tolist()
        return abs(sum(int(of[abs(k - half)]) * v for k, v in enumerate(around)))

    places = range(max(0, c - before), c + after + 1)
    for lead in x:
        steep = {j: size(lead, taps[0], j) for j in places}
        if max(steep.values()) >> shift >= value // (4 * len(x) * box):
            break
    r = max(places, key=lambda j: (steep[j], -j))
    return max((j for j in places if abs(j - r) <= near), key=lambda j: (size(lead, taps[1], j), -j))


def blocks_of(f: np.ndarray, base: int, block: int) -> list[tuple[int, int]]:
    """Return (end, maximum) of the blocks that lie wholly in ``f`` [n], which begins at sample ``base``."""
    ends = range(-(-base // block) * block + block, base + len(f) + 1, block)
    return [(end, int(f[end - block - base : end - base].max())) for end in ends]


def levels_of(f: np.ndarray, base: int, block: int, until: int) -> tuple[int, int, list[int]] | None:
    """Return median and quantile of a lane that is not calibrated, and the recent undisturbed blocks; None: no block.

    Blocks up to sample ``until`` count, and of the last ten those of at most six times the second smallest maximum of
    stretches of two seconds in the last five.
    """
    done = [(end, most) for end, most in blocks_of(f, base, block) if end <= until]
    if not done:
        return None
    recent = done[-5:]
    edges = sorted({end - block + block * q // 4 for end, _ in recent for q in range(4)} | {recent[-1][0]})
    stretches = [f[a - base : b - base].max() for a, b in zip(edges, edges[4:], strict=False)]
    usual = int(np.sort(stretches)[(1 if len(recent) < 3 else 2) - 1])
    cut = 6 * usual if usual > 0 else 1 << 40
    near, all_of_them = ([most for _, most in some if most <= cut] for some in (recent, done[-10:]))
    if not near:
        return usual, usual, [usual]
    median, quantile = np.quantile(near, 0.5, method="lower"), np.quantile(all_of_them, 0.8, method="lower")
    return int(median), int(quantile), near


def peaks_of(f: np.ndarray, base: int, left: int, right: int, block: int) -> list[tuple[int, int, int, int, int]]:
    """Return the peaks of ``f`` [n] by a loop over every sample: (sample, f, median, 80 % quantile, sum of valleys).

    Before a block is complete the largest peak has no level, 0; it is the level of others.
    """
    peaks = []
    for c in range(len(f) - right):
        before, after = f[max(0, c - left) : c], f[c + 1 : c + 1 + right]
        if f[c] > max(0, before.max(initial=0)) and f[c] >= after.max():
            so_far = int(f[: c + right + 1].max())
            so_far = 0 if f[c] == so_far else so_far
            level = levels_of(f, base, block, base + c + right + 1) or (so_far, so_far)
            valleys = f[max(0, c - right) : c + 1].min() + f[c : c + right + 1].min()
            peaks.append((base + c, int(f[c]), int(level[0]), int(level[1]), int(valleys)))
    return peaks
