"""HDF5 files of Neurodata Without Borders: each time series has its own unit, conversion, rate and times.

``data`` is [n] or [n, channels]; a value is ``data * conversion * channel_conversion + offset``, in its unit. Its times
are a start and a rate, or ``timestamps``, in seconds. Series begin at their times from the first one in volts.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from beatwire.errors import UserError
from beatwire.recordings.columns.evenrate import rate_and_positions
from beatwire.recordings.columns.kinds import uv_per_unit_of
from beatwire.recordings.columns.timecolumn import times_of
from beatwire.recordings.signals import Signal, Signals, of_array, of_digital
from beatwire.recordings.stretches import part_of, placed
from beatwire.records import I64

_DEEPEST = 8


class _Series(NamedTuple):
    """The signals of a series, and when it begins, in seconds."""

    begin_s: float
    signals: list[Signal]


def signals_of_nwb(where: str, name: str, tree: Mapping[str, Any]) -> Signals | None:
    """Return the signals of the groups of a file; None if it is of another kind, or holds no time series.

    Raises
    ------
    UserError
        The times of a series in volts do not rise, are no numbers, or begin more than a day after the others.
    """
    if "nwb_version" not in tree:
        return None
    notes: list[str] = []
    found: list[tuple[str, _Series]] = []

    def left_out(called: str, error: UserError, *, is_ecg: bool) -> None:
        if is_ecg:
            raise error
        notes.append(f"left out: {called} ({str(error).removeprefix(f'{where}: ')})")

    for called, group in _groups("", tree, 0):
        try:
            found.append((called, _read(where, called, group, notes)))
        except UserError as error:
            left_out(called, error, is_ecg=bool(uv_per_unit_of(str(group.get("data.unit", "")))))
    if not found:
        return None
    in_volts = [one.begin_s for _, one in found if one.signals[0].uv_per_value]
    first_s = min(in_volts or [one.begin_s for _, one in found])
    signals: list[Signal] = []
    for called, one in found:
        try:
            signals += [_from(where, one.begin_s - first_s, each) for each in one.signals]
        except UserError as error:
            left_out(called, error, is_ecg=bool(one.signals[0].uv_per_value or not in_volts))
    return Signals(where, name, tuple(signals), tuple(notes), rate_of="its times", many=True)


def _groups(name: str, group: Mapping[str, Any], depth: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the groups that are time series, and their names."""
    data = group.get("data")
    is_timed = "starting_time.rate" in group or np.size(group.get("timestamps", ())) > 1
    if isinstance(data, np.ndarray) and data.dtype.kind in "iuf" and data.ndim in (1, 2) and len(data) > 1 and is_timed:
        yield name, group
    for key, one in group.items():
        if isinstance(one, Mapping) and depth < _DEEPEST:
            yield from _groups(key, one, depth + 1)


def _read(where: str, name: str, group: Mapping[str, Any], notes: list[str]) -> _Series:
    """Return a series; notes are added."""
    data = group["data"] if group["data"].ndim == 2 else group["data"][:, None]
    uv = uv_per_unit_of(str(group.get("data.unit", "")))
    count = data.shape[1]
    factors = np.ravel(group.get("channel_conversion", 1.0)) * float(group.get("data.conversion", 1.0))
    factors = np.broadcast_to(factors, count) if len(factors) in (1, count) else np.zeros(count)  # not calibrated
    offset = float(group.get("data.offset", 0.0))
    names = [name] if count == 1 else [f"{name} {k}" for k in range(count)]
    position: I64 | None = None
    if "starting_time.rate" in group:
        rate_hz, begin_s = float(group["starting_time.rate"]), float(np.ravel(group.get("starting_time", 0.0))[0])
    else:
        times = np.ravel(group["timestamps"]).astype(np.float64)
        if len(times) != len(data):
            raise UserError(f"{where}: expected {len(data)} timestamps of {name!r}; got {len(times)}")
        called, begin_s = f"{name}.timestamps", float(times[0])
        if (rising := times_of(where, times, called, "s", None)) is None:
            raise UserError(f"{where}: expected times in seconds in {called!r}; got a count")
        rate_hz, position, said = rate_and_positions(where, called, rising.seconds, None)
        notes += [f"{name}: {note}" for note in said] if uv is not None else []
    if not math.isfinite(begin_s):
        raise UserError(f"{where}: expected a starting time of {name!r}, in seconds; got {begin_s:g}")
    signals = [
        of_digital(data[:, k], one, rate_hz, float(factor), offset, uv)
        for k, (one, factor) in enumerate(zip(names, factors, strict=True))
    ]
    return _Series(begin_s, signals if position is None else [_spread(one, position) for one in signals])


def _from(where: str, late_s: float, signal: Signal) -> Signal:
    """Return a signal by the time of the first one, which it may be before; then its begin is left out."""
    late = round(late_s * signal.rate_hz)
    if late < 0:
        return part_of(signal, min(-late, signal.length), signal.length)
    return placed(where, [(late_s, signal)], signal.name) if late else signal


def _spread(signal: Signal, position: I64) -> Signal:
    """Return a signal whose samples are at positions, without values between them."""
    values = np.full(int(position[-1]) + 1, np.nan)
    values[position] = signal.read(0, signal.length)
    return of_array(values, signal.name, signal.rate_hz, signal.uv_per_value)
