"""Resident memory over eight hours of signal, at full speed: the graph in memory, and a monitor on a real Kafka.

A ward of ten minutes with all planted events (alarms, gaps, leads off, dead letters) is sent again and again in one
session. The figure is the most resident memory of the hours after the first over that of the first: of the graph at
their ends, of the monitor at any time, since within a tick its memory varies.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from beatwire_producers.encode import Encoder
from beatwire_producers.feeds import LENGTH, Lanes
from beatwire_producers.schedule import Schedule, chunks_of
from beatwire_producers.ward import ward

from beatwire.bench.result import Log, Result
from beatwire.errors import FatalError
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming.commits import LagReader
from beatwire.kafka.local import broker
from beatwire.kafka.publishing.sender import Sender
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.records import RawTick
from beatwire.wire import names

HOURS = 8
STREAMS = 16
TURN_S = 600  # of the ward, which is repeated
CHUNK_MS = 250
TICK_S = 2  # of signal in a tick of the graph in memory
LIMIT = 1.05  # of the memory at the end of the first hour
GROUP = "hours"
_STATM = "/proc/{}/statm"
_CHECK_S = 0.2


def resident_mb(process: int) -> float:
    """Return the resident memory of a process in MB; Linux only."""
    pages = int(Path(_STATM.format(process)).read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def signal(lanes: Lanes, hours: float, seconds: float) -> Iterator[Schedule]:
    """Yield the chunks of some hours in parts of so many seconds, of which a turn is a multiple."""
    length = lanes.ints[:, LENGTH]
    chunks = round(1000 * seconds / CHUNK_MS)
    for turn in range(round(hours * 3600 / TURN_S)):
        for begin in range(0, 1000 * TURN_S // CHUNK_MS, chunks):
            rows = chunks_of(lanes, CHUNK_MS, begin, begin + chunks)
            later_us = turn * TURN_S * 1_000_000
            yield replace(
                rows,
                first=rows.first + turn * length[rows.lane],
                time_us=rows.time_us + later_us,
                due_us=rows.due_us + later_us,
            )


def graph_mb(lanes: Lanes, hours: int) -> list[float]:
    """Return the resident memory of this process at the end of each hour of signal that the graph has taken."""
    start_us = 1_700_000_000_000_000
    pipeline, encoder = Pipeline(Settings()), Encoder.of(lanes, start_us)
    memory, due_us = [], 3_600_000_000
    for rows in signal(lanes, hours, TICK_S):
        payload, start = encoder.encode(rows)
        now_us = start_us + int(rows.due_us[-1])
        pipeline.emit(RawTick(payload, start, start_us + rows.due_us, np.zeros(len(rows), np.int32), now_us))
        if rows.due_us[-1] >= due_us:
            memory.append(resident_mb(os.getpid()))
            due_us += 3_600_000_000
    return memory


def preload(cluster: Cluster, lanes: Lanes, hours: int) -> int:
    """Fill the samples topic; return the number of messages."""
    encoder, sent = Encoder.of(lanes, time.time_ns() // 1000), 0
    with Sender(cluster) as sender:
        for rows in signal(lanes, hours, 60):
            sender.send(names.SAMPLES, [lanes.keys[k] for k in rows.lane.tolist()], encoder.messages(rows))
            sent += len(rows)
        sender.flush(60.0)
    return sent


def monitor_mb(cluster: Cluster, messages: int, hours: int) -> list[float]:
    """Return the most resident memory of a monitor in each hour of signal, from commit to commit."""
    command = ["-m", "beatwire", "monitor", "--group", GROUP, "--backend", "cpu", "--score-within", "0"]
    monitor = subprocess.Popen([sys.executable, *command, "--bootstrap-servers", cluster.bootstrap])  # noqa: S603
    memory = [0.0] * hours
    try:
        with LagReader(cluster, GROUP) as reader:
            hour = 0
            while hour < hours:
                time.sleep(_CHECK_S)
                if monitor.poll() is not None:
                    raise FatalError(f"bench: expected the monitor to read to the end; it ended with {monitor.poll()}")
                memory[hour] = max(memory[hour], resident_mb(monitor.pid))
                hour = int((1.0 - reader.lag() / messages) * hours + 1e-9)
    finally:
        monitor.terminate()
        monitor.wait()
    return memory


def measure(log: Log) -> Iterator[Result]:
    """Compare the most memory of later hours with that at the end of the first."""
    if not Path(_STATM.format("self")).exists():
        log("hours: skipped, the memory of a process is read from /proc")
        return
    lanes = Lanes.of(ward(STREAMS, TURN_S, seed=1, leads=(1, 3)).feeds)
    runs = {"graph": graph_mb(lanes, HOURS)}
    missing = broker.unavailable_reason()
    if missing:
        log(f"hours: without a monitor, {missing}")
    else:
        with broker.LocalKafka() as kafka:
            cluster = Cluster(kafka.bootstrap)
            messages = preload(cluster, lanes, HOURS)
            log(f"hours: {messages:,} messages of {STREAMS} streams")
            runs["monitor"] = monitor_mb(cluster, messages, HOURS)
    for name, memory in runs.items():
        log(f"hours: {name}: MB by hour of signal: {' '.join(f'{mb:.1f}' for mb in memory)}")
        yield Result(
            f"memory of the {name} in {HOURS} h of signal",
            max(memory[1:]),
            "MB",
            "in the first",
            memory[0],
            f"<= {LIMIT}",
        )
