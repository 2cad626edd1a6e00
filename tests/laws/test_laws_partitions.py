"""Recovery where the partitions of a worker are not read equally far, as after an outage."""

from dataclasses import replace

import numpy as np
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.recordings.synthetic.person import synthesise
from beatwire.records import RawTick
from laws import START_US, Run, Signal, assert_equal, collect

SECONDS = 300


def a_tick(beds: list[Signal], partition: int, begin_s: int, end_s: int) -> RawTick:
    """Return the messages of the bed of a partition, which arrived when they were sent; more are waiting."""
    rate = round(beds[partition].rate_hz)
    values = [beds[partition].chunk(s * rate, (s + 1) * rate) for s in range(begin_s, end_s)]
    tick = RawTick.of(
        values,
        now_us=START_US + (SECONDS + 1) * 1_000_000,
        arrival_us=START_US + np.arange(begin_s + 1, end_s + 1) * 1_000_000,
        caught_up=False,
    )
    return replace(tick, partition=np.full(len(values), partition, np.int32))


def a_worker() -> tuple[Pipeline, Run]:
    pipeline, run = Pipeline(Settings()), Run()
    collect(pipeline, run, published=True)
    return pipeline, run


def test_a_partition_that_is_read_minutes_later_than_another_is_replayed() -> None:
    beds = [Signal(f"bed-{k}", synthesise(k + 1, seconds=SECONDS).recording.samples.copy()) for k in range(2)]
    beds[1].samples[:, 128 * 250 : 150 * 250] = 0  # asystole begins before the takeover, and is found after it
    parts = [(0, 0, 100), (1, 0, 100), (0, 100, 300), (1, 100, 130), (1, 130, 200)]
    ticks, at = [a_tick(beds, *part) for part in parts], 4
    undisturbed, whole = a_worker()
    for tick in ticks:
        undisturbed.emit(tick)

    killed, published = a_worker()
    for tick in ticks[:at]:
        killed.emit(tick)
    successor, output = a_worker()
    for number, (partition, *_) in enumerate(parts[:at]):
        if number >= killed.rewind_tick(partition):
            successor.emit(ticks[number])
    successor.adopt([alert for alert in {a["id"]: a for a in published.alerts}.values() if alert["state"] != "off"])
    output.beats.clear()
    output.alerts.clear()
    for tick in ticks[at:]:
        successor.emit(tick)
    for stream, rows in output.beats.items():
        published.beats[stream] += rows
    published.alerts += output.alerts

    assert "asystole" in {alert["rule"] for alert in output.alerts}
    assert_equal(published, whole)
