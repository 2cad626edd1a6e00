"""A pipeline: its subscribers, and the release of its memory."""

import gc
import weakref

from beatwire.offline.analyzer import Analyzer
from beatwire.offline.plan import Plan
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.records import Alerts, RawTick


def test_a_subscriber_receives_every_tick_and_is_freed_with_the_pipeline() -> None:
    received: list[Alerts] = []
    pipeline = Pipeline(Settings())
    pipeline.subscribe(pipeline.alerts, received.append)
    for _ in range(3):
        pipeline.emit(RawTick.of([]))
    assert len(received) == 3
    reference = weakref.ref(pipeline)
    del pipeline
    gc.collect()
    assert reference() is None


def test_an_unused_analyzer_keeps_no_graph_in_memory() -> None:
    analyzer = Analyzer(Settings(), Plan())
    graphs = [weakref.ref(graph._detection) for graph in analyzer._graphs]
    del analyzer
    gc.collect()
    assert [graph() for graph in graphs] == [None]
