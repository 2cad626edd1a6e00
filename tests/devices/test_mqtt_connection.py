"""The subscriber of MQTT against a scripted broker: whatever the pieces are in which packets come."""

import json
import os
import resource
import socket
import struct
import threading

import pytest
from beatwire_producers.devices.mqtt_json import UnreadableError
from beatwire_producers.devices.mqtt_map import Decoder, parse_address
from beatwire_producers.devices.packets import DeviceAwayError
from beatwire_producers.devices.readers.mqtt import MqttReader
from beatwire_producers.devices.readers.mqtt_connection import Connection, Message, RefusedError
from beatwire_producers.devices.sources import Options
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

ACCEPTED, GRANTED = b"\x20\x02\0\0", b"\x90\x03\0\1\1"


def text(value: str) -> bytes:
    return struct.pack(">H", len(value.encode())) + value.encode()


def publish(topic: str, payload: bytes, *, quality: int = 0, number: int = 1, retained: bool = False) -> bytes:
    body = text(topic) + (struct.pack(">H", number) if quality else b"") + payload
    size, length = len(body), b""
    while size > 127:
        length, size = length + bytes([size & 127 | 128]), size >> 7
    return bytes([0x30 | quality << 1 | retained]) + length + bytes([size]) + body


class Broker:
    """Answers a connection by its first piece, a subscription by the others, and keeps what it receives.

    With `ends` it sends nothing after that, and says so.
    """

    def __init__(self, *pieces: bytes, ends: bool = False) -> None:
        self._ends = ends
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.received = b""
        self._thread = threading.Thread(target=self._serve, args=(pieces,), daemon=True)
        self._thread.start()

    def _serve(self, pieces: tuple[bytes, ...]) -> None:
        with self._listening, self._listening.accept()[0] as connected:
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for k, piece in enumerate(pieces):
                while k < 2 and (b"MQTT", b"\x82")[k] not in self.received:
                    block = connected.recv(4096)
                    if not block:  # closed before it has subscribed
                        return
                    self.received += block
                connected.sendall(piece)
            if self._ends:
                connected.shutdown(socket.SHUT_WR)
            while block := connected.recv(4096):
                self.received += block

    def end(self) -> bytes:
        self._thread.join(60)
        return self.received


def opened(port: int) -> Connection:
    return Connection("127.0.0.1", port, tls=None, user="ada", password="secret")


def received(connection: Connection, count: int) -> list[Message]:
    found: list[Message] = []
    while len(found) < count:
        found += connection.receive(5.0)
        connection.acknowledge()
    connection.close()
    return found


@settings(max_examples=30, deadline=None)
@given(
    sent=st.lists(st.tuples(st.sampled_from(["a/b", "ä/1"]), st.binary(max_size=300), st.integers(0, 2)), max_size=12),
    cuts=st.lists(st.integers(1, 40), max_size=12),
)
def test_every_message_comes_once_and_is_acknowledged_however_its_bytes_are_cut(
    sent: list[tuple[str, bytes, int]], cuts: list[int]
) -> None:
    stream = b"".join(
        publish(t, p, quality=q, number=k + 1) + b"\x62\x02" * (q > 1) + struct.pack(">H", k + 1) * (q > 1)
        for k, (t, p, q) in enumerate(sent)
    )
    pieces, at = [ACCEPTED, GRANTED], 0
    for cut in cuts:
        pieces.append(stream[at : at + cut])
        at += cut
    broker = Broker(*pieces, stream[at:])
    connection = opened(broker.port)
    connection.subscribe("#", 2)
    assert received(connection, len(sent)) == [Message(t, p, retained=False) for t, p, _ in sent]
    answered = broker.end()
    assert b"MQTT\x04\xc2" in answered
    for k, (_, _, quality) in enumerate(sent):
        answers = {0: (), 1: (b"\x40\x02",), 2: (b"\x50\x02", b"\x70\x02")}[quality]
        assert all(answered.count(answer + struct.pack(">H", k + 1)) == 1 for answer in answers)


def test_a_message_of_quality_2_that_comes_again_before_it_is_released_is_one() -> None:
    one, release = publish("t", b"x", quality=2, number=7), b"\x62\x02\0\7"
    broker = Broker(ACCEPTED, GRANTED + one + one + release + one + release)
    connection = opened(broker.port)
    connection.subscribe("t", 2)
    assert [message.payload for message in received(connection, 2)] == [b"x", b"x"]
    assert b"\x70\x02\0\7" in broker.end()


def test_what_is_not_taken_is_not_acknowledged() -> None:
    broker = Broker(ACCEPTED, GRANTED + publish("t", b"x", quality=1))
    connection = opened(broker.port)
    connection.subscribe("t", 1)
    assert connection.receive(5.0)
    connection.close()
    assert b"\x40\x02" not in broker.end()


@pytest.mark.parametrize(("answer", "words"), [(b"\x20\x02\0\5", "Not authorized"), (b"\x20\x02\0\4", "Bad user")])
def test_a_refusal_has_its_reason(answer: bytes, words: str) -> None:
    with pytest.raises(RefusedError, match=words):
        opened(Broker(answer).port)


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x20\x02\0\3", b"\x20\xff\xff\xff\xff"])
def test_a_port_that_is_no_broker_is_a_device_that_is_away(answer: bytes) -> None:
    reader = MqttReader(parse_address(f"mqtt://127.0.0.1:{Broker(answer, ends=True).port}/t"), Options())
    with pytest.raises(DeviceAwayError):
        reader.describe()


def test_a_message_that_the_broker_kept_from_before_is_no_signal() -> None:
    samples = b'{"samples": [1, 2, 3]}'
    broker = Broker(ACCEPTED, GRANTED + publish("ward/1", samples, retained=True) + publish("ward/1", samples))
    reader = MqttReader(parse_address(f"mqtt://127.0.0.1:{broker.port}/ward/+?rate=250"), Options())
    reader.describe()
    found = next(packets for packets in reader.packets() if packets is not None)
    reader.close()
    assert len(found) == 1
    assert reader.unreadable == 1
    assert "ward/1: message is ignored: expected one that is sent now; got one" in reader.notes[0]


@pytest.mark.parametrize(
    ("pattern", "options", "words"),
    [
        ("a/#", Options(), "x-y is that of a/x/y"),
        ("+/ecg", Options(stream="bed-1"), "--stream is for one device"),
        ("ecg/#", Options(), "wildcards that tell them apart"),
    ],
)
def test_two_topics_never_make_one_stream(pattern: str, options: Options, words: str) -> None:
    topics = {"a/#": ("a/x/y", "a/x-y"), "+/ecg": ("1/ecg", "2/ecg"), "ecg/#": ("ecg/a b", "ecg/a/b")}[pattern]
    decoder = Decoder(parse_address(f"mqtt://h/{pattern}?rate=250"), options)
    decoder.packet(topics[0], b"[1, 2]", 0.0)
    with pytest.raises(UnreadableError, match=words):
        decoder.packet(topics[1], b"[1, 2]", 0.0)
    decoder.packet(topics[0], b"[1, 2]", 0.0)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["time", "count", "battery"])
def test_a_field_that_is_no_number_is_unreadable(name: str, value: float) -> None:
    decoder = Decoder(parse_address(f"mqtt://h/t?format=int16&header={name}:f64&rate=250"), Options())
    with pytest.raises(UnreadableError, match=f"expected {name}: a number"):
        decoder.packet("t", struct.pack("<d", value) + b"\1\0", 0.0)


@settings(max_examples=draws(100), deadline=None)
@given(
    time=st.floats(1e22, 1.7e308) | st.integers(10**22, 10**400), sign=st.sampled_from([1, -1]), packed=st.booleans()
)  # fmt: skip
def test_a_time_that_no_clock_says_is_unreadable(time: float, sign: int, packed: bool) -> None:
    if packed and isinstance(time, int):
        time = 1.7e308
    form = "?rate=250" + "&format=int16&header=time_s:f64" * packed
    decoder = Decoder(parse_address(f"mqtt://h/t{form}"), Options())
    payload = (
        struct.pack("<d", sign * time) + b"\1\0" if packed else f'{{"samples": [1], "time": {sign * time}}}'.encode()
    )
    with pytest.raises(UnreadableError):
        decoder.packet("t", payload, 0.0)


@settings(max_examples=draws(60), deadline=None)
@given(
    st.lists(st.sampled_from(["rate", "time", "uv", "leads", "zero"]), min_size=2, max_size=30), st.floats(0, 2.4e-4)
)
def test_what_some_messages_leave_out_or_say_a_little_differently_is_one_session(cases: list[str], by: float) -> None:
    decoder, described = Decoder(parse_address("mqtt://h/t?rate=250"), Options()), set()
    for k, case in enumerate(["", *cases]):
        fields = {
            "samples": [1, 2], "rate_hz": 250.0 * (1 + by * (k % 3)), "time": 1.75e9 + k, "uv_per_unit": 2.5,
            "leads": ["II"],
        }  # fmt: skip
        left_out = {"rate": "rate_hz", "uv": "uv_per_unit", "zero": ""}.get(case, case)
        fields.pop(left_out, None)
        if case == "zero":
            fields["time"] = 0
        described.add(decoder.packet("t", json.dumps(fields).encode(), 0.0).described)
    assert len(described) == 1
    assert next(iter(described)).is_epoch


def test_a_rate_that_is_another_one_is_described_anew() -> None:
    decoder = Decoder(parse_address("mqtt://h/t"), Options())
    rates = [decoder.packet("t", b'{"samples": [1], "rate_hz": %d}' % hz, 0.0).described for hz in (250, 251, 250)]
    assert [one.rate_hz for one in rates if one is not None] == [250, 251, 250]


@pytest.mark.parametrize("quality", [0, 1, 2])
def test_a_topic_that_is_not_utf_8_is_one_message_that_is_ignored(quality: int) -> None:
    good = publish("ward/1", b'{"samples": [1, 2, 3]}', quality=quality, number=2)
    bad = publish("ward/?", b'{"samples": [1, 2, 3]}', quality=quality, number=1).replace(b"?", b"\xff")
    release = [b"\x62\x02" + struct.pack(">H", n) if quality == 2 else b"" for n in (1, 2)]
    broker = Broker(ACCEPTED, GRANTED + bad + release[0] + good + release[1])
    reader = MqttReader(parse_address(f"mqtt://127.0.0.1:{broker.port}/ward/+?rate=250"), Options())
    reader.describe()
    found = next(packets for packets in reader.packets() if packets)
    reader.close()
    assert [packet.described.stream for packet in found if packet.described] == ["1"]
    assert reader.unreadable == 1
    assert reader.notes == ["ward/\\xff: message is ignored: expected a topic of UTF-8"]


def test_messages_that_cannot_be_read_for_one_reason_are_said_once_and_counted() -> None:
    reader = MqttReader(parse_address("mqtt://127.0.0.1/ward/+"), Options())
    assert reader._read([Message("ward/1", b'{"ecg": [1]}', False, True)] * 250) == []
    why = "expected 'samples' among its names; got 'ecg' (samples=NAME in the address)"
    assert reader.notes == [
        f"ward/1: message is ignored: {why}",
        *(f"{count} messages are ignored so far; the last: ward/1: {why}" for count in (10, 100)),
    ]
    assert reader.unreadable == 250


def test_a_connection_works_where_many_files_are_open() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 1500:
        pytest.skip("needs 1500 open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1500), hard))
    opened_files: list[int] = []
    try:
        while not opened_files or opened_files[-1] < 1024:
            opened_files.append(os.dup(0))
        broker = Broker(ACCEPTED, GRANTED + publish("t", b"x"))
        connection = opened(broker.port)
        connection.subscribe("t", 1)
        assert [message.payload for message in received(connection, 1)] == [b"x"]
    finally:
        for number in opened_files:
            os.close(number)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_socket_that_another_thread_has_closed_is_a_connection_that_has_gone() -> None:
    connection = opened(Broker(ACCEPTED, b"").port)
    connection._client.socket().close()
    with pytest.raises(ConnectionError):
        connection.receive(1.0)
