"""The bodies of fuse, shape, across and accept compiled for the CPU; see ``cpu``."""

from __future__ import annotations

from typing import Any

from numba.core import config

from streaming.kernels import accept, fuse
from streaming.kernels.cpu import _fetch, _fetch_ring, cache_folder, compiled, launcher
from streaming.kernels.traits import MS230, SEEN

_previous = config.CACHE_DIR
config.CACHE_DIR = str(cache_folder())
_judge = compiled(accept.judge)
_respond_leads = compiled(fuse.respond_leads)
_level_peaks = compiled(fuse.level_peaks)


@launcher
def respond_leads(
    n: int, lanes: Any, start: Any, stop: Any, base: Any, taps: Any, box: int, shift: int, block: int, x: Any, f: Any,
    past: Any, levels: Any, work: Any,
) -> None:  # fmt: skip
    """Filter the new samples of ``n`` lanes of several leads."""
    for i in range(n):
        _respond_leads(i, lanes, start, stop, base, taps, box, shift, block, x, f, past, levels, work)


@launcher
def level_peaks(n: int, lanes: Any, found: Any, right: int, block: int, levels: Any, peaks: Any, bounds: Any) -> None:
    """Tell the levels of the peaks of ``n`` lanes of several leads."""
    for i in range(n):
        _level_peaks(i, lanes, found, right, block, levels, peaks, bounds)


@launcher
def judge(
    n: int, lanes: Any, start: Any, base: Any, found: Any, peaks: Any, bounds: Any, closed: Any, blocks: Any, box: int,
    scale: float, span: Any, taps: Any, half: Any, x: Any, f: Any, feature: Any, threshold: Any, leaf: Any,
    probability: Any, seen: Any, facts: Any, line: Any, scratch: Any, out: Any, logits: Any,
) -> None:  # fmt: skip
    """Judge the peaks of ``n`` lanes."""
    for i in range(n):
        if i + 1 < n and found[i + 1] > 0:
            early = span[MS230]
            _fetch_ring(x[lanes[i + 1], 0], peaks[i + 1, 0, 0] - early, 2 * early)
            _fetch_ring(f[lanes[i + 1]], peaks[i + 1, 0, 0] - early, 2 * early)
            _fetch(seen[lanes[i + 1]], 0, SEEN)
            _fetch(facts[lanes[i + 1], 0], 0, facts.shape[1] * facts.shape[2])
        _judge(
            i, lanes, start, base, found, peaks, bounds, closed, blocks, box, scale, span, taps, half, x, f, feature,
            threshold, leaf, probability, seen, facts, line, scratch, out, logits,
        )  # fmt: skip


config.CACHE_DIR = _previous
