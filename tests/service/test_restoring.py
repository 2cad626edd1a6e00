"""What is done about topics that have lost messages, with a graph and staff made by the test."""

import re
import threading
from collections.abc import Callable

import pytest
from beatwire.errors import FatalError, UserError
from beatwire.kafka.cluster import Cluster
from beatwire.records import LimitChange
from beatwire.service import restoring
from beatwire.service.interfaces import NoStaff
from beatwire.service.restoring import Restoring
from beatwire.wire import names
from quiet_graph import QuietGraph

CHANGE = LimitChange("bed-1", {"asystole": 5.0}, {}, "Ada", 7, 0)


class Staff(NoStaff):
    changes = [CHANGE]  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()
        self.lost: set[str] = set()

    def take_lost(self) -> set[str]:
        lost, self.lost = self.lost, set()
        return lost


class Graph(QuietGraph):
    repeated = 0

    def repeat_alerts(self) -> int:
        self.repeated += 1
        return 3


@pytest.fixture
def restored(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> Callable[..., tuple[Graph, list[str], list[object]]]:
    """Return a function that loses topics; it returns the graph, the lines of the log, and what was written."""

    def lose(topics: set[str], streams: list[str] | Exception = ["bed-1"]) -> tuple[Graph, list[str], list[object]]:  # noqa: B006
        written: list[object] = []

        def restore(cluster: Cluster, changes: list[LimitChange]) -> list[str]:
            written.extend(changes)
            if isinstance(streams, Exception):
                raise streams
            return streams

        monkeypatch.setattr(restoring, "restore_limits", restore)
        staff, graph = Staff(), Graph()
        one = Restoring(Cluster("nowhere", prefix="icu."), staff, graph)
        staff.lost = topics
        one.turn()
        one.turn()
        for thread in threading.enumerate():
            if thread.name == "restoring":
                thread.join()
        return graph, [record.getMessage() for record in caplog.records], written

    return lose


def test_lost_alerts_are_published_again_once_and_that_is_said(restored: Callable[..., tuple]) -> None:
    graph, lines, written = restored({names.ALERTS})
    assert (graph.repeated, written) == (1, [])
    (line,) = lines
    assert line.startswith("expected icu.ecg.alerts to keep its messages")
    assert line.endswith(": alerts in force are published again (3)")


@pytest.mark.parametrize(
    ("streams", "said"),
    [
        (["bed-1"], r"limits in force are written again \(1\): 'bed-1'"),
        ([f"b{k}" for k in range(9)], r"\(9\): 'b0', 'b1', 'b2', 'b3', 'b4', \.\.\."),
        ([], "no limits are lost"),
        (UserError("kafka: no"), "limits hold until another worker takes their streams over, .* written: kafka: no"),
        (FatalError("kafka: away"), "until another worker takes their streams over, .*: kafka: away"),
    ],
)
def test_lost_limits_are_written_again_or_it_is_said_for_how_long_they_hold(
    restored: Callable[..., tuple], streams: object, said: str
) -> None:
    graph, (line,), written = restored({names.SETTINGS}, streams)
    assert (graph.repeated, written) == (0, [CHANGE])
    assert re.search(f"{said}$", line)


def test_lost_records_of_the_audit_log_are_said(restored: Callable[..., tuple]) -> None:
    graph, lines, written = restored({names.AUDIT})
    assert (graph.repeated, written, len(lines)) == (0, [], 1)
    assert restored(set())[1] == lines, "nothing is lost, nothing is said"
