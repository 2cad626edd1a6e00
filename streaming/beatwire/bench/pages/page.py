"""The live page's server with one browser that watches 8 and 64 beds at 250 Hz: bytes, processor time, latency.

The browser is a plain WebSocket client in this process, and so is the feeder, a thread that sends chunks of 200 ms;
server and broker are separate processes on the same cores. Latency is the time from the call that produces a chunk to
the moment at which the client has it; the page draws 300 ms behind, which hides as much.
"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from beatwire.bench.broker.live import run_live
from beatwire.bench.pages.page_browser import handle, watching
from beatwire.bench.result import Log, Result
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.local import broker
from beatwire.kafka.publishing.sender import Sender
from beatwire.page.dashboard import missing_package
from beatwire.page.protocol import Block
from beatwire.wire.avro import encode_chunk
from beatwire.wire.names import SAMPLES

BEDS = (8, 64)
SECONDS = 20.0
SETTLE_S = 3.0  # at the start, not counted
CHUNK, CHUNK_S = 50, 0.2  # samples and seconds of a chunk: 250 Hz
LIMIT_KB_S = 300.0
BUFFER_MS = 300.0  # of the page
PAGES = 3  # that look while the monitor is measured


class Figures(NamedTuple):
    """What a browser received in the measured time.

    kb_per_s, messages_per_s  kilobytes and messages a second
    latency_ms                of each chunk
    cpu_percent               processor time of the server, percent of a core; None: this system does not say
    """

    kb_per_s: float
    messages_per_s: float
    latency_ms: list[float]
    cpu_percent: float | None


def measure(log: Log) -> Iterator[Result]:
    """Compare with 0.3 MB/s and with the buffer of the page."""
    missing = missing_package() or broker.unavailable_reason()
    if missing:
        log(f"page: skipped, expected {missing}")
        return
    for beds in BEDS:
        figures = watch(beds)
        p50_ms, p99_ms = np.quantile(figures.latency_ms, [0.5, 0.99])
        log(f"page: {beds} beds: {figures.messages_per_s:.1f} messages/s, latency p50 {p50_ms:.0f} p99 {p99_ms:.0f} ms")
        yield Result(f"page, {beds} beds, to a browser", figures.kb_per_s, "kB/s", "limit", LIMIT_KB_S, "<= 1")
        if figures.cpu_percent is not None:
            yield Result(f"page, {beds} beds, server", figures.cpu_percent, "% of a core", "a core", 100.0)
        yield Result(f"page, {beds} beds, latency p50", float(p50_ms), "ms", "buffer of the page", BUFFER_MS)
        yield Result(f"page, {beds} beds, latency p99", float(p99_ms), "ms", "buffer of the page", BUFFER_MS, "<= 1")
    yield from measure_monitor(log)


def measure_monitor(log: Log, streams: int = 200, seconds: int = 30, rounds: int = 2) -> Iterator[Result]:
    """Compare the monitor's p99 with three pages that look at 64 beds each with its p99 without, in turn."""
    without_ms, with_ms = [], []
    for _ in range(rounds):
        without_ms.append(run_live("exactly-once", log, seconds, streams=streams)[0])
        with_ms.append(run_live("exactly-once", log, seconds, streams=streams, beside=_pages)[0])
    name = f"page, monitor p99, {streams} streams, {PAGES} pages"
    yield Result(name, float(np.median(with_ms)), "ms", "without a page", float(np.median(without_ms)))


@contextmanager
def _pages(cluster: Cluster) -> Iterator[None]:
    with ExitStack() as stack:
        _, url = _start_server(stack, cluster)
        for _ in range(PAGES):
            _start(stack, f"{__package__}.page_watcher", url)
        yield


def watch(beds: int, seconds: float = SECONDS) -> Figures:
    """Feed a ward, start the server, watch all beds, and return what was received."""
    with ExitStack() as stack:
        kafka = stack.enter_context(broker.LocalKafka())
        server, url = _start_server(stack, kafka.cluster)
        stop = threading.Event()
        feeder = threading.Thread(target=_feed, args=(kafka.cluster, beds, stop), name="feeder")
        feeder.start()
        stack.callback(feeder.join)
        stack.callback(stop.set)
        return _receive(url, server.pid, beds, seconds)


def _start_server(stack: ExitStack, cluster: Cluster) -> tuple[subprocess.Popen[str], str]:
    """Start the server of the page; return it and its address."""
    server = _start(stack, "beatwire", "dashboard", "--bootstrap-servers", cluster.bootstrap, "--port", "0")
    assert server.stdout is not None
    return server, server.stdout.readline().strip()


def _start(stack: ExitStack, *arguments: str) -> subprocess.Popen[str]:
    started = stack.enter_context(
        subprocess.Popen([sys.executable, "-m", *arguments], stdout=subprocess.PIPE, text=True)  # noqa: S603
    )
    stack.callback(started.terminate)
    return started


def _feed(cluster: Cluster, beds: int, stop: threading.Event) -> None:
    """Send chunks of all beds in real time, spread evenly; the last sample of a chunk is taken when it is sent."""
    samples = np.random.default_rng(0).normal(0, 300, (8, CHUNK)).astype(np.int16)
    begin_s, number = time.monotonic(), 0
    with Sender(cluster) as sender:
        while not stop.wait(max(0.0, begin_s + number * CHUNK_S / beds - time.monotonic())):
            stream, first = f"bed-{number % beds + 1}", number // beds * CHUNK
            time_us = time.time_ns() // 1000 - round(CHUNK_S * 1e6)
            chunk = encode_chunk(stream, 1, first, time_us, CHUNK / CHUNK_S, ["II"], samples[number % 8])
            sender.send(SAMPLES, [stream.encode()], [chunk])
            number += 1


def _receive(url: str, pid: int, beds: int, seconds: float) -> Figures:
    size, messages, latency_ms = 0, 0, list[float]()
    with watching(url, beds) as socket:
        begin_s = cpu_s = None
        while begin_s is None or time.monotonic() < begin_s + seconds:
            raw = socket.recv(timeout=30.0)
            now_us = time.time_ns() // 1000
            if isinstance(raw, bytes):
                blocks = handle(socket, raw)
                if begin_s is None and len(blocks) > beds // 4:
                    begin_s, cpu_s = time.monotonic() + SETTLE_S, None
            if begin_s is None or time.monotonic() < begin_s:
                continue
            cpu_s = cpu_s if cpu_s is not None else _cpu_s(pid)
            size += len(raw)
            messages += 1
            if isinstance(raw, bytes):
                latency_ms += [late for block in blocks for late in _latencies_ms(block, now_us)]
        used_s = _cpu_s(pid)
    cpu = None if used_s is None or cpu_s is None else 100.0 * (used_s - cpu_s) / seconds
    return Figures(size / seconds / 1e3, messages / seconds, latency_ms, cpu)


def _latencies_ms(block: Block, now_us: int) -> list[float]:
    """Return the age of the end of each chunk in a block, ms."""
    ends = range(CHUNK, block.samples.shape[1] + 1, CHUNK)
    return [(now_us - block.time_us - end * 1e6 / block.rate_hz) / 1e3 for end in ends]


def _cpu_s(pid: int) -> float | None:
    """Return the processor time of a process, seconds; None where the system has no ``/proc``."""
    stat = Path(f"/proc/{pid}/stat")
    if not stat.exists():
        return None
    user, system = stat.read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
