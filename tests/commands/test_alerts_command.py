"""``beatwire alerts``: what is in force, the gravest first, with ids that ``beatwire ack`` accepts."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any, Self

import pytest
from beatwire.cli.main import app
from beatwire.cli.ward.alerts import short_ids
from beatwire.errors import UserError
from beatwire.kafka import topics
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.publishing import orders
from beatwire.kafka.reading import readers
from beatwire.wire.fields import Unusable
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

COMMAND = ["alerts", "--bootstrap-servers", "127.0.0.1:1"]


def alert(digit: str, stream: str, priority: str, state: str = "on", onset_s: int = 0) -> dict[str, Any]:
    return {
        "id": digit * 32, "stream": stream, "rule": "pause", "priority": priority, "state": state,
        "onset_us": onset_s * 1_000_000, "text": f"text of {digit}", "ack_by": "Ada" if state == "ack" else None,
    }  # fmt: skip


IN_FORCE = [
    alert("a", "bed-1", "low"),
    alert("b", "bed-1", "high", "ack"),
    alert("c", "bed-2", "high", onset_s=5),
    alert("d", "bed-3", "high", "latched", onset_s=9),
]


@pytest.fixture(autouse=True)
def _log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "check_broker", lambda *_: None)
    for module in (readers, orders):
        monkeypatch.setattr(module, "read_active_alerts", lambda *_, **__: list(IN_FORCE))


def test_unacknowledged_alerts_come_first_then_the_gravest_then_the_newest() -> None:
    printed = CliRunner().invoke(app, COMMAND).stdout
    order = [line.split()[0] for line in printed.splitlines() if "text of" in line]
    assert order == ["dddddd", "cccccc", "aaaaaa", "bbbbbb"]
    assert "acknowledged by Ada" in " ".join(printed.split())


def test_what_a_pipe_gets_is_a_line_an_alert(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setitem(IN_FORCE[0], "text", 20 * "word ")
    printed = CliRunner().invoke(app, COMMAND).stdout
    assert [line.split()[0] for line in printed.splitlines() if "bed-" in line] == [
        "dddddd",
        "cccccc",
        "aaaaaa",
        "bbbbbb",
    ]
    assert max(map(len, printed.splitlines())) < 200
    assert (20 * "word ").strip() in printed


def test_a_narrow_terminal_shows_every_word_in_the_same_order() -> None:
    printed = CliRunner().invoke(app, COMMAND, env={"COLUMNS": "40"}).stdout
    assert re.findall(r"(\**) (bed-\d): text of (\w)", printed) == [
        ("***", "bed-3", "d"), ("***", "bed-2", "c"), ("*", "bed-1", "a"), ("***", "bed-1", "b"),
    ]  # fmt: skip
    assert "    dddddd latched 1970-01-01 00:00:09" in printed
    assert all(len(line) <= 40 for line in printed.splitlines())


def test_names_that_standard_output_cannot_encode_are_printed_as_escapes() -> None:
    named = [IN_FORCE[0] | {"stream": "Bett-\u6708"}]
    program = (
        "import sys; from beatwire.kafka import topics; from beatwire.kafka.reading import readers;"
        "topics.check_broker = lambda *_: None;"
        f"readers.read_active_alerts = lambda *_, **__: {named!r};"
        f"sys.argv = {['beatwire', *COMMAND]!r}; from beatwire.cli.main import main; main()"
    )
    environment = os.environ | {"PYTHONIOENCODING": "cp437", "PYTHONUTF8": "0", "COLUMNS": "100"}
    made = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True)
    assert b"Bett-\\u6708" in made.stdout


def test_messages_that_are_no_alerts_are_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: Any, unusable: Callable[[Unusable], None], **__: Any) -> list[dict[str, Any]]:
        for k in range(3):
            unusable(Unusable("ecg.alerts", b"%d" % k, "expected an alert"))
        return []

    monkeypatch.setattr(readers, "read_active_alerts", read)
    said = CliRunner().invoke(app, COMMAND).stderr.splitlines()
    assert said == [
        "ecg.alerts: message with key b'0' is ignored: expected an alert; and 2 others", "no alert is in force",
    ]  # fmt: skip


def test_json_is_one_object_of_the_streams_that_are_named() -> None:
    found = json.loads(CliRunner().invoke(app, [*COMMAND, "--stream", "bed-1", "--json"]).stdout)
    assert [one["id"][0] for one in found["alerts"]] == ["a", "b"]


def test_nothing_in_force_is_said() -> None:
    assert "no alert is in force" in CliRunner().invoke(app, [*COMMAND, "--stream", "bed-9"]).stderr


@given(st.sets(st.text("0123456789abcdef", min_size=32, max_size=32), min_size=1, max_size=30))
def test_short_ids_are_distinct_beginnings(ids: set[str]) -> None:
    short = short_ids(ids)
    assert len(set(short.values())) == len(ids)
    assert all(one.startswith(short[one]) for one in ids)


def test_ack_of_a_stream_takes_those_that_nobody_has_acknowledged(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []

    class Sender:
        def __init__(self, *_: object) -> None: ...
        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None: ...
        def flush(self, _: float) -> None: ...
        def send_with_headers(self, _topic: str, keys: list[bytes], *_: object) -> None:
            sent.extend(key.decode() for key in keys)

    monkeypatch.setattr(orders, "Sender", Sender)
    cluster = Cluster("127.0.0.1:1")
    assert [one["id"][0] for one in orders.acknowledge(cluster, "bed-1", "Bob")] == ["a"]
    assert [one["id"][0] for one in orders.acknowledge(cluster, "cccccc", "Bob")] == ["c"]
    assert [one[0] for one in sent] == ["a", "c"]
    for wrong in ("bed-9", "e", "", "ccccc"):
        with pytest.raises(UserError, match="no such alert"):
            orders.acknowledge(cluster, wrong, "Bob")
