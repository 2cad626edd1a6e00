"""A pipeline: who listens to it, and for how long."""

from __future__ import annotations

import gc
import weakref

from beatwire.offline.archive import Archive, Plan
from beatwire.pipeline.graph import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.records import Alerts, RawTick


def test_who_listens_hears_every_tick_and_goes_with_the_pipeline() -> None:
    heard: list[Alerts] = []
    pipeline = Pipeline(Settings())
    pipeline.subscribe(pipeline.alerts, heard.append)
    for _ in range(3):
        pipeline.emit(RawTick.of([]))
    assert len(heard) == 3
    gone = weakref.ref(pipeline)
    del pipeline
    gc.collect()
    assert gone() is None


def test_an_archive_that_is_not_needed_any_more_keeps_no_graph() -> None:
    archive = Archive(Settings(), Plan())
    graphs = [weakref.ref(lanes._detection) for lanes in archive._lanes]
    del archive
    gc.collect()
    assert [graph() for graph in graphs] == [None]
