"""``beatwire tail``: only the streams that were asked for, as aligned lines or as JSON."""

import base64
import io
import json
import math
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import fastavro
import pytest
from alert_values import alert, value
from beatwire.cli.ward.tail import HEADS, AlertLines, Topic, _json_line, alert_line, beat_line, letter_line, wrapped
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.local.mock import MockKafka
from beatwire.kafka.reading.tail import tail
from beatwire.lazy import import_in_background
from beatwire.records import Fault, RawTick, Rejects
from beatwire.wire import names
from beatwire.wire.avro import decode_beat, schema
from beatwire.wire.dead_letters import MOST_ALONE, dead_letters
from kafka_messages import quick_sender
from moments import LIMIT_S
from received import Received
from rich.console import Console

STREAMS = [f"bed-{k}" for k in range(12)]
BEAT = {
    "stream": "bed-3", "session": 1, "sample": 250, "time": datetime(2026, 11, 22, 21, 5, 9, 87_654, UTC),
    "rr_ms": 800.0, "rate_bpm": 75.4, "response": 1.0, "quality": 0.987, "score": 0.5, "prematurity": None,
    "scored_by": "history", "model": "m", "arrived": datetime(2026, 11, 22, tzinfo=UTC), "expected_errors": None,
}  # fmt: skip
ALERT = alert(stream="bed-3", decided_us=12_345_678)


def encoded(beat: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, schema("beat"), beat)
    return buffer.getvalue()


@pytest.fixture(scope="module")
def published() -> Iterator[Cluster]:
    """A broker with ten beats and ten alerts of each stream."""
    with MockKafka() as kafka, quick_sender(kafka.cluster) as sender:
        for sample in range(10):
            beats = [encoded(BEAT | {"stream": stream, "sample": sample}) for stream in STREAMS]
            sender.send(names.BEATS, [stream.encode() for stream in STREAMS], beats)
            keys = [f"{stream} {sample}" for stream in STREAMS]
            alerts = [value(key, stream=key.split()[0], onset=sample) for key in keys]
            sender.send(names.ALERTS, [key.encode() for key in keys], alerts)
        sender.flush()
        yield kafka.cluster


def test_dead_letters_are_lines_packed_or_not(published: Cluster) -> None:
    import_in_background("beatwire.wire.packed_letters").join(60)
    sent = [b"x" * k for k in range(MOST_ALONE + 20)]
    with quick_sender(published) as sender:
        for numbers in (range(MOST_ALONE + 20), range(3)):
            rejects = Rejects.of((k, Fault("malformed", "decode: cut off")) for k in numbers)
            for outgoing in dead_letters(rejects, RawTick.of(sent), Received(sent), {}):
                sender.send_with_headers(outgoing.topic, outgoing.keys, outgoing.values, outgoing.headers or [])
        sender.send(names.DEAD_LETTERS, [b"by hand"], [b"no headers"])
    notes: list[str] = []
    found, stop = [], threading.Event()

    def note(text: str) -> None:
        notes.append(text)
        if len(found) == 2:
            stop.set()

    for record in tail("dead-letters", published, earliest=True, streams=["key 2"], stop=stop, notes=note):
        found.append(record)
        if len(found) == 2 and notes:
            stop.set()
    for record in found:
        assert (record["partition"], record["offset"], record["reason"]) == (0, 2, "decode: cut off")
        assert base64.b64decode(record["value_base64"]) == b"xx"
        assert str(letter_line(record))[14:].split() == ["key", "2", "0", "2", "2", "decode:", "cut", "off"]
    assert len(notes) == 1
    assert "expected headers reason, topic" in notes[0]
    head, line = HEADS[Topic.DEAD_LETTERS], str(letter_line(found[0]))
    assert line[head.index("REASON") :] == "decode: cut off"


def test_the_key_of_a_rejected_message_does_not_control_the_terminal() -> None:
    letter = {
        "published": datetime(2026, 11, 22, tzinfo=UTC), "stream": "\x1b[2Jbed\n", "partition": 0, "offset": 1,
        "bytes": 2, "reason": "decode: cut off\r",
    }  # fmt: skip
    line = str(letter_line(letter))
    assert line.isprintable()
    assert r"\x1b[2Jbed\n" in line
    assert line.endswith(r"cut off\r")


@pytest.mark.parametrize(("kind", "index"), [("beats", "sample"), ("alerts", "onset")])
def test_only_the_streams_that_were_asked_for_are_followed(published: Cluster, kind: str, index: str) -> None:
    wanted, stop = ("bed-3", "bed-11", "bed-99"), threading.Event()  # the last one never sends
    got: list[tuple[str, int]] = []
    for record in tail(kind, published, earliest=True, streams=wanted, stop=stop):
        got.append((record["stream"], record[index]))
        if len(got) == 20:
            stop.set()
    assert sorted(got) == sorted((stream, k) for stream in wanted[:2] for k in range(10))


@pytest.mark.parametrize("kind", ["beats", "alerts"])
@pytest.mark.parametrize("wanted", [("bad-3",), ("bed-4", "bad-3"), ("bed-4",)])
def test_a_stream_that_does_not_come_while_others_do_is_said_once(
    published: Cluster, kind: str, wanted: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("beatwire.kafka.reading.tail._PATIENCE_S", 0.0)
    notes, stop = [], threading.Event()
    threading.Timer(3.0, stop.set).start()
    found = list(tail(kind, published, earliest=True, streams=wanted, stop=stop, notes=notes.append))
    assert len(found) == 10 * ("bed-4" in wanted)
    said = f"tail: expected {kind} of 'bad-3'; got only those of other streams so far"
    assert [note.split(" (")[0] for note in notes if "bad" in note] == [said] * ("bad-3" in wanted)


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_the_command_prints_the_beats_of_a_stream_until_it_is_interrupted(
    published: Cluster, options: list[str]
) -> None:
    command = [sys.executable, "-m", "beatwire", "tail", "beats", "--stream", "bed-7", "--from-beginning", *options]
    with subprocess.Popen(
        [*command, "--bootstrap-servers", published.bootstrap],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline().rstrip("\n") for _ in range(10 if options else 11)]
        process.send_signal(signal.SIGINT)
        rest, err = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, rest, err) == (0, "", "")
    if options:
        assert [json.loads(line)["sample"] for line in lines] == list(range(10))
    else:
        assert lines == [HEADS[Topic.BEATS]] + ["21:05:09.087  bed-7                    75   0.50         99"] * 10


def test_alerts_begin_with_the_head_and_what_is_in_force_and_go_on_with_what_follows(published: Cluster) -> None:
    with MockKafka() as kafka, quick_sender(kafka.cluster) as sender:
        for key, state in (("a", "on"), ("b", "on"), ("b", "off"), ("c", "latched")):
            sender.send(names.ALERTS, [key.encode()], [value(key, stream=f"bed-{key}", state=state)])
        sender.flush()
        command = [sys.executable, "-m", "beatwire", "tail", "alerts", "--bootstrap-servers", kafka.cluster.bootstrap]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline().rstrip("\n") == HEADS[Topic.ALERTS]
            assert sorted(process.stdout.readline().split()[1] for _ in range(2)) == ["bed-a", "bed-c"]
            sender.send(names.ALERTS, [b"a"], [value("a", stream="bed-a", state="off")])
            sender.flush()
            assert process.stdout.readline().split()[1:3] == ["bed-a", "***"]
            process.send_signal(signal.SIGINT)
            rest, err = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, rest, err) == (0, "", "")


@pytest.mark.parametrize("microsecond", [0, 87_654])
def test_a_line_of_json_is_one_for_every_parser_and_its_times_have_one_form(microsecond: int) -> None:
    beat = BEAT | {
        "time": datetime(2026, 11, 22, 21, 5, 9, microsecond, UTC),
        "rate_bpm": float("inf"),
        "rr_ms": math.nan,
    }
    read = json.loads(_json_line(decode_beat(encoded(beat))), parse_constant=pytest.fail)
    assert read["time"] == f"2026-11-22T21:05:09.{microsecond:06}+00:00"
    assert (read["rate_bpm"], read["rr_ms"]) == (None, None)


@pytest.mark.parametrize(
    "wrong", [{"quality": math.nan}, {"response": -math.inf}, {"beat_class": "NV"}, {"beat_class": "é"}]
)
def test_a_beat_with_a_value_that_no_reader_can_show_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"for {next(iter(wrong))}; got"):
        decode_beat(encoded(BEAT | wrong))


def test_a_beat_has_its_rate_score_and_quality_under_its_head_or_why_there_is_none() -> None:
    rows = [HEADS[Topic.BEATS], str(beat_line(BEAT)), str(beat_line(BEAT | {"rate_bpm": None, "score": None}))]
    for title, shown in (("RATE /MIN", ("75", "-")), ("SCORE", ("0.50", "-")), ("QUALITY %", ("99", "99"))):
        stop = rows[0].index(title) + len(title)
        assert tuple(row[stop - len(title) : stop].strip() for row in rows[1:]) == shown
    unscored = str(beat_line(BEAT | {"score": None, "scored_by": "gap", "beat_class": "V"}))
    assert unscored[rows[0].index("CLASS") :] == "V      not scored: gap"
    assert str(beat_line(BEAT | {"beat_class": "N"})) == rows[1]
    assert len(rows[0]) < 80


@pytest.mark.parametrize(("priority", "stars"), [("high", "***"), ("medium", "** "), ("low", "*  ")])
def test_an_alert_has_its_time_stars_state_and_text(priority: str, stars: str) -> None:
    line = alert_line(ALERT | {"priority": priority})
    assert str(line) == f"00:00:12.345  bed-3             {stars}  on       asystole: no beat for 4 s"
    assert line.style
    ended = alert_line(ALERT | {"state": "off"})
    assert ended.style == "dim"
    head = HEADS[Topic.ALERTS]
    assert str(ended)[head.index("STATE") :].startswith("off")
    assert str(ended)[head.index("ALERT") :].startswith("asystole")


def test_a_reminder_has_its_number_and_a_transition_after_reminders_has_none() -> None:
    line_of = AlertLines()
    log = [("on", 0), ("on", 1), ("on", 2), ("latched", 2), ("latched", 3), ("off", 3)]
    lines = [str(line_of(ALERT | {"id": "a", "state": state, "reminders": count})) for state, count in log]
    start = HEADS[Topic.ALERTS].index("ALERT")
    numbers = ["", "reminder 1: ", "reminder 2: ", "", "reminder 3: ", ""]
    assert [line[start:] for line in lines] == [f"{number}asystole: no beat for 4 s" for number in numbers]
    assert {line[:12] for line in lines} == {"00:00:12.345"}
    assert "reminder 7" in str(line_of(ALERT | {"id": "b", "reminders": 7}))  # raised before tail began


@pytest.mark.parametrize("width", [66, 80, 100])
def test_a_text_that_is_too_long_for_the_terminal_goes_on_under_its_head(width: int) -> None:
    text = "tachycardia: median rate 161/min, limit 120 (signal doubtful)"
    line, start = alert_line(ALERT | {"text": text}), HEADS[Topic.ALERTS].index("ALERT")
    shown = wrapped(line, Topic.ALERTS, Console(width=width))
    rows = str(shown).split("\n")
    assert len(rows) > 1
    assert max(map(len, rows)) <= width
    assert {row[:start] for row in rows[1:]} == {" " * start}
    assert " ".join(row[start:].strip() for row in rows) == text
    assert shown.style == line.style
    assert wrapped(line, Topic.ALERTS, Console(width=60)) == wrapped(line, Topic.ALERTS, Console(width=200)) == line


def test_an_alert_of_another_program_with_missing_fields_is_still_a_line() -> None:
    assert str(alert_line({"rule": "pause"})).split() == ["-"]
