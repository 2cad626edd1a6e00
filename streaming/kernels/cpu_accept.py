"""The bodies of shape and accept compiled for the CPU; see ``cpu``."""

from __future__ import annotations

from typing import Any

from numba.core import config

from streaming.kernels import accept
from streaming.kernels.cpu import cache_folder, compiled, launcher

_previous = config.CACHE_DIR
config.CACHE_DIR = str(cache_folder())
_judge = compiled(accept.judge)


@launcher
def judge(
    n: int, lanes: Any, start: Any, base: Any, found: Any, peaks: Any, closed: Any, blocks: Any, box: int, scale: float,
    span: Any, taps: Any, half: Any, x: Any, f: Any, feature: Any, threshold: Any, leaf: Any, probability: Any,
    seen: Any, facts: Any, line: Any, scratch: Any, out: Any, logits: Any,
) -> None:  # fmt: skip
    """Judge the peaks of ``n`` lanes."""
    for i in range(n):
        _judge(
            i, lanes, start, base, found, peaks, closed, blocks, box, scale, span, taps, half, x, f, feature,
            threshold, leaf, probability, seen, facts, line, scratch, out, logits,
        )  # fmt: skip


config.CACHE_DIR = _previous
