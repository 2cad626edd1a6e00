"""A recording from numbers in memory: arrays, series and data frames of any library, on the host or on a GPU.

In:  an array [n] or [leads, n]; or a data frame with one column a lead; their rate and unit
Out: :class:`Recording`

int16 samples in ADC units are used in place, on the host and on a GPU (NumPy, CuPy, cuDF, torch). Other numbers are
converted where they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from beatwire.errors import UserError
from beatwire.recordings.record import MAX_LEADS, Recording, check_rate, unique_names
from beatwire.recordings.units import to_units, unit_guess, value_ranges
from beatwire.tables import array_module

UV_PER_UNIT = {"mV": 1000.0, "uV": 1.0}  # of ``units``; of "adc" it depends on the gain
UNITS = (*UV_PER_UNIT, "adc")
_UNKNOWN = "{} (give units or gain)"


def from_array(
    source: Any,
    fs: float | None,
    *,
    leads: Sequence[str] | None = None,
    units: str | None = None,
    gain: float | None = None,
) -> Recording:
    """Return the recording of numbers in memory.

    Parameters
    ----------
    source : [n] or [leads, n]
        A NumPy or CuPy array, a torch tensor, a pandas or cuDF Series, or a sequence of numbers; or a pandas or cuDF
        DataFrame with one column a lead. NaN and infinite are no values; nor is -32768 in int16.
    fs
        Sampling rate in Hz.
    leads
        Names of the leads; None: the names of the columns, or ``lead 0``, ``lead 1``, ...
    units
        ``mV``, ``uV`` or ``adc``. None: ``adc`` if ``gain`` is given; else fractions of a plausible size are millivolts
        and integers are not calibrated.
    gain
        ADC units per millivolt.

    Raises
    ------
    UserError
        The rate is missing or out of range, the shape or the type is not one of these, the unit does not exist or
        contradicts the gain, or there is no value.
    """
    if fs is None:
        raise UserError("analyze: expected the sampling rate of the array, fs, in Hz; got none")
    rate_hz = check_rate("fs", float(fs))
    uv = uv_per_value(units, gain)
    columns, names = _columns(source)
    given = tuple(map(str, leads)) if leads is not None else names
    if len(given) != len(columns):
        raise UserError(f"leads: expected a name for each of {len(columns)} leads; got {', '.join(given) or 'none'}")
    given = unique_names(given)
    if columns[0].dtype == np.int16:
        notes = () if uv is not None else (_UNKNOWN.format("integers without a unit"),)
        return Recording("array", rate_hz, given, uv or 0.0, _in_place(source, columns), notes)
    floats = [column.astype(np.float64) for column in columns]
    ranges = value_ranges(floats)
    if not any(r.any_valid for r in ranges):
        raise UserError(f"array: expected numbers; all {len(floats[0])} values of {given[0]!r} are missing")
    why: str | None = None
    if uv is None:
        uv, why = unit_guess(ranges)
    samples, uv_per_unit, scale_notes = to_units(floats, [uv] * len(floats), ranges)
    notes = (_UNKNOWN.format(why),) if why else ()
    return Recording("array", rate_hz, given, uv_per_unit, samples, notes + scale_notes)


def on_device(source: Any) -> bool:
    """Return True if numbers are in the memory of a GPU."""
    source = getattr(source, "values", source) if type(source).__module__.startswith("cudf") else source
    return hasattr(source, "__cuda_array_interface__")


def uv_per_value(units: str | None, gain: float | None) -> float | None:
    """Return the microvolts per value by ``units`` and ``gain``; 0: not calibrated, None: neither is given.

    Raises
    ------
    UserError
        The unit does not exist, the gain is not positive, or they contradict each other.
    """
    if units is not None and units not in UNITS:
        raise UserError(f"units: expected {', '.join(UNITS)}; got {units!r}")
    if gain is not None and not 0 < gain < float("inf"):
        raise UserError(f"gain: expected a positive number of units per millivolt; got {gain:g}")
    if gain is not None and units not in (None, "adc"):
        raise UserError(f"gain: expected units 'adc' with a gain; got units {units!r} and gain {gain:g}")
    if gain is not None:
        return 1000.0 / gain
    return UV_PER_UNIT.get(units, 0.0) if units is not None else None


def _columns(source: Any) -> tuple[list[Any], tuple[str, ...]]:
    """Return the values of each lead, a NumPy or CuPy array [n] each, and the names of the leads."""
    if hasattr(source, "columns") and hasattr(source, "iloc"):
        names = [str(name) for name in source.columns]
        columns = [_as_array(source.iloc[:, k]) for k in range(len(names))]
    else:
        array = _as_array(source)
        if array.ndim not in (1, 2):
            raise UserError(f"array: expected the shape [n] or [leads, n]; got {list(array.shape)}")
        columns = list(array) if array.ndim == 2 else [array]
        names = [f"lead {k}" for k in range(len(columns))]
        if array.ndim == 2 and array.shape[0] > MAX_LEADS >= array.shape[1]:
            raise UserError(f"array: expected the shape [leads, n]; got {list(array.shape)}: give its transpose, x.T")
    if not 1 <= len(columns) <= MAX_LEADS:
        raise UserError(f"array: expected 1-{MAX_LEADS} leads; got {len(columns)}")
    if not len(columns[0]):
        raise UserError("array: expected samples; got none")
    for name, column in zip(names, columns, strict=True):
        if column.dtype.kind not in "iuf":
            raise UserError(f"array: expected numbers in {name!r}; got values of type {column.dtype}")
    return columns, tuple(names)


def _as_array(source: Any) -> Any:
    """Return numbers as an array, NumPy or CuPy, in place where the library allows it."""
    library = type(source).__module__.split(".")[0]
    if library == "torch":
        source = source.detach()
        if source.is_cuda:
            import cupy

            return cupy.from_dlpack(source)
        return source.numpy()
    if library == "cudf":
        import cupy

        if source.has_nulls:
            source = source.astype("float64").fillna(float("nan"))
        return cupy.asarray(source)
    if library == "cupy":
        return source
    if hasattr(source, "isna") and hasattr(source, "to_numpy") and source.dtype.kind not in "iuf":
        return source.to_numpy(np.float64, na_value=np.nan) if str(source.dtype)[:1] in "IUF" else source.to_numpy()
    try:
        return np.asarray(source)
    except ValueError:  # rows of unequal length
        raise UserError("array: expected rows of equal length, one a lead; got rows of different lengths") from None


def _in_place(source: Any, columns: list[Any]) -> Any:
    """Return int16 columns as [leads, n]: the memory of the source, unless its rows are not contiguous."""
    xp = array_module(columns[0])
    if len(columns) == 1:
        return xp.ascontiguousarray(columns[0])[None]
    if hasattr(source, "columns"):
        return xp.stack(columns)
    return xp.ascontiguousarray(_as_array(source))
