"""The JSON of an alert: the value of a message on ``ecg.alerts``, and a line of a file of alerts.

In: a transition of an alert as a mapping. Out: one line of JSON, ``schemas/alert.schema.json``. JSON has no NaN: a
number that is not finite is null.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def encode_alert(alert: Mapping[str, Any]) -> str:
    """Return an alert as one line of JSON; NumPy's scalars and arrays become plain values.

    >>> encode_alert({"rule": "pause", "onset": np.int64(5), "value": float("nan")})
    '{"rule": "pause", "onset": 5, "value": null}'

    Raises
    ------
    TypeError
        JSON cannot represent a value.
    """
    try:
        return _ENCODER.encode(dict(alert))
    except ValueError:  # a number that is not finite
        return _ENCODER.encode({name: _finite(value) for name, value in alert.items()})


def _finite(value: Any) -> Any:
    value = value.tolist() if isinstance(value, np.generic | np.ndarray) else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"alert: expected a value that JSON has; got {value!r}")


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_plain)
