"""Scorers in tests: windows for them, what they give, a graph that uses one, and one that breaks."""

from collections.abc import Callable
from typing import Any

import numpy as np
from beatwire.model.scorer import Scorer
from beatwire.pipeline import Pipeline
from beatwire.records import RawTick
from laws import Run, Signal, collect


def normal(n: int = 4000, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, 256)).astype(np.float32)


def scored(scorer: Scorer, windows: np.ndarray, scale: np.ndarray | None = None) -> np.ndarray:
    out = np.empty(len(windows), np.float32)
    assert scorer.score_into(windows, np.ones(len(windows), np.float32) if scale is None else scale, out)
    return out


def stream(pipeline: Pipeline, signal: Signal, size: int) -> Run:
    run = Run()
    collect(pipeline, run)
    for first in range(0, signal.samples.shape[1], size):
        pipeline.emit(RawTick.of([signal.chunk(first, min(signal.samples.shape[1], first + size))]))
    return run


class Broken:
    """Raises, or returns nonsense, after it has been loaded."""

    def __init__(self, result: Callable[[Any], Any]) -> None:
        self.result = result

    def to(self, _: Any) -> Any:
        return self

    def __call__(self, windows: Any) -> Any:
        return self.result(windows)
