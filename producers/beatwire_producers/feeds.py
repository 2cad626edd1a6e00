"""Feeds: which recording each live stream plays, from where, and what is wrong with it on purpose.

A feed plays its recording once, from its own offset and around its end, so any number of streams
can share a few recordings in memory. ``Lanes`` is the same as columns, for the encoder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from beatwire.errors import UserError
from beatwire.recordings.record import Recording
from beatwire.records import F64, I16, I64


@dataclass(frozen=True)
class Feed:
    """One live stream.

    stream        pseudonymous id, the Kafka key
    recording     what it plays
    offset        where in it sample 0 of the stream is
    session       of the device's count
    lead_off      (start, stop, mask): samples of the stream in which these leads are off
    absent        (start, stop): samples that are never sent
    malformed     samples after which a message that nobody can read is sent besides
    """

    stream: str
    recording: Recording
    offset: int = 0
    session: int = 1
    lead_off: tuple[tuple[int, int, int], ...] = ()
    absent: tuple[tuple[int, int], ...] = ()
    malformed: tuple[int, ...] = ()


@dataclass(frozen=True)
class Lanes:
    """Feeds as columns, ``m`` of them.

    feeds       the feeds
    bank        int16   the samples of all recordings, each lead-major, one after another
    ints        int64 [m, 5]   where the recording is in ``bank``, its length, leads, offset, session
    rate_hz     float64 [m]
    """

    feeds: tuple[Feed, ...]
    bank: I16
    ints: I64
    rate_hz: F64
    keys: tuple[bytes, ...] = field(repr=False)

    @staticmethod
    def of(feeds: Sequence[Feed]) -> Lanes:
        """Lay feeds out; recordings that they share are held once.

        Raises
        ------
        UserError
            There are none.
        """
        if not feeds:
            raise UserError("feeds: expected at least 1 stream; got 0")
        at: dict[int, int] = {}
        parts: list[I16] = []
        total = 0
        for feed in feeds:
            if id(feed.recording) not in at:
                at[id(feed.recording)] = total
                parts.append(np.ascontiguousarray(feed.recording.samples, np.int16).ravel())
                total += len(parts[-1])
        ints = [
            (at[id(f.recording)], f.recording.samples.shape[1], len(f.recording.leads), f.offset, f.session)
            for f in feeds
        ]
        return Lanes(
            feeds=tuple(feeds),
            bank=np.concatenate(parts),
            ints=np.array(ints, np.int64),
            rate_hz=np.array([f.recording.rate_hz for f in feeds]),
            keys=tuple(f.stream.encode() for f in feeds),
        )


def feeds_of(recordings: Sequence[Recording], streams: int | None = None) -> list[Feed]:
    """Play recordings as ``streams`` streams; where there are more, they repeat from other offsets.

    Stream ids are ``<name>-<n>``; the n-th stream of a recording starts at another place in it.

    Raises
    ------
    UserError
        ``streams`` is less than one.
    """
    streams = len(recordings) if streams is None else streams
    if streams < 1:
        raise UserError(f"--streams: expected at least 1; got {streams}")
    feeds = []
    for n in range(streams):
        recording = recordings[n % len(recordings)]
        length = recording.samples.shape[1]
        turn = n // len(recordings)
        offset = int(length * ((turn * 0.6180339887498949) % 1.0))  # spreads any number of starts evenly
        feeds.append(Feed(f"{pseudonym(recording.name)}-{n + 1}", recording, offset))
    return feeds


def pseudonym(name: str) -> str:
    """Return what of a recording's name may stand in a stream id: at most 48 letters, digits, ``-_``."""
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in name).strip("-")
    return kept[:48] or "stream"
