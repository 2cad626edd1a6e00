"""A source of given ticks, and a sink that stores what is published."""

import threading
from types import SimpleNamespace

from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming.batch import PolledTick
from beatwire.kafka.consuming.positions import Position
from beatwire.kafka.consuming.progress import Beginning
from beatwire.kafka.publishing.sink import StaleError
from beatwire.records import RawTick
from beatwire.service.monitor import Monitor
from letters import Graph


def polled(
    text: str, start: int, *, epoch: int = 1, replay: bool = False, beginning: Beginning = Beginning.ANEW
) -> PolledTick:
    values = [letter.encode() for letter in text]
    positions = {0: start + len(text)} if text else {}
    tick, origin = RawTick.of(values, now_us=1), SimpleNamespace()
    return PolledTick(tick, origin, epoch, replay, {0: start}, positions, beginning=beginning)


class Ticks:
    """A source of given ticks, and a sink that stores what is published."""

    cluster = Cluster("nowhere")
    partitions = epoch = 1
    assigned = frozenset({0})
    held = 0

    def __init__(self, *ticks: PolledTick | None, stale: tuple[int, ...] = ()) -> None:
        self.ticks, self.stale = list(ticks), stale
        self.published: list[tuple[bytes, dict[int, Position]]] = []
        self.attempts = 0
        self.rewinds: list[bool] = []
        self.pending: list[str] = []
        self.ended: list[list[str]] = []

    def took(self, messages, seconds):
        pass

    def take_pending(self):
        pending, self.pending = self.pending, []
        return pending

    def end_open_transactions(self, source):
        pass

    def end_pending_transactions(self, partitions, source):
        self.ended.append(partitions)

    def take(self, timeout_s):
        return self.ticks.pop(0) if self.ticks else None

    def rewind(self, *, anew=False):
        self.rewinds.append(anew)

    def begin_tick(self, positions, source, epoch):
        pass

    def publish(self, outgoing, positions, source, epoch):
        self.attempts += 1
        if self.attempts in self.stale:
            raise StaleError
        self.published.append((b"".join(value for messages in outgoing for value in messages.values), positions))


def run(ticks: Ticks, graph: Graph) -> Monitor:
    monitor = Monitor(graph, ticks, ticks, read_alerts=lambda: [{"id": "a"}], clock_us=lambda: 2_000)
    monitor.run(threading.Event(), until=lambda _: not ticks.ticks)
    return monitor
