"""The whole monitor as a user starts it, on a real Kafka: killed in mid-stream and taken over."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter

import pytest
from confluent_kafka.admin import AdminClient

from streaming.kafka import topics
from streaming.kafka.readers import decode_beat, read_to_end

pytestmark = pytest.mark.kafka

STREAMS, SECONDS, SPEED = 10, 60, 4


@pytest.fixture
def command():
    """Start ``beatwire ...``; end what is left of it."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        started.append(
            subprocess.Popen(
                [sys.executable, "-m", "streaming", *arguments],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )
        return started[-1]

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def outcome(bootstrap: str) -> tuple[Counter[tuple[object, ...]], Counter[tuple[object, ...]]]:
    """Return the beats by id and what was found of them, and the alerts' transitions by id."""
    beats = [decode_beat(value) for _, value in read_to_end(bootstrap, topics.BEATS) if value]
    alerts = [json.loads(value) for _, value in read_to_end(bootstrap, topics.ALERTS) if value]
    return (
        Counter((beat["stream"], beat["session"], beat["sample"], beat["rr_ms"], beat["scored_by"]) for beat in beats),
        # no data is decided by the clock, not by samples
        Counter((alert["id"], alert["rule"], alert["state"]) for alert in alerts if alert["rule"] != "no data"),
    )


def test_a_killed_monitor_is_taken_over_with_the_beats_and_alerts_of_one_that_never_stopped(kafka, command, wait):
    where = ("--bootstrap-servers", kafka.bootstrap)
    first = command("monitor", *where, "--group", "killed")
    assert first.stdout is not None
    assert any(line.startswith("monitoring") for line in first.stdout)
    feed = command(
        "replay", "synthetic", *where, "--speed", str(SPEED), "--streams", str(STREAMS), "--seconds", str(SECONDS)
    )
    wait(lambda: sum(topics.ends_of(kafka.bootstrap, topics.BEATS).values()) > 100, 60)
    first.kill()
    assert feed.poll() is None, "the feed was over before the kill"
    second = command("monitor", *where, "--group", "killed")
    assert feed.wait(60) == 0, feed.communicate()
    wait(lambda: topics.group_lag(kafka.bootstrap, "killed") == 0, 90)
    second.terminate()
    told, _ = second.communicate(timeout=30)
    assert second.returncode == 0, told
    beats, alerts = outcome(kafka.bootstrap)

    admin = AdminClient(topics.quiet(kafka.bootstrap))
    for future in admin.delete_topics([topics.BEATS, topics.ALERTS]).values():
        future.result(20)
    wait(lambda: topics.BEATS not in admin.list_topics(timeout=10).topics, 20)
    topics.create_topics(kafka.bootstrap)
    whole = command("monitor", *where, "--group", "undisturbed")
    wait(lambda: topics.group_lag(kafka.bootstrap, "undisturbed") == 0, 90)
    whole.terminate()
    told, _ = whole.communicate(timeout=30)
    assert whole.returncode == 0, told

    undisturbed_beats, undisturbed_alerts = outcome(kafka.bootstrap)
    assert sum(beats.values()) > STREAMS * SECONDS * 0.7
    assert beats - undisturbed_beats == Counter()
    assert undisturbed_beats - beats == Counter()
    assert alerts == undisturbed_alerts
    assert max(beats.values()) == 1


def test_an_unreachable_broker_is_one_line_and_exit_code_2(command):
    process = command("monitor", "--bootstrap-servers", "127.0.0.1:1")
    told, _ = process.communicate(timeout=60)
    assert process.returncode == 2
    assert re.search(r"expected a broker at 127\.0\.0\.1:1", told)
    assert "Traceback" not in told
