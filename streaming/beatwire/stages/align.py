"""Align: put the chunks of a tick in their place, by session and sample index.

In: Chunks. Out: Aligned. State: the directory of streams, and per slot where its stream stands
(columns in ``kernels.align``). Duplicates and overlaps are dropped to the sample, chunks that come
before their turn wait inside ``reorder_s``, a hole up to ``bridge_s`` is bridged and marked, a
longer one restarts the lane. Nothing shifts in time, and each case is counted.

A stream silent for ``silence_s`` by the broker's clock starts anew: so what a stream's output
depends on is bounded in time as well as in samples. Its lane is another's when it has been silent
for twice as long. When it has been silent for ``evict_s`` a chunk of it is one of a stream never heard of, whether
or not its slot is another's by then: that happens ``silence_s`` later, in a tick that is told of it (``forgotten``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from beatwire.jit import cpu
from beatwire.kernels import align, arrivals
from beatwire.records import I64, Aligned, Bank, Chunks, Rejects
from beatwire.records.events import CLOCK
from beatwire.stages.support.directory import Directory
from beatwire.stages.support.placements import placements, rounded

COUNTS = ("duplicates", "overlaps", "reordered", "bridged", "restarts", "lost_samples", "silences", "no_value")


@dataclass(frozen=True, slots=True)
class Settings:
    """Durations in seconds; ``most_streams`` bounds memory against stray ids."""

    pass_s: float
    reorder_s: float
    bridge_s: float
    silence_s: float
    duplicate_s: float
    evict_s: float
    most_streams: int


@dataclass(slots=True)
class State:
    """Where each stream stands.

    slots      int64 [slots, SLOT_COLUMNS]
    banks      by number; ``lanes`` used in each, those given back, and those given back in this tick, which
               still have placements in it
    counts     what happened to chunks since the start, by ``COUNTS``
    admits     whether there is memory for so many lanes of each bank
    looked_us  when silent streams were last looked for
    forgotten  slots of streams that were forgotten in the last tick
    """

    settings: Settings
    directory: Directory
    tick: int = 0
    slots: I64 = field(default_factory=lambda: _no_slots(0))
    banks: list[Bank] = field(default_factory=list)
    lanes: list[int] = field(default_factory=list)
    free: list[list[int]] = field(default_factory=list)
    left: list[tuple[int, int]] = field(default_factory=list)
    limits: I64 = field(default_factory=lambda: np.zeros((0, 6), np.int64))
    counts: I64 = field(default_factory=lambda: np.zeros(len(COUNTS), np.int64))
    admits: Callable[[list[Bank], list[int]], bool] = lambda _banks, _lanes: True
    looked_us: int = 0
    evicted: I64 = field(default_factory=lambda: np.zeros(0, np.int64))


def _no_slots(n: int) -> I64:
    slots = np.zeros((n, align.SLOT_COLUMNS), np.int64)
    slots[:, [align.LANE, align.BANK, align.EXPECTED, align.TICK]] = -1
    return slots


def step(state: State, chunks: Chunks) -> tuple[State, Aligned]:
    """Place a tick."""
    rejects = Rejects(list(chunks.rejects.message), list(chunks.rejects.reason))
    _free(state)
    slot, refused = state.directory.find(chunks)
    for i, reason in refused:
        rejects.message.append(int(chunks.message[i]))
        rejects.reason.append(f"align: {reason}")
    _make_room(state)
    ints = chunks.ints
    ints[:, arrivals.SLOT] = slot
    _set_banks(state, chunks)
    state.tick += 1
    rows, sizes, code = _align(state, chunks)
    for i in np.flatnonzero(code).tolist():
        rejects.message.append(int(chunks.message[i]))
        rejects.reason.append("align: " + _reason(state, chunks, i, int(slot[i]), int(code[i])))
    state.counts += sizes[align.DUPLICATES :]
    place, fresh, event = rows
    gone = event[:, 2] == CLOCK
    clocks, event = event[gone], event[~gone]
    seen = _seen(slot, len(state.slots))
    _look(state, chunks, seen)
    return state, Aligned(
        passes=placements(chunks, state.banks, state.lanes, place, fresh, event, int(sizes[align.PASSES])),
        events=event,
        seen=seen,
        arrival_us=state.slots[:, align.ARRIVAL],
        expected=state.slots[:, align.EXPECTED],
        slots=state.slots,
        clocks=clocks[np.argsort(clocks[:, 1], kind="stable")],
        banks=state.banks,
        evicted=state.evicted,
        refused=ints[code == arrivals.REFUSED][:, [arrivals.SLOT, arrivals.ROW_SESSION, 4]],
        rejects=rejects,
        now_us=chunks.now_us,
        caught_up=chunks.caught_up,
        overloaded=chunks.overloaded,
    )


def _align(state: State, chunks: Chunks) -> tuple[tuple[I64, I64, I64], I64, I64]:
    """Place every chunk that has a slot; return the rows that say where (place, fresh, event), sizes, and codes."""
    ints = chunks.ints
    n = len(ints)
    place, fresh, event = _rows(2 * n + 64 + int(ints[:, 9].sum()) // 256)
    sizes = np.zeros(align.SIZES, np.int64)
    code = np.zeros(n, np.int64)
    at = 0
    while True:
        at = cpu.kernels.align_rows(
            at, n, chunks.payload, ints, chunks.floats, state.limits, state.tick, state.slots,
            place, fresh, event, sizes, code,
        )  # fmt: skip
        if sizes[align.STATUS] == arrivals.DONE:
            break
        if sizes[align.STATUS] == arrivals.NO_LANE:
            if ints[at, arrivals.ROW_BANK] < 0:
                _open_bank(state, chunks, at)
            if _is_full(state, int(ints[at, arrivals.ROW_BANK])):
                code[at] = arrivals.REFUSED
                at += 1
                continue
            _give_lane(
                state, *ints[at, [arrivals.SLOT, arrivals.ROW_BANK, arrivals.ROW_SESSION, arrivals.ARRIVED]].tolist()
            )
        else:
            more = _rows(2 * len(place) + 4 * int(ints[at, 9]) + 64)
            for old, new in zip((place, fresh, event), more, strict=True):
                new[: len(old)] = old
            place, fresh, event = more
    placed, begun, told = sizes[[align.PLACED_ROWS, align.FRESH_ROWS, align.EVENT_ROWS]].tolist()
    return (place[:placed], fresh[:begun], event[:told]), sizes, code


def _seen(slot: I64, slots: int) -> I64:
    """Return the slots that occur, each once."""
    there = np.zeros(slots, np.bool_)
    there[slot[slot >= 0]] = True
    return np.flatnonzero(there)


def _rows(n: int) -> tuple[I64, I64, I64]:
    return (
        np.empty((n, align.PLACE_COLUMNS), np.int64),
        np.empty((n, align.FRESH_COLUMNS), np.int64),
        np.empty((n, align.EVENT_COLUMNS), np.int64),
    )


def _make_room(state: State) -> None:
    missing = state.directory.capacity - len(state.slots)
    if missing > 0:
        state.slots = np.concatenate([state.slots, _no_slots(missing)])


def _set_banks(state: State, chunks: Chunks) -> None:
    """Write the bank of every chunk, -1 where there is none yet."""
    banks = np.array([(bank.rate_hz, bank.leads) for bank in state.banks], np.float64).reshape(-1, 2)
    cpu.kernels.find_bank(len(chunks.message), chunks.ints, chunks.floats, banks)


def _open_bank(state: State, chunks: Chunks, i: int) -> None:
    """Open a bank for a stream that begins with chunk ``i``; one that only changes its rate is a reject."""
    new = Bank(len(state.banks), float(chunks.floats[i, 0]), int(chunks.ints[i, 6]))
    state.banks.append(new)
    state.lanes.append(0)
    state.free.append([])
    s = state.settings
    durations = [s.pass_s, s.reorder_s, s.bridge_s, s.duplicate_s]
    row = [max(1, round(d * new.rate_hz)) for d in durations] + [_us(s.silence_s), _us(s.evict_s)]
    state.limits = np.concatenate([state.limits, np.array([row], np.int64)])
    _set_banks(state, chunks)


def _us(seconds: float) -> int:
    return round(seconds * 1e6)


def _free(state: State) -> None:
    """Let others have what was given up in the last tick."""
    for number, lane in state.left:
        state.free[number].append(lane)
    state.left.clear()
    if len(state.evicted):
        state.slots[state.evicted] = _no_slots(1)
        state.directory.give_back(state.evicted)
        state.evicted = np.zeros(0, np.int64)


def _look(state: State, chunks: Chunks, seen: I64) -> None:
    """Take, now and then, the lanes of streams that have been silent for long; forget those silent for much longer.

    A stream of which something came is not silent, however late we read it. Nor is one that was never heard because
    there is no memory for it.
    """
    silence_us = _us(state.settings.silence_s)
    if not chunks.caught_up or chunks.now_us - state.looked_us < silence_us:
        return
    state.looked_us = chunks.now_us
    silent_us = chunks.now_us - state.slots[:, align.ARRIVAL]
    silent_us[seen] = 0
    silent = silent_us > 2 * silence_us
    for row in state.slots[silent & (state.slots[:, align.LANE] >= 0)]:
        state.free[row[align.BANK]].append(int(row[align.LANE]))
    state.slots[silent, align.LANE] = -1
    known = state.directory.is_known()
    long_us = _us(state.settings.evict_s) + silence_us
    gone = known & (silent_us[: len(known)] > long_us) & (state.slots[: len(known), align.EXPECTED] >= 0)
    state.evicted = np.flatnonzero(gone)
    state.directory.evict(state.evicted)


def _is_full(state: State, bank: int) -> bool:
    """Tell whether the bank has no lane left and may not have more."""
    used = state.lanes[bank]
    if state.free[bank] or 0 < used < rounded(used):
        return False
    return not state.admits(state.banks, [rounded(n + (k == bank)) for k, n in enumerate(state.lanes)])


def _give_lane(state: State, slot: int, bank: int, session: int, arrived_us: int) -> None:
    """Give the slot a lane of the bank; one that it had elsewhere becomes free."""
    row = state.slots[slot]
    silent_us = arrived_us - row[align.ARRIVAL]
    silent, forgotten = silent_us > _us(state.settings.silence_s), silent_us > _us(state.settings.evict_s)
    if row[align.LANE] >= 0:
        state.counts[COUNTS.index("silences")] += row[align.SESSION] == session and not forgotten
        state.left.append((int(row[align.BANK]), int(row[align.LANE])))
    if state.free[bank]:
        lane = state.free[bank].pop()
    else:
        lane = state.lanes[bank]
        state.lanes[bank] += 1
    if row[align.BANK] != bank or not silent:
        row[align.EXPECTED] = -1
    row[align.BANK], row[align.LANE] = bank, lane


def _reason(state: State, chunks: Chunks, i: int, slot: int, code: int) -> str:
    name, stood = state.directory.names[slot], float(chunks.floats[i, 2])
    if code == arrivals.RATE_CHANGED:
        return f"stream {name!r} is {state.banks[int(stood)].rate_hz:g} Hz; this chunk says {chunks.floats[i, 0]:g} Hz"
    if code == arrivals.LEADS_COUNT_CHANGED:
        return f"stream {name!r} has {state.banks[int(stood)].leads} leads; this chunk says {chunks.ints[i, 6]}"
    if code == arrivals.REFUSED:
        return f"stream {name!r} is refused: no memory for more than {sum(state.lanes)} streams"
    if code == arrivals.UNITS_CHANGED:
        return f"stream {name!r} has {stood / 1000:g} microvolts per unit; this chunk says {chunks.floats[i, 1]:g}"
    return (
        f"stream {name!r} stands at sample {stood:.0f} of session {chunks.ints[i, 3]}; this chunk goes back to "
        f"{chunks.ints[i, 4]}; a device that counts anew must change its session"
    )
