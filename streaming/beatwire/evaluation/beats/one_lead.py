"""What noise on one lead costs: all leads together, with one of them noisy in bursts, against the others alone.

Noise is added to one of the first two leads at a time, as of ``evaluation.beats.noise``, in bursts of 1 s and more
(16 s on average) with as long breaks. ``saturation`` is a converter at its limit instead of added noise. The *cost* is
the F1 of the other leads alone minus that of all leads, in percentage points; below zero the noisy lead still helps.
Paced records, and those of one lead, are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from beatwire.errors import UserError
from beatwire.evaluation.beats.detection import Cuts, Detect
from beatwire.evaluation.beats.match import Counts, count, pair
from beatwire.evaluation.beats.noise import noise_name, with_noise
from beatwire.evaluation.records import AnnotatedRecord, readable_records, record_seed
from beatwire.evaluation.result import WIDE_S
from beatwire.recordings import NO_VALUE
from beatwire.recordings.wfdb.annotations import ENDING
from beatwire.records import I16, Bool

SATURATION = "saturation"
LIMIT = 32767
LEADS = 2  # of a record that are disturbed in turn
SHORTEST_S, MEAN_S = 1.0, 15.0  # of a burst and of a break: the shortest, and what is added on average


@dataclass(frozen=True)
class Disturbance:
    """What is done to one lead: a source of noise and its ratio in dB, None for ``SATURATION``."""

    source: str
    snr_db: float | None

    @property
    def name(self) -> str:
        """Return the name, without folders."""
        short = noise_name(self.source)
        return short if self.snr_db is None else f"{short} {self.snr_db:g} dB"


def disturbances(noise: Sequence[str], snr_db: Sequence[float]) -> list[Disturbance]:
    """Return each source at each ratio; saturation has none."""
    found: list[Disturbance] = []
    for source in noise:
        ratios: Sequence[float | None] = [None] if source == SATURATION else snr_db
        found += [Disturbance(source, ratio) for ratio in ratios]
    return found


def bursts(samples: int, rate_hz: float, rng: np.random.Generator) -> Bool:
    """Return in which samples there is noise: bool [samples]."""
    on, at, noisy = np.zeros(samples, np.bool_), 0, bool(rng.integers(2))
    while at < samples:
        end = at + max(1, int((SHORTEST_S + rng.exponential(MEAN_S)) * rate_hz))
        on[at:end] = noisy
        at, noisy = end, not noisy
    return on


def disturbed(record: AnnotatedRecord, lead: int, what: Disturbance, seed: int) -> I16:
    """Return the samples of a record with one lead disturbed in bursts."""
    recording = record.recording
    x, rng = recording.samples, np.random.default_rng([record_seed(recording.name, seed), lead])
    on = bursts(x.shape[1], recording.rate_hz, rng)
    if what.snr_db is None:
        noisy: Any = np.full(x.shape[1], LIMIT)
    else:
        noisy = with_noise(record, what.source, what.snr_db, seed).recording.samples[lead]
    out = x.copy()
    out[lead] = np.where(on & (x[lead] != NO_VALUE), noisy, x[lead])
    return out


def count_beats(record: AnnotatedRecord, samples: I16, detect: Detect, seed: int) -> Counts:
    """Return the beats that a detector finds, misses and invents in samples [leads, n] of a record."""
    recording = record.recording
    cuts = Cuts.random(samples.shape[1], recording.rate_hz, record_seed(recording.name, seed))
    found = detect(samples, recording.rate_hz, recording.uv_per_unit, cuts).sample
    return count(record.beat, found, pair(record.beat, found, round(WIDE_S * recording.rate_hz)), record.excluded)


def one_lead_costs(
    folder: Path,
    detect: Detect,
    *,
    noise: Sequence[str],
    snr_db: Sequence[float],
    seed: int = 0,
    names: Sequence[str] | None = None,
    held_out: Mapping[tuple[str, int], Detect] | None = None,
    annotations: str = ENDING,
    progress: Callable[[str], None] = lambda name: None,  # noqa: ARG005
) -> dict[str, Any]:
    """Return what noise on one lead costs, summed over the records of a folder.

    Parameters
    ----------
    noise, snr_db
        Sources as in :func:`beatwire.evaluation.beats.noise.read_noise`, or ``saturation``, at each ratio in dB.

    The others are those of :func:`beatwire.evaluation.evaluate.evaluate`.

    Returns
    -------
    dict
        ``rows``: for each lead and disturbance F1 in %: ``all``, ``others``, and ``cost``; ``first`` and ``clean``:
        the first lead and all leads, undisturbed; ``records``, and ``failed`` ones with the reason.

    Raises
    ------
    UserError
        No record has several leads.
    """
    found = disturbances(noise, snr_db)
    sums: dict[Any, Counts] = {}
    failed: dict[str, str] = {}
    records = 0
    for _, record in readable_records(folder, names, failed, annotations, progress):
        samples = record.recording.samples
        if len(samples) < LEADS or record.paced:
            continue
        detector = (held_out or {}).get((record.recording.name, samples.shape[1]), detect)
        runs: dict[Any, I16] = {"first": samples[:1], "clean": samples}
        for lead in range(LEADS):
            runs[lead] = np.delete(samples, lead, axis=0)
            for what in found:
                runs[lead, what] = disturbed(record, lead, what, seed)
        for key, x in runs.items():
            sums[key] = sums.get(key, Counts(0, 0, 0)) + count_beats(record, x, detector, seed)
        records += 1
    if not records:
        raise UserError(f"{folder}: expected a record of several leads; there is none")
    rows = []
    for lead in range(LEADS):
        others = sums[lead].f1
        for what in found:
            of_all = sums[lead, what].f1
            rows.append({"lead": lead, "noise": what.name, "all": of_all, "others": others, "cost": others - of_all})
    undisturbed = {key: sums[key].f1 for key in ("first", "clean")}
    return {
        "rows": rows, **undisturbed, "records": records,
        "failed": [{"record": name, "reason": reason} for name, reason in failed.items()],
    }  # fmt: skip


def one_lead_as_text(costs: dict[str, Any]) -> str:
    """Return the costs as lines for a terminal."""
    lines = [
        f"{costs['records']} records; first lead: F1 {costs['first']:.2f} %, all leads: {costs['clean']:.2f} %",
        "noisy lead  noise                     all F1 %  others F1 %  cost",
    ]
    lines += [
        f"{row['lead']:<12}{row['noise']:<26}{row['all']:8.2f}  {row['others']:11.2f} {row['cost']:5.2f}"
        for row in costs["rows"]
    ]
    lines += [f"Failed: {f['record']}: {f['reason']}" for f in costs["failed"]]
    return "\n".join(lines)
