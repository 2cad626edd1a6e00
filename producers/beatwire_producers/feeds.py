"""Feeds: which recording each live stream plays, from which offset, and with which planned defects.

In: recordings. Out: a `Feed` for each stream, and `Lanes`, the same as columns for the encoder. A feed plays its
recording once, from its offset to the end and then from the beginning, so many streams can share a few recordings in
memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from beatwire.errors import UserError
from beatwire.recordings.record import Recording
from beatwire.records import F64, I16, I64

GOLDEN_RATIO = 0.6180339887498949  # its multiples modulo 1 spread any number of offsets evenly
_LONGEST = 48  # letters of a pseudonym
_DIGITS = 8  # of a hash
BASE, LENGTH, LEADS, OFFSET, SESSION = range(5)  # columns of `Lanes.ints`


@dataclass(frozen=True)
class Feed:
    """One live stream.

    stream        pseudonymous id, also the Kafka key
    recording     the recording that is played
    offset        index in the recording of the stream's sample 0
    session       number of the device's session
    lead_off      (start, stop, mask): range of samples in which the leads of the mask are off
    absent        (start, stop): range of samples that are not sent
    malformed     samples at which an additional, unreadable message is sent
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
    """``m`` feeds as columns.

    feeds       the feeds
    bank        int16          the samples of all recordings, each lead-major, one after another
    ints        int64 [m, 5]   columns BASE (index of the recording in ``bank``), LENGTH (samples per lead),
                               LEADS (number), OFFSET, SESSION
    rate_hz     float64 [m]
    keys        Kafka keys
    """

    feeds: tuple[Feed, ...]
    bank: I16
    ints: I64
    rate_hz: F64
    keys: tuple[bytes, ...] = field(repr=False)

    @staticmethod
    def of(feeds: Sequence[Feed]) -> Lanes:
        """Return feeds as columns; a recording that several feeds play is stored once.

        Raises
        ------
        UserError
            `feeds` is empty.
        """
        if not feeds:
            raise UserError("feeds: expected at least 1 stream; got 0")
        base: dict[int, int] = {}  # identity of a recording -> its index in the bank
        parts: list[I16] = []
        total = 0
        for feed in feeds:
            if id(feed.recording) not in base:
                base[id(feed.recording)] = total
                parts.append(np.ascontiguousarray(feed.recording.samples, np.int16).ravel())
                total += len(parts[-1])
        ints = [
            (base[id(f.recording)], f.recording.samples.shape[1], len(f.recording.leads), f.offset, f.session)
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
    """Return feeds that play recordings.

    Parameters
    ----------
    recordings
        At least one.
    streams
        The number of feeds; beyond the number of recordings these repeat, from other offsets. By default one each.

    Returns
    -------
    list of Feed
        With the stream ids ``<name of the recording>-<n>``, n from 1.

    Raises
    ------
    UserError
        `streams` is less than one, or than the number of recordings: one would be left out.
    """
    streams = len(recordings) if streams is None else streams
    if streams < 1:
        raise UserError(f"--streams: expected at least 1; got {streams}")
    if streams < len(recordings):
        raise UserError(f"--streams: expected at least {len(recordings)}, one a recording; got {streams}")
    feeds = []
    for n in range(streams):
        recording = recordings[n % len(recordings)]
        length = recording.samples.shape[1]
        turn = n // len(recordings)
        offset = int(length * ((turn * GOLDEN_RATIO) % 1.0))
        feeds.append(Feed(f"{pseudonym(recording.name)}-{n + 1}", recording, offset))
    return feeds


def pseudonym(name: str) -> str:
    """Return a recording's name as part of a stream id: at most 48 ASCII letters, digits, ``-`` and ``_``.

    A longer one is cut, with digits of a hash, so that others that begin alike have other ids.
    """
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in name).strip("-")
    return (told_apart(plain, name, _LONGEST) if len(plain) > _LONGEST else plain) or "stream"


def told_apart(plain: str, name: str, longest: int) -> str:
    """Return a pseudonym of at most so many letters: cut, with digits of a hash of the name."""
    return f"{plain[: longest - _DIGITS - 1]}-{hashlib.sha256(name.encode()).hexdigest()[:_DIGITS]}"
