"""What a feed does with its readers: lists of packets, streams that two of them send, packets that arrive late."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from beatwire.errors import UserError
from beatwire.wire import decode_chunk
from beatwire_producers.devices import reading
from beatwire_producers.devices.chunks import CHUNK_S, Message, Stream
from beatwire_producers.devices.packets import Description, DeviceAwayError, Packet
from beatwire_producers.devices.reading import Reading
from beatwire_producers.devices.sources import Options, open_source
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


def read(name: str, reader: Listed, owners: dict[str, Reading], said: list[str]) -> tuple[Reading, list[Message]]:
    messages: list[Message] = []
    one = Reading(
        name, reader, messages.extend, owners, say=said.append, keep=None, chunk_s=CHUNK_S, pauses_s=(1.0, 1.0)
    )
    one.run(threading.Event())
    assert one.failure is None
    one.flush()
    return one, messages


def test_looking_for_samples_that_wait_leaves_time_for_those_that_come(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s, looked_s = [START_S], [0.0]

    def idle(_stream: Stream, _now_s: float) -> list[Message]:  # as slow as that of 20,000 streams
        now_s[0] += 0.03
        looked_s[0] += 0.03
        return []

    class Coming(Listed):
        def packets(self) -> Iterator[Packet]:
            for k in range(2000):
                now_s[0] += 0.001
                yield packet(k)

    monkeypatch.setattr(reading, "arrival_s", lambda: now_s[0])
    monkeypatch.setattr(Stream, "idle", idle)
    read("mqtt://h", Coming(), {}, [])
    assert 0.1 < looked_s[0] / (now_s[0] - START_S) < 0.25


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


@pytest.mark.parametrize("name", ["lsl", "mqtt"])
def test_a_stream_that_two_readers_send_comes_from_the_first_and_the_other_is_said(name: str) -> None:
    said: list[str] = []
    owners: dict[str, Reading] = {}
    messages = read("mqtt", Listed([packet(k) for k in range(20)]), owners, said)[1]
    none = read(name, Listed([packet(k) for k in range(20)]), owners, said)[1]
    assert sum(len(decode_chunk(m.value)["samples"]) // 2 for m in messages) == 500
    assert none == []
    assert [line for line in said if "left out" in line] == [
        f"{name}: expected another stream than bed-1, which mqtt sends; this stream is left out"
    ]


def test_what_is_said_of_a_device_that_opens_is_not_said_again_when_it_comes_back() -> None:
    said, halt = list[str](), threading.Event()

    class Leaving(Listed):
        def describe(self) -> None:
            self.notes.append("left out: 'HR'")

        def packets(self) -> Iterator[Packet | list[Packet] | None]:
            self.notes += ["message is ignored"] * 2
            yield None
            if said.count("message is ignored") == 6:
                halt.set()
            raise DeviceAwayError("unplugged")

    Reading(
        "x", Leaving(), lambda _: None, {}, say=said.append, keep=None, chunk_s=CHUNK_S, pauses_s=(0.001, 0.001)
    ).run(halt)
    assert (said.count("left out: 'HR'"), said.count("message is ignored")) == (1, 6)


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
    now_s = [START_S]

    class InTime(Listed):
        def packets(self) -> Iterator[Packet]:
            for came in map(packet, range(900)):
                now_s[0] = came.arrival_s
                yield came

    monkeypatch.setattr(reading, "arrival_s", lambda: now_s[0])
    said: list[str] = []
    read("mqtt", InTime(), {}, said)
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


OTHER = replace(BED, stream="bed-2")


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"samples": [[1, 2, 3]]}, "expected samples in an array of numbers; got [[1, 2, 3]]"),
        ({"samples": np.array([["a"]])}, "expected samples in an array of numbers; got array([['a']]"),
        ({"samples": np.zeros((1, 5), complex)}, "expected samples in an array of numbers; got array([[0.+0.j"),
        ({"samples": np.zeros(5)}, "expected samples of 1 leads; got 5"),
        ({"count": 2.5}, "expected a count in whole numbers; got 2.5"),
        ({"count": float("nan")}, "expected a count in whole numbers; got nan"),
        ({"described": replace(BED, uv=-5.0)}, "expected microvolts of a number, 0 or more; got -5"),
        ({"described": replace(BED, uv=float("nan"))}, "expected microvolts of a number, 0 or more; got nan"),
    ],
)
def test_a_device_that_sends_what_is_no_packet_is_left_out_and_the_others_are_not(
    changed: dict[str, Any], text: str
) -> None:
    said: list[str] = []
    came = [replace(packet(0), **changed), *(packet(k, described=OTHER) for k in range(20)), packet(1)]
    _, messages = read("lsl", Listed(*came), {}, said)
    assert {message.key for message in messages} == {b"bed-2"}
    assert sum(len(decode_chunk(message.value)["samples"]) for message in messages) == 2 * 25 * 20
    (line,) = [line for line in said if "left out" in line]
    assert line.startswith(f"bed-1: {text}")


@given(st.integers(0, 1 << 62), st.sampled_from([int, float, np.int64, np.uint8]))
def test_a_count_of_any_type_and_contact_of_leads_that_are_not_there_make_messages(lead_off: int, kind: type) -> None:
    came = [replace(packet(k), count=kind(25 * k), lead_off=lead_off) for k in range(10)]
    _, messages = read("lsl", Listed(*came), {}, [])
    chunks = [decode_chunk(message.value) for message in messages]
    assert {chunk["lead_off"] for chunk in chunks} == {lead_off & 1}
    assert [chunk["first"] for chunk in chunks] == sorted(chunk["first"] for chunk in chunks)
    assert sum(len(chunk["samples"]) for chunk in chunks) == 2 * 25 * 10


def test_what_is_no_packet_ends_a_feed_with_one_line() -> None:
    one = Reading("py", Listed(3), lambda _: None, {}, say=lambda _: None, keep=None, chunk_s=0.1, pauses_s=(1.0, 1.0))  # type: ignore[arg-type]
    one.run(threading.Event())
    assert isinstance(one.failure, UserError)
    assert str(one.failure) == "feed py: expected a Packet of its reader; got 3"


def test_a_class_without_the_methods_of_a_reader_is_refused() -> None:
    with pytest.raises(UserError, match="expected a class with describe, packets and close; Event has no describe"):
        open_source("py:threading:Event", Options())


@settings(max_examples=30, deadline=None)
@given(waiting=st.lists(st.integers(1, 4), max_size=12), after=st.integers(0, 5))
def test_what_has_come_before_a_feed_is_stopped_is_sent_and_what_comes_later_is_not_waited_for(
    waiting: list[int], after: int
) -> None:
    halt, now_s = threading.Event(), [START_S]

    class Behind(Listed):
        """One packet; the feed is stopped while others wait, some together; then further ones, one a tenth."""

        def packets(self) -> Iterator[Packet | list[Packet]]:
            k = 0
            yield packet(k)
            halt.set()
            now_s[0] = START_S + 60.0
            for together in waiting:
                yield [packet(k := k + 1) for _ in range(together)]
            for _ in range(after):
                now_s[0] += 0.1
                yield packet(k := k + 1, late_s=60.0)

    messages: list[Message] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "arrival_s", lambda: now_s[0])
        one = Reading("a", Behind(), messages.extend, {}, say=list, keep=None, chunk_s=CHUNK_S, pauses_s=(1.0, 1.0))
        now_s[0] = START_S + 59.5  # packets wait in the reader: a busy machine is behind
        one.run(halt)
        one.flush()
    sums = one.sums()
    assert (sums.samples, sums.holes) == (25 * (1 + sum(waiting) + min(after, 1)), 0)
    assert sums.messages == len(messages)


def test_a_reader_that_never_ends_is_left_a_second_after_the_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    halt, now_s = threading.Event(), [START_S]

    class Endless(Listed):
        def packets(self) -> Iterator[Packet]:
            for k in range(1_000_000):
                now_s[0] += 0.01
                halt.set()
                yield packet(k, late_s=-1e6)

    monkeypatch.setattr(reading, "arrival_s", lambda: now_s[0])
    one = Reading("a", Endless(), lambda _: None, {}, say=list, keep=None, chunk_s=CHUNK_S, pauses_s=(1.0, 1.0))
    one.run(halt)
    assert 1.0 < now_s[0] - START_S < 1.1
