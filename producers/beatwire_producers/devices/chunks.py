"""Packets of one stream -> messages.

In:  packets, in the order of their arrival
Out: `Message`: Avro SampleChunks, of consecutive samples in the order of the device
State: the placer, the scale once it is chosen, samples that are not a chunk yet

A chunk is sent when it has ``chunk_s`` of signal, or after as much time. Samples before and after a hole, another
session or another contact of the leads are in different chunks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple

import numpy as np
from beatwire.errors import UserError, shown
from beatwire.kafka.publishing.sender import Headers
from beatwire.recordings.judged_scale import JudgedScale
from beatwire.recordings.leads import unique_names
from beatwire.recordings.record import MAX_LEADS
from beatwire.records import I16

from beatwire_producers.chunk_writer import ChunkWriter
from beatwire_producers.devices.packets import Description, Packet, Placed
from beatwire_producers.devices.places import Placer
from beatwire_producers.devices.scale import HELD_S, scale_of

CHUNK_S = 0.1
LONGEST_S = 1.0  # a chunk
_MOST_BYTES = 60_000  # of the samples of a chunk: a message stays below 64 kB
BATTERY = "battery"  # header: charge of the device in percent


class Message(NamedTuple):
    """A message on its way to the broker."""

    key: bytes
    value: bytes
    headers: Headers | None = None


class Chunk(NamedTuple):
    """Samples of a message, as they are kept (:mod:`beatwire_producers.devices.wfdb_files`)."""

    described: Description
    rate_hz: float
    uv_per_unit: float
    session: int
    first: int
    time_us: int
    samples: I16


@dataclass
class Sums:
    """What came of streams and was made of it, so far.

    packets     packets of devices
    messages    messages for the broker
    samples     samples in them, over all leads
    sessions    sessions: more than streams if a device counted anew
    holes       stretches that are missing
    missing_s   seconds of signal in them
    doubled     packets that came twice
    """

    packets: int = 0
    messages: int = 0
    samples: int = 0
    sessions: int = 0
    holes: int = 0
    missing_s: float = 0.0
    doubled: int = 0

    def add(self, other: Sums) -> None:
        """Add those of other streams."""
        for name, value in asdict(other).items():
            setattr(self, name, getattr(self, name) + value)


class Stream:
    """A stream: packets in, messages out.

    Parameters
    ----------
    described
        What the device sends.
    note
        Called with a sentence where something is assumed.
    keep
        Called with each chunk.

    Attributes
    ----------
    placer : Placer
        Places the packets.
    chunk_s : float
        Signal of a message, seconds.
    packets, samples, messages : int
        Packets that came, samples of all leads and messages that were made of them, so far.

    Raises
    ------
    UserError
        The id, the leads, the unit or the rate are none that a message can have.
    """

    def __init__(
        self,
        described: Description,
        note: Callable[[str], None] = lambda _: None,
        keep: Callable[[Chunk], None] | None = None,
    ) -> None:
        size = len(described.stream.encode())
        if not 1 <= size <= 64:
            raise UserError(f"{described.stream!r}: expected a stream id of 1-64 bytes; got {size} (--stream)")
        if not 1 <= len(described.leads) <= MAX_LEADS:
            got = f"{len(described.leads)} (choose with --column)"
            raise UserError(f"{described.stream}: expected 1-{MAX_LEADS} leads; got {got}")
        if described.uv is not None and not 0 <= described.uv < math.inf:
            raise UserError(f"{described.stream}: expected microvolts of a number, 0 or more; got {described.uv:g}")
        self.described = described
        self._leads = unique_names(described.leads)
        self._note, self._keep = note, keep
        self.placer = Placer(described, note)
        self.chunk_s = CHUNK_S
        self.packets = self.samples = self.messages = 0
        self._scale: JudgedScale | None = None
        self._passed = self._renewed = 0  # samples that it has had; what is sent is its signal of this number
        self._least_session = 0  # of what is sent now
        self._writer: ChunkWriter | None = None
        self._key = described.stream.encode()
        self._waiting: list[Placed] = []
        self._signal = 0  # samples in them
        self._since_s = 0.0

    def add(self, packet: Packet) -> list[Message]:
        """Return what can be sent now that a packet has come.

        Raises
        ------
        UserError
            The packet has other samples than are described, its count is none, or its rate cannot be true.
        """
        where, samples, count = self.described.stream, packet.samples, packet.count
        if not isinstance(samples, np.ndarray) or samples.dtype.kind not in "iubf":
            raise UserError(f"{where}: expected samples in an array of numbers; got {shown(samples)}")
        if samples.ndim != 2 or samples.shape[0] != len(self._leads):
            got = "x".join(map(str, samples.shape))
            raise UserError(f"{where}: expected samples of {len(self._leads)} leads; got {got}")
        if count is not None and type(count) is not int:
            if count != count // 1:
                raise UserError(f"{where}: expected a count in whole numbers; got {shown(count)}")
            packet = replace(packet, count=int(count))
        self.packets += 1
        return [message for placed in self.placer.place(packet) for message in self._add(placed)]

    def idle(self, now_s: float) -> list[Message]:
        """Return what has waited for long enough; ``now_s`` as of ``Packet.arrival_s``."""
        messages = [message for placed in self.placer.idle(now_s) for message in self._add(placed)]
        if self._waiting and now_s - self._since_s >= self._wait_s:
            messages += self._end()
        return messages

    def close(self, *, ended: bool = False) -> list[Message]:
        """Return everything that waits; ``ended``: no other packets come."""
        return [message for placed in self.placer.close(ended=ended) for message in self._add(placed)] + self._end()

    def leave(self) -> list[Message]:
        """Return what can be sent of what waits: the stream has failed, and is left out."""
        messages: list[Message] = []
        with suppress(UserError):
            for placed in self.placer.close():
                messages += self._add(placed)
        with suppress(UserError):
            messages += self._end()
        return messages

    def sums(self) -> Sums:
        """Return what came and was made of it, so far."""
        placer = self.placer
        seen, missing_s = placer.seen, placer.seen.missing / (placer.rate_hz or 1.0)
        sessions = placer.sessions + (0 if self._scale is None else self._scale.renewed)
        return Sums(self.packets, self.messages, self.samples, sessions, seen.holes, missing_s, placer.doubled)

    def _add(self, placed: Placed) -> list[Message]:
        messages = []
        if self._waiting and not _continues(self._waiting[-1], placed):
            messages = self._end()
        if not self._waiting:
            self._since_s = placed.packet.arrival_s
        self._waiting.append(placed)
        self._signal += placed.packet.samples.shape[1]
        if self._scale is None:
            uv, dtype = self.described.uv, placed.packet.samples.dtype
            self._scale = scale_of(self._rate_hz, self._leads, uv, dtype, self._note)
        if self._signal >= self._wait_s * self._rate_hz:
            messages += self._end()
        return messages

    @property
    def _wait_s(self) -> float:
        """Signal of the next message: at first there is enough of it to judge what has no unit."""
        is_first = self._scale is not None and not self._scale.begun
        return max(HELD_S, self.chunk_s) if is_first else self.chunk_s

    @property
    def _rate_hz(self) -> float:
        assert self.placer.rate_hz is not None  # nothing is placed before
        return self.placer.rate_hz

    def _end(self) -> list[Message]:
        """Return messages of what waits."""
        waiting, self._waiting, self._signal = self._waiting, [], 0
        if not waiting:
            return []
        assert self._scale is not None
        pieces, begin, scale = [placed.packet.samples for placed in waiting], waiting[0], self._scale
        values = pieces[0] if len(pieces) == 1 else np.concatenate(pieces, axis=1)
        if values.dtype != np.int16:
            values = values.astype(np.float64)
        if not scale.begun:
            scale.begin(values)
        index, self._passed = self._passed, self._passed + values.shape[1]
        most = max(1, int(min(LONGEST_S * self._rate_hz, _MOST_BYTES / (2 * len(self._leads)))))
        messages: list[Message] = []
        for part in scale.parts(values, index):
            if part.renewed > self._renewed:
                self._renewed, self._writer = part.renewed, None
                self._least_session = max(self._session(begin) + 1, round(begin.packet.arrival_s * 1e6))
            for k in range(0, part.samples.shape[1], most):
                samples, offset = part.samples[:, k : k + most], part.first - index + k
                messages.append(self._message(begin, offset, samples, part.uv_per_unit))
        return messages

    def _session(self, begin: Placed) -> int:
        return max(begin.session, self._least_session)

    def _message(self, begin: Placed, offset: int, samples: I16, uv: float) -> Message:
        rate_hz, first, session = self._rate_hz, begin.first + offset, self._session(begin)
        if self._writer is None:
            self._writer = ChunkWriter(self.described.stream, rate_hz, self._leads, uv)
        time_us = begin.time_us + round(offset * 1e6 / rate_hz)
        content = samples.astype("<i2", copy=False).tobytes()  # lead by lead, however they lie in memory
        lead_off = begin.packet.lead_off & ((1 << len(self._leads)) - 1)
        value = self._writer.message(session, first, time_us, lead_off, content)
        self.samples += samples.size
        self.messages += 1
        if self._keep is not None:
            chunk = Chunk(self.described, rate_hz, uv, session, first, time_us, samples)
            self._keep(chunk)
        charge = begin.packet.battery
        return Message(self._key, value, None if charge is None else [(BATTERY, b"%d" % charge)])


def _continues(before: Placed, placed: Placed) -> bool:
    """Return True if a packet goes on where one before it ended."""
    return (
        placed.session == before.session
        and placed.first == before.first + before.packet.samples.shape[1]
        and placed.packet.lead_off == before.packet.lead_off
    )
