"""The training data of the VAE: beats of annotated WFDB records with class, time, RR interval and window.

In:  folders of WFDB records (``.hea``, ``.dat``, ``.atr``)
Out: one :class:`Subject` per record

R peaks are moved from the annotation to where a detector finds them, the largest Ricker response within 80 ms, and
jittered by 2 ms. Windows are cut by the kernel that the monitor uses. A record is one subject; paced records are
excluded.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from beatwire.errors import UserError
from beatwire.jit import cpu
from beatwire.kernels.detection.windows import WINDOW
from beatwire.recordings import read_recording
from beatwire.recordings.wfdb.annotations import ENDING, beats_within, read_annotations
from beatwire.records import F32, F64, I16, I64, U8
from beatwire.stages.detection.history import LONGEST_RR_S, WindowedBeats

NORMAL, SUPRAVENTRICULAR, VENTRICULAR, FUSION, UNKNOWN = range(5)
AAMI = {
    **dict.fromkeys("NLRej", NORMAL),
    **dict.fromkeys("AaJS", SUPRAVENTRICULAR),
    **dict.fromkeys("VE", VENTRICULAR),
    "F": FUSION,
    **dict.fromkeys("/fQ", UNKNOWN),
}
PACED_SHARE = 0.05  # a record with a larger share of paced or fused beats is excluded
REACH_S = 0.08  # from an annotation to the R peak
JITTER_S = 0.002  # standard deviation: about the error of the detector
SIGMA_S = 0.014  # of the Ricker wavelet, near that of the detector's filter


@dataclass(frozen=True, slots=True)
class Subject:
    """One record of ``samples`` per lead: ``label`` uint8 [b], the AAMI class, and ``beats`` [b], all of slot 0."""

    database: str
    name: str
    samples: int
    label: U8
    beats: WindowedBeats


def read_subjects(folders: Sequence[Path], seed: int = 0, ending: str = ENDING) -> list[Subject]:
    """Read the first lead of every annotated record of the folders, sorted by name within a folder.

    Raises
    ------
    UserError
        A folder has no record with beat annotations, or a record cannot be read.
    """
    subjects: list[Subject] = []
    for folder in folders:
        headers = [h for h in sorted(folder.glob("*.hea")) if h.with_suffix(f".{ending}").exists()]
        if not headers:
            raise UserError(f"{folder}: expected WFDB records with .{ending} annotations; found none")
        for header in headers:
            subject = read_subject(header.with_suffix(""), len(subjects) + 1000 * seed, ending)
            if subject is not None:
                subjects.append(subject)
    return subjects


def read_subject(record: Path, seed: int, ending: str = ENDING) -> Subject | None:
    """Read one record; return None if it is paced or has no beats."""
    recording = read_recording(record.with_name(f"{record.name}.hea"), lead="first")
    signal, rate_hz = np.maximum(recording.samples[0], -32767), recording.rate_hz
    at, symbol, _ = read_annotations(record, rate_hz, ending)
    symbols = np.array(symbol)
    is_beat = np.isin(symbols, list(AAMI))
    if not is_beat.any() or np.isin(symbols[is_beat], ["/", "f"]).mean() > PACED_SHARE:
        return None
    annotated = beats_within(record, at[is_beat], len(signal), ending)
    at, kept = np.unique(r_peaks(signal, annotated, rate_hz, np.random.default_rng(seed)), return_index=True)
    label = np.array([AAMI[s] for s in symbols[is_beat][kept]], np.uint8)
    return Subject(record.parent.name, record.name, len(signal), label, cut_beats(signal, at, rate_hz))


def r_peaks(signal: I16, at: I64, rate_hz: float, rng: np.random.Generator) -> I64:
    """Move annotated R peaks ``at`` int64 [b] to the largest Ricker response nearby, with a jitter of 2 ms."""
    sigma = SIGMA_S * rate_hz
    reach = math.ceil(4 * sigma)
    t = np.square(np.arange(-reach, reach + 1) / sigma)
    ricker = (1 - t) * np.exp(-t / 2)
    response = np.abs(np.convolve(signal.astype(np.float64), ricker - ricker.mean(), "same"))
    near = round(REACH_S * rate_hz)
    padded = np.pad(response, near)
    offsets = np.argmax(np.lib.stride_tricks.sliding_window_view(padded, 2 * near + 1)[at], axis=1) - near
    jitter = np.rint(rng.normal(0.0, JITTER_S * rate_hz, len(at))).astype(np.int64)
    moved: I64 = np.clip(at + offsets + jitter, 0, len(signal) - 1)
    return moved


def cut_beats(signal: I16, at: I64, rate_hz: float) -> WindowedBeats:
    """Return the beats at samples ``at`` int64 [b] of one lead, with their windows."""
    b = len(at)
    ring = np.pad(signal, (0, math.ceil(rate_hz)), mode="edge")[None, None]
    zero, newest = np.zeros(b, np.int64), np.full(b, ring.shape[2])
    windows: F32 = np.empty((b, WINDOW), np.float32)
    work = np.empty((1, math.ceil(rate_hz)), np.int32)
    amplitude: F32 = np.empty(b, np.float32)
    cpu.kernels.cut_window(b, zero, at, newest, zero, rate_hz, ring, work, windows, amplitude)
    time_s: F64 = at / rate_hz
    rr_s = np.diff(time_s, prepend=np.nan)
    rr_s[rr_s > LONGEST_RR_S] = np.nan
    restart = np.zeros(b, np.bool_)
    restart[0] = True
    return WindowedBeats(zero, time_s, rr_s, restart, windows, amplitude, rate_hz)
