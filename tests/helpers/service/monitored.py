"""A real monitor over a real graph, fed from a list of ticks, and its answers over HTTP."""

import http.client
import json
import threading
from collections import deque
from typing import Any, Self

import numpy as np
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming.batch import PolledTick
from beatwire.kafka.publishing.sink import StaleError
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.recordings.synthetic.person import synthesise
from beatwire.records import RawTick
from beatwire.service.monitor import Monitor
from beatwire.service.observing.counters import Counters
from beatwire.service.observing.health import LoopState
from beatwire.service.observing.instruments import Instruments
from beatwire.service.observing.metrics import MonitorAnswers
from beatwire.service.observing.server import Server
from laws import Signal
from received import Received

NOW_US = 1_700_000_100_000_000


def polled(
    values: list[bytes], *, age_us: int = 20_000, epoch: int = 1, replay: bool = False, caught_up: bool = True
) -> PolledTick:
    """Return a tick of messages that arrived `age_us` before ``NOW_US``."""
    tick = RawTick.of(values, now_us=NOW_US, arrival_us=np.full(len(values), NOW_US - age_us), caught_up=caught_up)
    return PolledTick(tick, Received(values), epoch, replay, {0: 0}, {0: len(values)} if values else {})  # type: ignore[arg-type]


def feed(seconds: int = 12, *, flat_from_s: int | None = None) -> list[list[bytes]]:
    """Return one message a second of a synthetic stream; from `flat_from_s` on it has no beats."""
    samples = synthesise(1, rate_hz=250.0, seconds=seconds).recording.samples.copy()
    if flat_from_s is not None:
        samples[:, 250 * flat_from_s :] = samples[0, 250 * flat_from_s]
    signal = Signal("bed-1", samples)
    return [[signal.chunk(a, a + 250)] for a in range(0, 250 * seconds, 250)]


class Source:
    """Gives ticks in order; sets `drained` when there are none left. Also the sink: it drops what is published."""

    cluster = Cluster("nowhere")

    def __init__(self, ticks: list[PolledTick]) -> None:
        self.ticks = deque(ticks)
        self.partitions, self.epoch, self.assigned = 1, 1, {0}
        self.held = 0
        self.drained = threading.Event()
        self.stale = 0  # ticks that will not be published

    def take(self, timeout_s: float) -> PolledTick | None:
        if self.ticks:
            return self.ticks.popleft()
        self.drained.set()
        threading.Event().wait(0.001)
        return None

    def took(self, messages: int, seconds: float) -> None:
        pass

    def take_pending(self) -> list[Any]:
        return []

    def end_open_transactions(self, source: object) -> None:
        pass

    def begin_tick(self, positions: object, source: object, epoch: int) -> None:
        pass

    def send_ahead(self, outgoing: object, source: object, epoch: int) -> None:
        pass

    def publish(self, outgoing: object, positions: object, source: object, epoch: int) -> None:
        if self.stale:
            self.stale -= 1
            raise StaleError

    def rewind(self, *, anew: bool = False) -> None:
        pass


class Monitored:
    """A monitor in a thread, served on a free port; ``now_s`` is the clock of its loop."""

    def __init__(self, ticks: list[PolledTick]) -> None:
        self.now_s = 100.0
        self.source, self.pipeline = Source(ticks), Pipeline(Settings())
        self.counters, self.loop, self.instruments = Counters(), LoopState(), Instruments(self.pipeline)
        answers = MonitorAnswers(self.counters, self.loop, self.pipeline, self.instruments, lambda: self.now_s)
        self.server = Server(answers, "127.0.0.1", 0)
        self.monitor = Monitor(
            self.pipeline, self.source, self.source,
            read_alerts=list, instruments=self.instruments, counters=self.counters, loop=self.loop,
            clock_us=lambda: NOW_US, clock_s=lambda: self.now_s,
        )  # type: ignore[arg-type]  # fmt: skip
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.monitor.run, args=(self.stop,))

    def __enter__(self) -> Self:
        self.server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        if self.thread.is_alive():
            self.thread.join()
        self.server.__exit__()

    def run(self) -> None:
        """Start the loop, and wait until it has taken all ticks."""
        self.thread.start()
        assert self.source.drained.wait(60)

    def settle(self) -> None:
        """Wait until the loop has processed what was added, and has turned since."""
        for _ in range(2):  # the first time the loop may have been in the middle of a turn
            self.source.drained.clear()
            assert self.source.drained.wait(60)

    def get(self, path: str) -> tuple[int, str, str]:
        return get(self.server.port, path)

    def probe(self, path: str) -> tuple[int, dict[str, Any]]:
        status, kind, body = self.get(path)
        assert kind == "application/json"
        return status, json.loads(body)


def get(port: int, path: str, accept: str = "*/*") -> tuple[int, str, str]:
    """Return status, content type and body of a request to this machine."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", path, headers={"Accept": accept})
        response = connection.getresponse()
        return response.status, response.headers["Content-Type"], response.read().decode()
    finally:
        connection.close()
