"""The whole monitor as a user starts it, on a real Kafka: killed and replaced, several workers, errors at the start."""

import json
import re
import subprocess
import sys
from collections import Counter

import pytest
from beatwire.kafka import topics
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming import commits
from beatwire.kafka.reading.readers import read_to_end
from beatwire.service.warmup import warm_up
from beatwire.wire import names
from beatwire.wire.avro import decode_beat
from moments import LIMIT_S

pytestmark = pytest.mark.kafka

STREAMS, SECONDS, SPEED = 10, 60, 3  # twenty seconds: long enough for beats on a busy machine too


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    """Compile the kernels into the cache that the monitors of these tests use."""
    warm_up(print)


@pytest.fixture
def command():
    """Return a function that starts ``beatwire ...``; end all processes after the test."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        started.append(
            subprocess.Popen(
                [sys.executable, "-m", "beatwire", *arguments],
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


def outcome(cluster: Cluster) -> tuple[list[dict[str, object]], Counter[tuple[object, ...]]]:
    """Return the beats in order, and how often each transition of an alert was published."""
    beats = [decode_beat(value) for _, value in read_to_end(cluster, names.BEATS) if value]
    alerts = [json.loads(value) for _, value in read_to_end(cluster, names.ALERTS) if value]
    return (
        sorted(beats, key=identity),
        # "no data" depends on the clock, not on samples alone
        Counter((alert["id"], alert["rule"], alert["state"]) for alert in alerts if alert["rule"] != "no data"),
    )


def identity(beat: dict[str, object]) -> tuple[object, ...]:
    return beat["stream"], beat["session"], beat["sample"]


def run_undisturbed(kafka, command, wait, monitor) -> None:
    """Delete the output, and run one monitor over the same input from the beginning."""
    admin = kafka.cluster.admin()
    for future in admin.delete_topics([names.BEATS, names.ALERTS]).values():
        future.result(60)
    wait(lambda: names.BEATS not in admin.list_topics(timeout=60).topics)
    topics.create_topics(kafka.cluster)
    whole = command(*monitor, "undisturbed")
    wait(lambda: commits.group_lag(kafka.cluster, "undisturbed") == 0)
    whole.terminate()
    output, _ = whole.communicate(timeout=LIMIT_S)
    assert whole.returncode == 0, output


@pytest.mark.slow  # test_chaos and test_recovery kill one each
def test_a_killed_monitor_is_replaced_with_the_beats_and_alerts_of_one_that_never_stopped(kafka, command, wait):
    where = ("--bootstrap-servers", kafka.bootstrap)
    monitor = ("monitor", *where, "--score-within", "0", "--group")
    first = command(*monitor, "killed")
    assert first.stdout is not None
    assert any(line.startswith("monitoring") for line in first.stdout)
    feed = command(
        "replay",
        "synthetic",
        "synthetic:bpm=135",
        *where,
        "--speed",
        str(SPEED),
        "--streams",
        str(STREAMS),
        "--seconds",
        str(SECONDS),
    )
    wait(lambda: sum(topics.end_offsets(kafka.cluster, names.BEATS).values()) > 100)
    first.kill()
    assert feed.poll() is None, "the feed was over before the kill"
    second = command(*monitor, "killed")
    assert feed.wait(LIMIT_S) == 0, feed.communicate()
    wait(lambda: commits.group_lag(kafka.cluster, "killed") == 0)
    second.terminate()
    output, _ = second.communicate(timeout=LIMIT_S)
    assert second.returncode == 0, output
    beats, alerts = outcome(kafka.cluster)

    run_undisturbed(kafka, command, wait, monitor)
    undisturbed_beats, undisturbed_alerts = outcome(kafka.cluster)
    assert len(beats) > STREAMS * SECONDS * 0.7
    assert [identity(beat) for beat in beats] == [identity(beat) for beat in undisturbed_beats]
    for name in ("time", "rr_ms", "rate_bpm", "quality", "response", "prematurity", "scored_by"):
        assert [beat[name] for beat in beats] == [beat[name] for beat in undisturbed_beats], name
    # not "arrived": a backlog is read in larger ticks. Float32 sums of a batch depend on its size
    assert [beat["score"] for beat in beats] == pytest.approx([beat["score"] for beat in undisturbed_beats], abs=1e-3)
    assert undisturbed_alerts
    assert alerts == undisturbed_alerts


@pytest.mark.slow  # test_chaos and test_recovery have more workers
def test_two_workers_publish_the_same_as_one(kafka, command, wait):
    where = ("--bootstrap-servers", kafka.bootstrap)
    monitor = ("monitor", *where, "--score-within", "0", "--group")
    workers = command(*monitor, "workers", "--workers", "2")
    assert workers.stdout is not None
    ready = (line for line in workers.stdout if line.startswith("monitoring"))
    assert next(ready, None)
    assert next(ready, None)
    feed = command(
        "replay", "synthetic", "synthetic:bpm=135", *where, "--speed", "8", "--streams", str(STREAMS), "--seconds", "40"
    )
    assert feed.wait(LIMIT_S) == 0, feed.communicate()
    wait(lambda: commits.group_lag(kafka.cluster, "workers") == 0)
    workers.terminate()
    output, _ = workers.communicate(timeout=LIMIT_S)
    assert workers.returncode == 0, output
    shares = [int(count) for count in re.findall(r"stopped: (\d+) messages", output)]
    assert len(shares) == 2, output
    assert min(shares) > 0, output
    beats, alerts = outcome(kafka.cluster)
    run_undisturbed(kafka, command, wait, monitor)
    undisturbed_beats, undisturbed_alerts = outcome(kafka.cluster)
    assert len(beats) > STREAMS * 40 * 0.7
    assert [identity(beat) for beat in beats] == [identity(beat) for beat in undisturbed_beats]
    assert undisturbed_alerts
    assert alerts == undisturbed_alerts


def test_workers_that_cannot_start_end_the_command_with_their_reason_and_exit_code_2(command):
    process = command("monitor", "--workers", "2", "--bootstrap-servers", "127.0.0.1:1")
    output, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 2
    assert re.search(r"expected a broker at 127\.0\.0\.1:1", output)
    assert re.search(r"expected 2 workers to run; worker [12] could not", output)


def test_an_unreachable_broker_is_one_line_and_exit_code_2(command):
    process = command("monitor", "--bootstrap-servers", "127.0.0.1:1")
    output, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 2
    assert re.search(r"expected a broker at 127\.0\.0\.1:1", output)
    assert "Traceback" not in output
