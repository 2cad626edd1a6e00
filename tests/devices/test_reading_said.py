"""What a feed says of the streams that begin: each once, with its leads and its rate."""

import threading
from collections.abc import Iterator

import numpy as np
import pytest
from beatwire_producers.devices.chunks import CHUNK_S
from beatwire_producers.devices.packets import Description, Packet
from beatwire_producers.devices.reading import Reading

START_S = 1_750_000_000.0


class Described:
    """A reader of some streams; ``opened`` is what it describes as it opens."""

    def __init__(self, opened: Description | None, streams: list[Description | None]) -> None:
        self._opened, self._streams = opened, streams

    def describe(self) -> Description | None:
        return self._opened

    def packets(self) -> Iterator[Packet]:
        for k in range(20):
            for described in self._streams:
                values = np.arange(25 * k, 25 * (k + 1), dtype=np.int16)[None]
                yield Packet(values, START_S + (k + 1) / 10, count=25 * k, described=described)

    def close(self) -> None:
        """Nothing is open."""


def said_of(name: str, opened: Description | None, streams: list[Description | None]) -> list[str]:
    said: list[str] = []
    one = Reading(
        name, Described(opened, streams), lambda _: None, {}, say=said.append, keep=None, chunk_s=CHUNK_S,
        pauses_s=(1.0, 1.0),
    )  # fmt: skip
    one.run(threading.Event())
    assert one.failure is None
    return said


@pytest.mark.parametrize("stream", ["bed-1", "ward", "7"])
@pytest.mark.parametrize("name", ["serial:/dev/tty7", "mqtt://host/ward/bed-1"])
@pytest.mark.parametrize("opens", ["described", "described twice", "by its packets"])
def test_a_stream_that_begins_is_said_once(name: str, stream: str, opens: str) -> None:
    bed = Description(stream, ("II",), 250.0, 1.0)
    opened = None if opens == "by its packets" else bed
    said = said_of(name, opened, [None if opens == "described" else bed])
    assert said.count(f"{name}: {stream}: II; 250 Hz") == 1
    assert said.count(f"{name}: open") == (opened is None)


def test_a_stream_of_which_something_else_is_described_is_named_once() -> None:
    bed, other = (Description("bed-1", leads, 250.0, 1.0) for leads in (("II",), ("V1",)))
    said = said_of("mqtt", None, [bed, other])
    assert said[1:3] == ["mqtt: bed-1: II; 250 Hz", "mqtt: bed-1: V1; 250 Hz: a new session"]
