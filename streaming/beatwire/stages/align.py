"""Align: place the chunks of a tick by session and sample index.

In:    Chunks
Out:   Aligned
State: the directory of streams, and by slot the position of each stream (``records.slot_columns``) and its device times
       (``kernels.intake.clock``)

Duplicates and overlaps are dropped to the sample. Chunks that come before their turn wait inside ``reorder_s``. A hole
up to ``support.holes.LONGEST_S`` is filled in, of one lead or of all. One of all leads up to ``bridge_s`` is bridged
and is an event; a longer one restarts the lane. No sample moves in time, and each case is counted.

A stream that is silent for ``silence_s`` by the broker's clock starts anew, so that its output depends on a bounded
time and not only on a bounded number of samples. After twice as long its lane may go to another stream. After
``evict_s`` a chunk of it is that of a new stream; its slot is given to another ``silence_s`` later, and the tick before
lists it in ``evicted``.
"""

import math
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from beatwire.jit import cpu
from beatwire.kernels.intake import arrivals, clock
from beatwire.records import I64, Aligned, Chunks, Fault, Rejects, slot_columns
from beatwire.records.alignment import AlignChunks, AlignRows, AlignVerdicts, StreamState
from beatwire.records.columns import CHUNK_ARRIVED_US, CHUNK_FIRST, CHUNK_SESSION, EVENT_KIND, EVENT_SLOT
from beatwire.records.events import ARRIVED, CLOCK, GAP, LIMITS_CHANGED, RESTART
from beatwire.records.samples import SlotColumns
from beatwire.records.slot_columns import new_slots
from beatwire.stages.support.alerts.limits import Limits, limits_in_force, with_arrivals
from beatwire.stages.support.holes import longest_hole
from beatwire.stages.support.streams.admission import WAITS, Admission
from beatwire.stages.support.streams.align_groups import Grouped, Stop
from beatwire.stages.support.streams.align_tables import contested_in, positions_of, seen_in
from beatwire.stages.support.streams.directory import Directory
from beatwire.stages.support.streams.placements import placements
from beatwire.stages.support.streams.rejections import KINDS, LeadNames, reason_of

MARK_S = 0.45  # between two ARRIVED events: longer than a beat takes to be decided
COUNTS = ("duplicates", "overlaps", "reordered", "bridged", "restarts", "lost_samples", "silences", "no_value")


@dataclass(frozen=True, slots=True)
class Settings:
    """Durations in seconds.

    pass_s        longest stretch of a stream in one pass
    reorder_s     how far ahead of its turn a chunk may come
    bridge_s      longest hole that is bridged
    silence_s     silence after which a stream starts anew
    duplicate_s   how far back a chunk is a duplicate and not an error
    evict_s       silence after which a stream is removed
    """

    pass_s: float
    reorder_s: float
    bridge_s: float
    silence_s: float
    duplicate_s: float
    evict_s: float


@dataclass(slots=True)
class State:
    """Streams, and the positions in them.

    directory   the streams, by slot
    admission   banks and lanes
    tick        number of the tick
    slots       int64 [slots, SLOT_COLUMNS], see ``records.slot_columns``
    anchors     int64 [slots, ANCHOR_COLUMNS], see ``kernels.intake.clock``
    counts      int64, what happened to chunks since the start, by ``COUNTS``
    searched_us time of the last search for silent streams
    seen_us     int64 [slots], when the last chunk of each was read
    evicted     int64, slots of streams that were evicted in the last tick
    changes     of the limits of streams; None: there are none
    columns     positions after the last tick, as the later stages have them; None: there was none
    lead_names  of the streams that have begun
    """

    settings: Settings
    directory: Directory
    admission: Admission
    tick: int = 0
    slots: I64 = field(default_factory=lambda: new_slots(0))
    anchors: I64 = field(default_factory=lambda: np.zeros((0, clock.ANCHOR_COLUMNS), np.int64))
    counts: I64 = field(default_factory=lambda: np.zeros(len(COUNTS), np.int64))
    searched_us: int = 0
    seen_us: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    evicted: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    changes: Limits | None = None
    columns: SlotColumns | None = None
    lead_names: LeadNames = field(default_factory=LeadNames)


def step(state: State, chunks: Chunks) -> tuple[State, Aligned]:
    """Place a tick."""
    admission, rejected = state.admission, list[tuple[int, Fault]]()
    _free_what_was_left(state)
    chunks, waited, bank = admission.exchange(chunks, state.tick, state.directory, state.slots)
    slot, refused = state.directory.find(chunks)
    for i, reason in refused:
        rejected.append((int(chunks.message[i]), Fault.of("stream", f"align: {reason}")))
    _make_room(state)
    state.tick += 1
    in_force = limits_in_force(state.changes, slot, chunks.ints[:, CHUNK_ARRIVED_US])
    given = AlignChunks(chunks.payload, chunks.ints, chunks.floats, slot, bank, in_force)
    rows, verdicts, strays = _align(state, given)
    for number, reason in admission.waiting.hold(chunks, strays, state.tick - 1):
        rejected.append((number, Fault.of("stray", f"align: {reason}")))
    events = _by_kind(rows.event)
    restarted = events.restarts[:, EVENT_SLOT]
    odd = np.flatnonzero(verdicts.code)
    codes = verdicts.code[odd]
    others = verdicts.expected[odd[codes == arrivals.LEADS_RENAMED]].astype(np.int64)
    state.lead_names.note_known(given, np.append(others, state.slots[restarted, slot_columns.SLOT_LEAD_NAMES]))
    for i, code in zip(odd.tolist(), codes.tolist(), strict=True):
        stream = state.directory.names[slot[i]]
        room = admission.expected(code)
        expected = float(verdicts.expected[i]) if room is None else room
        reason = reason_of(stream, code, expected, given, i, admission.banks, state.lead_names)
        rejected.append((int(chunks.message[i]), Fault.of(KINDS.get(code, "changed"), f"align: {reason}")))
    state.counts += rows.sizes[slot_columns.DUPLICATES :]
    no_room = odd[(codes == arrivals.REFUSED) | (codes == arrivals.NO_BANK)]
    seen = seen_in(slot, verdicts.code, len(state.slots))
    _find_silent(state, chunks, seen)
    before = state.columns
    state.columns, used = positions_of(state.slots, state.tick)
    if len(no_room):
        used = np.union1d(used, slot[no_room])
    return state, Aligned(
        passes=placements(chunks, admission.banks, admission.lanes, rows, events.gaps),
        events=events.later,
        restarts=events.restarts,
        seen=seen,
        used=used,
        slots=state.columns,
        before=before,
        anchors=state.anchors,
        clocks=events.clocks[np.argsort(events.clocks[:, EVENT_SLOT], kind="stable")],
        banks=tuple(admission.banks),
        evicted=state.evicted,
        refused=np.column_stack([slot[no_room], chunks.ints[no_room][:, [CHUNK_SESSION, CHUNK_FIRST]]]),
        waited=np.stack([slot[: len(waited)], waited], axis=1),
        rejects=Rejects.joined([chunks.rejects, Rejects.of(rejected)]),
        now_us=chunks.now_us,
        caught_up=chunks.caught_up,
        overloaded=chunks.overloaded,
        limits=with_arrivals(events.limits, given),
        misfits_first=_misfits_first(slot, odd, codes),
        contested=contested_in(state.slots, restarted),
    )


class _Events(NamedTuple):
    """The events of a tick: those for later stages, restarts and gaps among them; device times, changed limits."""

    later: I64
    restarts: I64
    gaps: I64
    clocks: I64
    limits: I64


def _by_kind(event: I64) -> _Events:
    """Take the few events that are not arrivals apart; all keep their order."""
    rare = event[event[:, EVENT_KIND] != ARRIVED]
    restarts, gaps, clocks, limits = (
        rare[rare[:, EVENT_KIND] == kind] for kind in (RESTART, GAP, CLOCK, LIMITS_CHANGED)
    )
    if len(clocks) + len(limits):
        event = event[(event[:, EVENT_KIND] != CLOCK) & (event[:, EVENT_KIND] != LIMITS_CHANGED)]
    return _Events(event, restarts, gaps, clocks, limits)


def _misfits_first(slot: I64, odd: I64, codes: I64) -> I64:
    """Return the slots whose first chunk is one of the ``odd`` ones, rejected because of what the stream was."""
    misfits = odd[(codes >= arrivals.RATE_CHANGED) & (codes <= arrivals.UNITS_CHANGED)]
    if not len(misfits):
        return misfits
    is_known = np.flatnonzero(slot >= 0)
    by_slot, first = np.unique(slot[is_known], return_index=True)
    found: I64 = by_slot[np.isin(is_known[first], misfits)]
    return found


def _align(state: State, given: AlignChunks) -> tuple[AlignRows, AlignVerdicts, I64]:
    """Place every chunk that has a slot; return the rows written, the verdicts, and the chunks that have to wait.

    Groups of streams are aligned side by side. Where one stops it needs what streams share: lanes are given in the
    order of arrival of the chunks, whatever the groups.
    """
    n, admission = len(given.slot), state.admission
    strays: list[int] = []
    verdicts = AlignVerdicts(np.zeros(n, np.int64), np.zeros(n))
    durations = partial(durations_of, state.settings)
    grouped = Grouped(given, len(state.directory.names))
    streams, run = StreamState(state.slots, state.anchors), grouped.all
    stops: list[Stop] = []
    while len(run):
        cpu.kernels.align_group(
            len(run), run, given, admission.durations, state.tick, streams, grouped.groups, grouped.rows, verdicts
        )
        stopped, run = grouped.stopped(run)
        for stop in stopped:
            heappush(stops, stop)
        if len(run):  # they go on before any lane is given: so the lanes stay in order
            grouped.enlarge(run)
            continue
        if not stops:
            break
        at, group = heappop(stops)
        run = np.array([group])
        code = admission.admit(given, at, durations)
        if code == arrivals.PLACED:
            session, arrived_us = given.ints[at, [CHUNK_SESSION, CHUNK_ARRIVED_US]].tolist()
            state.lead_names.note(given, at)
            _give_lane(state, int(given.slot[at]), int(given.bank[at]), session, arrived_us)
            continue
        if code == WAITS:
            strays.append(at)
        else:
            verdicts.code[at] = code
        grouped.pass_over(group)
    return grouped.in_order(), verdicts, np.array(strays, np.int64)


def _make_room(state: State) -> None:
    missing = state.directory.capacity - len(state.slots)
    if missing > 0:
        state.slots = np.concatenate([state.slots, new_slots(missing)])
        state.anchors = np.concatenate([state.anchors, np.zeros((missing, clock.ANCHOR_COLUMNS), np.int64)])
        state.seen_us = np.append(state.seen_us, np.zeros(missing, np.int64))


def durations_of(s: Settings, rate_hz: float) -> list[int]:
    """Return the durations of a bank by ``LIMIT_COLUMNS``."""
    samples = [max(1, round(d * rate_hz)) for d in (s.pass_s, s.reorder_s, s.bridge_s, s.duplicate_s)]
    last = longest_hole(rate_hz, s.bridge_s), math.ceil(MARK_S * rate_hz)
    return [*samples, _us(s.silence_s), _us(s.evict_s), *last]


def _us(seconds: float) -> int:
    return round(seconds * 1e6)


def _free_what_was_left(state: State) -> None:
    """Free the lanes and slots that streams left in the last tick."""
    state.admission.release_left()
    if len(state.evicted):
        state.slots[state.evicted] = new_slots(1)
        state.anchors[state.evicted] = 0
        state.directory.give_back(state.evicted)
        state.evicted = np.zeros(0, np.int64)


def _find_silent(state: State, chunks: Chunks, seen: I64) -> None:
    """Free, every ``silence_s``, the lanes of streams that are silent for long; evict those silent for much longer.

    A stream that was never placed, because there is no memory for it, is evicted like the others. Where nothing waits
    at the broker, silence counts from when a chunk was read: arrivals may be by the clocks of producers, which say
    nothing about those of others.
    """
    arrived_us = state.slots[seen, slot_columns.SLOT_ARRIVED_US]
    refused = state.slots[seen, slot_columns.SLOT_EXPECTED] == -1  # no chunk of it was placed
    state.seen_us[seen] = np.where(chunks.caught_up | refused, chunks.now_us, arrived_us)
    silence_us = _us(state.settings.silence_s)
    if not chunks.caught_up or abs(chunks.now_us - state.searched_us) < silence_us:  # a clock may be set back
        return
    state.searched_us = chunks.now_us
    silent_us = chunks.now_us - state.seen_us
    silent = silent_us > 2 * silence_us
    state.admission.release(state.slots[silent])
    state.slots[silent, slot_columns.SLOT_LANE] = -1
    known = state.directory.is_known()
    gone = known & (silent_us[: len(known)] > _us(state.settings.evict_s) + silence_us)
    gone[state.directory.moved(np.flatnonzero(known & silent[: len(known)]))] = True  # they are another worker's
    state.evicted = np.flatnonzero(gone)
    state.directory.evict(state.evicted)


def _give_lane(state: State, slot: int, bank: int, session: int, arrived_us: int) -> None:
    """Give the slot a lane of the bank; a lane that it had elsewhere becomes free after this tick."""
    row = state.slots[slot]
    silent_us = arrived_us - row[slot_columns.SLOT_ARRIVED_US]
    is_silent, is_new = silent_us > _us(state.settings.silence_s), silent_us > _us(state.settings.evict_s)
    if row[slot_columns.SLOT_LANE] >= 0:
        state.counts[COUNTS.index("silences")] += row[slot_columns.SLOT_SESSION] == session and not is_new
        state.admission.left.append((int(row[slot_columns.SLOT_BANK]), int(row[slot_columns.SLOT_LANE])))
    lane = state.admission.give(bank)
    if row[slot_columns.SLOT_BANK] != bank or not is_silent:
        ends = is_silent and not is_new and row[slot_columns.SLOT_EXPECTED] >= 0
        row[slot_columns.SLOT_EXPECTED] = -2 - row[slot_columns.SLOT_EXPECTED] if ends else -1
    row[slot_columns.SLOT_BANK], row[slot_columns.SLOT_LANE] = bank, lane
