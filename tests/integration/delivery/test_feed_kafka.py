"""Devices on a real Kafka that is killed and started again: nothing is lost, and the order of a stream is kept."""

import threading
from pathlib import Path

import pytest
from beatwire.kafka.reading.readers import read_to_end
from beatwire.wire import decode_chunk, names
from beatwire_producers.devices.feed import run_feed
from device_feeds import Counting

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(240)]


@pytest.mark.parametrize("where", ["memory", pytest.param("disk", marks=pytest.mark.slow)])
def test_a_broker_that_is_killed_costs_no_sample(own_kafka, wait, tmp_path: Path, where: str):
    said: list[str] = []
    device = Counting(1000)
    spool = tmp_path if where == "disk" else None
    summaries = []

    def run() -> None:
        feed = run_feed([("counting", device)], own_kafka.cluster, threading.Event(), said.append, spool=spool)
        summaries.append(feed)

    runner = threading.Thread(target=run)
    runner.start()
    wait(lambda: device.at > 100)
    own_kafka.kill()
    wait(lambda: any("no answer" in line for line in said))
    own_kafka.start()
    runner.join(180)
    (summary,) = summaries
    assert (summary.samples, summary.lost, summary.holes) == (10_000, 0, 0)
    assert any("no answer" in line for line in said)
    assert any("answers again" in line for line in said)
    placed: dict[int, int] = {}
    for _, value in read_to_end(own_kafka.cluster, names.SAMPLES):
        chunk = decode_chunk(value)
        placed[chunk["first"]] = len(chunk["samples"]) // 2
    position = 0
    for first in sorted(placed):
        assert first == position
        position += placed[first]
    assert position == 10_000
