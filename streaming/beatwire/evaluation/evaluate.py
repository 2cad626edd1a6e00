"""The engine of ``beatwire evaluate``: every record of a folder through a *detect* callable.

A record that cannot be read or run is named in ``failed`` and the others go on. Cuts are random
and seeded by the record's name, so that a record is cut alike in any folder.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from beatwire.errors import UserError
from beatwire.evaluation.alarms import AlarmCounts, judge_alarms
from beatwire.evaluation.confidence import Judged
from beatwire.evaluation.detection import Cuts, Detect, Detected
from beatwire.evaluation.match import Counts, count, inside, pair, timing_ms
from beatwire.evaluation.noise import add_noise, read_noise
from beatwire.evaluation.records import Annotated, find_records, read_annotated
from beatwire.records import F64, I64

LEADS = ("first", "best", "all")
FALSE = "-"
WIDE_S, NARROW_S = 0.150, 0.050
SETTLING_S = 300.0  # EC57 leaves the first five minutes out; both are reported


@dataclass(frozen=True)
class RecordResult:
    """One record, classified.

    timing_ms    float64 [tp], detected minus annotated
    delay_ms     float64 [m], R peak to the newest sample that the decision needed
    beat_class   of each detection that counts, ``FALSE`` where there is no beat; score beside it, NaN
                 where there is none; place on the map [m, 2], empty where there is none
    rr_ms        float64 [m], of all detections, NaN where there is none; empty: none was given
    unseen       classified by a detector that has not learned from the record, in the place of one that has
    """

    name: str
    subject: str
    paced: bool
    seconds: float
    lead: str
    wide: Counts
    narrow: Counts
    settled: Counts
    excluded_s: float
    timing_ms: F64
    delay_ms: F64
    beat_class: tuple[str, ...]
    score: F64
    classified: Judged
    alarms: dict[str, AlarmCounts]
    place: F64 = field(default_factory=lambda: np.empty((0, 2)))
    rr_ms: F64 = field(default_factory=lambda: np.empty(0))
    unseen: bool = False


@dataclass(frozen=True)
class Evaluation:
    """All the records of a run, and those that failed with the reason."""

    results: tuple[RecordResult, ...]
    failed: dict[str, str] = field(default_factory=dict)
    condition: str = "as recorded"


def cut_seed(name: str, seed: int) -> int:
    """Seed of a record: the same in any folder and any order."""
    return zlib.crc32(f"{seed}:{name}".encode())


def judge(record: Annotated, detected: Detected, lead: str) -> RecordResult:
    """Score the beats and alarms of one record."""
    recording = record.recording
    rate_hz = recording.rate_hz
    partner = pair(record.beat, detected.sample, round(WIDE_S * rate_hz))
    narrow = pair(record.beat, detected.sample, round(NARROW_S * rate_hz))
    early = np.array([[-(1 << 62), int(SETTLING_S * rate_hz) - 1]], np.int64)
    unsettled = np.concatenate([record.excluded, early])
    counted = ~inside(detected.sample, record.excluded)
    real = (partner < 0) | ~inside(record.beat[partner], record.excluded)  # of a pair the annotation decides
    counted = np.where(partner >= 0, real, counted)
    scores = detected.score if len(detected.score) else np.full(len(detected.sample), np.nan)
    delay: F64 = np.empty(0)
    if len(detected.decided):
        delay = (detected.decided - detected.sample).astype(np.float64) * (1e3 / rate_hz)
    return RecordResult(
        name=recording.name,
        subject=record.subject,
        paced=record.paced,
        seconds=recording.seconds,
        lead=lead,
        wide=count(record.beat, detected.sample, partner, record.excluded),
        narrow=count(record.beat, detected.sample, narrow, record.excluded),
        settled=count(record.beat, detected.sample, partner, unsettled),
        excluded_s=_covered(record.excluded) / rate_hz,
        timing_ms=timing_ms(record.beat, detected.sample[counted], partner[counted], rate_hz),
        delay_ms=delay,
        beat_class=tuple(record.beat_class[k] if k >= 0 else FALSE for k in partner[counted]),
        score=scores[counted],
        classified=Judged.of(record, detected, partner),
        alarms=judge_alarms(record, detected.alarms),
        place=detected.place[counted] if len(detected.place) else detected.place,
        rr_ms=detected.rr_ms,
    )


def _covered(stretches: I64) -> int:
    """Count the samples in at least one of the stretches."""
    total, reached = 0, -1
    for first, last in stretches[np.argsort(stretches[:, 0])].tolist() if len(stretches) else []:
        total += max(0, last - max(first, reached + 1) + 1)
        reached = max(reached, last)
    return total


def run_record(record: Annotated, detect: Detect, *, lead: str = "first", seed: int = 0) -> RecordResult:
    """Run and judge one record on its first lead, on all, or on each and keep the best by F1."""
    recording = record.recording
    cuts = Cuts.random(recording.samples.shape[1], recording.rate_hz, cut_seed(recording.name, seed))

    def on(rows: slice, name: str) -> RecordResult:
        found = detect(recording.samples[rows], recording.rate_hz, recording.uv_per_unit, cuts)
        return judge(record, found, name)

    if lead == "all":
        return on(slice(None), "all")
    if lead == "first":
        return on(slice(0, 1), recording.leads[0])
    each = [on(slice(k, k + 1), recording.leads[k]) for k in range(len(recording.leads))]
    return max(each, key=lambda r: r.wide.f1)


def evaluate(
    folder: Path,
    detect: Detect,
    *,
    lead: str = "first",
    seed: int = 0,
    noise: str | None = None,
    snr_db: float | None = None,
    names: Sequence[str] | None = None,
    instead: Mapping[tuple[str, int], Detect] | None = None,
    progress: Callable[[str], None] = lambda name: None,  # noqa: ARG005
) -> Evaluation:
    """Run every annotated WFDB record of a folder.

    Parameters
    ----------
    folder
        of the records; read with :func:`find_records`.
    detect
        what is classified.
    lead
        ``first``, ``all``, or ``best`` (each lead by itself, the best F1 kept: an upper bound).
    seed
        of the cuts and of the place in the noise.
    noise, snr_db
        added before detection; see :mod:`beatwire.evaluation.noise`.
    names
        only these records.
    instead
        by name and samples a lead, who judges a record that ``detect`` has learned from.
    progress
        called with each record's name before it is run.

    Raises
    ------
    UserError
        when the folder has no record, or the noise cannot be read.
    """
    if lead not in LEADS:
        raise UserError(f"--lead: expected one of {', '.join(LEADS)}; got {lead!r}")
    if (noise is None) != (snr_db is None):
        raise UserError("--noise: expected together with --snr; got one of them")
    results: list[RecordResult] = []
    failed: dict[str, str] = {}
    for name, record in _records(folder, names, failed, progress):
        heard = record
        try:
            if noise is not None and snr_db is not None:
                heard = with_noise(record, noise, snr_db, seed)
            other = (instead or {}).get((name, record.recording.samples.shape[1]))
            classified = run_record(heard, other or detect, lead=lead, seed=seed)
            results.append(replace(classified, unseen=other is not None))
        except UserError as reason:
            failed[name] = str(reason)
    condition = "as recorded" if noise is None else f"{noise_name(noise)} {snr_db:g} dB"
    return Evaluation(tuple(results), failed, condition)


def with_noise(record: Annotated, noise: str, snr_db: float, seed: int) -> Annotated:
    """Add noise to a record; the place in the noise depends on the record's name and the seed only."""
    recording = record.recording
    leads, samples = recording.samples.shape
    own = read_noise(noise, recording.rate_hz, cut_seed(recording.name, seed), samples=samples, leads=leads)
    return add_noise(record, own, snr_db)


def noise_name(noise: str) -> str:
    """Short name of a noise source, without folders."""
    return "+".join(Path(part).stem for part in noise.split("+"))


def _records(
    folder: Path, names: Sequence[str] | None, failed: dict[str, str], progress: Callable[[str], None]
) -> Iterator[tuple[str, Annotated]]:
    for name in find_records(folder) if names is None else names:
        progress(name)
        try:
            record = read_annotated(folder, name)
        except UserError as reason:
            failed[name] = str(reason)
        else:
            yield name, record
