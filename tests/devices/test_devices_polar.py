"""Chest straps of Polar: frames as the vendor publishes them, behind a stand-in for the radio alone.

No radio is used: `Radio` stands for the machine's Bluetooth (bleak), and sends the bytes that a strap sends.
"""

import asyncio
import struct
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
import pytest
from beatwire.errors import UserError
from beatwire_producers.devices.packets import DeviceAwayError
from beatwire_producers.devices.readers.polar import (
    BATTERY,
    CONTROL,
    DATA,
    HEART_RATE,
    START_ECG,
    PolarReader,
    contact_of,
    ecg_of,
)
from beatwire_producers.devices.sources import Options
from device_feeds import feeding
from hypothesis import given
from hypothesis import strategies as st

SIZE = 73


def frame(k: int, values: np.ndarray) -> bytes:
    """Return a frame of ECG: kind, time of the last sample in nanoseconds, kind of frame, three bytes a sample."""
    last_ns = 600_000_000_000_000_000 + round((k * SIZE + len(values) - 1) * 1e9 / 130.0)
    return struct.pack("<BQB", 0, last_ns, 0) + b"".join(int(v).to_bytes(3, "little", signed=True) for v in values)


class Radio:
    """Stands for Bluetooth: one strap, which sends frames faster than a real one.

    ``now_s`` is the time by the frames that it has sent.
    """

    def __init__(
        self, name: str = "Polar H10 12345678", *, lost: frozenset[int] = frozenset(), answer: bytes | None = None
    ):
        self.name, self.lost = name, lost
        self.answer = bytes([0xF0, 0x02, 0x00, 0x00, 0x00]) if answer is None else answer
        self.signal = (np.sin(np.arange(60 * SIZE) / 9.0) * 2000).astype(int)
        self.began = False
        self.gone = asyncio.Event
        self.connections, self.now_s = 0, 1.75e9
        self.BleakScanner = SimpleNamespace(find_device_by_filter=self._find)
        self.BleakClient = self._client

    async def _find(self, is_wanted: Any, timeout: float) -> Any:
        device = SimpleNamespace(name=self.name, address="A0:9E:1A:00:00:01")
        return device if is_wanted(device, None) else None

    def _client(self, device: Any, disconnected_callback: Any) -> Any:
        return _Client(self, disconnected_callback)


class _Client:
    def __init__(self, radio: Radio, gone: Any) -> None:
        self._radio, self._gone = radio, gone
        self._notify: dict[str, Any] = {}
        self._task: Any = None

    async def __aenter__(self) -> Self:
        self._radio.connections += 1
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()

    async def read_gatt_char(self, which: str) -> bytes:
        assert which == BATTERY
        return bytes([64])

    async def start_notify(self, which: str, callback: Any) -> None:
        self._notify[which] = callback

    async def write_gatt_char(self, which: str, value: bytes, response: bool) -> None:
        assert which == CONTROL
        if value == START_ECG:
            self._notify[CONTROL](None, bytearray(self._radio.answer))
            self._task = asyncio.ensure_future(self._send())

    async def _send(self) -> None:
        begin = 30 * (self._radio.connections - 1)
        for k in range(begin, begin + 30):
            self._radio.now_s += SIZE / 130.0
            self._notify[HEART_RATE](None, bytearray([0x06 if k % 30 < 20 else 0x04, 60]))
            if k not in self._radio.lost:
                self._notify[DATA](None, bytearray(frame(k, self._radio.signal[k * SIZE : (k + 1) * SIZE])))
            await asyncio.sleep(0.01)
        if self._radio.connections == 1:
            self._gone(self)
        while True:
            self._radio.now_s += SIZE / 130.0
            await asyncio.sleep(0.01)


def test_a_strap_becomes_a_stream_and_goes_on_after_it_was_away(monkeypatch: pytest.MonkeyPatch) -> None:
    from beatwire_producers.devices.readers import polar

    radio = Radio(lost=frozenset({10, 11}))
    monkeypatch.setattr(polar, "arrival_s", lambda: radio.now_s)
    monkeypatch.setattr(polar, "_SILENT_S", 1e9)
    reader = PolarReader("H10 12345678", Options(stream="bed-1"), radio)
    with feeding([("polar", reader)], pauses_s=(0.05, 0.05)) as running:
        running.received.wait(lambda: running.received.count("bed-1") >= 58 * SIZE)
    found = running.received.samples("bed-1")[0]
    chunk = running.received.chunks[0]
    assert (chunk["rate_hz"], chunk["uv_per_unit"], chunk["leads"]) == (130.0, 1.0, ["ECG"])
    assert len({c["session"] for c in running.received.chunks}) == 1
    np.testing.assert_array_equal(found[: 10 * SIZE], radio.signal[: 10 * SIZE])
    assert (found[10 * SIZE : 12 * SIZE] == -1).all()
    np.testing.assert_array_equal(found[12 * SIZE :][: 48 * SIZE], radio.signal[12 * SIZE :])
    assert {c["lead_off"] for c in running.received.chunks} == {0, 1}
    assert all(headers == [("battery", b"64")] for headers in running.received.headers)
    assert running.summary is not None
    assert running.summary.away == 1


def test_a_machine_without_bluetooth_says_so() -> None:
    radio = Radio()

    async def find(_is_wanted: Any, timeout: float) -> None:
        raise FileNotFoundError(2, "No such file or directory")  # the socket of D-Bus

    radio.BleakScanner.find_device_by_filter = find
    with pytest.raises(DeviceAwayError, match="the Bluetooth service of this machine does not run"):
        PolarReader("H10", Options(), radio).describe()


def test_frames_that_are_no_ecg_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    from beatwire_producers.devices.readers import polar

    radio = Radio()
    radio.connections = 1  # the next one is not ended
    plain = frame
    monkeypatch.setitem(globals(), "frame", lambda k, values: plain(k, values)[:9] + b"\x80" + plain(k, values)[10:])
    monkeypatch.setattr(polar, "arrival_s", lambda: radio.now_s)
    reader = PolarReader("H10 12345678", Options(stream="bed-1"), radio)
    reader.describe()
    with pytest.raises(DeviceAwayError, match=r"no packet of ECG .* 5 s; other frames have: 00 .* 80, 229 bytes"):
        for _ in reader.packets():
            pass
    reader.close()


def test_a_strap_without_ecg_and_one_that_is_not_near_are_said() -> None:
    refusing = PolarReader("polar", Options(), Radio(answer=bytes([0xF0, 0x02, 0x00, 0x01])))
    with pytest.raises(UserError, match=r"expected a strap that sends ECG; .* answers f0 02 00 01"):
        refusing.describe()
    with pytest.raises(DeviceAwayError, match="it is not near"):
        PolarReader("Verity", Options(), Radio()).describe()
    assert PolarReader("a0-9e-1a-00-00-01", Options(), Radio()).describe() is not None


@given(st.lists(st.integers(-(2**23), 2**23 - 1), min_size=1, max_size=80))
def test_samples_of_three_bytes_are_read_with_their_sign(values: list[int]) -> None:
    found = ecg_of(frame(0, np.array(values)))
    assert found is not None
    np.testing.assert_array_equal(found[1], values)


@given(st.binary(max_size=60))
def test_any_frame_is_samples_or_nothing(content: bytes) -> None:
    found = ecg_of(content)
    assert found is None or len(found[1]) == (len(content) - 10) // 3


def test_contact_is_that_of_the_heart_rate_service() -> None:
    assert [contact_of(bytes([flags, 60])) for flags in (0x00, 0x04, 0x06, 0x16)] == [None, False, True, True]
    assert contact_of(b"") is None
