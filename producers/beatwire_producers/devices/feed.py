"""Readers of devices -> messages on ``ecg.samples``, for as long as it takes.

In:  readers, and a sender. Out: messages at the broker, in order per stream, each at least once; a `Summary`.
A thread a reader reads, places and encodes; this one sends. A device that goes away is waited for, with a growing
pause; its stream goes on where it comes back. A broker that goes away is waited for too: messages wait in the outbox,
and are longer if many wait.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from beatwire.errors import UserError
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.publishing.live_sender import LiveSender
from beatwire.wire import frame

from beatwire_producers.devices.chunks import CHUNK_S, LONGEST_S, Chunk, Message, Stream
from beatwire_producers.devices.outbox import Memory, Outbox, Spool
from beatwire_producers.devices.packets import Description, DeviceAwayError, Packet, Reader, arrival_s
from beatwire_producers.devices.sending import Sending
from beatwire_producers.devices.wfdb_files import WfdbFolder

_PAUSES_S = (1.0, 60.0)  # the first and the longest before a device is looked for again
_STEADY_S = 30.0  # a device that has sent for so long is looked for at once when it goes
_MANY = 1_000  # messages that wait: others are made longer
_CLOSE_S = 2.0  # for a reader to end by itself, and after it was closed

Say = Callable[[str], None]


@dataclass
class Summary:
    """What a feed did.

    streams     streams
    packets     packets of devices
    messages    messages for the broker
    samples     samples in them, over all leads
    sessions    sessions: more than streams if a device counted anew
    holes       stretches that are missing
    missing_s   seconds of signal in them
    doubled     packets that came twice
    away        how often a device went away
    lost        messages that had no room while the broker was away
    seconds     duration
    """

    streams: int = 0
    packets: int = 0
    messages: int = 0
    samples: int = 0
    sessions: int = 0
    holes: int = 0
    missing_s: float = 0.0
    doubled: int = 0
    away: int = 0
    lost: int = 0
    seconds: float = 0.0

    def as_dict(self) -> dict[str, object]:
        """Return the object that ``--json`` prints."""
        return asdict(self)


class Feed:
    """Feeds a broker from readers.

    Parameters
    ----------
    readers
        The readers, each with a name for what is said of it.
    sender
        Waits for its broker for as long as it takes (``outage_s`` infinite).
    outbox
        Where messages wait.
    say
        Called with each line for the screen.
    keep
        Called with each chunk.
    schema_id
        Frame messages with this id; None: plain Avro.
    chunk_s
        Signal of a message, seconds.
    pauses_s
        The first and the longest pause before a device is looked for again.
    """

    def __init__(
        self,
        readers: Sequence[tuple[str, Reader]],
        sender: LiveSender,
        outbox: Outbox | None = None,
        *,
        say: Say = lambda _: None,
        keep: Callable[[Chunk], None] | None = None,
        schema_id: int | None = None,
        chunk_s: float = CHUNK_S,
        pauses_s: tuple[float, float] = _PAUSES_S,
    ) -> None:
        self._readers = readers
        self._outbox: Outbox = Memory() if outbox is None else outbox
        self._sending = Sending(sender, self._outbox, say)
        self._say, self._keep, self._schema_id = say, keep, schema_id
        self._chunk_s, self._pauses_s = chunk_s, pauses_s
        self._streams: dict[str, Stream] = {}
        self._owner: dict[str, str] = {}  # stream -> its reader
        self._past: list[Stream] = []
        self._refused: set[str] = set()
        self._lock = threading.Lock()  # of what several readers change
        self._failures: list[BaseException] = []
        self._summary = Summary()

    def run(self, stop: threading.Event) -> Summary:
        """Feed until ``stop``, or until all readers have ended.

        Raises
        ------
        UserError
            The only device cannot be used.
        FatalError
            At the end the broker had not acknowledged everything, and there is no spool.
        """
        began_s = time.monotonic()
        ended = threading.Event()
        halt = threading.Event()
        threads = [
            threading.Thread(target=self._read, args=(name, reader, halt), name=f"feed-{name}", daemon=True)
            for name, reader in self._readers
        ]
        for thread in threads:
            thread.start()
        try:
            while not (stop.is_set() or self._failures or ended.is_set()):
                self._send(0.05)
                if not any(thread.is_alive() for thread in threads):
                    ended.set()
        finally:
            halt.set()
            for thread in threads:
                thread.join(_CLOSE_S)
            for _, reader in self._readers:
                reader.close()
            for thread in threads:  # one that waited for its device
                thread.join(_CLOSE_S)
        self._end(stop)
        self._summary.seconds = time.monotonic() - began_s
        if self._failures:
            raise self._failures[0]
        return self.summary()

    def summary(self) -> Summary:
        """Return what was done so far."""
        with self._lock:
            streams = [*self._past, *self._streams.values()]
            one = self._summary
            one.streams = len(self._streams)
            one.messages = sum(s.messages for s in streams)
            one.samples = sum(s.samples for s in streams)
            one.sessions = sum(s.placer.sessions for s in streams)
            one.holes = sum(s.placer.seen.holes for s in streams)
            one.missing_s = sum(s.placer.seen.missing / (s.placer.rate_hz or 1.0) for s in streams)
            one.doubled = sum(s.placer.doubled for s in streams)
            one.lost = self._outbox.lost
            return one

    # ---- a thread a reader

    def _read(self, name: str, reader: Reader, halt: threading.Event) -> None:
        pause_s = self._pauses_s[0]
        try:
            while not halt.is_set():
                began_s = arrival_s()
                try:
                    described = reader.describe()
                    if described is not None:
                        self._say(f"{name}: {_sentence(described)}")
                    else:
                        self._say(f"{name}: open")
                    self._read_until_away(name, reader, described, halt)
                    return
                except DeviceAwayError as error:
                    if halt.is_set():
                        return
                    reader.close()
                    self._flush(name)
                    with self._lock:
                        self._summary.away += 1
                    if arrival_s() - began_s > _STEADY_S:
                        pause_s = self._pauses_s[0]
                    self._say(f"{name}: away ({error}); looked for again in {pause_s:g} s")
                    halt.wait(pause_s)
                    pause_s = min(2 * pause_s, self._pauses_s[1])
        except BaseException as error:
            if not halt.is_set():  # a reader may fail when it is closed
                self._failures.append(error)

    def _read_until_away(self, name: str, reader: Reader, described: Description | None, halt: threading.Event) -> None:
        look_s = 0.0
        for packet in reader.packets():
            if halt.is_set():
                return
            if packet is not None:
                self._add(name, packet, described)
            now_s = arrival_s()
            if packet is None or now_s >= look_s:
                look_s = now_s + 0.02
                self._put([m for s in self._of(name) for m in s.idle(now_s)])
            notes: list[str] = getattr(reader, "notes", [])
            while notes:
                self._say(notes.pop(0))

    def _add(self, name: str, packet: Packet, described: Description | None) -> None:
        described = packet.described or described
        if described is None:
            raise UserError(f"feed {name}: expected a packet that is described; its reader describes nothing")
        if described.stream in self._refused:
            return
        try:
            stream = self._stream(name, described)
            with self._lock:
                self._summary.packets += 1
            self._put(stream.add(packet))
        except UserError as error:
            if packet.described is None:
                raise
            self._refused.add(described.stream)
            self._say(f"{error}; this stream is left out")

    def _stream(self, name: str, described: Description) -> Stream:
        stream = self._streams.get(described.stream)
        if stream is not None and stream.described == described:
            return stream
        made = Stream(described, lambda text: self._say(f"{described.stream}: {text}"), self._keep)
        made.chunk_s = self._chunk_s
        if stream is not None:
            self._put(stream.close())
            made.placer.begin_after(stream.placer)
            self._say(f"{described.stream}: {_sentence(described)}: a new session")
        elif described.stream not in name:
            self._say(f"{name}: {_sentence(described)}")
        with self._lock:
            if stream is not None:
                self._past.append(stream)
            self._streams[described.stream] = made
            self._owner[described.stream] = name
        return made

    def _of(self, name: str) -> list[Stream]:
        """Return the streams of a reader."""
        with self._lock:
            return [stream for key, stream in self._streams.items() if self._owner[key] == name]

    def _flush(self, name: str) -> None:
        self._put([message for stream in self._of(name) for message in stream.close()])

    def _put(self, messages: list[Message]) -> None:
        if not messages:
            return
        if self._schema_id is not None:
            messages = [m._replace(value=frame(m.value, self._schema_id)) for m in messages]
        self._outbox.put(messages)

    # ---- this thread

    def _send(self, wait_s: float) -> None:
        """Send what waits; while much does, messages are made longer."""
        waiting = self._sending.send(wait_s)
        for stream in list(self._streams.values()):
            stream.chunk_s = max(self._chunk_s, LONGEST_S) if waiting > _MANY else self._chunk_s

    def _end(self, stop: threading.Event) -> None:
        """Send the rest."""
        for name, _ in self._readers:
            self._flush(name)
        self._sending.finish(lambda: stop.is_set() or bool(self._failures))


def run_feed(
    readers: Sequence[tuple[str, Reader]],
    cluster: Cluster,
    stop: threading.Event,
    say: Say,
    *,
    spool: Path | None = None,
    record: Path | None = None,
    schema_id: int | None = None,
) -> Summary:
    """Feed a cluster from readers until ``stop``.

    Parameters
    ----------
    readers, stop, say, schema_id
        As of `Feed`.
    cluster
        The brokers, and how to reach them.
    spool
        Folder in which messages wait; None: in memory.
    record
        Folder of the WFDB records of what comes; None: nothing is kept.

    Raises
    ------
    UserError, FatalError
        As of `Feed.run`, `Spool` and `WfdbFolder`.
    """
    with ExitStack() as stack:
        outbox: Memory | Spool = Memory()
        if spool is not None:
            outbox = Spool(spool)
            stack.callback(outbox.close)
            if outbox.left:
                say(f"broker: {outbox.left:,} messages of an earlier feed are sent first")
        folder = WfdbFolder(record) if record is not None else None
        if folder is not None:
            stack.callback(folder.close)
        sender = LiveSender(cluster, outage_s=float("inf"))
        stack.callback(sender.close)
        keep = folder.keep if folder is not None else None
        return Feed(readers, sender, outbox, say=say, keep=keep, schema_id=schema_id).run(stop)


def _sentence(described: Description) -> str:
    """Return what a device sends, in a few words."""
    rate = "rate not stated" if described.rate_hz is None else f"{described.rate_hz:g} Hz"
    leads = ", ".join(described.leads[:6]) + (", ..." if len(described.leads) > 6 else "")
    return f"{described.stream}: {leads}; {rate}"
