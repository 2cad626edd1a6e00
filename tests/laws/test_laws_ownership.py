"""A stage writes neither its input nor what it has emitted: every stage of the graph, in and after its own tick."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.records import RawTick
from beatwire.wire.bundles import encode_bundle
from beatwire_producers.ward import ward
from laws import Signal, ticks_of

RINGS = {"x", "f", "rings", "leads"}  # a ring is written by every pass: what a pass needs of it is read in the pass
VIEWS = {"anchors"}  # read-only, valid until the next tick: see ``records.samples.Aligned``


def arrays_of(value: Any, path: str, without: set[str]) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the arrays of a record, with where they are."""
    if isinstance(value, np.ndarray):
        yield path, value
        return
    if is_dataclass(value) and not isinstance(value, type):
        parts = [(one.name, getattr(value, one.name)) for one in fields(value)]
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        parts = list(zip(value._fields, value, strict=True))
    elif isinstance(value, list | tuple):
        parts = [(str(k), part) for k, part in enumerate(value)]
    else:
        parts = []
    for name, part in parts:
        if name not in without:
            yield from arrays_of(part, f"{path}.{name}", without)


class Watch:
    """Stands for the step of a stage: compares what it got and what it gave with copies."""

    def __init__(self, node: Any) -> None:
        self.step, self.name = node.func, node.func.__module__.rpartition(".")[2]
        self.given: list[tuple[str, np.ndarray, np.ndarray]] = []
        self.arrays = 0
        node.func = self

    def __call__(self, state: Any, value: Any) -> tuple[Any, Any]:
        before = [(path, array, array.copy()) for path, array in arrays_of(value, f"{self.name} input", RINGS)]
        state, out = self.step(state, value)
        self.compare(before)
        emitted = arrays_of(out, f"{self.name} output", RINGS | VIEWS)
        self.given += [(path, array, array.copy()) for path, array in emitted]
        return state, out

    def compare(self, taken: list[tuple[str, np.ndarray, np.ndarray]]) -> None:
        for path, array, copy in taken:
            assert array.tobytes() == copy.tobytes(), path
        self.arrays += len(taken)


@pytest.fixture(scope="module")
def ticks() -> list[list[bytes]]:
    shown = ward(6, 16, seed=4, rates_hz=(128, 250), leads=(1, 3))
    signals = [
        Signal(f.stream, f.recording.samples, f.recording.rate_hz, f.recording.uv_per_unit or 5.0) for f in shown.feeds
    ]
    rng = np.random.default_rng(2)
    holes = [[m for m in values if rng.random() > 0.02] for values in ticks_of(signals, rng, 120, per_tick=90)]
    return [*holes[:3], [], *holes[3:]]


def test_a_stage_writes_neither_its_input_nor_what_it_has_emitted(ticks: list[list[bytes]]) -> None:
    pipeline = Pipeline(Settings(pass_s=1.0))
    watches = [Watch(node) for node in pipeline.stages]
    for number, values in enumerate(ticks):
        last = [watch.given for watch in watches]
        for watch in watches:
            watch.given = []
        values = [encode_bundle(values)] if number % 2 and values else values
        pipeline.emit(RawTick.of(values, now_us=number * 1_000_000))
        for watch, given in zip(watches, last, strict=True):
            watch.compare(given)
            watch.compare(watch.given)
    assert len(watches) == 21
    assert {watch.name for watch in watches if watch.arrays < 100} <= {"publish"}, "what is not compared shows nothing"


def test_the_anchors_that_align_hands_out_cannot_be_written(ticks: list[list[bytes]]) -> None:
    pipeline = Pipeline(Settings())
    emitted: list[Any] = []
    pipeline.subscribe(pipeline.aligned, emitted.append)
    pipeline.emit(RawTick.of(ticks[0]))
    with pytest.raises(ValueError, match="read-only"):
        emitted[0].anchors[:] = 0
