"""Stretches of a signal, each at its place or its time, as one signal; between them there is no value.

Of stretches at the same time the longer one counts: of the other what is before and behind it remains.
"""

from bisect import bisect, insort
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import ceil, floor
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from beatwire.errors import UserError
from beatwire.recordings.record import LONGEST_GAP_S
from beatwire.recordings.signals import Signal, at_rate
from beatwire.records import F64

ROUNDED_S = 0.0011  # by which the distance of two stretches may be wrong whose times are in milliseconds
_SAME_TIME = 0.001  # of a stretch that may be at the time of another one, by a clock that is not that of the samples


class Stretch(NamedTuple):
    """When some samples begin, in seconds; the number of the group, block or piece that holds them; and the samples."""

    begin_s: float
    number: int
    signal: Signal

    @property
    def seconds(self) -> float:
        """Length in seconds."""
        return self.signal.length / self.signal.rate_hz

    def slack_s(self, rounded_s: float) -> float:
        """Return how much of it may be at the time of another one by what clocks and digits make of times."""
        return rounded_s + 0.5 / self.signal.rate_hz + _SAME_TIME * self.seconds


def part_of(signal: Signal, begin: int, end: int) -> Signal:
    """Return the samples ``[begin, end)`` as a signal."""
    return Signal(
        signal.name, signal.rate_hz, end - begin, signal.uv_per_value,
        lambda first, last: signal.read(begin + first, begin + last),
    )  # fmt: skip


def joined(pieces: Sequence[tuple[int, Signal]], name: str, rate_hz: float, length: int) -> Signal:
    """Return one signal of stretches of signals, each by its own rate and unit; between them there is no value.

    Parameters
    ----------
    pieces
        The first sample of each stretch, at ``rate_hz``, ascending, and its signal.
    """
    units = [piece.uv_per_value for _, piece in pieces]
    known = [uv for uv in units if uv]
    least = min(known, default=0.0)
    uv: float | None = least if len(known) == len(units) else 0.0
    if units and all(unit is None for unit in units):
        uv = None

    def read(first: int, last: int) -> F64:
        out = np.full(last - first, np.nan)
        for start, piece in pieces:
            count = round(piece.length * rate_hz / piece.rate_hz)
            begin, end = max(first, start), min(last, start + count)
            if begin < end:
                values = at_rate(piece, rate_hz, begin - start, end - start)
                scale = piece.uv_per_value / least if piece.uv_per_value else 1.0
                out[begin - first : end - first] = values if scale == 1.0 else values * scale
        return out

    return Signal(name, rate_hz, length, uv, read)


def in_time(
    where: str, parts: Sequence[Stretch], name: str, what: str, rounded_s: float = ROUNDED_S
) -> tuple[Signal, list[str]]:
    """Return one signal of stretches in any order, each at its time, and notes on what is left out of them.

    Parameters
    ----------
    what
        What they are called in notes: ``group``.
    rounded_s
        By which the distance of two of them may be wrong.

    Raises
    ------
    UserError
        There is no sample for more than a day.
    """
    kept: list[Stretch] = []
    for part in sorted(parts, key=lambda part: (-part.seconds, part.begin_s, part.number)):
        for piece in [*_outside(part, kept, rounded_s)]:
            insort(kept, piece, key=itemgetter(0, 1))
    notes, held = [], dict.fromkeys((part.number for part in parts), 0.0)
    for piece in kept:
        held[piece.number] += piece.seconds
    for part in sorted(parts, key=itemgetter(1)):
        if (lost_s := part.seconds - held[part.number]) * part.signal.rate_hz > 0.5:
            some = f"{lost_s:.3g} s of " if held[part.number] else ""
            notes.append(f"left out: {some}{name} of {what} {part.number}, at the time of another one")
    return placed(where, [(piece.begin_s, piece.signal) for piece in kept], name, rounded_s), notes


def _outside(part: Stretch, kept: Sequence[Stretch], rounded_s: float) -> Iterator[Stretch]:
    """Yield what of a stretch is not at the time of one that is kept; those are in order, and apart."""
    rate_hz, length, slack_s = part.signal.rate_hz, part.signal.length, part.slack_s(rounded_s)
    edges = [0]
    for k in range(max(0, bisect(kept, part[:2], key=itemgetter(0, 1)) - 1), len(kept)):
        other_s, end_s = kept[k].begin_s - part.begin_s, kept[k].begin_s + kept[k].seconds - part.begin_s
        if other_s >= part.seconds - slack_s:
            break
        if end_s > kept[k].slack_s(rounded_s):
            edges += [floor(other_s * rate_hz + 0.5), ceil(end_s * rate_hz - 0.5)]
    for begin, end in zip(edges[::2], [*edges[1::2], length], strict=True):
        if end - begin == length or (end - begin) / rate_hz > slack_s:
            yield Stretch(part.begin_s + begin / rate_hz, part.number, part_of(part.signal, begin, end))


def placed(
    where: str, parts: Sequence[tuple[float, Signal]], name: str, slack_s: float = 0.0, rate_hz: float | None = None
) -> Signal:
    """Return one signal of stretches, each at its time to the sample of ``rate_hz``, the highest of theirs if None.

    A single stretch at time 0 is returned unchanged.

    Parameters
    ----------
    parts
        The time of each stretch, in seconds, ascending, and its signal.
    slack_s
        By which a stretch may be late and follow the one before it; none begins before the end of that one.

    Raises
    ------
    UserError
        There is no sample for more than a day.
    """
    if len(parts) == 1 and parts[0][0] == 0:
        return parts[0][1]
    rate_hz = rate_hz or max(one.rate_hz for _, one in parts)
    pieces: list[tuple[int, Signal]] = []
    end = 0
    for begin_s, one in parts:
        if (gap_s := begin_s - end / rate_hz) > LONGEST_GAP_S:
            raise UserError(
                f"{where}: expected gaps shorter than a day; got {gap_s:.0f} s without a sample of {name!r}"
            )
        is_next = bool(pieces) and gap_s <= slack_s
        pieces.append((end if is_next else round(begin_s * rate_hz), one))
        end = pieces[-1][0] + round(one.length * rate_hz / one.rate_hz)
    return replace(joined(pieces, name, rate_hz, end), at=partial(placed, where, parts, name, slack_s))
