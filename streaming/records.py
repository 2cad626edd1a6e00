"""What travels between the stages: one frozen structure of arrays per hop.

========== ============ ================================================================
record     made by      holds
========== ============ ================================================================
RawTick    source       the joined payloads of one poll
Chunks     decode       the columns of its valid messages, and the rejects
Placement  align        for one bank and one pass: which bytes go to which ring position
Fresh      ring         for one bank and one pass: which lanes have which new samples
Peaks      nms, accept  local maxima of the response, with the level around them, and how sure they are
Beats      beats        accepted peaks, with R and RR
Windows    window       what the model looks at of each
Recalled   recall       what it saw, and how that compares with the stream's own last minute
TickBeats  gather       all beats of the tick, in order; then scored, then compared
Alerts     alert        transitions of alerts
Outgoing   publish      messages, ready to send
========== ============ ================================================================

Words: a *slot* is a stream's number for as long as it is known; a *lane* is its row in the
rings of its *bank* (one bank per sampling rate and number of leads); a *pass* is a part of a
tick small enough for the rings. Sample indices are absolute in a stream's session, int64.
Everything is on the host except the rings and what is marked ``xp`` (NumPy or CuPy).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, SupportsIndex

import numpy as np
from numpy.typing import NDArray

U8 = NDArray[np.uint8]
I16 = NDArray[np.int16]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]
F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
Bool = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class RawTick:
    """The messages of one poll, ``m`` of them.

    payload      uint8 [bytes]   all message values joined
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

    RESTART = 0
    GAP = 1
    LEADS = 2
    BEAT = 3
    BLOCK = 4
    KNOWN = 5


@dataclass(frozen=True, slots=True)
class Aligned:
    """A tick put in its place.

    passes       placements, by pass and bank
    events       int64 [e, 6]: pass, slot, kind (``Event``), sample, value, session
    seen         int64 [s]: the slots of this tick, each once
    arrival_us   int64 [slots]: when each stream's last chunk arrived
    expected     int64 [slots]: up to where each stream is known without a hole
    slots        int64 [slots, .]: all that is known of each, see ``kernels.align``
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


@dataclass(frozen=True, slots=True)
class Ringed:
    """New samples in their rings. ``x``: int16 [lanes, leads, R] (xp)."""

    fresh: Fresh
    x: Any


@dataclass(frozen=True, slots=True)
class Response:
    """The response up to ``stop - delay``. ``f``: int32 [lanes, R] (xp); ``levels``: of several leads."""

    fresh: Fresh
    x: Any
    f: Any
    delay: int
    levels: Any = None


@dataclass(frozen=True, slots=True)
class Peaks:
    """Local maxima of the response that the new samples decided.

    found        int64 [n]          peaks of each lane
    peaks        int64 [n, most, 5] sample, f, median of five block maxima, 80 % quantile of ten,
                                    sum of the least f on both sides
    closed       int64 [n]          2-s blocks of each lane that became complete
    blocks       int64 [n, most, 2] where each ends, its largest f
    known        int64 [n]          every peak before this sample has been decided
    most         peaks that the whole pass can have at most, and blocks
    bounds       int64 [n, most, 3] of several leads, see ``kernels.fuse.level_peaks``; None: one lead
    logits       float64 [n, most, 2]  how sure the trees are that each is a beat, and the errors they expect in
                                    the ten seconds up to it; None: not judged
    """

    fresh: Fresh
    x: Any
    f: Any
    found: I64
    peaks: I64
    closed: I64
    blocks: I64
    known: I64
    most: tuple[int, int] = (0, 0)
    bounds: Any = None
    logits: F64 | None = None


@dataclass(frozen=True, slots=True)
class Beats:
    """Heartbeats of one bank and pass, ``b`` of them, by lane and in order (all xp, see ``backend.Table``).

    fresh, known            the lanes of the pass, and up to where their beats are complete
    total                   ``b``, a number here or on the device
    first                   int64 [n + 1]: where the beats of each row of ``fresh`` begin
    lane, slot, base        int64 [b], x: where the samples around the beat still stand
    listed                  what follows, as a table
    row                     int64 [b]: row of its lane in ``fresh``
    sample                  int64 [b]: R
    decided                 int64 [b]: the newest sample that the decision waited for
    rr_s, median_rr_s       float64 [b], NaN: none
    response, quality       float32 [b]
    expected_errors         float32 [b]: in the ten seconds up to the beat; NaN: not known
    restart                 bool [b]: the first beat since its lane began
    blocks                  table of int64 [k]: row of a lane, end of a 2-s block, whether it was flat (1),
                            or waves without beats (2)
    """

    fresh: Fresh
    known: I64
    total: SupportsIndex
    first: Any
    x: Any
    listed: Any
    blocks: Any
    lane: I64
    slot: I64
    base: I64
    row: I64
    sample: I64
    decided: I64
    rr_s: F64
    median_rr_s: F64
    response: F32
    quality: F32
    expected_errors: F32
    restart: Bool


@dataclass(frozen=True, slots=True)
class Windows:
    """What the model looks at: float32 [b, 256] and [b] (xp), see ``kernels.windows``."""

    beats: Beats
    windows: Any
    amplitude: Any


@dataclass(frozen=True, slots=True)
class Terms:
    """Per beat what the score is made of; NaN where it is not known.

    population, history, prematurity, haste  float32 [b], the terms
    early                                    float32 [b], prematurity as people read it, 1 - RR / usual RR
    latent                                   float32 [b, 8]
    """

    population: F32
    history: F32
    prematurity: F32
    haste: F32
    early: F32
    latent: F32


@dataclass(frozen=True, slots=True)
class Recalled:
    """The beats of a pass and the table of their ``Terms``."""

    beats: Beats
    terms: Any


@dataclass(frozen=True, slots=True)
class TickBeats:
    """All heartbeats of a tick, ``b`` of them, by pass, bank and lane: those of a stream in order.

    slot, session, sample, decided, time_us, arrived_us   int64 [b]
    rate_hz, rr_s, median_rr_s                   float64 [b]
    response, quality                            float32 [b]
    expected_errors                              float32 [b], in the ten seconds up to the beat, NaN: not known
    restart      bool [b]       the first beat after a restart of its stream
    terms        of each beat
    events       int64 [e, 5]   slot, session, kind, sample, value, by slot and in order: restarts, gaps,
                                leads (value: the mask), beats (value: row of the beat), blocks (value:
                                flat, waves), and how far the stream is known
    scored by the score stage (``None`` before):
    score, prematurity           float32 [b], NaN: none
    scored_by                    uint8 [b], see ``stages.score``
    anomalous                    bool [b]
    latent       float32 [b, 8]  what the model made of it, NaN: none
    misfit       float32 [b]     how unlike a beat of all people, a term of the score, NaN: none
    """

    aligned: Aligned
    slot: I64
    session: I64
    sample: I64
    decided: I64
    time_us: I64
    arrived_us: I64
    rate_hz: F64
    rr_s: F64
    median_rr_s: F64
    response: F32
    quality: F32
    expected_errors: F32
    restart: Bool
    terms: Terms
    events: I64
    overloaded: bool = False
    score: F32 | None = None
    prematurity: F32 | None = None
    scored_by: U8 | None = None
    anomalous: Bool | None = None
    latent: F32 | None = None
    misfit: F32 | None = None


@dataclass(frozen=True, slots=True)
class Alerts:
    """Transitions of alerts in a tick: one JSON-ready dict each, and the beats they came with."""

    beats: TickBeats
    transitions: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Outgoing:
    """Messages of one topic, ready to send."""

    topic: str
    keys: list[bytes | None]
    values: list[bytes]
    headers: list[list[tuple[str, bytes]]] | None = None
