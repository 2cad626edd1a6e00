"""Small annotated records for tests, and a detector that finds their beats."""

from pathlib import Path

import numpy as np
import wfdb
from beatwire.evaluation import Detected

RATE = 250
SECONDS = 360
BEATS = np.arange(100, SECONDS * RATE - 100, 200)


def write_record(folder: Path, name: str, *, symbols=None, extra=(), leads=2) -> None:
    """Write a record whose first lead has a spike at every beat; ``extra`` are annotations (sample, symbol, note)."""
    lead = np.zeros(SECONDS * RATE)
    lead[BEATS] = 1.0
    signal = np.stack([lead, *([0.5 * np.roll(lead, 3)] * (leads - 1))], axis=1)
    wfdb.wrsamp(name, RATE, ["mV"] * leads, [f"L{k}" for k in range(leads)], signal, fmt=["16"] * leads,
                adc_gain=[200.0] * leads, baseline=[0] * leads, write_dir=str(folder))  # fmt: skip
    rows = [(int(b), s, "") for b, s in zip(BEATS, symbols or ["N"] * len(BEATS), strict=True)] + list(extra)
    rows.sort(key=lambda row: row[0])
    wfdb.wrann(name, "atr", np.array([r[0] for r in rows]), [r[1] for r in rows], aux_note=[r[2] for r in rows],
               write_dir=str(folder))  # fmt: skip


def spikes(samples, rate_hz, uv_per_unit, cuts):
    """Detect every sample above 0.4 mV on any lead, decided 75 samples later, with quality 1."""
    at = np.flatnonzero((samples > 0.4e3 / uv_per_unit).any(axis=0)).astype(np.int64)
    return Detected(at, decided=at + 75, quality=np.ones(len(at)), score=np.zeros(len(at)))
