"""The bodies of shape and accept compiled for the CPU; see ``cpu``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba.core import config

from streaming.kernels import accept
from streaming.kernels.cpu import cache_folder, compiled

_previous = config.CACHE_DIR
config.CACHE_DIR = str(cache_folder())
_judge = compiled(accept.judge)
_jit: Callable[[Any], Any] = numba.njit(nogil=True, cache=True)


@_jit
def judge(
    n: int, lanes: Any, start: Any, base: Any, found: Any, peaks: Any, closed: Any, blocks: Any, box: int, scale: float,
    span: Any, taps: Any, stride: Any, x: Any, f: Any, feature: Any, threshold: Any, below: Any, leaf: Any,
    roots: Any, probability: Any, seen: Any, facts: Any, line: Any, scratch: Any, out: Any, logits: Any,
) -> None:  # fmt: skip
    """Judge the peaks of ``n`` lanes."""
    for i in range(n):
        _judge(
            i, lanes, start, base, found, peaks, closed, blocks, box, scale, span, taps, stride, x, f, feature,
            threshold, below, leaf, roots, probability, seen, facts, line, scratch, out, logits,
        )  # fmt: skip


config.CACHE_DIR = _previous
