"""Stretches of a signal, each at its place or its time, as one signal; between them there is no value."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from beatwire.recordings.signals import Signal, at_rate
from beatwire.records import F64


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


def placed(
    parts: Sequence[tuple[float, Signal]], name: str, slack_s: float = 0.0, rate_hz: float | None = None
) -> Signal:
    """Return one signal of stretches, each at its time to the sample of ``rate_hz``, the highest of theirs if None.

    A single stretch at time 0 is returned as it is.

    Parameters
    ----------
    parts
        The time of each stretch, in seconds, ascending, and its signal.
    slack_s
        By which a stretch may be late and follow the one before it; none begins before the end of that one.
    """
    if len(parts) == 1 and parts[0][0] == 0:
        return parts[0][1]
    rate_hz = rate_hz or max(one.rate_hz for _, one in parts)
    pieces: list[tuple[int, Signal]] = []
    end = 0
    for begin_s, one in parts:
        is_next = bool(pieces) and begin_s - end / rate_hz <= slack_s
        pieces.append((end if is_next else round(begin_s * rate_hz), one))
        end = pieces[-1][0] + round(one.length * rate_hz / one.rate_hz)
    return replace(joined(pieces, name, rate_hz, end), at=partial(placed, parts, name, slack_s))
