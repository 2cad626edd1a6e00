"""Lines of a serial port of which some are garbled, lost or text: all others have their place, and one session."""

import random
from typing import Any

import numpy as np
import pytest
from beatwire_producers.devices.chunks import Stream
from beatwire_producers.devices.packets import DeviceAwayError, Packet
from beatwire_producers.devices.sources import Options
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

serial_port = pytest.importorskip("beatwire_producers.devices.readers.serial_port", reason="needs pyserial")
NOW_S = 1_790_000_000.0
COLUMNS = {
    "count": ("n;ecg_uV", lambda k, hz: f"{k};"),
    "ms": ("time_ms;ecg_uV", lambda k, hz: f"{5000 + k / hz * 1e3:.0f};"),
    "s": ("time_s;ecg_uV", lambda k, hz: f"{k / hz:.3f};"),
    "count, ms": ("n;time_ms;ecg_uV", lambda k, hz: f"{k};{k / hz * 1e3:.0f};"),
}


class Port:
    """Stands for a port in a time of its own: pieces of bytes, each at its time."""

    def __init__(self, pieces: list[tuple[float, bytes]]) -> None:
        self.now_s, self._pieces, self._came = NOW_S, pieces[::-1], b""

    @property
    def in_waiting(self) -> int:
        while self._pieces and self._pieces[-1][0] <= self.now_s:
            self._came += self._pieces.pop()[1]
        return len(self._came)

    def read(self, size: int) -> bytes:
        if not self.in_waiting:
            self.now_s = min([self.now_s + 0.02] + [max(self.now_s, at) for at, _ in self._pieces[-1:]])
        came, self._came = self._came[:size], self._came[size:]
        return came

    def close(self) -> None:
        """Nothing is open."""


def read(monkeypatch: pytest.MonkeyPatch, port: Port) -> tuple[Stream, list[Any], list[str]]:
    """Read a port to its end; return its stream, what was placed, and what was said."""
    said: list[str] = []
    monkeypatch.setattr(serial_port, "arrival_s", lambda: port.now_s)
    monkeypatch.setattr(serial_port.serial, "serial_for_url", lambda *_, **__: port)
    reader = serial_port.SerialReader("x", 115_200, Options(stream="x"))
    described = reader.describe()
    kept: list[Any] = []
    stream = Stream(described, said.append, kept.append)
    try:
        for came in reader.packets():
            for packet in [came] if isinstance(came, Packet) else came or []:
                stream.add(packet)
    except DeviceAwayError:
        stream.close(ended=True)
    return stream, kept, said


@settings(max_examples=draws(60), deadline=None)
@given(
    columns=st.sampled_from([*COLUMNS]), hz=st.sampled_from([100.0, 125.0, 200.0, 250.0]), seed=st.integers(0, 999),
    garbled=st.sampled_from([0.0, 0.003]), lost=st.sampled_from([0.0, 0.003]), size=st.sampled_from([1, 16, 62]),
)  # fmt: skip
def test_lines_that_are_garbled_lost_or_text_begin_no_session_and_move_no_other_line(
    columns: str, hz: float, seed: int, garbled: float, lost: float, size: int
) -> None:
    rng, (names, place) = random.Random(seed), COLUMNS[columns]
    values = np.random.default_rng(seed).permutation(round(12 * hz)) - 1500
    sent, content, pieces = [], b"0\r\n" + names.encode() + b"\r\n", []
    for k, value in enumerate(values):
        line = bytearray(f"{place(k, hz)}{value}\r\n".encode())
        is_garbled = k > 400 and rng.random() < garbled
        if is_garbled:
            at = rng.randrange(len(line))
            line[at] = (
                rng.randrange(256) if at < line.rindex(b";") else rng.choice(b"?x\xff")
            )  # a value stays one or none
        if k == 1000:
            line = names.encode() + b"\r\nboot ok\r\n" + line
        if rng.random() >= lost:
            content += bytes(line)
            sent += [k] * (not is_garbled)
        while len(content) >= size:
            pieces.append((NOW_S + 0.1 + k / hz, content[:size]))
            content = content[size:]
    with pytest.MonkeyPatch.context() as monkeypatch:
        stream, kept, said = read(monkeypatch, Port([*pieces, (NOW_S + 0.1 + len(values) / hz, content)]))
    assert stream.sums().sessions == 1, said
    assert {abs(chunk.rate_hz / hz - 1) < 0.015 for chunk in kept} == {True}, said
    assert not any("set by" in line for line in said)
    found = np.full(len(values) + 500, np.iinfo(np.int32).min)
    first = min(chunk.first for chunk in kept)
    for chunk in kept:
        at = chunk.first - first
        found[at : at + chunk.samples.shape[1]] = chunk.samples[0]
    few = len(values) - len(sent)  # of those that are lost one by one a clock shows the sum
    begin = sent.index(next(k for k in sent if values[k] == found[0]))
    zero = sent[begin]
    wrong = [k for k in sent[begin:-1] if values[k] not in found[max(0, k - zero - 3 - few) : k - zero + 3]]
    assert len(wrong) <= (2 + 0.005 * len(values) if garbled else 1), wrong[:9]
