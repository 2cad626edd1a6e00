"""Signal quality of a recording over time, in stretches of ten seconds.

In:  a recording, int16 ``samples[leads, n]``, and the columns of its beats
Out: one row per stretch, as columns of equal length

A stretch begins with the first sample of every ``STRETCH_S`` seconds, at rates that are no whole numbers, too; the last
one ends with the recording and can be shorter. A beat belongs to the stretch that its R lies in, so ``beats`` sums to
the number of beats.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from beatwire.recordings import NO_VALUE, Recording
from beatwire.records import F64, I64
from beatwire.tables import host_array

STRETCH_S = 10.0  # what ``expected_errors`` of a beat looks back
_LAST_DIGITS = 1e-6  # samples: a product of seconds and rate is off by less
COLUMNS = ("time_s", "seconds", "with_signal", "beats", "quality", "expected_errors")


def quality_table(recording: Recording, beats: Mapping[str, Any]) -> dict[str, Any]:
    """Return the signal quality of each stretch of ten seconds.

    Parameters
    ----------
    recording
        Its samples are on the host or on a GPU.
    beats
        Columns of equal length: ``sample`` (int64, index of R), ``quality`` and ``expected_errors``.

    Returns
    -------
    dict
        Arrays of equal length, one entry per stretch:

        time_s : float64, start of the stretch in seconds
        seconds : float64, its length
        with_signal : float64, share of its time in which a lead has a value, 0-1
        beats : int64, number of its beats
        quality : float64, median quality of its beats, 0-1; NaN without beats
        expected_errors : float64, largest ``expected_errors`` of its beats; NaN if none is known

    >>> flat = Recording("flat", 100.0, ("II",), 5.0, np.zeros((1, 1500), np.int16))
    >>> columns = {"sample": np.array([1200]), "quality": np.array([0.9]), "expected_errors": np.array([0.5])}
    >>> table = quality_table(flat, columns)
    >>> table["time_s"].tolist(), table["beats"].tolist(), table["quality"].tolist()
    ([0.0, 10.0], [0, 1], [nan, 0.9])
    """
    n = recording.samples.shape[1]
    first = firsts(n, recording.rate_hz, STRETCH_S)
    length = np.diff(first, append=n)
    sample = np.asarray(beats["sample"], np.int64)
    number = np.maximum(np.searchsorted(first, sample, "right") - 1, 0)
    columns = pd.DataFrame(
        {name: np.asarray(beats[name], np.float64) for name in ("quality", "expected_errors")}
    ).groupby(number)
    rows = range(len(first))
    return {
        "time_s": first / recording.rate_hz,
        "seconds": length / recording.rate_hz,
        "with_signal": with_signal(host_array(recording.samples), first, length),
        "beats": np.bincount(number, minlength=len(first)) if len(first) else np.zeros(0, np.int64),
        "quality": columns["quality"].median().reindex(rows).to_numpy(np.float64),
        "expected_errors": columns["expected_errors"].max().reindex(rows).to_numpy(np.float64),
    }


def firsts(n: int, rate_hz: float, seconds: float) -> I64:
    """Return the first sample of each part of so many seconds of a recording of ``n`` samples, int64 [k].

    >>> firsts(2000, 62.475, 10.0)
    array([   0,  625, 1250, 1875])
    """
    parts = math.ceil(n / (seconds * rate_hz))
    first: I64 = np.ceil(np.arange(parts) * (seconds * rate_hz) - _LAST_DIGITS).astype(np.int64)
    return first[first < n]


def with_signal(samples: Any, first: I64, length: I64) -> F64:
    """Return the share of the samples at which a lead has a value, of stretches that begin at ``first``."""
    has_value = np.zeros(samples.shape[1], np.bool_)
    for lead in samples:
        has_value |= lead != NO_VALUE
    counts = np.add.reduceat(has_value, first, dtype=np.int64) if len(first) else np.zeros(0, np.int64)
    valid: F64 = counts / np.maximum(length, 1)
    return valid
