"""Split the rows that the align kernels write of a tick into placements: one for each bank and pass."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from beatwire.jit import cpu
from beatwire.records import I64, Bank, Chunks, Fresh, Placement
from beatwire.records.alignment import AlignRows
from beatwire.records.columns import (
    EVENT_PASS,
    EVENT_SAMPLE,
    EVENT_SLOT,
    EVENT_VALUE,
    FRESH_BANK,
    FRESH_BASE,
    FRESH_COLUMNS,
    FRESH_LANE,
    FRESH_NANOVOLTS,
    FRESH_PASS,
    FRESH_SESSION,
    FRESH_SLOT,
    FRESH_START,
    FRESH_STOP,
    PLACE_BANK,
    PLACE_PASS,
    PLACEMENT_COLUMNS,
    QUIET_COLUMNS,
)
from beatwire.records.slot_columns import PASSES
from beatwire.stages.support.room import room_for


def placements(
    chunks: Chunks, banks: Sequence[Bank], lanes: Sequence[int], rows: AlignRows, gaps: I64
) -> list[Placement]:
    """Split rows by pass and bank; within one they keep their order.

    Parameters
    ----------
    lanes
        Lanes in use, of each bank.
    rows
        What the kernels wrote.
    gaps
        The events of bridged gaps among it.
    """
    single = len(banks) == 1 and rows.sizes[PASSES] == 1
    fresh_key, fresh_order = _by_pass_and_bank(rows.fresh, FRESH_PASS, FRESH_BANK, len(banks), single)
    place_key, place_order = _by_pass_and_bank(rows.place, PLACE_PASS, PLACE_BANK, len(banks), single)
    made = []
    keys = [0] if single else sorted({*_distinct(fresh_key), *_distinct(place_key)})
    for key in keys:
        number, bank = key // len(banks), banks[key % len(banks)]
        of_fresh = fresh_order[slice(*np.searchsorted(fresh_key, [key, key + 1]))]
        of_place = place_order[slice(*np.searchsorted(place_key, [key, key + 1]))]
        columns = np.empty(
            (FRESH_COLUMNS, len(of_fresh)), np.int64
        )  # contiguous: machine code is the same for one lane
        cpu.kernels.take_fresh(len(of_fresh), of_fresh, rows.fresh, columns)
        quiet = _quiet(columns, gaps[gaps[:, EVENT_PASS] == number])
        has_new = columns[FRESH_STOP] > columns[FRESH_START]
        if not has_new.all():
            columns = np.ascontiguousarray(columns[:, has_new])
        if columns.shape[1] + len(of_place) + len(quiet) == 0:
            continue
        place = np.empty((len(of_place), PLACEMENT_COLUMNS), np.int64)
        cpu.kernels.take_place(len(of_place), of_place, rows.place, place)
        fresh = _fresh(number, bank, columns, quiet, chunks.overloaded)
        made.append(Placement(chunks.payload, place, room_for(lanes[bank.number]), fresh))
    return made


def _by_pass_and_bank(rows: I64, at_pass: int, at_bank: int, banks: int, single: bool) -> tuple[I64, I64]:
    """Sort rows by pass and bank, each keeping its order; return the keys, pass * banks + bank, and the rows.

    ``single``: all keys are 0.
    """
    if single:
        return np.zeros(len(rows), np.int64), np.arange(len(rows))
    key = rows[:, at_pass] * banks + rows[:, at_bank]
    order = np.argsort(key.astype(np.int16) if key.max(initial=0) < 1 << 15 else key, kind="stable")
    return key[order], order


def _distinct(ascending: I64) -> list[int]:
    """Return the values that occur among ascending ones."""
    kept: list[int] = ascending[np.flatnonzero(np.diff(ascending, prepend=-1))].tolist()
    return kept


def _quiet(fresh: I64, gaps: I64) -> I64:
    """Return the stretches in which no beat may be, by lane: bridged gaps; ``fresh`` by columns."""
    if len(gaps) == 0:
        return np.zeros((0, QUIET_COLUMNS), np.int64)
    at = np.flatnonzero(np.isin(fresh[FRESH_SLOT], gaps[:, EVENT_SLOT]))
    lane_of = dict(zip(fresh[FRESH_SLOT, at].tolist(), fresh[FRESH_LANE, at].tolist(), strict=True))
    columns = gaps[:, [EVENT_SLOT, EVENT_SAMPLE, EVENT_VALUE]]
    stretches = [(lane_of[slot], start, stop) for slot, start, stop in columns.tolist() if slot in lane_of]
    return np.array(sorted(stretches), np.int64).reshape(-1, QUIET_COLUMNS)


def _fresh(number: int, bank: Bank, columns: I64, quiet: I64, overloaded: bool) -> Fresh:
    return Fresh(
        number=number,
        bank=bank,
        lane=columns[FRESH_LANE],
        slot=columns[FRESH_SLOT],
        start=columns[FRESH_START],
        stop=columns[FRESH_STOP],
        base=columns[FRESH_BASE],
        session=columns[FRESH_SESSION],
        uv_per_unit=columns[FRESH_NANOVOLTS] / 1000.0,
        quiet=quiet,
        overloaded=overloaded,
    )
