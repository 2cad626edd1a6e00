"""Replay: feeds as live streams into Kafka, paced by the clock or by what the reader keeps up with.

A block of chunks is scheduled, has its faults injected, is encoded, and is sent slot by slot as it
falls due; what a fault delays waits for a later block. Nothing here is per sample in Python.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from beatwire.errors import UserError
from beatwire.recordings import Recording, read_recording
from beatwire.tables import host_array
from beatwire.wire import names

from beatwire_producers.encode import Encoder
from beatwire_producers.faults import KINDS, Clocks, Faults, inject, parse_faults
from beatwire_producers.feeds import Feed, Lanes, feeds_of
from beatwire_producers.pacing import MAX, LagLimit, Pacer, parse_speed
from beatwire_producers.schedule import Schedule, chunks_of, joined
from beatwire_producers.sink import Sink

_SLOT_S = 0.01  # live: messages due within it are sent together
_BLOCK_ROWS = 8192  # max: scheduled and encoded together
_FLOW_ROWS = 1024  # max: sent between two looks at the reader
DEFAULT_GROUP = "beatwire"

Progress = Callable[[float, float], None]


@dataclass
class Summary:
    """What a replay did.

    behind_ms     the furthest that a message was sent behind its time
    waited_s      how long the reader made us wait
    """

    streams: int
    chunks: int = 0
    samples: int = 0
    bytes: int = 0
    seconds: float = 0.0
    signal_s: float = 0.0
    waited_s: float = 0.0
    faults: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    behind_ms: dict[str, float] = field(default_factory=lambda: {"max": 0.0})
    stopped: bool = False

    def as_dict(self) -> dict[str, object]:
        """Return what ``--json`` prints."""
        return asdict(self)


def replay(
    sources: Sequence[str],
    bootstrap: str,
    *,
    speed: float | str = 1.0,
    streams: int | None = None,
    fs: float | None = None,
    column: str | None = None,
    gain: float | None = None,
    chunk_ms: float = 200.0,
    faults: Faults | str | None = None,
    seed: int = 0,
    seconds: float | None = None,
    topic: str = names.SAMPLES,
    group: str | None = None,
    progress: Progress | None = None,
    notes: Callable[[str], None] | None = None,
    xp: Any = np,
) -> Summary:
    """Play recordings as live streams.

    Parameters
    ----------
    sources
        CSV files, WFDB records, ``synthetic[:key=value,...]``; see
        :func:`beatwire.recordings.read_recording`, also for ``fs``, ``column`` and ``gain``.
    bootstrap
        ``host:port[,host:port...]``.
    speed
        times real time, or ``max``.
    streams
        how many; recordings repeat, from other places in them, where there are fewer.
    seconds
        of signal to send of each stream; all of it by default.
    group
        faster than real time, the consumer group that must not be outrun. On the mock broker, which forgets
        what is not read in time, ``beatwire`` where none is given.
    progress
        called now and then with seconds of signal sent, and of all.
    notes
        called with each sentence that reading a recording had to say.
    xp
        NumPy, or CuPy: then CSVs are parsed on the GPU.

    Raises
    ------
    UserError
        a source, an address, a topic or a setting that cannot be used.
    """
    speed = parse_speed(str(speed))
    faults = parse_faults(faults) if isinstance(faults, str) else faults
    recordings = read_sources(sources, fs=fs, column=column, gain=gain, xp=xp)
    if not recordings:
        raise UserError("replay: expected at least 1 source; got 0")
    for name, note in ((r.name, note) for r in recordings for note in r.notes):
        if notes is not None:
            notes(f"{name}: {note}")
    with Sink(bootstrap, topic) as sink:
        return play(
            feeds_of(recordings, streams), sink, speed=speed, chunk_ms=chunk_ms, faults=faults, seed=seed,
            seconds=seconds, group=group, progress=progress,
        )  # fmt: skip


def read_sources(
    sources: Sequence[str],
    *,
    fs: float | None = None,
    column: str | None = None,
    gain: float | None = None,
    xp: Any = np,
) -> list[Recording]:
    """Read recordings, see :func:`beatwire.recordings.read_recording`; their samples are the host's."""
    read = [read_recording(source, fs=fs, column=column, gain=gain, xp=xp) for source in sources]
    return [replace(one, samples=host_array(one.samples)) for one in read]


def play(
    feeds: Sequence[Feed],
    sink: Sink,
    *,
    speed: float = 1.0,
    chunk_ms: float = 200.0,
    faults: Faults | None = None,
    seed: int = 0,
    seconds: float | None = None,
    group: str | None = None,
    progress: Progress | None = None,
    start_us: int | None = None,
    stop: Callable[[], bool] = lambda: False,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Summary:
    """Play feeds into a sink; see :func:`replay`, also for what is not listed here.

    Parameters
    ----------
    speed
        times real time; ``MAX``: as fast as ``group`` reads.
    start_us
        device time at the start, microseconds since 1970; now by default.
    stop
        asked before every slot; True ends the replay early.
    clock, sleep
        seconds; tests bring their own.
    """
    lanes = Lanes.of(feeds)
    encoder = Encoder.of(lanes, time.time_ns() // 1000 if start_us is None else start_us)
    summary = Summary(streams=len(feeds))
    blocks = blocks_of(lanes, chunk_ms, faults, seed, seconds, summary, live=speed != MAX)
    encoder.encode(chunks_of(lanes, chunk_ms, 0, 1))  # compiled, and memory touched, before the clock starts
    limit = _limit(sink, group, clock, sleep) if speed > 1 else None
    signal_s = max(f.recording.seconds for f in feeds) if seconds is None else seconds
    pacer = Pacer(speed, clock, sleep)
    try:
        for rows in blocks:
            for part in _slots(rows, speed):
                if stop():
                    summary.stopped = True
                    break
                due_s = float(rows.due_us[part.stop - 1]) / 1e6
                sent = encoder.messages(rows.take(part))
                pacer.wait(due_s)
                size = sum(map(len, sent))
                if limit is not None:
                    limit.wait(len(sent), size)
                sink.send(zip(map(lanes.keys.__getitem__, rows.lane[part].tolist()), sent, strict=True))
                summary.chunks += len(sent)
                summary.samples += int((rows.count[part] * lanes.ints[rows.lane[part], 2]).sum())
                summary.bytes += size
                summary.signal_s = max(summary.signal_s, min(due_s, signal_s))
                if progress is not None:
                    progress(summary.signal_s, signal_s)
            if summary.stopped:
                break
    except KeyboardInterrupt:
        summary.stopped = True
    sink.flush()
    summary.seconds = clock() - pacer.start_s
    summary.behind_ms = {"max": round(pacer.worst_s * 1000.0, 3)}
    summary.waited_s = limit.waited_s if limit is not None else 0.0
    return summary


def blocks_of(
    lanes: Lanes, chunk_ms: float, faults: Faults | None, seed: int, seconds: float | None, summary: Summary,
    live: bool = False,
) -> Iterator[Schedule]:  # fmt: skip
    """Schedule in blocks, in the order in which messages are due; counts faults into ``summary``.

    Parameters
    ----------
    chunk_ms, seconds
        Length of a chunk, and of what is played of each stream.
    faults, seed
        What goes wrong, and when.
    live
        Blocks of a second, so that each can be told of when it is due; else as many rows as pay.

    Raises
    ------
    UserError
        Chunks of such a length cannot be sent; nothing is to be played.
    """
    if not 1 <= chunk_ms <= 10_000:
        raise UserError(f"--chunk-ms: expected 1-10000; got {chunk_ms:g}")
    longest = float(np.max(2 * lanes.ints[:, 2] * lanes.rate_hz)) * chunk_ms / 1000.0
    if longest > 60_000:
        raise UserError(f"--chunk-ms: expected messages below 64 kB; {chunk_ms:g} ms would be {longest:.0f} bytes")
    if seconds is not None and not seconds > 0:
        raise UserError(f"--seconds: expected more than 0; got {seconds:g}")
    signal_s = float(np.max(lanes.ints[:, 1] / lanes.rate_hz))
    last = int(np.ceil(min(signal_s, seconds or signal_s) * 1000.0 / chunk_ms - 1e-9))
    at_once = max(1, round(1000.0 / chunk_ms) if live else _BLOCK_ROWS // len(lanes.feeds))
    if live and at_once * len(lanes.feeds) > _BLOCK_ROWS:
        at_once = 1
    clocks = Clocks(np.zeros(len(lanes.feeds), np.int64))
    waiting: list[Schedule] = []
    for begin in range(0, last, at_once):
        stop = min(last, begin + at_once)
        rows = chunks_of(lanes, chunk_ms, begin, stop)
        if faults:
            rows, injected = inject(rows, faults, chunk_ms, lanes.ints[:, 2], seed, clocks)
            for kind, count in injected.counts.items():
                summary.faults[kind] += count
            rows = joined(*waiting, rows).by_due()
            ready = rows.due_us < round((stop + 1) * chunk_ms * 1000.0)  # before anything of the next block
            waiting = [rows.take(~ready)]
            rows = rows.take(ready)
        if len(rows):
            yield rows
    rows = joined(*waiting) if waiting else chunks_of(lanes, chunk_ms, 0, 0)
    if len(rows):
        yield rows


def _slots(rows: Schedule, speed: float) -> Iterator[slice]:
    """Cut a block into what is sent together."""
    if speed == MAX:
        cuts = np.arange(0, len(rows), _FLOW_ROWS)
    else:
        slot = rows.due_us // max(1, round(_SLOT_S * speed * 1e6))
        cuts = np.concatenate([[0], 1 + np.flatnonzero(np.diff(slot))])
    for begin, end in zip(cuts, np.append(cuts[1:], len(rows)), strict=True):
        yield slice(int(begin), int(end))


def _limit(
    sink: Sink, group: str | None, clock: Callable[[], float], sleep: Callable[[float], None]
) -> LagLimit | None:
    if group is None and not sink.is_mock():
        return None
    reader = group or DEFAULT_GROUP
    return LagLimit(lambda: sink.lag(reader), reader, clock=clock, sleep=sleep)
