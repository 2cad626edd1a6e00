"""MATLAB files of LabChart: the channels lie one after the other in one array, block by block.

An extension of LabChart writes ``data_block1`` [channels, n], ``data_block2`` and so on: one of them is read.

``data`` has all samples; ``datastart`` and ``dataend`` [channels, blocks] the first and the last of each channel in
each block, counted from 1; ``samplerate`` its Hz; where samples were saved in 16 bits a value is
``(data + scaleoffset) * scaleunits``; ``titles``, ``unittext`` and ``unittextmap`` its name and unit;
``blocktimes`` [blocks] the day at which each block begins.
"""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from beatwire.errors import UserError
from beatwire.recordings.columns.kinds import uv_per_unit_of
from beatwire.recordings.leads import unique_names
from beatwire.recordings.signals import Signals, of_digital
from beatwire.recordings.stretches import Stretch, in_time
from beatwire.records import F64

_OF_BLOCKS, _SCALE = ("datastart", "dataend", "samplerate"), ("scaleoffset", "scaleunits")
_BLOCK = re.compile(r"(?:.*\.)?data(_block\d+)")
_DAY_S = 86400.0


def signals_of_labchart(where: str, name: str, held: Mapping[str, Any]) -> Signals | None:
    """Return the signals of the arrays of a file; None if LabChart did not write it.

    Raises
    ------
    UserError
        Its arrays contradict each other, or its blocks are not in the order of time, or a day is between two.
    """
    if not held.keys() >= {"data", *_OF_BLOCKS}:
        return None
    data = np.ravel(held["data"])
    shape = _shape(held)
    if shape is None or data.dtype.kind not in "iuf":
        return None
    first, last, rates, zeros, steps = (_of_blocks(where, held, key, shape) for key in (*_OF_BLOCKS, *_SCALE))
    if float(np.nanmax(last)) > len(data) or bool((rates[first > 0] <= 0).any()):
        raise UserError(
            f"{where}: expected {np.nanmax(last):.0f} samples of all channels, at rates above 0; got {len(data)}"
        )
    begin_s = _begins(where, held, shape[1])
    notes = [f"{shape[1]} blocks, placed by their times"] if shape[1] > 1 else []
    titles = unique_names([one or f"channel {k + 1}" for k, one in enumerate(_texts(held.get("titles"), shape[0]))])
    signals = []
    for k, title in enumerate(titles):
        parts = []
        for block in np.flatnonzero(first[k] > 0).tolist():
            part = data[int(first[k, block]) - 1 : int(last[k, block])]
            uv, step, zero = uv_per_unit_of(_unit(held, k, block, shape)), steps[k, block], zeros[k, block]
            if step == 0 or not np.isfinite([step, zero]).all():
                said = f"{title}: expected numbers as its scale, not 0; got {zero:g} and {step:g}: not calibrated"
                notes += [said] if uv and said not in notes else []
                step = zero = 0.0
            signal = of_digital(part, title, float(rates[k, block]), float(step), float(zero * step), uv)
            parts.append(Stretch(begin_s[block], block + 1, signal))
        if parts:
            one, left = in_time(where, parts, title, "block")
            signals.append(one)
            notes += left
    return Signals(where, name, tuple(signals), tuple(notes), many=True) if signals else None


def of_one_block(where: str, arrays: Mapping[str, Any], column: str | None) -> Mapping[str, Any]:
    """Return arrays without those of blocks that are not wanted; raise UserError if there are several and none is."""
    blocks = {name: found[1] for name in arrays if (found := _BLOCK.fullmatch(name))}
    if len(blocks) < 2:
        return arrays
    if column not in blocks:
        raise UserError(f"{where}: expected one block; got {', '.join(blocks)}: choose with --column {min(blocks)}")
    others = tuple(end for name, end in blocks.items() if name != column)
    return {name: one for name, one in arrays.items() if not name.endswith(others)}


def _of_blocks(where: str, held: Mapping[str, Any], key: str, shape: tuple[int, int]) -> F64:
    """Return numbers of each channel in each block: [channels, blocks]."""
    found = np.asarray(held.get(key, ()), np.float64)
    if key in _SCALE and not found.size:
        found = np.array(float(key == "scaleunits"))
    if found.size not in (1, shape[0] * shape[1]):
        raise UserError(f"{where}: expected a number of each channel in each block in {key!r}; got {found.size}")
    return np.broadcast_to(found.reshape(shape if found.size > 1 else (1, 1)), shape)


def _shape(held: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the numbers of channels and of blocks; None if the arrays have other shapes."""
    size = np.size(held["datastart"])
    blocks = max(1, np.size(held.get("blocktimes", 0)))
    if size == 0 or size % blocks or any(np.size(held[key]) != size for key in ("dataend", "samplerate")):
        return None
    return size // blocks, blocks


def _begins(where: str, held: Mapping[str, Any], blocks: int) -> list[float]:
    """Return when each block begins, in seconds from the first one."""
    if blocks == 1:
        return [0.0]
    days = np.ravel(np.asarray(held["blocktimes"], np.float64))
    begin_s = (days - days[0]) * _DAY_S
    if not bool((np.diff(begin_s) > 0).all()):
        raise UserError(f"{where}: expected {blocks} blocks in the order of time: export one alone")
    found: list[float] = begin_s.tolist()
    return found


def _unit(held: Mapping[str, Any], channel: int, block: int, shape: tuple[int, int]) -> str:
    """Return the unit of a channel in a block; empty if there is none."""
    units = np.atleast_1d(np.asarray(held.get("unittext", ""), str)).tolist()
    places = np.asarray(held.get("unittextmap", -1), np.float64)
    at = int(places.reshape(shape)[channel, block]) if places.size == shape[0] * shape[1] else -1
    return units[at - 1].strip("\0 ") if 0 < at <= len(units) else ""


def _texts(value: Any, count: int) -> list[str]:
    """Return so many texts, without the blanks behind them; empty ones where there are others."""
    found = [str(one).strip("\0 ") for one in np.atleast_1d(np.asarray("" if value is None else value, str)).tolist()]
    return found if len(found) == count else [""] * count
