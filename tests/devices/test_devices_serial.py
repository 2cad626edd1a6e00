"""Lines of a serial port: a pseudo-terminal whose other end prints as sketches do."""

import os
import threading
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import numpy as np
import pytest
from beatwire.errors import UserError
from beatwire.recordings.synthetic.person import synthetic_recording
from beatwire_producers.devices.packets import DeviceAwayError
from beatwire_producers.devices.readers import serial_port
from beatwire_producers.devices.sources import Options, open_source
from device_feeds import Received, feeding

pytest.importorskip("serial", reason="needs pyserial")

RECORDING = synthetic_recording("synthetic:seconds=8,seed=1", rate_hz=250.0)
ADC = (512 + RECORDING.samples[0] // 8).astype(int)
MV = RECORDING.samples[0] * RECORDING.uv_per_unit / 1000.0
SKETCHES: dict[str, tuple[str, Callable[[int], str]]] = {
    "AD8232": ("", lambda k: f"{ADC[k]}\r\n"),
    "millis and ADC": ("", lambda k: f"{1000 + 4 * k},{ADC[k]}\r\n"),
    "names first": ("time_ms\tecg_mV\tresp\r\n", lambda k: f"{4 * k}\t{MV[k]:.4f}\t{300 + (k // 50) % 3}\r\n"),
    "a count": ("boot ok\r\n", lambda k: f"{k};{ADC[k]};{ADC[k] + 3}\n"),
    "a count of a byte": ("", lambda k: f"{k % 256};{ADC[k]}\n"),
    "time of day": ("", lambda k: f"17:43:{8 + k // 250:02d}.{4 * k % 1000:03d};{ADC[k]}\n"),
    "plotter": ("", lambda k: f"t:{4 * k} ecg:{ADC[k]}\n"),
    "plotter, heart rate": ("", lambda k: f"HR: {72 + k // 90 % 3}, t: {4 * k}, ecg: {ADC[k]}\n"),
}


@contextmanager
def sketch(head: str, line: Callable[[int], str], *, lines: int, skip: range = range(0)) -> Iterator[str]:
    """Print lines at 250 Hz in groups of five; yield the port."""
    master, slave = os.openpty()
    tty.setraw(slave)
    stop = threading.Event()

    def run() -> None:
        time.sleep(0.3)
        os.write(master, b"12\r\n" + head.encode())  # what the port had of a line before it was opened
        began = time.monotonic()
        for k in range(0, lines, 5):
            os.write(master, "".join(line(j) for j in range(k, min(lines, k + 5)) if j not in skip).encode())
            if stop.wait(max(0.0, began + (k + 5) / 250.0 - time.monotonic())):
                break

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield os.ttyname(slave)
    finally:
        stop.set()
        thread.join()
        os.close(master)
        os.close(slave)


MISSING = range(1000, 1100)


def uncertain(k: int) -> str:
    none = {1100: "5x2", 1150: "inf", 1200: "99999999999", 1250: "nan"}
    return "!\r\n" if 900 <= k < 1000 else f"{none.get(k, ADC[k])}\r\n"


@pytest.fixture(scope="module")
def received() -> Received:
    """Play all sketches at once, two with missing lines and one with a lead that is off; return what arrives."""
    with ExitStack() as stack:
        readers = []
        for stream, head, line, fs, skip in (
            *(
                (name, *SKETCHES[name], 250.0 if name.startswith(("AD8232", "a count")) else None, range(0))
                for name in SKETCHES
            ),
            *((f"{name} with a hole", *SKETCHES[name], 250.0, MISSING) for name in ("millis and ADC", "a count")),
            ("uncertain", "", uncertain, 250.0, range(0)),
        ):
            port = stack.enter_context(sketch(head, line, lines=1800 if skip else 1500, skip=skip))
            readers.append((stream, open_source(f"serial:{port}", Options(fs=fs, stream=stream))))
        found = stack.enter_context(feeding(readers)).received
        for name, _ in readers:
            found.wait(lambda name=name: found.count(name) >= (1680 if "hole" in name else 1450))  # type: ignore[misc]
    return found


@pytest.mark.parametrize("name", SKETCHES)
def test_the_lines_of_a_sketch_become_a_stream(received: Received, name: str) -> None:
    chunk = next(chunk for chunk in received.chunks if chunk["stream"] == name)
    assert chunk["rate_hz"] == 250.0
    found = received.samples(name)[0]
    begin = 1 if found[0] == 12 else 0
    if "mV" in SKETCHES[name][0]:
        assert (chunk["leads"], chunk["uv_per_unit"]) == (["ecg_mV"], 1.0)
        np.testing.assert_allclose(found[:1400], np.rint(MV[:1400] * 1000), atol=1)
    else:
        assert chunk["uv_per_unit"] == 0.0
        np.testing.assert_array_equal(found[begin : begin + 1400], ADC[:1400])


def test_a_count_that_begins_again_at_its_end_goes_on(received: Received) -> None:
    sessions = {
        name: len({chunk["session"] for chunk in received.chunks if chunk["stream"] == name})
        for name in ("a count", "a count of a byte")
    }
    assert set(sessions.values()) == {1}
    assert not any("begins again" in line for line in received.said)


def test_lines_that_are_no_numbers_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serial_port, "_LEARN_S", 0.2)
    said = pytest.raises(DeviceAwayError, match=r"expected lines of numbers; got 'ECG value is 5\d\d'")
    with sketch("", lambda k: f"ECG value is {ADC[k]}\n", lines=1500) as port, said:
        open_source(f"serial:{port}", Options()).describe()


@pytest.mark.parametrize("name", ["millis and ADC", "a count"])
def test_lines_that_are_missing_are_a_hole_of_their_length(received: Received, name: str) -> None:
    found = received.samples(f"{name} with a hole")[0]
    assert (found[1000:1100] == -1).all()
    np.testing.assert_array_equal(found[1100:1700], ADC[1100:1700])


def test_a_lead_that_is_off_is_said_and_garbled_lines_are_samples_without_a_value(received: Received) -> None:
    found = received.samples("uncertain")[0]
    at = int(np.flatnonzero(found == -32768)[0]) - 900  # a computer at work sends late: a hole before
    assert at >= 0
    found = found[at:]
    assert (found[900:1000] == -32768).all()
    assert (found[1100:1300:50] == -32768).all()
    np.testing.assert_array_equal(found[1001:1099], ADC[1001:1099])
    off = [c for c in received.chunks if c["stream"] == "uncertain" and c["lead_off"]]
    assert sum(len(c["samples"]) // 2 for c in off) == 100


def test_a_port_that_is_not_there_is_away_and_one_of_another_speed_is_one_line() -> None:
    with pytest.raises(DeviceAwayError, match=r"^No such file or directory; ports that are there: (none|/dev/.*)$"):
        open_source("serial:/dev/no-such-port", Options()).describe()
    with pytest.raises(UserError, match=r"expected serial:PORT or serial:PORT\?baud=115200; got '/dev/x\?speed=9600'"):
        open_source("serial:/dev/x?speed=9600", Options())
    master, slave = os.openpty()
    tty.setraw(slave)
    writer = threading.Timer(0.3, lambda: os.write(master, b"\xff\xfe" * 2500))
    writer.start()
    with pytest.raises(UserError, match="another baud rate than 115200"):
        open_source(f"serial:{os.ttyname(slave)}", Options()).describe()
    writer.join()
    os.close(master)
    os.close(slave)


@pytest.mark.parametrize(("name", "uv"), [("ecg_raw", 0.0), ("ecg_counts", 0.0), ("ecg_mV", 1000.0), ("ecg", None)])
def test_a_unit_in_a_name_is_a_voltage_or_not_calibrated(name: str, uv: float | None) -> None:
    reader = serial_port.SerialReader("/dev/none", 115_200, Options())
    described = reader._learn("serial:/dev/none", [f"{4 * k},{MV[k]:.4f}" for k in range(500)], f"time_ms,{name}")
    assert (described.uv, described.leads) == (uv, (name,))


def test_leads_of_two_units_are_refused() -> None:
    reader = serial_port.SerialReader("/dev/none", 115_200, Options())
    with pytest.raises(UserError, match="expected leads of one unit; got 'I_mV', 'II_uV'"):
        reader._learn("serial:/dev/none", [f"{MV[k]:.4f},{1000 * MV[k]:.1f}" for k in range(500)], "I_mV,II_uV")
