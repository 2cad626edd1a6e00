"""The demo: which planted events raised which alerts, and a short demo on the mock broker."""

import io
import json
import os
import signal
import threading
from contextlib import suppress
from typing import Any

import pytest
from beatwire import signals
from beatwire.cli.main import app
from beatwire.errors import FatalError
from beatwire.kafka.cluster import Cluster
from beatwire.recordings.synthetic import rhythm
from beatwire.service.demo import run
from beatwire.service.demo.planted import RULES_OF, alerts_by_bed, event_name, is_detected, print_alerts, print_events
from beatwire.signals import end_on_signals
from beatwire_producers.ward import KINDS, Planted, Ward, ward
from rich.console import Console
from typer.testing import CliRunner


@pytest.fixture(scope="module")
def made() -> Ward:
    return ward(8, 40.0)


def planted(made: Ward, kind: str) -> Planted:
    return next(event for event in made.planted if event.kind == kind)


def raised(event: Planted, rule: str, onset: int | None = None, **changed: Any) -> dict[str, Any]:
    onset = event.first if onset is None else onset
    return {"stream": event.stream, "rule": rule, "priority": "high", "state": "on", "onset": onset} | changed


def test_every_kind_of_event_has_alarms_that_count_as_its_detection() -> None:
    assert set(RULES_OF) == set(KINDS)


def test_an_alarm_belongs_to_the_event_of_its_bed_and_time_and_its_delay_is_by_the_clock(made: Ward) -> None:
    event = planted(made, rhythm.ASYSTOLE)
    end = event.last + 2500
    seen = [
        (event.start_s + 4.25, raised(event, "asystole")),
        (event.start_s + 4.5, raised(event, "flat line", priority="medium")),
        (event.start_s + 9.0, raised(event, "asystole", state="latched")),
        (event.stop_s + 20.0, raised(event, "irregular rhythm", end, priority="medium")),
    ]
    rows = [row for row in alerts_by_bed(made, seen, []) if row["bed"] == event.stream]
    assert [(row["event"], row["alert"], row["delay_s"]) for row in rows] == [
        ("asystole", "asystole", 4.25),
        ("asystole", "flat line", 4.5),
        (None, "irregular rhythm", None),
    ]
    assert is_detected(event, rows)


@pytest.mark.parametrize(
    "changed",
    [{"rule": "flat line"}, {"stream": "bed-8"}, {"onset": 0}, {"state": "latched"}],
    ids=lambda c: next(iter(c)),
)
def test_an_event_without_an_alarm_of_its_own_kind_bed_and_time_is_missed(made: Ward, changed: dict[str, Any]) -> None:
    event = planted(made, rhythm.ASYSTOLE)
    rows = alerts_by_bed(made, [(12.0, raised(event, "asystole") | changed)], [])
    assert not is_detected(event, rows)
    missed = [row for row in rows if row["alert"] is None]
    assert event.stream in {row["bed"] for row in missed}
    assert {(row["at_s"], row["delay_s"]) for row in missed} == {(None, None)}


def test_a_malformed_message_is_detected_by_the_message_that_was_rejected(made: Ward) -> None:
    event = planted(made, rhythm.MALFORMED)
    assert not is_detected(event, alerts_by_bed(made, [], []))
    rows = alerts_by_bed(made, [], [event.start_s + 0.1])
    assert is_detected(event, rows)
    row = next(row for row in rows if row["alert"] == "dead letter")
    assert (row["bed"], row["event"], row["delay_s"]) == (event.stream, "malformed message", 0.1)


def test_the_tables_have_a_row_for_each_event_and_each_alarm_within_80_columns(made: Ward) -> None:
    lead = planted(made, rhythm.LEAD_OFF)
    seen = [(lead.start_s + 0.25, raised(lead, "lead off")), (lead.start_s + 0.75, raised(lead, "flat line"))]
    rows = alerts_by_bed(made, seen, [])
    file = io.StringIO()
    console = Console(file=file, width=80, highlight=False)
    print_events(console, made, rows)
    print_alerts(console, rows)
    events, alerts = (part.splitlines() for part in file.getvalue().strip().split("\n\n"))
    assert [len(line) for line in events + alerts if len(line) > 80] == []
    assert sum(line.endswith("missed") for line in events) == len(made.planted) - 1
    assert sum(line.endswith("missed") for line in alerts) == len(made.planted) - 1
    at = next(k for k, line in enumerate(alerts) if line.startswith(lead.stream))
    assert alerts[at].split()[1:3] == ["lead", "off"] == event_name(lead).split()
    assert alerts[at].endswith(" 0.2 s")
    assert alerts[at + 1].split()[:3] == ["***", "flat", "line"]


def test_a_short_demo_prints_one_json_object_with_its_alerts_by_bed() -> None:
    done = CliRunner().invoke(app, ["demo", "--streams", "8", "--seconds", "13", "--broker", "mock", "--json"])
    result = json.loads(done.stdout)
    assert done.stdout.count("\n") == 1
    assert (result["broker"], result["planted"] > 0) == ("mock", True)
    assert done.exit_code == (1 if result["missed"] else 0)
    rows = result["alerts_by_bed"]
    assert sum(row["event"] is not None for row in rows) >= result["planted"]
    assert all(0 <= row["delay_s"] < 8 for row in rows if row["delay_s"] is not None)
    assert "TIME  STREAM" in done.stderr


def test_a_broker_that_has_ended_by_itself_ends_what_runs_and_is_the_failure() -> None:
    runs = [None, None]

    def check() -> None:
        if not runs:
            raise FatalError("broker: it ended with code 137")
        runs.pop()

    stop, failures = threading.Event(), list[BaseException]()
    with run.watched(run.Broker("kafka", Cluster("x"), "", check), failures, stop):
        assert stop.wait(20)
    assert [str(one) for one in failures] == ["broker: it ended with code 137"]
    stop.clear()
    with run.watched(run.Broker("mock", Cluster("x"), ""), failures, stop):
        pass
    assert not stop.is_set()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_demo_of_some_seconds_ends_by_a_signal_wherever_it_comes(
    monkeypatch: pytest.MonkeyPatch, number: int, code: int
) -> None:
    """The client of the broker drops what a handler raises inside a callback."""
    began, plain = list[int](), run._Log.add_alerts

    def add_alerts(self: Any, alerts: Any) -> None:
        if not began:
            began.append(1)
            with suppress(KeyboardInterrupt, SystemExit):
                os.kill(os.getpid(), number)
        plain(self, alerts)

    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    end_on_signals()
    monkeypatch.setattr(run._Log, "add_alerts", add_alerts)
    with pytest.raises(SystemExit) as ended:
        run.run_demo(2, 30.0, "mock", quiet=True)
    assert (ended.value.code, began) == (code, [1])
    signals._ASKED.clear()
    for each, handler in before.items():
        signal.signal(each, handler)
