"""Objects of other libraries in memory: what they hold, as signals or as a table.

In:  an object that a user gives
Out: :class:`Signals` of what states its rate: records of wfdb, the tuple of ``wfdb.rdsamp``, a Raw of mne;
     a data frame, for an array or a dataset of xarray, a lazy frame, or a list of mappings; any other object unchanged
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from beatwire.errors import UserError
from beatwire.recordings.columns.behaviour import RISING, behaviour
from beatwire.recordings.columns.kinds import uv_per_unit_of
from beatwire.recordings.columns.names import is_time_name
from beatwire.recordings.signals import Signal, Signals, of_array
from beatwire.recordings.wfdb.memory import of_record

_IN_VOLTS = ("ecg", "bio", "eeg", "eog", "emg", "seeg", "ecog", "dbs")  # kinds of channels of mne
_EXAMINED = 100  # elements of a list


def opened(source: Any) -> Any:
    """Return what an object of another library holds; see the module.

    Raises
    ------
    UserError
        It has more dimensions than time and leads, or is a table beside a mapping.
    """
    library = type(source).__module__.split(".")[0]
    if library == "wfdb":
        return of_record(source)
    if library == "mne":
        return _of_raw(source)
    if library == "xarray":
        return _of_dataset(source) if hasattr(source, "data_vars") else _of_array(source)
    if library == "polars" and hasattr(source, "collect"):
        return source.collect()
    if isinstance(source, tuple) and len(source) == 2 and isinstance(source[1], Mapping):
        return _of_rdsamp(*source)
    is_list = isinstance(source, list | tuple) and len(source) > 0
    if is_list and all(isinstance(one, Mapping) for one in source[:_EXAMINED]):
        return pd.DataFrame(list(source))
    return source


def _of_rdsamp(samples: Any, fields: Mapping[str, Any]) -> Signals:
    """Return the signals of the two results of ``wfdb.rdsamp``: samples [n, leads] and what the header says."""
    if np.ndim(samples) != 2 or not {"fs", "sig_name", "units"} <= set(fields):
        raise UserError("array: expected samples; got a tuple of them and a mapping: give the first alone, and fs")
    columns = zip(np.asarray(samples, np.float64).T, fields["sig_name"], fields["units"], strict=True)
    return _signals("record", [of_array(v, str(n), float(fields["fs"]), uv_per_unit_of(u)) for v, n, u in columns])


def _of_raw(raw: Any) -> Signals:
    """Return the channels of a Raw of mne: those of the kind ECG, if there are any."""
    if not hasattr(raw, "get_channel_types") or not hasattr(raw, "first_samp"):
        raise UserError(f"mne: expected a Raw, which is a recording; got {type(raw).__name__}")
    kinds, rate_hz = raw.get_channel_types(), float(raw.info["sfreq"])
    rows = [k for k, kind in enumerate(kinds) if kind == "ecg"] or list(range(len(kinds)))
    scale = [1e6 if kinds[k] in _IN_VOLTS else 0.0 if kinds[k] == "misc" else None for k in rows]
    values = raw.get_data(picks=rows)
    found = [of_array(v, raw.ch_names[k], rate_hz, uv) for v, k, uv in zip(values, rows, scale, strict=True)]
    left = [name for k, name in enumerate(raw.ch_names) if k not in rows]
    return _signals("mne", found, (f"left out: {', '.join(left)} (others are of the kind ECG)",) if left else ())


def _signals(where: str, signals: list[Signal], notes: tuple[str, ...] = ()) -> Signals:
    return Signals(where, where, tuple(signals), notes, many=True)


def _of_dataset(source: Any) -> Any:
    """Return the variables of a dataset of xarray, which have one dimension, as columns."""
    if len(source.data_vars) == 1:
        return _of_array(source[next(iter(source.data_vars))])
    dims = {array.dims for array in source.data_vars.values()}
    if len(dims) != 1 or len(next(iter(dims))) != 1:
        raise UserError("xarray: expected variables along one dimension; choose one of them")
    frame = source.to_dataframe()[list(source.data_vars)]
    units = [source[name].attrs.get("units") for name in source.data_vars]
    frame.columns = pd.Index([_with_unit(name, unit) for name, unit in zip(source.data_vars, units, strict=True)])
    return frame


def _of_array(source: Any) -> Any:
    """Return an array of xarray as a table whose index is the coordinate of the time; without one as [leads, n]."""
    if source.ndim not in (1, 2):
        raise UserError(f"xarray: expected the dimensions of time and leads; got {', '.join(map(str, source.dims))}")
    along = next((dim for dim in source.dims if _is_time(source, dim)), None)
    if along is None:
        return source.values
    turned = source.transpose(along, ...)
    names = [source.name or "lead 0"]
    if source.ndim == 2:
        other = turned.dims[1]
        names = (
            turned.coords[other].values.tolist()
            if other in turned.coords
            else [f"lead {k}" for k in range(turned.shape[1])]
        )
    columns = [_with_unit(name, source.attrs.get("units")) for name in names]
    return pd.DataFrame(turned.values.reshape(len(turned), -1), turned.indexes[along].rename(str(along)), columns)


def _is_time(source: Any, dim: Any) -> bool:
    """Return True if a dimension has a coordinate that is a time, by its type, its name, or because it rises evenly."""
    if dim not in source.coords:
        return False
    values = source.coords[dim].values
    is_count = values.dtype.kind in "iuf"
    return values.dtype.kind in "mM" or (is_count and (is_time_name(str(dim)) or behaviour(values * 1.0) in RISING))


def _with_unit(name: Any, unit: Any) -> str:
    return f"{name} ({unit})" if isinstance(unit, str) and uv_per_unit_of(unit) else str(name)
