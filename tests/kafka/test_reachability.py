"""Brokers that answer at the given address and name others: clients use those, so one of them has to be reachable."""

import contextlib
import socket
import threading
from types import SimpleNamespace

import pytest
from beatwire.cli.main import app
from beatwire.errors import UserError
from beatwire.kafka import reachability, topics
from beatwire.kafka.cluster import Cluster, UnansweredError, _Lines
from beatwire.kafka.publishing import live_sender
from beatwire.kafka.reachability import BUSY_S
from beatwire.service import doctor
from beatwire.service.observing.logs import configure, print_waiting
from typer.testing import CliRunner

NOBODY = ("127.0.0.1", 1)
LINES = {
    "kafka.internal:9092/1: Failed to resolve 'kafka.internal:9092': Name or service not known "
    "(after 2ms in state CONNECT)": "kafka.internal:9092: Failed to resolve 'kafka.internal:9092': Name or service "
    "not known",
    "ssl://10.0.0.7:9093/12: Connect to ipv4#10.0.0.7:9093 failed: Connection refused (after 0ms in state CONNECT, "
    "1 identical error(s) suppressed)": "10.0.0.7:9093: Connect to ipv4#10.0.0.7:9093 failed: Connection refused",
    "127.0.0.1:19999/bootstrap: Connect to ipv4#127.0.0.1:19999 failed: Connection refused (after 0ms)": "",
}


def naming(monkeypatch: pytest.MonkeyPatch, *places: tuple[str, int]) -> None:
    """Replace the metadata of a cluster by brokers at these addresses."""
    brokers = {k: SimpleNamespace(host=host, port=port) for k, (host, port) in enumerate(places)}
    found = SimpleNamespace(brokers=brokers, topics=dict.fromkeys(topics.TOPICS))
    monkeypatch.setattr(Cluster, "metadata", lambda *_: found)


def test_addresses_that_nobody_answers_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    naming(monkeypatch, NOBODY)
    with pytest.raises(UserError, match=r"addresses that kafka:9092 gives; got 127.0.0.1:1: .*advertised.listeners"):
        topics.check_broker(Cluster("kafka:9092"))
    assert doctor.broker(Cluster("kafka:9092")).state == doctor.WARNING


def test_one_address_that_is_answered_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        naming(monkeypatch, NOBODY, other.getsockname())
        topics.check_broker(Cluster("kafka:9092"))


@pytest.mark.parametrize(
    ("bootstrap", "place"), [("dead:9092, kafka:9092", ("kafka", 9092)), ("[2001:db8::1]:9092", ("2001:db8::1", 9092))]
)
def test_an_address_that_was_given_is_not_tried_again(
    monkeypatch: pytest.MonkeyPatch, bootstrap: str, place: tuple[str, int]
) -> None:
    naming(monkeypatch, place)
    topics.check_broker(Cluster(bootstrap))


@pytest.mark.parametrize(("line", "expected"), LINES.items(), ids=lambda _: "")
def test_the_log_of_a_client_says_which_named_broker_cannot_be_reached(line: str, expected: str) -> None:
    lines = _Lines()
    lines.log(3, "%s", f"FAIL [rdkafka#producer-1] [thrd:x]: {line}")
    assert lines.unreachable == expected


@pytest.mark.parametrize(("named", "told"), [("kafka-1:9092", "got no answer"), ("b-7:9092", "got b-7:9092: refused")])
def test_without_an_answer_the_named_broker_is_said_unless_it_was_asked(
    monkeypatch: pytest.MonkeyPatch, named: str, told: str
) -> None:
    def unanswered(*_: object) -> None:
        raise UnansweredError("", f"{named}: refused")

    monkeypatch.setattr(Cluster, "metadata", unanswered)
    with pytest.raises(UserError, match=told):
        topics.check_broker(Cluster("kafka-1:9092"))


def closing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each request be answered as by a listener of another protocol."""

    def metadata(*_: object) -> None:
        raise UnansweredError("it closes every connection: does security.protocol agree with the listener?")

    monkeypatch.setattr(Cluster, "metadata", metadata)


def test_the_doctor_says_that_a_listener_closes_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    closing(monkeypatch)
    found = doctor.broker(Cluster("kafka:9093"))
    assert (found.state, found.remedy) == (doctor.WARNING, "")
    assert "does security.protocol agree with the listener?" in found.found


def test_an_export_says_as_every_command_why_no_broker_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    closing(monkeypatch)
    done = CliRunner().invoke(app, ["export", "fhir", "--bootstrap-servers", "kafka:9093"])
    assert isinstance(done.exception, UserError)
    assert "does security.protocol agree with the listener?" in str(done.exception)


def test_a_sender_waits_for_a_broker_that_refuses_it_for_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[Exception | None] = [UserError("SASL authentication error"), UnansweredError(""), None]

    def metadata(*_: object) -> SimpleNamespace:
        if (answer := answers.pop(0)) is not None:
            raise answer
        return SimpleNamespace(brokers={1: None})

    monkeypatch.setattr(Cluster, "metadata", metadata)
    monkeypatch.setattr(live_sender, "_CHECK_S", 0.0)
    sender = live_sender.LiveSender(Cluster("127.0.0.1:1"), stuck_s=0.0, outage_s=float("inf"))
    sender.send("ecg.samples", [b"bed-1"], [b"1"])
    while answers:
        sender.check()
    assert sender.replaced == 1
    sender.close()


def answering(monkeypatch: pytest.MonkeyPatch, *answers: object) -> list[float]:
    """Replace the answers of brokers, one a request; return how long each was waited for."""
    left, waits = list(answers), list[float]()

    def metadata(_: Cluster, timeout_s: float) -> object:
        waits.append(timeout_s)
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(Cluster, "metadata", metadata)
    return waits


def test_a_broker_that_takes_connections_and_is_slow_is_waited_for_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    configure()  # as an earlier command of the same process
    print_waiting()
    with socket.create_server(("127.0.0.1", 0)) as slow:
        host, port = slow.getsockname()
        found = SimpleNamespace(brokers={1: SimpleNamespace(host=host, port=port)}, topics={"ecg.acks": None})
        waits = answering(monkeypatch, UnansweredError(""), found)
        topics.check_broker(Cluster(f"{host}:{port}"), ["ecg.acks"])
        assert waits == [5.0, BUSY_S]
        assert capsys.readouterr().err == (
            f"kafka: {host}:{port} takes connections and has not answered for 5 s: waiting, up to 60 s more\n"
        )
        answering(monkeypatch, UnansweredError(""), UnansweredError(""))
        with pytest.raises(UserError, match=r"no answer in 5 s \(nor in 60 s more, although it takes connections\)"):
            topics.check_broker(Cluster(f"{host}:{port}"))


@pytest.mark.parametrize("bootstrap", ["127.0.0.1:1", "nobody.invalid:9092", "127.0.0.1:99999", "x" * 300 + ":9092"])
def test_where_nothing_listens_the_answer_comes_as_soon_as_before(
    monkeypatch: pytest.MonkeyPatch, bootstrap: str
) -> None:
    waits = answering(monkeypatch, UnansweredError(""))
    with pytest.raises(UserError, match="got no answer in 5 s"):
        topics.check_broker(Cluster(bootstrap))
    assert waits == [5.0]


def test_what_answers_and_is_no_kafka_is_said_and_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                one, _ = other.accept()
                one.sendall(b"SSH-2.0-OpenSSH_9.2p1\r\n")
                ended.append(one)

    monkeypatch.setattr(reachability, "BUSY_S", 600.0)
    ended: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as other:
        serving = threading.Thread(target=serve, daemon=True)
        serving.start()
        with pytest.raises(UserError, match="what answers there is no Kafka broker"):
            topics.check_broker(Cluster(f"127.0.0.1:{other.getsockname()[1]}"), timeout_s=1.0)
        other.shutdown(socket.SHUT_RDWR)
        serving.join()
    for one in ended:
        one.close()


@pytest.mark.parametrize("outage_s", [300.0, float("inf")])
def test_a_sender_that_waits_for_its_broker_says_so_once_unless_its_owner_does(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, outage_s: float
) -> None:
    monkeypatch.setattr(live_sender, "_CHECK_S", 0.0)
    monkeypatch.setattr(live_sender, "_SILENT_S", 0.0)
    sender = live_sender.LiveSender(Cluster("127.0.0.1:1"), outage_s=outage_s)
    sender.send("ecg.samples", [b"bed-1"] * 3, [b"1"] * 3)
    for _ in range(3):
        sender.check()
    expected = ["kafka: 127.0.0.1:1 has acknowledged nothing for 0 s: 3 messages wait, up to 300 s"]
    assert [record.getMessage() for record in caplog.records] == (expected if outage_s < float("inf") else [])
    sender.close()
