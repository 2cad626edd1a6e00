"""A tick's rows, as the align kernels write them, split into what travels: one placement for each bank and pass."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from beatwire.records import I64, Bank, Chunks, Fresh, Placement
from beatwire.records.events import GAP, LEADS_CHANGED


def placements(
    chunks: Chunks, banks: Sequence[Bank], lanes: Sequence[int], place: I64, fresh: I64, event: I64, passes: int
) -> list[Placement]:
    """Split the rows that ``kernels.arrivals`` wrote by pass and bank; within one they keep their order.

    Parameters
    ----------
    lanes
        How many are used, of each bank.
    place, fresh, event
        See ``kernels.align``.
    passes
        How many the tick has.
    """
    placements = []
    single = passes == 1 and len(banks) == 1
    gaps = event[(event[:, 2] == GAP) | (event[:, 2] == LEADS_CHANGED)]
    for number in range(passes):
        for bank in banks:
            mine = fresh if single else fresh[(fresh[:, 0] == number) & (fresh[:, 1] == bank.number)]
            written = slice(None) if single else (place[:, 0] == number) & (place[:, 1] == bank.number)
            quiet = _quiet(mine, gaps[gaps[:, 0] == number])
            mine = mine[mine[:, 5] > mine[:, 4]]
            if len(mine) + len(place[written]) + len(quiet) == 0:
                continue
            placements.append(
                Placement(
                    payload=chunks.payload,
                    place=place[written],
                    lanes=rounded(lanes[bank.number]),
                    fresh=_fresh(number, bank, mine, quiet, chunks.overloaded),
                )
            )
    return placements


def rounded(lanes: int) -> int:
    """Round up, so that arrays by lane grow rarely: by a quarter, at least 64."""
    size = 64
    while size < lanes:
        size += max(64, size // 4)
    return size


def _quiet(rows: I64, gaps: I64) -> I64:
    """Return where no beat may be: bridged gaps, and where leads changed."""
    if len(gaps) == 0:
        return np.zeros((0, 3), np.int64)
    lane_of = dict(zip(rows[:, 3].tolist(), rows[:, 2].tolist(), strict=True))
    stretches = [
        (lane_of[slot], index, value if kind == GAP else index + 1)
        for _, slot, kind, index, value, _ in gaps.tolist()
        if slot in lane_of
    ]
    return np.array(stretches, np.int64).reshape(-1, 3)


def _fresh(number: int, bank: Bank, rows: I64, quiet: I64, overloaded: bool) -> Fresh:
    """Turn rows into columns, each in one piece: one lane or many are the same to a compiled kernel."""
    columns = np.ascontiguousarray(rows.T)
    return Fresh(
        number=number,
        bank=bank,
        lane=columns[2],
        slot=columns[3],
        start=columns[4],
        stop=columns[5],
        base=columns[6],
        session=columns[7],
        uv_per_unit=columns[8] / 1000.0,
        quiet=quiet,
        overloaded=overloaded,
    )
