"""A pipeline: its subscribers, and the release of its memory."""

import gc
import weakref

import pytest
from beatwire.errors import FullMemoryError, LostCardError, UserError
from beatwire.offline.analyzer import Analyzer
from beatwire.offline.plan import Plan
from beatwire.pipeline import Pipeline
from beatwire.pipeline.nodes import Stream
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


@pytest.mark.parametrize("error", [FullMemoryError("full"), LostCardError("lost"), UserError("wrong"), KeyError("x")])
def test_the_traceback_of_an_error_with_a_line_of_its_own_is_not_logged(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(state: int, _: int) -> tuple[int, int]:
        raise error

    source = Stream()
    node = source.accumulate(fail, returns_state=True, start=0)
    with pytest.raises(type(error)):
        source.emit(1)
    assert bool(caplog.records) == isinstance(error, KeyError)
    del node
