"""Workers die, come, go and lose their broker; what is published is what one that never stopped publishes."""

from __future__ import annotations

import time

import pytest

pytestmark = pytest.mark.kafka


def test_a_worker_killed_in_mid_stream_is_replaced_without_loss_or_repetition(kafka, ward):
    ours = ward(kafka.bootstrap)
    first = ours.start_worker()
    with ours.feeding() as feed:
        feed(200, rate_hz=200)
        ours.wait_published(1)
        feed(100, rate_hz=200)
        first.kill()
        second = ours.start_worker()
        feed(300, rate_hz=200)
    ours.wait_done()
    told = ours.stop(second)
    assert told["replayed"] > 0
    assert 0 < told["messages"] < ours.sent * len(ours.streams)
    assert ours.surplus_and_missing() == ({}, {})


def test_workers_that_come_and_leave_share_the_streams(kafka, ward):
    ours = ward(kafka.bootstrap)
    first = ours.start_worker()
    with ours.feeding() as feed:
        feed(150, rate_hz=150)
        second = ours.start_worker()
        feed(400, rate_hz=150)
        left_at = time.monotonic()
        one = ours.stop(first)
        feed(150, rate_hz=150)
    ours.wait_done(timeout_s=4.0)  # it left the group: nobody waited for its session to expire
    assert time.monotonic() - left_at < 6.0
    other = ours.stop(second)
    assert one["messages"] > 0
    assert other["messages"] > 0
    assert one["messages"] + other["messages"] == ours.sent * len(ours.streams)
    assert ours.surplus_and_missing() == ({}, {})


def test_a_broker_stopped_killed_and_started_again_changes_nothing(own_kafka, ward):
    ours = ward(own_kafka.bootstrap)
    worker = ours.start_worker()
    with ours.feeding() as feed:
        for take_away in (own_kafka.stop, own_kafka.kill):
            feed(150, rate_hz=150)
            ours.wait_published(1)  # a worker that finds no broker at its start says so and ends
            take_away()
            own_kafka.start()
        feed(150, rate_hz=150)
    ours.wait_done()
    ours.stop(worker)
    assert ours.surplus_and_missing() == ({}, {})


def test_a_backlog_is_worked_off_in_few_ticks(kafka, ward):
    ours = ward(kafka.bootstrap)
    with ours.feeding() as feed:
        feed(3_000)
    worker = ours.start_worker("--until", str(ours.sent * len(ours.streams)))
    ours.wait_done()
    assert worker.wait(30) == 0
    assert ours.surplus_and_missing() == ({}, {})


def test_at_least_once_loses_nothing(kafka, ward):
    ours = ward(kafka.bootstrap)
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
    due = ours.due()
    assert all(line in due[name] for name, lines in surplus.items() for line in lines)  # repetitions only
