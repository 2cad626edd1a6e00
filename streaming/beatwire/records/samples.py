"""What travels while it is samples: from messages to local maxima of the response."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from beatwire.records import events
from beatwire.records.arrays import F64, I32, I64, U8
from beatwire.records.detection import FreshLanes, LeadLevels, PeakTable, Rings


@dataclass(frozen=True, slots=True)
class RawTick:
    """The messages of one poll, ``m`` of them.

    payload      uint8 [bytes]   all message values joined; not to be written to, and kernels are compiled for that
    start        int64 [m + 1]   message k is ``payload[start[k]:start[k + 1]]``
    arrival_us   int64 [m]       when each message arrived at the broker
    partition    int32 [m]       the partition it came from (0 without a broker)
    now_us       the clock when the tick was taken; microseconds since 1970
    caught_up    nothing more was waiting at the broker: silence is the device's, not ours
    overloaded   so far behind that beats are not scored: rules and beats come first
    """

    payload: U8
    start: I64
    arrival_us: I64
    partition: I32
    now_us: int
    caught_up: bool = True
    overloaded: bool = False

    def __post_init__(self) -> None:
        """Make the payload read-only, whoever joined it: of two kinds of arrays Numba compiles each kernel twice."""
        payload = self.payload.view()
        payload.flags.writeable = False
        object.__setattr__(self, "payload", payload)

    @staticmethod
    def of(
        values: Sequence[bytes],
        *,
        now_us: int = 0,
        arrival_us: Sequence[int] | I64 | None = None,
        partition: Sequence[int] | I32 | None = None,
        caught_up: bool = True,
    ) -> RawTick:
        """Join message values into a tick; arrival defaults to ``now_us``."""
        m = len(values)
        start = np.zeros(m + 1, np.int64)
        np.cumsum(np.fromiter(map(len, values), np.int64, m), out=start[1:])
        return RawTick(
            payload=np.frombuffer(b"".join(values), np.uint8),
            start=start,
            arrival_us=np.full(m, now_us, np.int64) if arrival_us is None else np.asarray(arrival_us, np.int64),
            partition=np.zeros(m, np.int32) if partition is None else np.asarray(partition, np.int32),
            now_us=now_us,
            caught_up=caught_up,
        )


@dataclass(frozen=True, slots=True)
class Rejects:
    """Messages of a tick that cannot be used: which, and why (one line each)."""

    message: list[int] = field(default_factory=list)
    reason: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Chunks:
    """The valid messages of a tick, ``n`` of them, as columns.

    payload      uint8 [bytes]   where the ids and the samples still stand
    ints         int64 [n, 13]   id position, id length, id hash, session, first sample, device
                                 time (us), leads, lead-off mask, position of the samples,
                                 samples per lead, arrival at the broker (us), slot, bank
    floats       float64 [n, 3]  rate (Hz), microvolts per unit, -
    message      int64 [n]       number of the message in its tick
    partition    int32 [n]
    """

    payload: U8
    ints: I64
    floats: F64
    message: I64
    partition: I32
    rejects: Rejects
    now_us: int
    caught_up: bool
    overloaded: bool


class Bank(NamedTuple):
    """Streams of one sampling rate and number of leads: they share rings."""

    number: int
    rate_hz: float
    leads: int


@dataclass(frozen=True, slots=True)
class Fresh:
    """Lanes of one bank with new samples ``[start, stop)`` in one pass, ``n`` of them.

    number         of the pass
    lane, slot, start, stop, base, session   int64 [n]; ``base`` is the lane's first sample
    uv_per_unit    float64 [n], 0 when not calibrated
    overloaded     beats are not scored
    quiet          int64 [q, 3]: lane, start and stop of a stretch where no beat may be; also of lanes
                   without new samples
    """

    number: int
    bank: Bank
    lane: I64
    slot: I64
    start: I64
    stop: I64
    base: I64
    session: I64
    uv_per_unit: F64
    quiet: I64
    overloaded: bool = False

    @property
    def lanes(self) -> FreshLanes:
        """The columns that kernels take."""
        return FreshLanes(self.lane, self.slot, self.start, self.stop, self.base)


@dataclass(frozen=True, slots=True)
class Placement:
    """Bytes of the tick and where they go: one bank, one pass.

    place        int64 [p, 8]    pass, bank, lane, first sample, count, position in ``payload``, stride,
                                 lead-off mask
    lanes        how many lanes the bank has room for
    """

    payload: U8
    place: I64
    lanes: int
    fresh: Fresh


@dataclass(frozen=True, slots=True)
class Event:
    """Names of the kinds of events of a stream, in the order in which they travel."""

    RESTART = events.RESTART
    GAP = events.GAP
    LEADS = events.LEADS_CHANGED
    BEAT = events.BEAT
    BLOCK = events.BLOCK
    WATERMARK = events.WATERMARK


@dataclass(frozen=True, slots=True)
class Aligned:
    """A tick put in its place.

    passes       placements, by pass and bank
    events       int64 [e, 6]: pass, slot, kind (``Event``), sample, value, session
    seen         int64 [s]: the slots of this tick, each once
    arrival_us   int64 [slots]: when each stream's last chunk arrived
    expected     int64 [slots]: up to where each stream is known without a hole
    slots        int64 [slots, .]: all that is known of each, see ``kernels.align``
    forgotten    int64 [f]: slots whose streams have been silent for so long that they are given up after this tick
    clocks       int64 [c, 6]: device times that are in ``slots`` no more, by slot, as rows of ``events``
    banks        by number
    refused      int64 [r, 3]: slot, session and first sample of chunks for whose stream there was no room
    """

    passes: list[Placement]
    events: I64
    seen: I64
    arrival_us: I64
    expected: I64
    slots: I64
    clocks: I64
    banks: list[Bank]
    refused: I64
    rejects: Rejects
    now_us: int
    caught_up: bool
    overloaded: bool
    evicted: I64 = field(default_factory=lambda: np.zeros(0, np.int64))


@dataclass(frozen=True, slots=True)
class Ringed:
    """New samples in their rings. ``x``: int16 [lanes, leads, R] (xp)."""

    fresh: Fresh
    x: Any


@dataclass(frozen=True, slots=True)
class Response:
    """The response in ``rings.f``, known up to ``stop - delay``; ``leads``: levels of several leads, None of one."""

    fresh: Fresh
    rings: Rings
    delay: int
    leads: LeadLevels | None = None


@dataclass(frozen=True, slots=True)
class Peaks:
    """Local maxima of the response that the new samples decided.

    table        the peaks of each lane, and its 2-s blocks that became complete (xp)
    watermark    int64 [n]          every peak before this sample has been decided
    most         peaks that the whole pass can have at most, and blocks
    logits       float64 [n, most, 2]  of each peak: the logit of the trees that it is a beat, and the errors that
                                    they expect in the ten seconds up to it (xp); None: not classified
    """

    fresh: Fresh
    rings: Rings
    table: PeakTable
    watermark: I64
    most: tuple[int, int] = (0, 0)
    logits: F64 | None = None
