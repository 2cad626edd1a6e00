"""Messages of an MQTT broker: Debian's mosquitto on this machine, and the documented map of messages."""

import json
import shutil
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest
from beatwire.errors import UserError
from beatwire.kafka.local.broker import free_port
from beatwire_producers.devices.sources import Options, open_source
from device_feeds import feeding
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from moments import LIMIT_S, wait_until

paho = pytest.importorskip("paho.mqtt.client", reason="needs paho-mqtt")
from beatwire_producers.devices.mqtt_json import UnreadableError  # noqa: E402
from beatwire_producers.devices.mqtt_map import Decoder, parse_address, stream_of  # noqa: E402

MOSQUITTO = shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
needs_mosquitto = pytest.mark.skipif(MOSQUITTO is None, reason="needs mosquitto (apt-get install mosquitto)")


def is_listened_to(port: int) -> bool:
    with closing(socket.socket()) as tried:
        return not tried.connect_ex(("127.0.0.1", port))


@contextmanager
def mosquitto(folder: Path, *lines: str, port: int = 0) -> Iterator[int]:
    """Run a broker; yield its port."""
    port = port or free_port()
    config = folder / f"mosquitto-{port}.conf"
    config.write_text(
        "\n".join([f"listener {port} 127.0.0.1", "persistence false", *(lines or ("allow_anonymous true",))])
    )
    assert MOSQUITTO is not None
    broker = subprocess.Popen([MOSQUITTO, "-c", str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: is_listened_to(port))
        yield port
    finally:
        broker.terminate()
        broker.wait(LIMIT_S)


def client(port: int, *, user: str | None = None, ca: str | None = None) -> paho.Client:
    made = paho.Client(paho.CallbackAPIVersion.VERSION2)
    if user:
        made.username_pw_set(user, "secret")
    if ca:
        made.tls_set(ca)
    made.connect("127.0.0.1", port)
    made.loop_start()
    return made


def message(k: int, size: int = 25, **fields: object) -> str:
    return json.dumps({"samples": list(range(k * size, (k + 1) * size)), "rate_hz": 250, "uv_per_unit": 2.5, **fields})


@needs_mosquitto
def test_devices_of_a_topic_become_streams_and_nothing_is_lost_while_the_broker_restarts(tmp_path: Path) -> None:
    with mosquitto(tmp_path) as port, feeding(
        [("mqtt", open_source(f"mqtt://127.0.0.1:{port}/ward/+/ecg", Options()))], pauses_s=(0.1, 0.5)
    ) as running:  # fmt: skip
        received = running.received
        received.wait(lambda: any("open" in line for line in received.said))  # it has subscribed
        sender = client(port)
        for k in range(40):
            for bed in (1, 2):
                fields = {"count": k * 25, "battery": 80, "contact": k < 30}
                sender.publish(f"ward/bed-{bed}/ecg", message(k, **fields), qos=1).wait_for_publish(LIMIT_S)
        sender.publish("ward/bed-3/ecg", "hello", qos=1)
        received.wait(lambda: received.count() >= 2000 and any("is ignored" in line for line in received.said))
        sender.disconnect()
        sender.loop_stop()
    for stream in ("bed-1", "bed-2"):
        np.testing.assert_array_equal(received.samples(stream)[0], np.arange(1000))
    assert {c["uv_per_unit"] for c in received.chunks} == {2.5}
    assert {c["lead_off"] for c in received.chunks} == {0, 1}
    assert all(headers == [("battery", b"80")] for headers in received.headers)
    assert any("ward/bed-3/ecg: message is ignored: expected a JSON object" in line for line in received.said)


@needs_mosquitto
def test_a_broker_that_goes_away_is_waited_for_and_the_hole_is_as_long_as_it_was(tmp_path: Path) -> None:
    port = free_port()
    source = open_source(f"mqtt://127.0.0.1:{port}/ecg/bed-9", Options())
    with feeding([("mqtt", source)], pauses_s=(0.1, 0.5)) as running:
        received = running.received
        received.wait(lambda: any("away" in line for line in received.said))
        for begin in (0, 60):
            with mosquitto(tmp_path, port=port):
                opened = sum("open" in line for line in received.said)
                received.wait(
                    lambda before=opened - (begin == 0 and opened > 0): sum("open" in s for s in received.said) > before
                )
                time.sleep(1.5 if begin else 0.0)  # the device counts for 2 s, of which a second may be its clock's
                sender = client(port)
                for k in range(begin, begin + 40):
                    sender.publish("ecg/bed-9", message(k, count=k * 25), qos=1).wait_for_publish(LIMIT_S)
                received.wait(lambda n=1000 * (1 + begin // 60): received.count() >= n)
                sender.disconnect()
        sender.loop_stop()
    found = received.samples("bed-9")[0]
    assert len({c["session"] for c in received.chunks}) == 1
    assert len(found) == 2500
    assert (found[1000:1500] == -1).all()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # paho leaves a refused socket open
@needs_mosquitto
def test_a_password_and_certificates_are_used_and_a_refusal_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import trustme

    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    own = authority.issue_cert("127.0.0.1", "localhost")
    own.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
    own.cert_chain_pems[0].write_to_path(str(tmp_path / "cert.pem"))
    (tmp_path / "passwords").write_text("ada:secret\n")
    subprocess.run(["mosquitto_passwd", "-U", str(tmp_path / "passwords")], check=True)
    (tmp_path / "passwords").chmod(0o644)
    tmp_path.chmod(0o755)
    lines = (
        f"cafile {tmp_path}/ca.pem", f"certfile {tmp_path}/cert.pem", f"keyfile {tmp_path}/key.pem",
        "allow_anonymous false", f"password_file {tmp_path}/passwords", "user root",
    )  # fmt: skip
    with mosquitto(tmp_path, *lines) as port:
        address = f"mqtts://ada@127.0.0.1:{port}/ecg/bed-1?ca={tmp_path}/ca.pem"
        monkeypatch.setenv("BEATWIRE_MQTT_PASSWORD", "wrong")
        with pytest.raises(UserError, match=r"expected 127\.0\.0\.1 to accept the connection; got Not authorized"):
            open_source(address, Options()).describe()
        with pytest.raises(UserError, match="expected a certificate that is trusted"):
            open_source(f"mqtts://ada@127.0.0.1:{port}/ecg/bed-1", Options()).describe()
        monkeypatch.setenv("BEATWIRE_MQTT_PASSWORD", "secret")
        with feeding([("mqtt", open_source(address, Options()))]) as running:
            running.received.wait(lambda: any("open" in line for line in running.received.said))
            sender = client(port, user="ada", ca=str(tmp_path / "ca.pem"))
            sender.publish("ecg/bed-1", message(0, 250), qos=1).wait_for_publish(LIMIT_S)
            running.received.wait(lambda: running.received.count() >= 250)
            sender.disconnect()
        sender.loop_stop()


@settings(max_examples=draws(60), deadline=None)
@given(
    leads=st.integers(1, 4), order=st.sampled_from(["int16", "int16be"]), count=st.integers(0, 2**32 - 1),
    time_ms=st.integers(0, 2**44), values=st.lists(st.integers(-32768, 32767), min_size=1, max_size=30),
)  # fmt: skip
def test_packed_messages_are_read_by_their_map(leads: int, order: str, count: int, time_ms: int, values: list) -> None:
    names = ",".join(f"L{k}" for k in range(leads))
    address = parse_address(f"mqtt://h/t/x?format={order}&header=count:u32,time_ms:u64,skip:u8&leads={names}&rate=250")
    end = ">" if order.endswith("be") else "<"
    rows = np.array([values] * leads, np.int16)
    payload = struct.pack(f"{end}IQB", count, time_ms, 7) + rows.T.astype(f"{end}i2").tobytes()
    packet = Decoder(address, Options()).packet("t/x", payload, 0.0)
    np.testing.assert_array_equal(packet.samples, rows)
    assert packet.count == count
    assert packet.time_s == time_ms / 1000
    assert packet.described is not None
    assert (packet.described.stream, packet.described.rate_hz, len(packet.described.leads)) == ("x", 250.0, leads)


NAMES = st.sampled_from(["samples", "count", "time", "leads", "rate_hz", "contact", "battery", "lead_off"])
PLAIN = st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3)
JSON = st.recursive(PLAIN, lambda x: st.lists(x, max_size=3) | st.dictionaries(NAMES, x), max_leaves=8)


@settings(max_examples=draws(200), deadline=None)
@given(st.binary(max_size=40) | JSON.map(lambda found: json.dumps(found).encode()))
def test_whatever_a_message_is_it_is_a_packet_or_unreadable(payload: bytes) -> None:
    decoder = Decoder(parse_address("mqtt://h/t"), Options())
    try:
        packet = decoder.packet("t", payload, 0.0)
    except UnreadableError:
        return
    assert packet.samples.ndim == 2


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("mqtt://h", "expected mqtt://HOST"),
        ("mqtt://h/t?colour=red", "expected names among samples, .*; got 'colour'"),
        ("mqtt://h/t?format=int8", "expected format=json, int16, uint16, .*; got 'int8'"),
        ("mqtt://h/t?rate=fast", "expected rate=50-4000 Hz; got 'fast'"),
        ("mqtt://h/t?format=int16&header=count:u7", "expected header=NAME:TYPE"),
    ],
)
def test_an_address_that_cannot_be_used_is_one_line(source: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        open_source(source, Options())


def test_the_id_of_a_stream_is_what_the_wildcards_stand_for() -> None:
    assert parse_address("mqtt://h/a/#?rate=250").topic == "a/#"
    assert parse_address("mqtt://h/a/#?rate=250").map["rate"] == "250"
    assert stream_of("a/b/c", "+/b/#") == "a-c"
