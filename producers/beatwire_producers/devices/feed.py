"""Readers of devices -> messages on ``ecg.samples``, for as long as it takes.

In:  readers, and a sender. Out: messages at the broker, in order per stream, each at least once; a `Summary`.
A thread a reader reads, places and encodes (`reading`); this one sends. A broker that goes away is waited for: messages
wait in the outbox, and are longer if many wait.
"""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from beatwire.kafka.cluster import Cluster
from beatwire.kafka.publishing.live_sender import LiveSender
from beatwire.wire import frame

from beatwire_producers.devices.chunks import CHUNK_S, LONGEST_S, Chunk, Message, Sums
from beatwire_producers.devices.outbox import Memory, Outbox
from beatwire_producers.devices.packets import Reader
from beatwire_producers.devices.reading import Reading, Say
from beatwire_producers.devices.sending import Sending
from beatwire_producers.devices.spool import Spool
from beatwire_producers.devices.wfdb_files import WfdbFolder

_PAUSES_S = (1.0, 60.0)  # the first and the longest before a device is looked for again
_MANY = 1_000  # messages that wait: others are made longer
_CLOSE_S = 2.0  # for a reader to end by itself, and after it was closed


@dataclass
class Summary(Sums):
    """What a feed did: the sums of its streams, and further ones.

    streams     streams
    away        how often a device went away
    unreadable  messages of devices that were ignored
    lost        messages that had no room while the broker was away
    seconds     duration
    """

    streams: int = 0
    away: int = 0
    unreadable: int = 0
    lost: int = 0
    seconds: float = 0.0

    def as_dict(self) -> dict[str, object]:
        """Return the object that ``--json`` prints."""
        return {"streams": self.streams} | asdict(self)


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
        self._outbox: Outbox = Memory() if outbox is None else outbox
        self._sending = Sending(sender, self._outbox, say)
        self._schema_id, self._chunk_s = schema_id, chunk_s
        owners: dict[str, Reading] = {}
        self._readings = [
            Reading(name, reader, self._put, owners, say=say, keep=keep, chunk_s=chunk_s, pauses_s=pauses_s)
            for name, reader in readers
        ]
        self._seconds = 0.0

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
        halt = threading.Event()
        threads = [
            threading.Thread(target=reading.run, args=(halt,), name=f"feed-{reading.name}", daemon=True)
            for reading in self._readings
        ]
        for thread in threads:
            thread.start()
        try:
            while not (stop.is_set() or self._failure()) and any(thread.is_alive() for thread in threads):
                self._send(0.05)
        finally:
            halt.set()
            for thread in threads:
                thread.join(_CLOSE_S)
            for reading in self._readings:
                reading.reader.close()
            for thread in threads:  # one that waited for its device
                thread.join(_CLOSE_S)
        self._end(stop)
        self._seconds = time.monotonic() - began_s
        failure = self._failure()
        if failure is not None:
            raise failure
        return self.summary()

    def summary(self) -> Summary:
        """Return what was done so far."""
        sums = Sums()
        for reading in self._readings:
            sums.add(reading.sums())
        return Summary(
            **asdict(sums),
            streams=sum(len(reading.streams) for reading in self._readings),
            away=sum(reading.away for reading in self._readings),
            unreadable=sum(getattr(reading.reader, "unreadable", 0) for reading in self._readings),
            lost=self._outbox.lost,
            seconds=self._seconds,
        )

    def _put(self, messages: list[Message]) -> None:
        if self._schema_id is not None:
            messages = [m._replace(value=frame(m.value, self._schema_id)) for m in messages]
        self._outbox.put(messages)

    def _send(self, wait_s: float) -> None:
        """Send what waits; while much does, messages are made longer."""
        waiting = self._sending.send(wait_s)
        for reading in self._readings:
            reading.set_chunk_s(max(self._chunk_s, LONGEST_S) if waiting > _MANY else self._chunk_s)

    def _end(self, stop: threading.Event) -> None:
        """Send the rest."""
        for reading in self._readings:
            reading.flush(ended=True)
        self._sending.finish(lambda: stop.is_set() or self._failure() is not None)

    def _failure(self) -> BaseException | None:
        return next((reading.failure for reading in self._readings if reading.failure is not None), None)


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
