"""Workers that are killed, join, leave or lose their broker publish the same as one that never stopped."""

import random
import subprocess
import sys
import time

import pytest
from moments import LIMIT_S

pytestmark = pytest.mark.kafka


def test_a_worker_killed_in_mid_stream_is_replaced_without_loss_or_repetition(kafka, ward):
    ours = ward(kafka.cluster)
    first = ours.start_worker()
    with ours.feeding() as feed:
        feed(200, rate_hz=200)
        ours.wait_published(1)
        feed(100, rate_hz=200)
        first.kill()
        second = ours.start_worker()
        feed(300, rate_hz=200)
    ours.wait_done()
    counters = ours.stop(second)
    assert counters["replayed"] > 0
    assert 0 < counters["messages"] < ours.sent * len(ours.streams)
    assert ours.surplus_and_missing() == ({}, {})


@pytest.mark.alone
def test_workers_that_join_and_leave_share_the_streams(kafka, ward):
    ours = ward(kafka.cluster)
    first = ours.start_worker()
    with ours.feeding() as feed:
        feed(150, rate_hz=150)
        ours.wait_published(1)
        second = ours.start_worker()
        feed(400, rate_hz=150)
        left_at = time.monotonic()
        one = ours.stop(first)
        feed(150, rate_hz=150)
    ours.wait_done(timeout_s=4.0)  # it left the group: its session did not have to expire
    assert time.monotonic() - left_at < 6.0
    other = ours.stop(second)
    assert one["messages"] > 0
    assert other["messages"] > 0
    assert one["messages"] + other["messages"] == ours.sent * len(ours.streams)
    assert ours.surplus_and_missing() == ({}, {})


@pytest.mark.slow  # test_chaos disturbs the broker in the fast suite
def test_a_broker_stopped_killed_and_started_again_changes_nothing(own_kafka, ward):
    ours = ward(own_kafka.cluster)
    worker = ours.start_worker()
    with ours.feeding() as feed:
        for end_broker in (own_kafka.stop, own_kafka.kill):
            feed(150, rate_hz=150)
            ours.wait_published(1)  # a worker that finds no broker at its start ends with an error
            end_broker()
            own_kafka.start()
        feed(150, rate_hz=150)
    ours.wait_done()
    ours.stop(worker)
    assert ours.surplus_and_missing() == ({}, {})


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(2))
def test_a_broker_stopped_or_killed_forty_times_at_random_changes_nothing(own_kafka, ward, seed):
    rng = random.Random(seed)
    ours = ward(own_kafka.cluster)
    worker = ours.start_worker()
    with ours.feeding() as feed:
        feed(150, rate_hz=150)
        ours.wait_published(1)
        for _ in range(40):
            feed(150, rate_hz=150)
            time.sleep(rng.choice((0.0, 2.0)) * rng.random())
            rng.choice((own_kafka.stop, own_kafka.kill))()
            own_kafka.start()
            feed(rng.choice((20, 150)), rate_hz=150)
            if rng.random() < 0.5:
                ours.wait_done()
    ours.wait_done()
    ours.stop(worker)
    assert ours.surplus_and_missing() == ({}, {})


def test_a_backlog_is_processed_completely(kafka, ward):
    ours = ward(kafka.cluster)
    with ours.feeding() as feed:
        feed(3_000)
    worker = ours.start_worker("--until", str(ours.sent * len(ours.streams)))
    ours.wait_done()
    assert worker.wait(LIMIT_S) == 0
    assert ours.surplus_and_missing() == ({}, {})


def test_at_least_once_loses_nothing(kafka, ward):
    ours = ward(kafka.cluster)
    first = ours.start_worker("--at-least-once")
    with ours.feeding() as feed:
        feed(200, rate_hz=200)
        ours.wait_published(1)
        first.kill()
        second = ours.start_worker("--at-least-once")
        feed(100, rate_hz=200)
    ours.wait_done()
    ours.stop(second)
    surplus, missing = ours.surplus_and_missing()
    assert missing == {}
    expected = ours.expected()
    assert all(line in expected[name] for name, lines in surplus.items() for line in lines)  # repetitions only


def test_a_request_for_the_commits_of_a_group_while_the_broker_starts_gets_an_answer_or_an_error(own_kafka):
    """With librdkafka's admin client the process ended; see `beatwire.kafka.consuming.commits`."""
    script = """
import sys, threading
from beatwire.wire import names
from beatwire.errors import FatalError
from beatwire.kafka.consuming import commits
from beatwire.kafka.cluster import Cluster

cluster = Cluster(sys.argv[1])

def ask():
    while not over.is_set():
        try:
            commits.committed_offsets(cluster, "ward", names.SAMPLES, range(4), timeout_s=2.0)
        except FatalError:
            pass

over = threading.Event()
askers = [threading.Thread(target=ask) for _ in range(8)]
for asker in askers:
    asker.start()
print("asking", flush=True)
sys.stdin.read()
over.set()
for asker in askers:
    asker.join()
print(commits.committed_offsets(cluster, "ward", names.SAMPLES, range(4)))
"""
    asked = [sys.executable, "-c", script, own_kafka.bootstrap]
    with subprocess.Popen(asked, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "asking\n"
        for _ in range(2):
            own_kafka.stop()
            own_kafka.start()
            time.sleep(2.0)
        out, _ = process.communicate("", timeout=LIMIT_S)
    assert (process.returncode, out) == (0, "{0: 0, 1: 0, 2: 0, 3: 0}\n")
