"""What a feed does with its readers: lists of packets, streams that two of them send, packets that arrive late."""

import threading
from collections.abc import Iterator

import numpy as np
import pytest
from beatwire.wire import decode_chunk
from beatwire_producers.devices import reading
from beatwire_producers.devices.chunks import CHUNK_S, Message
from beatwire_producers.devices.packets import Description, Packet
from beatwire_producers.devices.reading import Reading
from hypothesis import given, settings
from hypothesis import strategies as st

START_S = 1_750_000_000.0
BED = Description("bed-1", ("II",), 250.0, 1.0)


class Listed:
    """A reader that yields what it is given."""

    def __init__(self, *came: Packet | list[Packet] | None) -> None:
        self._came = came
        self.notes: list[str] = []

    def describe(self) -> None:
        """Each packet is described."""

    def packets(self) -> Iterator[Packet | list[Packet] | None]:
        yield from self._came

    def close(self) -> None:
        """Nothing is open."""


def packet(k: int, *, late_s: float = 0.0, described: Description = BED) -> Packet:
    values = (np.arange(25 * k, 25 * (k + 1)) % 30_000).astype(np.int16)
    return Packet(values[None], START_S + (k + 1) / 10 + late_s, count=25 * k, described=described)


def read(name: str, reader: Listed, owners: dict[str, str], said: list[str]) -> tuple[Reading, list[Message]]:
    messages: list[Message] = []
    one = Reading(
        name, reader, messages.extend, owners, say=said.append, keep=None, chunk_s=CHUNK_S, pauses_s=(1.0, 1.0)
    )
    one.run(threading.Event())
    assert one.failure is None
    one.flush()
    return one, messages


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 9), max_size=12))
def test_packets_that_come_together_are_those_that_come_one_by_one(sizes: list[int]) -> None:
    packets, at = [packet(k) for k in range(sum(sizes))], 0
    lists = []
    for size in sizes:
        lists.append(packets[at : at + size])
        at += size
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "arrival_s", lambda: START_S)
        together, single = (read("a", Listed(*came), {}, [])[1] for came in (lists, packets))
    assert together == single


def test_a_stream_that_two_readers_send_comes_from_the_first_and_the_other_is_said() -> None:
    said: list[str] = []
    owners: dict[str, str] = {}
    messages = read("mqtt", Listed([packet(k) for k in range(20)]), owners, said)[1]
    none = read("lsl", Listed([packet(k) for k in range(20)]), owners, said)[1]
    assert sum(len(decode_chunk(m.value)["samples"]) // 2 for m in messages) == 500
    assert none == []
    assert [line for line in said if "left out" in line] == [
        "lsl: expected another stream than bed-1, which mqtt sends; this stream is left out"
    ]


def test_packets_that_arrive_ever_later_are_said_and_that_they_are_in_time_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_s = [START_S]
    monkeypatch.setattr(reading, "arrival_s", lambda: now_s[0])
    beds = [Description(f"bed-{k}", ("II",), 250.0, 1.0) for k in range(3)]

    class Slow(Listed):
        def packets(self) -> Iterator[list[Packet]]:
            for k in range(900):  # behind by up to 9 s between 30 s and 60 s
                late_s = max(0.0, min(k - 300, 600 - k)) * 0.03 if k < 600 else 0.0
                came = [packet(k, late_s=late_s, described=bed) for bed in beds]
                now_s[0] = came[0].arrival_s
                yield came

    said: list[str] = []
    read("mqtt", Slow(), {}, said)
    lines = [line for line in said if "behind" in line or "in time again" in line]
    assert len(lines) == 2
    assert lines[0].startswith("mqtt: ")
    assert lines[0].endswith(" s behind: packets arrive late, or faster than this machine takes them")
    assert lines[1] == "mqtt: packets arrive in time again"


def test_a_device_whose_packets_come_in_time_is_not_said_to_be_late(monkeypatch: pytest.MonkeyPatch) -> None:
    packets = [packet(k) for k in range(900)]
    clock = iter([START_S] + [p.arrival_s for p in packets] + [packets[-1].arrival_s] * 5)
    monkeypatch.setattr(reading, "arrival_s", lambda: next(clock))
    said: list[str] = []
    read("mqtt", Listed(*packets), {}, said)
    assert not any("behind" in line for line in said)


def test_what_did_not_come_is_said_once_a_minute_and_what_came_late_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [START_S]
    monkeypatch.setattr(reading, "arrival_s", lambda: now_s[0])
    order = [k for k in range(1300) if k not in (200, 201, 400, 1000)]
    order[300], order[301] = order[301], order[300]

    class Holed(Listed):
        def packets(self) -> Iterator[Packet]:
            for k in order:
                now_s[0] = packet(k).arrival_s
                yield packet(k)

    said: list[str] = []
    read("mqtt", Holed(), {}, said)
    lines = [line for line in said if "have not come" in line]
    assert [line[:34] for line in lines] == ["mqtt: 0.2 s of signal have not com", "mqtt: 0.3 s of signal have not com"]


@pytest.mark.parametrize("wrong", [np.zeros((2, 25), np.int16), np.zeros(25, np.int16)])
def test_what_waits_of_a_stream_that_is_left_out_is_sent(wrong: np.ndarray) -> None:
    said: list[str] = []
    bad = Packet(wrong, START_S + 0.5, count=100, described=BED)
    one, messages = read("mqtt", Listed([*(packet(k) for k in range(4)), bad, packet(5)]), {}, said)
    assert sum(len(decode_chunk(m.value)["samples"]) // 2 for m in messages) == 100
    assert "this stream is left out" in said[-1]
    assert (one.streams, one.sums().packets, one.sums().samples, one.sums().messages) == ({}, 4, 100, len(messages))


def test_streams_that_another_description_replaces_are_sums_and_nothing_else_is_kept() -> None:
    beds = [BED, Description("bed-1", ("V1",), 250.0, 1.0)]
    one, messages = read("mqtt", Listed([packet(k, described=beds[k % 2]) for k in range(200)]), {}, [])
    sums = one.sums()
    assert (sums.packets, sums.samples, sums.sessions, sums.messages) == (200, 5000, 200, len(messages))
    assert len(one.streams) == 1
    assert not [x for x in vars(one).values() if isinstance(x, list) and len(x) > 1]
