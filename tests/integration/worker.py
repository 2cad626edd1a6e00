"""A monitor with a graph small enough to say what must come out, as a process of its own.

A message is ``stream:n`` with n = 0, 1, 2...; its beat contains the last `REACH` numbers of its stream, so a worker
without a replay publishes a wrong one. Every hundredth message raises an alert that the fiftieth after it ends: far
beyond `REACH`, so the alert is only in the log of alerts. Every 97th message is rejected: it becomes a dead letter
instead of a beat.

    python worker.py BOOTSTRAP GROUP [--until MESSAGES] [--at-least-once]
"""

import argparse
import faulthandler
import json
import signal
import sys
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

from beatwire.errors import FatalError, UserError
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming.source import Source
from beatwire.kafka.publishing.sink import Sink
from beatwire.records import Outgoing, RawTick
from beatwire.service.monitor import Monitor
from beatwire.signals import stop_on_signals
from beatwire.wire import names
from beatwire.wire.dead_letters import Origin
from quiet_graph import QuietGraph

ALERT = {
    "stream": "bed-1", "session": 1, "rule": "asystole", "priority": "high", "technical": False, "onset": 0,
    "onset_us": 0, "decided": 0, "decided_us": 0, "value": None, "limit": 4.0, "text": "asystole: no beat for 4 s",
}  # fmt: skip

REACH = 20


def expected(stream: str, count: int) -> tuple[list[str], list[str], list[str]]:
    """Return the beats, alert transitions and dead letters of a stream of `count` messages."""
    beats, alerts, dead = [], [], []
    for n in range(count):
        if n % 97 == 96:
            dead.append(f"{stream}:{n}")
            continue
        beats.append(beat(stream, [k for k in range(max(0, n - 3 * REACH), n + 1) if k % 97 != 96][-REACH:]))
        if n % 100 == 0:
            alerts.append(f"{stream}-{n} on")
        elif n % 100 == 50 and (n - 50) % 97 != 96:
            alerts.append(f"{stream}-{n - 50} off")
    return beats, alerts, dead


def beat(stream: str, window: list[int]) -> str:
    return f"{stream}:{window[-1]} after {window[0]} of {len(window)}"


class FakeGraph(QuietGraph):
    """See the module docstring."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.tick = 0
        self.window: dict[str, deque[tuple[int, int]]] = defaultdict(lambda: deque(maxlen=REACH))
        self.partition: dict[str, int] = {}
        self.active: set[str] = set()

    def adopt(self, alerts: list[dict[str, Any]], acks: object, said_us: object) -> None:
        self.active = {alert["id"] for alert in alerts}

    def rewind_tick(self, partition: int) -> int:
        return min((w[0][1] for s, w in self.window.items() if self.partition[s] == partition), default=self.tick)

    def emit(self, tick: RawTick, origin: Origin, ahead: Callable[[list[Outgoing]], None] | None) -> list[Outgoing]:
        beats, alerts, dead = Outgoing(names.BEATS, [], []), Outgoing(names.ALERTS, [], []), []
        payload = tick.payload.tobytes()
        for k in range(len(tick.arrival_us)):
            value = payload[tick.start[k] : tick.start[k + 1]]
            stream, n = value.decode().split(":")[0], int(value.split(b":")[1])
            self.partition[stream] = int(tick.partition[k])
            if n % 97 == 96:
                dead.append(k)
                continue
            self.window[stream].append((n, self.tick))
            beats.keys.append(stream.encode())
            beats.values.append(beat(stream, [m for m, _ in self.window[stream]]).encode())
            if n % 100 == 0:
                self.active.add(f"{stream}-{n}")
                self._alert(alerts, f"{stream}-{n}", "on")
            elif n % 100 == 50 and f"{stream}-{n - 50}" in self.active:
                self.active.discard(f"{stream}-{n - 50}")
                self._alert(alerts, f"{stream}-{n - 50}", "off")
        self.tick += 1
        _, offsets, keys = origin.addresses(dead)
        values = [payload[tick.start[k] : tick.start[k + 1]] for k in dead]
        origins = zip(tick.partition[dead].tolist(), offsets, strict=True)
        headers = [[("reason", b"every 97th"), ("origin", b"%d/%d" % at)] for at in origins]
        letters = Outgoing(names.DEAD_LETTERS, keys, values, headers)
        if ahead is not None and letters.values:
            ahead([letters])
        return [outgoing for outgoing in (letters, beats, alerts) if outgoing.values]

    @staticmethod
    def _alert(alerts: Outgoing, name: str, state: str) -> None:
        alerts.keys.append(name.encode())
        alerts.values.append(json.dumps(ALERT | {"id": name, "state": state}).encode())


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("bootstrap")
    parser.add_argument("group")
    parser.add_argument("--until", type=int)
    parser.add_argument("--at-least-once", action="store_true")
    options = parser.parse_args()
    faulthandler.register(signal.SIGUSR1)  # a test that waits too long requests the stacks of all threads
    try:
        with (
            stop_on_signals() as stop,
            Source(Cluster(options.bootstrap), options.group) as source,
            Sink(Cluster(options.bootstrap), exactly_once=not options.at_least_once) as sink,
        ):
            monitor = Monitor(FakeGraph(), source, sink)
            until = None if options.until is None else lambda counters: counters.messages >= options.until
            done = monitor.run(stop, until=until)
        print(
            json.dumps(
                {
                    "messages": done.messages,
                    "replayed": done.replayed,
                    "epochs": done.epochs,
                    "stale": done.stale_ticks,
                    "ticks": done.ticks,
                    "p50_ms": done.latency.quantile_ms(0.5),
                    "p99_ms": done.latency.quantile_ms(0.99),
                }
            )
        )
    except (UserError, FatalError) as error:
        print(error, file=sys.stderr)
        return 2 if isinstance(error, UserError) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
