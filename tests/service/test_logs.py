"""Log lines: JSON objects for programs, plain lines for people."""

import json
import logging
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from beatwire.cli import main as command_line
from beatwire.errors import UserError
from beatwire.service.observing import logs
from beatwire.service.observing.scorer_log import ScorerLog


def test_a_line_of_json_has_time_level_event_message_and_fields(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("json", worker=2)
    before = datetime.now(UTC)
    logs.log_event("stopped", "stopped:\n3 beats", beats=3)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    line = json.loads(err)
    at = datetime.fromisoformat(line.pop("time"))
    assert abs((at - before).total_seconds()) < 5
    assert line == {"level": "info", "event": "stopped", "message": "stopped:\n3 beats", "worker": 2, "beats": 3}


def test_a_line_for_people_is_the_sentence_alone(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure()
    logs.log_event("backend", "[cpu] as requested", backend="cpu")
    assert capsys.readouterr().err == "[cpu] as requested\n"


def test_a_line_is_bounded_and_moves_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    for form in ("console", "json"):
        logs.configure(form)
        logs.log_event("rejects", "\x1b[2J" + "x" * 100_000, reason="y" * 100_000)
        err = capsys.readouterr().err
        assert len(err) < 3 * logs.LONGEST_TEXT
        assert "\x1b" not in err


def test_lower_levels_are_not_written(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("json", "warning")
    logs.log_event("backend", "cpu")
    logs.log_event("hang", "the loop stands", level=logging.ERROR)
    (line,) = capsys.readouterr().err.splitlines()
    assert json.loads(line)["level"] == "error"


def test_lines_of_the_kafka_library_are_written_at_debug_only(capsys: pytest.CaptureFixture[str]) -> None:
    for level in ("info", "debug"):
        logs.configure("json", level)
        logs.KAFKA.error("FAIL [thrd:127.0.0.1:1/bootstrap]: Connect failed")
    (line,) = capsys.readouterr().err.splitlines()
    assert (json.loads(line)["event"], json.loads(line)["level"]) == ("librdkafka", "error")


def test_configuring_again_replaces_the_form(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("json")
    logs.configure("console")
    logs.log_event("backend", "cpu")
    assert capsys.readouterr().err == "cpu\n"
    assert not logs.writes_json()


def test_nothing_is_written_before_the_logger_is_configured(capsys: pytest.CaptureFixture[str]) -> None:
    logs.log_event("stale tick", "a tick was not published", level=logging.WARNING)
    assert capsys.readouterr().err == ""


def test_an_error_that_ends_the_command_is_a_line_of_json_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = "beatwire monitor --bootstrap-servers 127.0.0.1:1 --workers 2 --metrics-port 70000 --log-format json"
    monkeypatch.setattr("sys.argv", words.split())
    with pytest.raises(SystemExit) as ended:
        command_line.main()
    assert ended.value.code == 2
    line = json.loads(capsys.readouterr().err.splitlines()[-1])
    assert (line["level"], line["event"]) == ("error", "error")
    assert "metrics.port: expected less than or equal to 65535; got 70000" in line["message"]


def test_a_user_error_is_a_red_line_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("console")
    command_line._print_error(UserError("x: expected 1; got 2"), "red")
    assert "beatwire: x: expected 1; got 2" in capsys.readouterr().err


def test_the_log_says_once_that_a_scorer_fails_and_that_it_works_again(caplog: pytest.LogCaptureFixture) -> None:
    scorer = SimpleNamespace(failure=None)
    log = ScorerLog(scorer)
    with caplog.at_level("INFO"):
        for failure in (None, "broken", "broken", None, None):
            scorer.failure = failure
            log.note(None)
    assert [record.getMessage() for record in caplog.records] == [
        "--scorer: gives no scores: broken", "--scorer: gives scores again",
    ]  # fmt: skip
