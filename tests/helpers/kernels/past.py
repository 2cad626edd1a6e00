"""The past of a lane, as ``kernels.peaks.past_samples`` stores it."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from beatwire.jit import cpu
from beatwire.kernels.peaks import past_samples
from beatwire.kernels.peaks.past_samples import BLOCK_BYTES, VALUES
from beatwire.records import I16, U8
from beatwire.records.detection import FreshLanes
from beatwire.records.waveform import WaveGrid

NO_PAST = np.zeros((1, BLOCK_BYTES), np.uint8)


def past_of(
    x: I16, grid: WaveGrid, base: int = 0, compile_body: Callable[[Any], Any] = cpu.compiled, cuts: Sequence[int] = ()
) -> U8:
    """Return the past of the leads [leads, n] of a lane that begins at ``base``: uint8 [leads, blocks, BLOCK_BYTES]."""
    n, store = x.shape[1], compile_body(past_samples.store_past)
    past = np.zeros((1, len(x), n // (VALUES << grid.halvings) + 1, BLOCK_BYTES), np.uint8)
    work, zero = np.zeros((1, VALUES), np.int32), np.zeros(1, np.int64)
    for start, stop in pairwise(sorted({base, n, *cuts})):
        lanes = FreshLanes(zero, zero, np.array([start]), np.array([stop]), np.array([base]))
        store(0, lanes, grid, x[None], past, work)
    return np.asarray(past[0], np.uint8)
