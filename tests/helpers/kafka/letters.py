"""A graph of letters: what a monitor does around a graph shows in which letters are published."""

from beatwire.records import Outgoing, RawTick
from beatwire.wire import names
from quiet_graph import QuietGraph


class Graph(QuietGraph):
    """Publishes every message as a beat; its state depends on the last `reach` ticks."""

    def __init__(self, reach: int = 2) -> None:
        self.calls: list[str] = []
        self.reach, self.tick = reach, 0

    def reset(self):
        self.calls.append("reset")
        self.tick = 0

    def adopt(self, alerts, acks, said_us):
        self.calls.append(f"adopt {alerts}")

    def acknowledge(self, acks):
        assert not acks

    def change_limits(self, changes):
        assert not changes

    def watch_feed(self, watched, newest_us):
        assert not newest_us

    def report_expired(self, expired):
        self.calls.append(f"expired {dict(expired)}")

    def rewind_tick(self, partition):
        return self.tick - self.reach

    def emit(self, tick: RawTick, origin, ahead):
        self.calls.append(f"emit {tick.payload.tobytes().decode()}")
        self.tick += 1
        values = [tick.payload[a:b].tobytes() for a, b in zip(tick.start, tick.start[1:], strict=False)]
        return [Outgoing(names.BEATS, [None] * len(values), values)] if values else []
