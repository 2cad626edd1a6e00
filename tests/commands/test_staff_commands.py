"""The commands for staff, without a broker that could obey: what is refused, in which words, and what help lists."""

from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from beatwire.alerts.limits import SETTABLE
from beatwire.cli.main import app
from beatwire.errors import UserError
from beatwire.kafka import topics
from beatwire.kafka.cluster import Cluster
from moments import LIMIT_S, own_s
from typer.testing import CliRunner

NOBODY = "127.0.0.1:1"
ACK, READ, CHANGE = "ack abc --by Ada", "limits bed-1", "limits bed-1 asystole=5 --by Ada"


@pytest.fixture(scope="module")
def empty() -> Iterator[str]:
    """Return the address of a broker without topics."""
    owner = Cluster("embedded").producer({"test.mock.num.brokers": 1})
    broker = owner.list_topics(timeout=LIMIT_S).brokers[1]
    yield f"{broker.host}:{broker.port}"
    owner.flush(1.0)


def refused(command: str) -> str:
    """Return the error of a command that is refused with exit code 2."""
    error = CliRunner().invoke(app, command.split()).exception
    assert isinstance(error, UserError), error
    return str(error)


@pytest.mark.parametrize("command", [ACK, READ, CHANGE])
def test_a_broker_that_does_not_answer_is_named_before_anything_else_is_asked(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topics, "check_broker", partial(topics.check_broker, timeout_s=0.3))
    began_s = own_s()
    message = refused(f"{command} --bootstrap-servers {NOBODY}")
    expected = f"kafka: expected a broker at {NOBODY}; got no answer in 0.3 s (start one with: beatwire broker)"
    assert message == expected
    assert own_s() - began_s < 5.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("asystole=999 --by Ada", "limits of 'bed-1': expected asystole of 3 to 10 s; got 999"),
        ("asystole=999", "limits of 'bed-1': expected asystole of 3 to 10 s; got 999"),
        ("asystol=5 --by Ada", f"limits of 'bed-1': expected one of {', '.join(SETTABLE)}; got 'asystol'"),
    ],
)
def test_a_limit_that_can_be_none_is_refused_before_the_broker_is_asked(given: str, message: str) -> None:
    assert refused(f"limits bed-1 {given} --bootstrap-servers {NOBODY}") == message


@pytest.mark.parametrize(
    ("command", "missing"),
    [(ACK, ["ecg.alerts", "ecg.acks"]), (READ, ["ecg.settings"]), (CHANGE, ["ecg.settings", "ecg.audit"])],
)
def test_missing_topics_are_named_with_their_prefix_and_the_command_that_creates_them(
    command: str, missing: list[str], empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin = Cluster.admin

    def without_descriptions(cluster: Cluster, *given: Any) -> Any:  # the embedded broker does not answer for them
        return SimpleNamespace(list_topics=admin(cluster, *given).list_topics, describe_topics=lambda *_, **__: {})

    monkeypatch.setattr(Cluster, "admin", without_descriptions)
    message = refused(f"{command} --bootstrap-servers {empty} --topic-prefix icu.")
    assert message.startswith(
        f"kafka: expected topic {', '.join(repr(f'icu.{name}') for name in missing)} at {empty}; "
    )
    assert message.endswith(f"create the topics with: beatwire topics --bootstrap-servers {empty} --topic-prefix icu.")
    assert refused(f"{command} --bootstrap-servers {empty}").endswith(f"beatwire topics --bootstrap-servers {empty}")


@pytest.mark.parametrize("address", ["foo", "127.0.0.1:abc", "127.0.0.1:9092,foo"])
@pytest.mark.parametrize("command", [ACK, READ, CHANGE])
def test_an_address_without_a_port_is_refused_without_a_connection(command: str, address: str) -> None:
    expected = f"--bootstrap-servers: kafka.bootstrap: expected HOST:PORT[,HOST:PORT...]; got {address!r}"
    assert refused(f"{command} --bootstrap-servers {address}") == expected


def test_the_help_of_limits_lists_every_rule_that_can_be_set_with_its_range() -> None:
    help_text = " ".join(CliRunner().invoke(app, ["limits", "--help"]).stdout.split())
    for rule, one in SETTABLE.items():
        assert f"{rule.replace(' ', '-')} {one.least:g}-{one.most:g} {one.unit}" in help_text
    assert "{rules}" not in help_text


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("asystole=5 asystole=6", "expected one limit of asystole; got 5 and 6"),
        ("no-data=5 pause=2 no_data=5", "expected one limit of no data; got 5 and 5"),
        ("asystole=x", "expected RULE=NUMBER, such as asystole=5; got 'asystole=x'"),
        ("5", "expected RULE=NUMBER, such as asystole=5; got '5'"),
    ],
)
def test_limits_that_cannot_be_meant_are_refused_without_a_broker(given: str, expected: str) -> None:
    assert refused(f"limits bed-1 {given} --by Ada --bootstrap-servers {NOBODY}") == f"limits of 'bed-1': {expected}"
