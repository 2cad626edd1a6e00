"""Records of samples: from messages to peaks of the response."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from beatwire.records import events
from beatwire.records.arrays import F64, I32, I64, U8, Bool
from beatwire.records.columns import LIMITS_COLUMNS
from beatwire.records.detection import FreshLanes, LeadLevels, LevelLimits, PeakTable, Rings
from beatwire.records.rejects import Rejects
from beatwire.records.ticks import BankKind as BankKind


@dataclass(frozen=True, slots=True)
class Chunks:
    """The valid messages of a tick, ``n`` of them, as columns.

    payload      uint8 [bytes]   all messages joined, which ids and samples are read from
    ints         int64 [n, 11]   columns ``CHUNK_ID_AT``, ... of ``records.columns``
    floats       float64 [n, 3]  columns ``CHUNK_RATE_HZ``, ...
    message      int64 [n]       number of the message in its tick; negative: it has waited since an earlier tick
    partition    int32 [n]       its partition
    rejects      the messages that are not valid
    received     partition, int32 [m], and arrival, int64 [m], of all messages of the tick, valid or not
    now_us, caught_up, overloaded, open_banks  as in ``RawTick``
    bundled      bool [m]        of all messages of the tick: it came in a bundle; None: none did
    """

    payload: U8
    ints: I64
    floats: F64
    message: I64
    partition: I32
    rejects: Rejects
    received: tuple[I32, I64]
    now_us: int
    caught_up: bool
    overloaded: bool
    open_banks: Mapping[int, frozenset[BankKind]] | None = None
    bundled: Bool | None = None


class Bank(NamedTuple):
    """Streams of one sampling rate (Hz) and number of leads: they share rings."""

    number: int
    rate_hz: float
    leads: int


@dataclass(frozen=True, slots=True)
class Fresh:
    """Lanes of one bank with new samples ``[start, stop)`` in one pass, ``n`` of them.

    number         of the pass
    lane, slot, start, stop, base, session   int64 [n]; ``base`` is the lane's first sample
    uv_per_unit    float64 [n], microvolts; 0: not calibrated
    quiet          int64 [q, 3], columns ``QUIET_...``: stretches of lanes in which no beat may be, by lane: bridged
                   gaps, of which all samples are new
    overloaded     beats are not scored
    is_clean       hum was taken out of the samples before, and holes were filled in
    samples        int64 [n], how many are new; the most are ``longest``, and each lane has as many if ``is_even``
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
    is_clean: bool = False
    samples: I64 = field(init=False)
    longest: int = field(init=False)
    is_even: bool = field(init=False)

    def __post_init__(self) -> None:
        """Count the new samples."""
        samples = self.stop - self.start
        longest = int(samples.max(initial=0))
        object.__setattr__(self, "samples", samples)
        object.__setattr__(self, "longest", longest)
        object.__setattr__(self, "is_even", bool((samples == longest).all()))

    @property
    def lanes(self) -> FreshLanes:
        """Return the columns that kernels take."""
        return FreshLanes(self.lane, self.slot, self.start, self.stop, self.base)

    def most_in(self, apart: int) -> int:
        """Return how often something can occur in the new samples that is ``apart`` samples apart at least."""
        if self.is_even:  # as a rule; divisions take longer than all else here
            return len(self.lane) * (self.longest // apart + 1)
        return int((self.samples // apart + 1).sum())


@dataclass(frozen=True, slots=True)
class Placement:
    """Samples of the payload and where they go: one bank, one pass.

    payload      uint8 [bytes]
    place        int64 [p, 6]    columns ``PLACE_LANE`` to ``PLACE_LEAD_OFF``
    lanes        number of lanes that the bank has room for
    """

    payload: U8
    place: I64
    lanes: int
    fresh: Fresh


class Event:
    """The kinds of events of a stream, in the order in which they come at the same sample."""

    RESTART = events.RESTART
    GAP = events.GAP
    LEADS = events.LEADS_CHANGED
    BEAT = events.BEAT
    BLOCK = events.BLOCK
    WATERMARK = events.WATERMARK
    CONFLICT = events.CONFLICT
    DENIED = events.DENIED
    RATE = events.RATE


class SlotColumns(NamedTuple):
    """The position of each stream after a tick, by slot: int64 [slots].

    session     session of the stream
    bank, lane  where its samples are; -1: it has no lane
    expected    every sample before this one is known or given up; -1: none yet
    arrived_us  arrival of its last chunk at the broker
    used_us     the same of the last one that was of use, see ``kernels.intake.senders``
    active_us   its active time, see there; 0: it had no chunk
    """

    session: I64
    bank: I64
    lane: I64
    expected: I64
    arrived_us: I64
    used_us: I64
    active_us: I64


@dataclass(frozen=True, slots=True)
class Aligned:
    """The placed chunks of a tick.

    passes       placements, by pass and bank
    events       int64 [e, 7], columns ``EVENT_...``: restarts, gaps, changes of lead-off masks, conflicts, arrivals
    restarts     those of them that are restarts
    seen         int64 [s]: the slots that have a chunk in this tick, each once, ascending
    used         int64 [u]: those of them that have one of use, see ``kernels.intake.senders``, or one that was refused
    slots        positions of the streams, by slot: copies
    before       the same after the tick before; None: this is the first
    anchors      int64 [slots, .]: device times, see ``kernels.intake.clock``. A read-only view of the state of align,
                 valid until the next tick: a copy would be 39 MB for 100,000 streams
    clocks       int64 [c, 7], columns ``EVENT_...``: device times that are not in ``anchors`` any more, by slot
    banks        by number
    misfits_first  int64 [m]: slots whose first chunk was rejected because of what the stream was: place, rate, units
    contested    int64 [c]: slots that restart while another device, or another session, sends for them
    refused      int64 [r, 3]: slot, session and first sample of chunks for whose stream there is no memory
    rejects      messages that decode and align reject
    evicted      int64 [f]: slots of streams that are removed after this tick
    waited       int64 [w, 2]: slot and tick of chunks that came in an earlier tick and are placed in this one
    limits       int64 [l, 8], columns ``EVENT_...`` and ``LIMITS_ARRIVED_US``: changes of the limits of streams
    later        of a part of a tick: slot -> stretches that begin after it, see ``stages.support.streams.stretches``
    now_us, caught_up, overloaded  as in ``RawTick``
    """

    passes: list[Placement]
    events: I64
    restarts: I64
    seen: I64
    used: I64
    slots: SlotColumns
    anchors: I64
    clocks: I64
    banks: tuple[Bank, ...]
    refused: I64
    rejects: Rejects
    now_us: int
    caught_up: bool
    overloaded: bool
    evicted: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    waited: I64 = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    limits: I64 = field(default_factory=lambda: np.zeros((0, LIMITS_COLUMNS), np.int64))
    misfits_first: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    contested: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    before: SlotColumns | None = None
    later: Mapping[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make the anchors read-only: they are the state of align."""
        anchors = self.anchors.view()
        anchors.flags.writeable = False
        object.__setattr__(self, "anchors", anchors)


@dataclass(frozen=True, slots=True)
class Ringed:
    """New samples in the rings of their bank, ``x``: int16 [lanes, leads, R] (xp)."""

    fresh: Fresh
    x: Any


EACH_LEAD = " of each lead"  # ending of the names of buffers of what is known of leads alone


@dataclass(frozen=True, slots=True)
class Response:
    """The response in ``rings.f``, known up to ``stop - delay``.

    leads   levels of several leads, None of one
    limits  of each lead, None: unknown
    alone   of several leads the response of each alone, as of a stream of its own: lead ``k`` of lane ``l`` is lane
            ``l * leads + k``; None of one
    """

    fresh: Fresh
    rings: Rings
    delay: int
    leads: LeadLevels | None = None
    limits: LevelLimits | None = None
    alone: Response | None = None


@dataclass(frozen=True, slots=True)
class Peaks:
    """Peaks of the response that the new samples decided.

    table        the peaks of each lane, and its 2-s blocks that became complete (xp)
    watermark    int64 [n]          every peak before this sample has been decided
    most         peaks that the whole pass can have at most, and blocks
    logits       float64 [n, most, LOGIT_COLUMNS]  of each peak: the logit that it is a beat, the errors that the trees
                                    expect in the ten seconds up to it, those that the network leaves, NaN if it is
                                    none, and the logit by the trees (xp); None: not classified
    alone        peaks of each lead alone, as of ``Response``; None: of one lead, or they have been chosen from
    """

    fresh: Fresh
    rings: Rings
    table: PeakTable
    watermark: I64
    most: tuple[int, int] = (0, 0)
    logits: F64 | None = None
    alone: Peaks | None = None
