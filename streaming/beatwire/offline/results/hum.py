"""The mains hum of a recording: how much, at which frequency, for which share of the time.

In:  a recording
Out: a dict for each lead that hums, and a line of text
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from beatwire.offline.results.share import rounded
from beatwire.recordings import Recording
from beatwire.stages.support.hum import measured_hum
from beatwire.tables import host_array


def hum_summary(recording: Recording) -> list[dict[str, Any]] | None:
    """Return the leads with mains hum, most of it first; None if it cannot be measured.

    It cannot in less than three seconds, and at a sampling rate below 104 Hz.

    Returns
    -------
    list of dict
        lead : str
        hz : float
            50 or 60, the frequency of most of the time.
        mv : float or None
            Peak amplitude in millivolts, the median while there is hum; None: not calibrated.
        share : float
            Share of the time with hum, 0-1.
    """
    found = measured_hum(host_array(recording.samples), recording.rate_hz, recording.uv_per_unit)
    if not found.hz.shape[1]:
        return None
    rows = []
    for name, hz, amplitude in zip(recording.leads, found.hz, found.amplitude, strict=True):
        hums = np.isfinite(hz)
        if hums.any():
            values, counts = np.unique(hz[hums], return_counts=True)
            most_hz = float(values[np.argmax(counts)])
            units, mv_per_unit = float(np.median(amplitude[hz == most_hz])), recording.uv_per_unit / 1000
            mv = round(units * mv_per_unit, 3) if mv_per_unit > 0 else None
            rows.append((-units, {"lead": name, "hz": most_hz, "mv": mv, "share": rounded(float(hums.mean()))}))
    return [row for _, row in sorted(rows, key=lambda row: row[0])]


def where_text(rows: Sequence[Mapping[str, Any]], leads: int) -> str:
    """Return the frequency of most of the hum, and in which of so many leads it is.

    >>> row = {"lead": "V1", "hz": 50.0, "mv": 0.312, "share": 0.5}
    >>> where_text([row], 1), where_text([row, row | {"lead": "II"}], 12)
    ('50 Hz', '50 Hz in 2 of 12 leads, most in V1')
    """
    count = f"{len(rows)} of {leads} leads, most in " if len(rows) > 1 else ""
    return f"{rows[0]['hz']:g} Hz" + (f" in {count}{rows[0]['lead']}" if leads > 1 else "")


def size_text(row: Mapping[str, Any]) -> str:
    """Return the amplitude of hum without its unit, mV; - if it has none.

    >>> size_text({"mv": 0.312}), size_text({"mv": None})
    ('0.31', '-')
    """
    return "-" if row["mv"] is None else f"{row['mv']:.2f}"
