"""One reader: packets of its devices -> messages in the outbox.

In:  what a reader yields. Out: messages, in order per stream; lines for the screen
State: the streams, which of them are left out, how late packets arrive

A device that goes away is waited for, with a growing pause; its stream goes on where it comes back. A thread of its
own reads, places and encodes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from beatwire.errors import UserError, shown

from beatwire_producers.devices.chunks import Chunk, Message, Stream, Sums
from beatwire_producers.devices.clock_line import span
from beatwire_producers.devices.packets import Description, DeviceAwayError, MachineClock, Packet, Reader, arrival_s
from beatwire_producers.devices.rate_check import OtherRateError

_STEADY_S = 30.0  # a device that has sent for so long is looked for at once when it goes
_IDLE_S, _IDLE_TIMES = 0.02, 5  # between two looks for samples that have waited: at least, and of what a look takes
_LATE_S, _LOOK_S = 1.0, 5.0  # what is said of packets that arrive late, twice in a row; between two looks
_AGAIN_S = 60.0  # between two lines about that, and about what is missing
_REST_S = 1.0  # at the end, for what had come before it

Say = Callable[[str], None]


class Reading:
    """Reads one reader until it ends.

    Parameters
    ----------
    name
        For what is said of it.
    reader
        As of :mod:`beatwire_producers.devices.packets`.
    put
        Called with messages.
    owners
        Stream -> the reading that it comes from, of all readings.
    say
        Called with each line for the screen.
    keep
        Called with each chunk.
    chunk_s
        Signal of a message, seconds.
    pauses_s
        The first and the longest pause before a device is looked for again.

    Attributes
    ----------
    streams : dict of str to Stream
        The present ones.
    away : int
        How often the device went away after it had been there.
    failure : BaseException or None
        Why reading has ended, where it is not the end of the device.
    """

    def __init__(
        self,
        name: str,
        reader: Reader,
        put: Callable[[list[Message]], None],
        owners: dict[str, Reading],
        *,
        say: Say,
        keep: Callable[[Chunk], None] | None,
        chunk_s: float,
        pauses_s: tuple[float, float],
    ) -> None:
        self.name, self.reader = name, reader
        self._put, self._owners, self._say, self._keep = put, owners, say, keep
        self._chunk_s, self._pauses_s = chunk_s, pauses_s
        self.streams: dict[str, Stream] = {}
        self._past = Sums()  # of streams that another description has replaced, or that are left out
        self._refused: set[str] = set()
        self._clock = MachineClock()
        self.away = 0
        self.failure: BaseException | None = None
        self._look_s = self._late_said_s = float("-inf")
        self._was_late = False
        self._missing_s = self._missing_said = 0.0  # seconds of signal: at the last look, and in the last line
        self._holes_said_s = float("-inf")

    def run(self, halt: threading.Event) -> None:
        """Read until the reader ends, or until ``halt``."""
        pause_s = self._pauses_s[0]
        said_of_it = set[str]()  # when it was described
        try:
            while not halt.is_set():
                began_s, is_there = arrival_s(), False
                try:
                    described, is_there = self.reader.describe(), True
                    self._say(f"{self.name}: {'open' if described is None else sentence(described)}")
                    self._say_notes(said_of_it)
                    self._read(described, halt)
                    return
                except DeviceAwayError as error:
                    if halt.is_set():
                        return
                    self.reader.close()
                    self.flush()
                    self.away += is_there
                    if arrival_s() - began_s > _STEADY_S:
                        pause_s = self._pauses_s[0]
                    self._say(f"{self.name}: away ({error}); looked for again in {pause_s:g} s")
                    halt.wait(pause_s)
                    pause_s = min(2 * pause_s, self._pauses_s[1])
        except BaseException as error:
            if not halt.is_set():  # a reader may fail when it is closed
                self.failure = error

    def flush(self, *, ended: bool = False) -> None:
        """Put everything that waits; ``ended``: no other packets come."""
        if ended:
            self._add(getattr(self.reader, "rest", list)(), None)
        self._put_all([message for stream in self.streams.values() for message in stream.close(ended=ended)])

    def sums(self) -> Sums:
        """Return what came and was made of it, of all streams so far."""
        sums = replace(self._past)
        for stream in list(self.streams.values()):
            sums.add(stream.sums())
        return sums

    def set_chunk_s(self, chunk_s: float) -> None:
        """Make messages of so much signal from now on."""
        if chunk_s != self._chunk_s:
            self._chunk_s = chunk_s
            for stream in list(self.streams.values()):
                stream.chunk_s = chunk_s

    def _read(self, described: Description | None, halt: threading.Event) -> None:
        look_s, seen_s = 0.0, arrival_s()
        for came in self.reader.packets():
            if came is not None:
                self._add(came if isinstance(came, list) else [came], described)
            now_s = arrival_s()
            if halt.is_set():
                if not came or last_arrival_s(came) > seen_s or now_s > seen_s + _REST_S:
                    return
                continue
            seen_s = now_s
            if came is None or now_s >= look_s:
                self._follow_clock()
                self._put_all([message for stream in self.streams.values() for message in stream.idle(now_s)])
                look_s = now_s + max(_IDLE_S, _IDLE_TIMES * (arrival_s() - now_s))  # of many streams it takes long
                if now_s >= self._look_s:
                    self._look_s = now_s + _LOOK_S
                    self._watch_delay(now_s)
                    self._watch_holes(now_s)
            self._say_notes(set())

    def _say_notes(self, said: set[str]) -> None:
        """Say the notes of the reader that have not been said."""
        notes: list[str] = getattr(self.reader, "notes", [])
        while notes:
            note = notes.pop(0)
            if note not in said:
                said.add(note)
                self._say(note)

    def _follow_clock(self) -> None:
        """Let times follow a clock of this machine that was set, as one is that starts before it has asked for it."""
        step_s = self._clock.look()
        if step_s:
            side = "forward" if step_s > 0 else "back"
            self._say(f"{self.name}: the clock of this machine was set {side} by {span(abs(step_s))}: times follow it")
            for stream in self.streams.values():
                stream.placer.set_s = self._clock.set_s

    def _add(self, packets: Sequence[Packet], described: Description | None) -> None:
        messages: list[Message] = []
        for packet in packets:
            if not isinstance(packet, Packet):
                raise UserError(f"feed {self.name}: expected a Packet of its reader; got {shown(packet)}")
            one = packet.described or described
            if one is None:
                raise UserError(f"feed {self.name}: expected a packet that is described; its reader describes nothing")
            stream = self.streams.get(one.stream)
            if stream is None or (stream.described is not one and stream.described != one):
                if one.stream in self._refused:
                    continue
                stream = None
            try:
                if stream is None:
                    stream = self._begin(one, described, messages)
                messages += stream.add(packet)
            except OtherRateError as error:
                if one.rate_hz is not None:
                    self._leave_out(one, packet, error, messages)
                elif stream is not None:
                    self._say(f"{error}; measured anew")
                    messages += stream.leave()
                    self._begin(one, described, messages)
            except UserError as error:
                self._leave_out(one, packet, error, messages)
        self._put_all(messages)

    def _leave_out(self, one: Description, packet: Packet, error: UserError, messages: list[Message]) -> None:
        """Leave a stream out from now on; raise the error where the reader has no other."""
        if packet.described is None:
            raise error
        self._refused.add(one.stream)
        left = self.streams.pop(one.stream, None)
        if left is not None:
            messages += left.leave()
            self._past.add(left.sums())
        self._say(f"{error}; this stream is left out")

    def _begin(self, described: Description, opened: Description | None, messages: list[Message]) -> Stream:
        """Return a stream that is new, or of which something else is described than before.

        ``opened``: what its reader has described as it opened, which was said then.
        """
        before = self.streams.get(described.stream)
        made = Stream(described, lambda text: self._say(f"{described.stream}: {text}"), self._keep)
        made.chunk_s, made.placer.set_s = self._chunk_s, self._clock.set_s
        owner = self._owners.setdefault(described.stream, self)
        if owner is not self:
            raise UserError(f"{self.name}: expected another stream than {described.stream}, which {owner.name} sends")
        if before is not None:
            messages += before.close(ended=True)
            made.placer.begin_after(before.placer)
            self._say(f"{self.name}: {sentence(described)}: a new session")
            self._past.add(before.sums())
        elif described != opened:
            self._say(f"{self.name}: {sentence(described)}")
        self.streams[described.stream] = made
        return made

    def _put_all(self, messages: list[Message]) -> None:
        if messages:
            self._put(messages)

    def _watch_delay(self, now_s: float) -> None:
        """Say that packets arrive later than they did, all together, and that they do not any more."""
        delays = [late for stream in self.streams.values() if (late := stream.placer.late_s(now_s)) is not None]
        late_s = float(np.median(delays)) if delays else 0.0
        is_late = late_s > _LATE_S
        if is_late and self._was_late and now_s - self._late_said_s > _AGAIN_S:
            self._late_said_s = now_s
            self._say(
                f"{self.name}: {late_s:.0f} s behind: packets arrive late, or faster than this machine takes them"
            )
        if not is_late and not self._was_late and self._late_said_s > float("-inf"):
            self._late_said_s = float("-inf")
            self._say(f"{self.name}: packets arrive in time again")
        self._was_late = is_late

    def _watch_holes(self, now_s: float) -> None:
        """Say what is missing, and did not come after what follows it."""
        sums = self.sums()
        missing_s = sums.missing_s
        stays_s, self._missing_s = min(missing_s, self._missing_s), missing_s
        if stays_s > self._missing_said and now_s - self._holes_said_s > _AGAIN_S:
            self._missing_said, self._holes_said_s = stays_s, now_s
            self._say(f"{self.name}: {stays_s:.1f} s of signal have not come, in {sums.holes:,} holes so far")


def last_arrival_s(came: Packet | list[Packet]) -> float:
    """Return when the last packet arrived of those that came together."""
    return float((came[-1] if isinstance(came, list) else came).arrival_s)


def sentence(described: Description) -> str:
    """Return what a device sends, in a few words."""
    rate = "rate not stated" if described.rate_hz is None else f"{described.rate_hz:g} Hz"
    leads = ", ".join(described.leads[:6]) + (", ..." if len(described.leads) > 6 else "")
    return f"{described.stream}: {leads}; {rate}"
