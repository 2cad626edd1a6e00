"""Chest straps of Polar over Bluetooth LE: ``polar:NAME`` or ``polar:ADDRESS``.

The strap is asked for its ECG by Polar's measurement service (PMD), as the vendor publishes it: 130 Hz, packets of 73
samples of three bytes, in microvolts, with the time of the last sample. Contact is that of the heart rate service, the
charge that of the battery service. The clock of a strap is not set, so its times are brought to this machine's.
"""

import asyncio
import contextlib
import queue
import re
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
from beatwire.errors import UserError
from beatwire.records import I32

from beatwire_producers.devices.packets import Description, DeviceAwayError, Packet, arrival_s
from beatwire_producers.devices.sources import Options
from beatwire_producers.feeds import pseudonym

RATE_HZ = 130.0
CONTROL = "fb005c81-02e7-f387-1cad-8acd2d8df0c8"
DATA = "fb005c82-02e7-f387-1cad-8acd2d8df0c8"
HEART_RATE = "00002a37-0000-1000-8000-00805f9b34fb"
BATTERY = "00002a19-0000-1000-8000-00805f9b34fb"
# Start a measurement: ECG, sample rate 130, resolution 14 bits.
START_ECG = bytes([0x02, 0x00, 0x00, 0x01, 0x82, 0x00, 0x01, 0x01, 0x0E, 0x00])
STOP_ECG = bytes([0x03, 0x00])
_ECG, _PLAIN = 0x00, 0x00  # kind of measurement, and of frame
_HEAD = 10  # bytes: kind, time, kind of frame
_RESPONSE, _ALREADY, _OK = 0xF0, 6, 0
_SCAN_S, _ANSWER_S, _SILENT_S = 10.0, 5.0, 5.0
_CONTACT_KNOWN, _CONTACT = 0x04, 0x02  # flags of a heart rate


def ecg_of(frame: bytes) -> tuple[float, I32] | None:
    """Return the time of the last sample, in seconds of the strap, and the samples, microvolts; None: another frame.

    >>> ecg_of(bytes([0, 0, 202, 154, 59, 0, 0, 0, 0, 0, 1, 0, 0, 255, 255, 255]))
    (1.0, array([ 1, -1], dtype=int32))
    """
    if len(frame) < _HEAD + 3 or frame[0] != _ECG or frame[9] != _PLAIN or (len(frame) - _HEAD) % 3:
        return None
    parts = np.frombuffer(frame, np.uint8, offset=_HEAD).reshape(-1, 3).astype(np.int32)
    values = parts[:, 0] | parts[:, 1] << 8 | parts[:, 2] << 16
    return int.from_bytes(frame[1:9], "little") / 1e9, values - ((values & 0x800000) << 1)


def contact_of(measured: bytes) -> bool | None:
    """Return whether a strap has contact, by a heart rate that it sent; None: it does not say."""
    return bool(measured[0] & _CONTACT) if measured and measured[0] & _CONTACT_KNOWN else None


class PolarReader:
    """Reads a strap.

    Parameters
    ----------
    wanted
        Its name, a part of it, or its address.
    options
        What the user says.
    radio
        Has ``BleakClient`` and ``BleakScanner``; None: bleak.
    """

    def __init__(self, wanted: str, options: Options, radio: Any = None) -> None:
        self._wanted, self._options, self._radio = wanted, options, radio
        self._queue: queue.Queue[Packet | Exception] = queue.Queue()
        self._ready: queue.Queue[str | Exception] = queue.Queue()
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._off = 0
        self._other = ""  # the head of the last frame that is no ECG
        self._battery: int | None = None

    def describe(self) -> Description:
        """Find the strap, connect, and start its ECG."""
        self._stop.clear()
        self._other = ""
        self._queue, self._ready = queue.Queue(), queue.Queue()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="polar", daemon=True)
        self._thread.start()
        try:
            answer = self._ready.get(timeout=_SCAN_S + 4 * _ANSWER_S)
        except queue.Empty:
            raise DeviceAwayError("it does not answer") from None
        if isinstance(answer, Exception):
            raise answer
        return Description(self._options.stream or pseudonym(answer), ("ECG",), RATE_HZ, self._options.uv or 1.0)

    def packets(self) -> Iterator[Packet | None]:
        """Yield the packets of the strap."""
        heard_s = arrival_s()
        while True:
            try:
                came = self._queue.get(timeout=0.1)
            except queue.Empty:
                if arrival_s() - heard_s > _SILENT_S:
                    other = f"; other frames have: {self._other}" if self._other else ""
                    raise DeviceAwayError(f"no packet of ECG has come for 5 s{other}") from None
                yield None
                continue
            if isinstance(came, Exception):
                raise came
            heard_s = arrival_s()
            yield came

    def close(self) -> None:
        """Stop the ECG and disconnect."""
        self._stop.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_ANSWER_S)

    async def _run(self) -> None:
        try:
            await self._connected()
        except (DeviceAwayError, UserError) as error:
            self._fail(error)
        except (FileNotFoundError, ConnectionRefusedError):
            self._fail(DeviceAwayError("the Bluetooth service of this machine does not run"))
        except Exception as error:  # of bleak, and of the system's Bluetooth
            self._fail(DeviceAwayError(f"{type(error).__name__}: {error}"))

    def _fail(self, error: Exception) -> None:
        self._ready.put(error)
        self._queue.put(error)

    async def _connected(self) -> None:
        if self._radio is None:
            import bleak

            self._radio = bleak
        device = await self._radio.BleakScanner.find_device_by_filter(self._is_wanted, timeout=_SCAN_S)
        if device is None:
            raise DeviceAwayError("it is not near, or connected to something else")
        gone = asyncio.Event()
        async with self._radio.BleakClient(device, disconnected_callback=lambda _: gone.set()) as client:
            await self._extras(client)
            answers: asyncio.Queue[bytes] = asyncio.Queue()
            await client.start_notify(CONTROL, lambda _, value: answers.put_nowait(bytes(value)))
            await client.start_notify(DATA, lambda _, value: self._frame(bytes(value)))
            await client.write_gatt_char(CONTROL, START_ECG, response=True)
            answer = await asyncio.wait_for(answers.get(), _ANSWER_S)
            if len(answer) < 4 or answer[0] != _RESPONSE or answer[3] not in (_OK, _ALREADY):
                raise UserError(f"polar: expected a strap that sends ECG; {device.name} answers {answer.hex(' ')}")
            self._ready.put(device.name or str(device.address))
            while not self._stop.is_set() and not gone.is_set():
                await asyncio.sleep(0.1)
            if gone.is_set():
                raise DeviceAwayError("it has ended the connection")
            await client.write_gatt_char(CONTROL, STOP_ECG, response=True)

    async def _extras(self, client: Any) -> None:
        """Ask for contact and charge, which a strap need not have."""
        with contextlib.suppress(Exception):
            self._battery = int((await client.read_gatt_char(BATTERY))[0])
            await client.start_notify(BATTERY, lambda _, value: setattr(self, "_battery", int(value[0])))
        with contextlib.suppress(Exception):
            await client.start_notify(HEART_RATE, lambda _, value: self._heart_rate(bytes(value)))

    def _is_wanted(self, device: Any, _advertised: Any) -> bool:
        name, wanted = (device.name or "").casefold(), self._wanted.casefold()
        if re.fullmatch(r"[0-9a-f]{2}([:-][0-9a-f]{2}){5}|[0-9a-f-]{36}", wanted):
            return bool(str(device.address).casefold().replace("-", ":") == wanted.replace("-", ":"))
        return "polar" in name and wanted in name

    def _heart_rate(self, measured: bytes) -> None:
        contact = contact_of(measured)
        self._off = 1 if contact is False else 0

    def _frame(self, frame: bytes) -> None:
        found = ecg_of(frame)
        if found is None:
            self._other = f"{frame[:_HEAD].hex(' ')}, {len(frame)} bytes"
            return
        last_s, samples = found
        first_s = last_s - (len(samples) - 1) / RATE_HZ
        self._queue.put(Packet(samples[None], arrival_s(), first_s, lead_off=self._off, battery=self._battery))


def open_reader(text: str, options: Options) -> PolarReader:
    """Return the reader of a strap."""
    return PolarReader(text.strip(), options)
