"""The buffers of a tick: as many bytes as streams need, and tables with room for all their rows."""

from typing import Any, SupportsIndex

import pytest
from beatwire.backends.cpu import Cpu
from beatwire.bench.graph import ticks_for
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Detector, Settings
from beatwire.records import I64

FEW, MANY = 64, 512


class Measured(Cpu):
    """Counts the bytes of buffers and tables, and checks what ``positions`` is told."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: dict[str, int] = {}

    def note(self, key: str, size: int) -> None:
        self.sizes[key] = max(size, self.sizes.get(key, 0))

    def buffer(self, key: str, shape: tuple[SupportsIndex, ...], dtype: Any) -> Any:
        new = super().buffer(key, shape, dtype)
        self.note(f"buffer {key}", new.nbytes)
        return new

    def positions(self, key: str, n: SupportsIndex, count: I64, most: int) -> tuple[I64, int]:
        first, total = super().positions(key, n, count, most)
        assert total <= most, f"{key}: a card has room for {most} rows; {total} are written"
        self.note(f"rows {key}", most)
        return first, total


def sizes_with(streams: int, detector: Detector) -> dict[str, int]:
    """Return the most bytes of each buffer, and the most rows of each table, in ticks of so many streams."""
    backend = Measured()
    pipeline = Pipeline(Settings(detector=detector), backend)
    for tick in ticks_for(streams, ticks=20, per_tick=1):
        pipeline.emit(tick)
    return backend.sizes


@pytest.mark.parametrize("detector", ["trees", "network"])
def test_buffers_grow_with_streams(detector: Detector) -> None:
    """Eight times as many streams take no buffer as if for their square; peaks in doubt differ."""
    few, many = sizes_with(FEW, detector), sizes_with(MANY, detector)
    assert few.keys() == many.keys()
    assert any(many.values())
    more = {key: (few[key], many[key]) for key in few if many[key] > 2 * MANY / FEW * few[key]}
    assert more == {}
