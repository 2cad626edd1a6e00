"""Hearts that stand still: the rhythm of a person of LUDB, then the P waves of the same person alone."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import wfdb
from scipy import signal

RATE_HZ = 500
RHYTHM_S, SILENT_S = 32, 20
BEFORE_P, AFTER_P = RATE_HZ * 60 // 1000, RATE_HZ * 40 // 1000  # of a piece
FEWEST = 5  # P waves with a QRS complex


def find_people(folder: Path) -> list[str]:
    """Return the names of the records in a folder."""
    return sorted(path.stem for path in folder.glob("*.hea"))


def waves(folder: Path, name: str, lead: str) -> list[tuple[str, int, int]]:
    """Return kind, begin and end of the marked waves of a lead, in order."""
    marks = wfdb.rdann(str(folder / name), lead)
    found = zip(marks.symbol[1:-1], marks.symbol, marks.symbol[2:], marks.sample, marks.sample[2:], strict=False)
    return [(kind, int(a), int(b)) for kind, before, after, a, b in found if (before, after) == ("(", ")")]


def standstill(folder: Path, name: str, lead: str) -> tuple[np.ndarray, float] | None:
    """Return millivolts [n], and where the QRS complexes end in seconds; None of a person with few P waves."""
    record = wfdb.rdrecord(str(folder / name))
    mv = record.p_signal[:, [n.lower() for n in record.sig_name].index(lead)]
    mv = signal.filtfilt(*signal.butter(2, 1 / RATE_HZ, "high"), mv)
    found = waves(folder, name, lead)
    pieces = [
        (begin - BEFORE_P, min(end + AFTER_P, after))
        for (kind, begin, end), (following, after, _) in pairwise(found)
        if (kind, following) == ("p", "N") and begin > BEFORE_P
    ]
    gaps = np.diff([begin for begin, _ in pieces])
    if len(pieces) < FEWEST or gaps.min() < 0.3 * RATE_HZ or gaps.max() > 1.8 * RATE_HZ:
        return None
    first, last = pieces[0][0], pieces[-1][0]
    beats = mv[first:last] - (mv[last] - mv[first]) * np.linspace(0, 1, last - first)
    rhythm = np.tile(beats, -(-RHYTHM_S * RATE_HZ // len(beats)))
    silent, at = np.random.default_rng(int(name)).normal(0, 0.0035, SILENT_S * RATE_HZ), 0
    for k in range(10**6):
        begin, end = pieces[k % len(pieces)]
        if at + end - begin > len(silent):
            break
        silent[at : at + end - begin] += mv[begin:end] - np.linspace(mv[begin], mv[end - 1], end - begin)
        at += int(gaps[k % len(gaps)])
    return np.concatenate((rhythm, silent)), len(rhythm) / RATE_HZ
