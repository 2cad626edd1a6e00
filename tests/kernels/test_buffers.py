"""What a backend is asked for grows with the streams, not with their square, and tables have room for all rows."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np
import pytest
from beatwire.backends.base import Table
from beatwire.backends.cpu import Cpu
from beatwire.bench.graph import ticks_for
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Detector, Settings


class Counting(Cpu):
    """Counts the bytes of what stages ask for in a pass, by name, and keeps the most."""

    def __init__(self) -> None:
        super().__init__()
        self.most: Counter[str] = Counter()

    def buffer(self, key: str, shape: tuple[SupportsIndex, ...], dtype: Any) -> Any:
        size = math.prod(n.__index__() for n in shape) * np.dtype(dtype).itemsize
        self.most[key] = max(self.most[key], size)
        return super().buffer(key, shape, dtype)

    def positions(self, key: str, n: SupportsIndex, count: Any, most: int) -> tuple[Any, int]:
        self.most[f"rows of {key}"] = max(self.most[f"rows of {key}"], most)
        first, total = super().positions(key, n, count, most)
        assert total <= most, f"{key}: a card has room for {most} rows; {total} are written"
        return first, total

    def table(self, key: str, total: SupportsIndex, dtypes: Sequence[Any]) -> Table:
        found = super().table(key, total, dtypes)
        self.most[key] = max(self.most[key], sum(column.nbytes for column in found.columns))
        return found


def asked_by(streams: int, detector: Detector) -> Counter[str]:
    """Return the bytes that so many streams ask for; each group of 64 is the same people."""
    backend = Counting()
    pipeline = Pipeline(Settings(detector=detector), backend)
    for tick in ticks_for(streams, ticks=8, per_tick=4):
        pipeline.emit(tick)
    return backend.most


@pytest.mark.parametrize("detector", ["trees", "network"])
def test_four_times_as_many_streams_ask_for_four_times_as_much_memory(detector: Detector) -> None:
    few, many = asked_by(64, detector), asked_by(256, detector)
    assert few["peaks"] > 0
    assert few["denied"] > 0
    too_much = {key: (few[key], size) for key, size in many.items() if size > 6 * max(few[key], 1024)}
    assert not too_much
