"""Runs feeds of devices against the embedded broker, and collects what arrives."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from beatwire.kafka.local.mock import MockKafka
from beatwire.kafka.publishing.live_sender import LiveSender
from beatwire.kafka.reading.readers import follow
from beatwire.wire import decode_chunk, names
from beatwire_producers.devices.chunks import Message
from beatwire_producers.devices.feed import Feed, Summary
from beatwire_producers.devices.packets import Description, DeviceAwayError, Packet, Reader, arrival_s
from moments import LIMIT_S, wait_until
from numpy.typing import NDArray


@dataclass
class Received:
    """What has arrived: chunks, their headers, and the lines that were said."""

    chunks: list[dict[str, Any]] = field(default_factory=list)
    headers: list[Any] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def samples(self, stream: str) -> NDArray[np.int16]:
        """Return the samples of a stream, [leads, n], of all sessions one after the other; -1 in holes."""
        chunks = [c for c in self.chunks if c["stream"] == stream]
        parts = []
        for session in sorted({c["session"] for c in chunks}):
            own = [c for c in chunks if c["session"] == session]
            first = min(c["first"] for c in own)
            leads = len(own[0]["leads"])
            last = max(c["first"] + len(c["samples"]) // 2 // leads for c in own)
            row = np.full((leads, last - first), -1, np.int16)
            for c in own:
                values = np.frombuffer(c["samples"], "<i2").reshape(leads, -1)
                row[:, c["first"] - first : c["first"] - first + values.shape[1]] = values
            parts.append(row)
        return np.concatenate(parts, axis=1) if parts else np.zeros((1, 0), np.int16)

    def count(self, stream: str | None = None) -> int:
        """Return the number of samples a lead that have arrived."""
        return sum(
            len(c["samples"]) // 2 // len(c["leads"]) for c in self.chunks if stream is None or c["stream"] == stream
        )

    def wait(self, is_enough: Callable[[], bool], within_s: float = LIMIT_S) -> None:
        """Wait until a condition holds."""
        wait_until(is_enough, within_s, lambda: f"{self.count()} samples of {len(self.chunks)} chunks; {self.said}")


@dataclass
class Running:
    """A feed that runs: what arrives, how to stop it, and its summary after that."""

    received: Received
    stop: threading.Event
    feed: Feed
    summary: Summary | None = None


@contextlib.contextmanager
def feeding(readers: Sequence[tuple[str, Reader]], **settings: Any) -> Iterator[Running]:
    """Run a feed into an embedded broker, until the end of the block."""
    received, stop, ended = Received(), threading.Event(), threading.Event()
    with MockKafka() as kafka, LiveSender(kafka.cluster, outage_s=float("inf")) as sender:

        def consume() -> None:
            for message in follow(kafka.cluster, names.SAMPLES, stop=ended, earliest=True):
                received.headers.append(message.headers())
                received.chunks.append(decode_chunk(message.value()))

        consumer = threading.Thread(target=consume, daemon=True)
        consumer.start()
        running = Running(received, stop, Feed(readers, sender, say=received.said.append, **settings))
        failures: list[BaseException] = []

        def run() -> None:
            try:
                running.summary = running.feed.run(stop)
            except BaseException as error:
                failures.append(error)

        runner = threading.Thread(target=run, daemon=True)
        runner.start()
        try:
            yield running
            stop.set()
            runner.join(LIMIT_S)
            if failures:
                raise failures[0]
            assert running.summary is not None
            summary = running.summary
            received.wait(lambda: len(received.chunks) >= summary.messages)
        finally:
            stop.set()
            runner.join(LIMIT_S)
            ended.set()
            consumer.join(LIMIT_S)


class Counting:
    """A reader of a count, 50 packets a second, that goes away now and then."""

    def __init__(self, packets: int, away_at: tuple[int, ...] = ()) -> None:
        self._left, self._away = packets, set(away_at)
        self.at, self._began_s = 0, arrival_s()

    def describe(self) -> Description:
        return Description("bed-1", ("II",), 500.0, 1.0)

    def packets(self):  # type: ignore[no-untyped-def]
        while self.at < self._left:
            if self.at in self._away:
                self._away.remove(self.at)
                raise DeviceAwayError("unplugged")
            first = 10 * self.at
            values = (np.arange(first, first + 10) % 30000).astype(np.int16)
            self.at += 1
            yield Packet(values[None], self._began_s + 0.02 * self.at, count=first)
            time.sleep(0.02)

    def close(self) -> None:
        """Nothing is open."""


def message(k: int, size: int = 20) -> Message:
    return Message(b"bed-%d" % (k % 3), k.to_bytes(4, "little") * (size // 4), [("battery", b"80")] if k % 2 else None)
