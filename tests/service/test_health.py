"""Health and readiness over HTTP, with a real monitor whose loop the test holds."""

import logging
import socket
import struct
import threading

import pytest
from beatwire.errors import UserError
from beatwire.service.observing.health import Health, LoopState
from beatwire.service.observing.server import Server
from beatwire.service.observing.watchdog import Watchdog
from moments import wait_until
from monitored import Monitored, feed, polled


def test_a_monitor_that_has_not_turned_yet_is_healthy_and_not_ready() -> None:
    with Monitored([]) as monitored:
        assert monitored.probe("/healthz") == (200, {"status": "healthy"})
        status, body = monitored.probe("/readyz")
        assert (status, body["status"]) == (503, "not ready")
        assert body["reason"].startswith("starting")


@pytest.mark.parametrize(
    "sent", [b"", b"GET /healthz HTT", b"\0\0\0\x1f\0\x12\r\n\r\n", b"GET /metrics HTTP/1.1\r\n\r\n"]
)
def test_a_client_that_resets_its_connection_leaves_no_line_in_the_log(
    sent: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    with Monitored([]) as monitored:
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", monitored.server.port), timeout=60) as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                client.sendall(sent)
        assert monitored.probe("/healthz")[0] == 200
        wait_until(lambda: not [t for t in threading.enumerate() if "process_request_thread" in t.name])
    assert capsys.readouterr().err == ""


def test_a_loop_that_stands_is_unhealthy_and_the_answer_names_the_function() -> None:
    standing, go_on = threading.Event(), threading.Event()

    def hold_the_loop(_: object) -> None:
        standing.set()
        assert go_on.wait(60)

    with Monitored([polled(values) for values in feed(1)]) as monitored:
        monitored.pipeline.subscribe(monitored.pipeline.decoded, hold_the_loop)
        monitored.thread.start()
        try:
            assert standing.wait(60)
            monitored.now_s += 4.9
            assert monitored.probe("/healthz")[0] == 200
            monitored.now_s += 2.1
            status, body = monitored.probe("/healthz")
            ready = monitored.probe("/readyz")
        finally:
            go_on.set()
        assert status == 503
        assert body["status"] == "unhealthy"
        assert "has not turned for 7.0 s" in body["reason"]
        assert "test_health.py" in body["reason"]
        assert "hold_the_loop" in body["reason"]
        assert "\n" not in body["reason"]
        assert ready == (503, {"status": "not ready", "reason": ready[1]["reason"]})
        assert monitored.source.drained.wait(60)
        assert monitored.probe("/healthz")[0] == 200


def test_a_monitor_is_ready_when_partitions_are_assigned_and_the_replay_is_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, logger="beatwire")
    replayed, *live = feed(3)
    with Monitored([polled(replayed, replay=True)]) as monitored:
        monitored.run()
        assert monitored.loop.interrupted
        status, body = monitored.probe("/readyz")
        assert (status, body["reason"]) == (
            503,
            "interrupted: the replay after a change of the assignment has not ended",
        )
        monitored.now_s += 3.0
        monitored.source.ticks.extend(polled(values) for values in live)
        monitored.settle()
        assert monitored.probe("/readyz") == (200, {"status": "ready", "partitions": 1})
        assert [r.fields for r in caplog.records if r.event == "covered"] == [{"partitions": 1, "interrupted_s": 3.0}]  # type: ignore[attr-defined]
        assert monitored.loop.interrupted_s == 3.0
        monitored.source.held = 2
        monitored.settle()
        reason = "2 partitions wait for an answer of the schema registry"
        assert monitored.probe("/readyz") == (503, {"status": "not ready", "reason": reason})
        assert monitored.loop.held == 2
        monitored.source.partitions = 0
        monitored.settle()
        assert monitored.probe("/readyz") == (503, {"status": "not ready", "reason": "no partition is assigned"})


def test_interrupted_seconds_are_those_of_turns_that_ended_in_a_replay() -> None:
    loop = LoopState()
    for now_s, interrupted in ((0.0, True), (2.0, True), (3.0, False), (9.0, True), (9.5, False)):
        loop.turn(now_s, 1, interrupted=interrupted)
    assert loop.interrupted_s == 3.5


def test_a_loop_that_has_ended_does_not_hang() -> None:
    loop = LoopState()
    loop.turn(0.0, 1, interrupted=False)
    loop.ended = True
    health = Health(loop, lambda: 60.0)
    assert health.healthy().ok
    assert health.ready().body == {"status": "not ready", "reason": "stopping"}


def test_other_paths_are_not_found_and_the_answer_names_the_paths() -> None:
    with Monitored([]) as monitored:
        status, body = monitored.probe("/")
        assert status == 404
        assert "/metrics, /healthz, /readyz" in body["reason"]


def test_a_port_in_use_is_one_line() -> None:
    with Monitored([]) as monitored, pytest.raises(UserError, match=r"metrics: expected to listen on 127.0.0.1:\d+"):
        Server(object(), "127.0.0.1", monitored.server.port)  # type: ignore[arg-type]
    with pytest.raises(UserError, match=r"127.0.0.1:70000; got: a port is 0-65535"):
        Server(object(), "127.0.0.1", 70_000)  # type: ignore[arg-type]


def test_the_watchdog_logs_the_beginning_and_the_end_of_a_hang_once(caplog: pytest.LogCaptureFixture) -> None:
    loop, now_s = LoopState(), [0.0]
    watchdog = Watchdog(Health(loop, lambda: now_s[0]))
    with caplog.at_level(logging.INFO, logger="beatwire"):
        loop.turn(0.0, 1, interrupted=False)
        for now_s[0] in (1.0, 6.0, 7.0):
            watchdog.check()
        loop.turn(7.0, 1, interrupted=False)
        watchdog.check()
    assert [(r.levelname, r.event) for r in caplog.records] == [("ERROR", "hang"), ("WARNING", "turns again")]  # type: ignore[attr-defined]
    assert "test_the_watchdog_logs" in caplog.records[0].getMessage()
