"""Replay: recordings as live streams on Kafka, paced by the clock or by the commits of the reader.

In: recordings or feeds, and a broker. Out: messages on ``ecg.samples``, and a `Summary`. Each block of chunks
(`blocks`) is encoded and sent in slots as its messages fall due. Nothing here runs once a sample in Python.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from beatwire.errors import UserError
from beatwire.kafka import topics
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming.commits import LagReader
from beatwire.kafka.local.mock import is_mock
from beatwire.kafka.publishing.live_sender import LiveSender
from beatwire.kafka.publishing.sender import Sender
from beatwire.kafka.schemas.registry import Registry
from beatwire.recordings import Recording, read_recording
from beatwire.signals import code_if_ended
from beatwire.tables import host_array
from beatwire.wire import frame, names
from beatwire.wire.schema_files import BUNDLES

from beatwire_producers.blocks import schedule_blocks
from beatwire_producers.bundles import bundles_of, check_bundle, sent_together
from beatwire_producers.encode import Encoder
from beatwire_producers.faults import KINDS, Faults, parse_faults
from beatwire_producers.feeds import LEADS, Feed, Lanes, feeds_of
from beatwire_producers.pacing import MAX, LagLimit, Pacer, parse_speed
from beatwire_producers.schedule import Schedule, chunks_of, phases_us

_SLOT_S = 0.01  # in real time: messages due within it are sent together
_SLOT_ROWS = 1024  # at full speed: messages sent between two requests for the reader's lag
_END_S = 5.0  # to send what was taken, at the end by a signal
DEFAULT_GROUP = "beatwire"

Progress = Callable[[float, float], None]


@dataclass
class Summary:
    """What a replay did.

    streams     streams played
    chunks      chunks sent
    messages    messages sent: as many, without bundles
    samples     samples in them, over all leads
    bytes       bytes of the message values
    seconds     duration of the replay
    signal_s    seconds of signal sent of each stream, of the longest one where they differ
    waited_s    seconds of waiting for the reader
    faults      fault -> number of chunks
    behind_ms   ``max``: the longest delay of a message behind its time
    stopped     the replay was stopped early
    """

    streams: int
    chunks: int = 0
    messages: int = 0
    samples: int = 0
    bytes: int = 0
    seconds: float = 0.0
    signal_s: float = 0.0
    waited_s: float = 0.0
    faults: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    behind_ms: dict[str, float] = field(default_factory=lambda: {"max": 0.0})
    stopped: bool = False

    def as_dict(self) -> dict[str, object]:
        """Return the object that ``--json`` prints."""
        return asdict(self)


def replay(
    sources: Sequence[str],
    cluster: Cluster,
    *,
    speed: float | str = 1.0,
    streams: int | None = None,
    fs: float | None = None,
    column: str | None = None,
    gain: float | None = None,
    chunk_ms: float = 200.0,
    bundle: int = 1,
    faults: Faults | str | None = None,
    seed: int = 0,
    seconds: float | None = None,
    topic: str = names.SAMPLES,
    group: str | None = None,
    progress: Progress | None = None,
    notes: Callable[[str], None] | None = None,
    registry: Registry | None = None,
    xp: Any = np,
) -> Summary:
    """Play recordings as live streams.

    Parameters
    ----------
    sources
        As of :func:`beatwire.recordings.read_recording`.
    speed
        A multiple of real time, or ``max``.
    streams
        The number of streams; fewer recordings repeat from other offsets. By default one each.
    fs, column, gain
        See :func:`beatwire.recordings.read_recording`.
    chunk_ms
        Length of a chunk, 1-10000 ms.
    bundle
        Streams whose chunks are sent in one message, 1-1000, as a gateway does; 1: a message for each chunk.
    faults, seed
        Faults to inject, as `Faults` or in the form of `parse_faults`, and the seed that selects the chunks.
    seconds
        Seconds of signal to send of each stream; None: all.
    topic
        The topic to send to.
    group
        Faster than real time: the consumer group whose lag is limited. By default none; on the mock broker, which drops
        what is not read in time, ``beatwire``.
    progress
        Called repeatedly with the seconds of signal sent, and the seconds in total.
    notes
        Called with each remark on reading a recording.
    registry
        Has our schema: messages are framed with its id. None: they are plain Avro.
    xp
        NumPy, or CuPy to parse CSV files on the GPU.

    Returns
    -------
    Summary
        What was sent.

    Raises
    ------
    UserError
        A source, an address, a topic or a setting cannot be used.
    FatalError
        The broker refused a message or was away for too long.
    """
    speed = parse_speed(str(speed))
    faults = parse_faults(faults) if isinstance(faults, str) else faults
    recordings = read_sources(sources, fs=fs, column=column, gain=gain, xp=xp, notes=notes or (lambda _: None))
    if not recordings:
        raise UserError("replay: expected at least 1 source; got 0")
    topics.check_broker(cluster, [topic])
    check_bundle(bundle)
    schema_id = None if registry is None else _schema_id(registry, cluster, topic, bundle)
    # A session of its own: samples of a session that the monitor has had before are duplicates.
    session = time.time_ns() // 1000
    feeds = [replace(feed, session=session) for feed in feeds_of(recordings, streams)]
    with (Sender if speed == MAX else LiveSender)(cluster) as sender:
        return play(
            feeds, sender, speed=speed, chunk_ms=chunk_ms, bundle=bundle, faults=faults, seed=seed,
            seconds=seconds, topic=topic, group=group, progress=progress, schema_id=schema_id,
        )  # fmt: skip


def read_sources(
    sources: Sequence[str],
    *,
    fs: float | None = None,
    column: str | None = None,
    gain: float | None = None,
    xp: Any = np,
    notes: Callable[[str], None] = lambda _: None,
) -> list[Recording]:
    """Read recordings into host memory; parameters as for :func:`replay`."""
    recordings = [read_recording(source, fs=fs, column=column, gain=gain, xp=xp) for source in sources]
    for source, recording in zip(sources, recordings, strict=True):
        recording.say_notes(source, notes)
    return [replace(recording, samples=host_array(recording.samples)) for recording in recordings]


def play(
    feeds: Sequence[Feed],
    sender: Sender,
    *,
    speed: float = 1.0,
    chunk_ms: float = 200.0,
    bundle: int = 1,
    faults: Faults | None = None,
    seed: int = 0,
    seconds: float | None = None,
    topic: str = names.SAMPLES,
    group: str | None = None,
    progress: Progress | None = None,
    schema_id: int | None = None,
    start_us: int | None = None,
    stop: Callable[[], object] = code_if_ended,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Summary:
    """Send feeds through a sender; parameters that are not listed are those of :func:`replay`.

    Parameters
    ----------
    speed
        A multiple of real time; ``MAX``: as fast as ``group`` commits.
    schema_id
        Frame messages with this id; None: plain Avro.
    start_us
        Device time at the start, microseconds since 1970; by default the present time.
    stop
        Called before every slot; what is true ends the replay early. By default a signal that a library has dropped.
    clock, sleep
        Clock in seconds, and function that waits for so many seconds.
    """
    lanes = Lanes.of(feeds)
    summary = Summary(streams=len(feeds))
    blocks = schedule_blocks(lanes, chunk_ms, faults, seed, seconds, summary.faults, live=speed != MAX)
    if bundle > 1:
        phase_us = phases_us(len(feeds), chunk_ms)
        blocks = (sent_together(rows, phase_us, bundle) for rows in blocks)
    Encoder.of(lanes, 0).encode(chunks_of(lanes, chunk_ms, 0, 1))  # compiles the kernels before the clocks start
    reader = _lag_reader(sender, topic, group) if speed > 1 else None
    limit = None
    if reader is not None:
        limit = LagLimit(lambda: reader.lag() + sender.unacknowledged(), reader.group, clock=clock, sleep=sleep)
    signal_s = max(f.recording.seconds for f in feeds)
    signal_s = signal_s if seconds is None else min(seconds, signal_s)
    encoder = Encoder.of(lanes, time.time_ns() // 1000 if start_us is None else start_us)
    pacer = Pacer(speed, clock, sleep)
    try:
        for rows in blocks:
            for slot in _slots(rows, speed):
                if stop():
                    summary.stopped = True
                    break
                due_s = float(rows.due_us[slot.stop - 1]) / 1e6
                values, lane = encoder.messages(rows.take(slot)), rows.lane[slot]
                keys = list(map(lanes.keys.__getitem__, lane.tolist()))
                if bundle > 1:
                    keys, values = map(list, zip(*bundles_of(lane, values, bundle), strict=True))
                if schema_id is not None:
                    values = [frame(value, schema_id) for value in values]
                pacer.wait(due_s)
                size = sum(map(len, values))
                if limit is not None:
                    limit.wait(len(values), size)
                sender.send(topic, keys, values)
                sender.check()
                summary.chunks += len(lane)
                summary.messages += len(values)
                summary.samples += int((rows.count[slot] * lanes.ints[lane, LEADS]).sum())
                summary.bytes += size
                sent_s = (rows.first[slot] + rows.count[slot]) / lanes.rate_hz[lane]
                summary.signal_s = max(summary.signal_s, float(sent_s.max()))
                if progress is not None:
                    progress(summary.signal_s, signal_s)
            if summary.stopped:
                break
    except KeyboardInterrupt:
        summary.stopped = True
    except SystemExit:  # SIGTERM: what was taken is sent, or an error says how much is not
        sender.flush(_END_S)
        raise
    finally:
        if reader is not None:
            reader.close()
    if summary.stopped:
        sender.flush(_END_S)
    else:
        sender.flush()
    summary.seconds = clock() - pacer.start_s
    summary.behind_ms = {"max": round(pacer.worst_s * 1000.0, 3)}
    summary.waited_s = limit.waited_s if limit is not None else 0.0
    return summary


def _schema_id(registry: Registry, cluster: Cluster, topic: str, bundle: int) -> int:
    if bundle == 1:
        return registry.schema_id(names.SAMPLES, cluster.topic(topic))
    return registry.schema_id(BUNDLES, cluster.topic(BUNDLES.replace(names.SAMPLES, topic, 1)))


def _slots(rows: Schedule, speed: float) -> Iterator[slice]:
    """Yield the parts of a block that are sent together."""
    if speed == MAX:
        cuts = np.arange(0, len(rows), _SLOT_ROWS)
    else:
        slot = rows.due_us // max(1, round(_SLOT_S * speed * 1e6))
        cuts = np.concatenate([[0], 1 + np.flatnonzero(np.diff(slot))])
    for begin, end in zip(cuts, np.append(cuts[1:], len(rows)), strict=True):
        yield slice(int(begin), int(end))


def _lag_reader(sender: Sender, topic: str, group: str | None) -> LagReader | None:
    """Return a reader of the lag that limits the replay; None if there is no such limit."""
    if group is None and not is_mock(sender.cluster):
        return None
    return LagReader(sender.cluster, group or DEFAULT_GROUP, topic)
