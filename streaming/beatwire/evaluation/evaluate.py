"""Run a *detect* callable over every annotated record of a folder.

A record that cannot be read or run is listed in ``failed``, and the run continues. Cuts are random, seeded by the
record's name, so that a record is cut alike in any folder.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from beatwire.errors import UserError
from beatwire.evaluation.beats.detection import Cuts, Detect
from beatwire.evaluation.beats.noise import noise_name, with_noise
from beatwire.evaluation.records import AnnotatedRecord, readable_records, record_seed
from beatwire.evaluation.result import Evaluation, RecordResult, measure_record
from beatwire.recordings.wfdb.annotations import ENDING

LEADS = ("first", "best", "all")  # values of ``lead``


def run_record(record: AnnotatedRecord, detect: Detect, *, lead: str = "first", seed: int = 0) -> RecordResult:
    """Run and measure one record: its first lead, all leads together, or the single lead with the best F1."""
    recording = record.recording
    cuts = Cuts.random(recording.samples.shape[1], recording.rate_hz, record_seed(recording.name, seed))

    def on(rows: slice, name: str) -> RecordResult:
        detected = detect(recording.samples[rows], recording.rate_hz, recording.uv_per_unit, cuts)
        return measure_record(record, detected, name)

    if lead == "all":
        return on(slice(None), "all")
    if lead == "first":
        return on(slice(0, 1), recording.leads[0])
    single = [on(slice(k, k + 1), recording.leads[k]) for k in range(len(recording.leads))]
    return max(single, key=lambda r: r.wide.f1)


def evaluate(
    folder: Path,
    detect: Detect,
    *,
    lead: str = "first",
    seed: int = 0,
    noise: str | None = None,
    snr_db: float | None = None,
    names: Sequence[str] | None = None,
    held_out: Mapping[tuple[str, int], Detect] | None = None,
    annotations: str = ENDING,
    progress: Callable[[str], None] = lambda name: None,  # noqa: ARG005
) -> Evaluation:
    """Run every annotated WFDB record of a folder.

    Parameters
    ----------
    folder
        Folder of the records, see :func:`find_records`.
    detect
        The detector.
    lead
        ``first``, ``all``, or ``best`` (each lead alone, the best F1 counts: an upper bound).
    seed
        Random seed of the cuts and of the segment of noise.
    noise, snr_db
        Noise to add before detection, see :func:`beatwire.evaluation.beats.noise.read_noise`, and its level.
    names
        Records to run; all by default.
    held_out
        For records that ``detect`` was trained on, by name and number of samples per lead: a detector that was not.
    annotations
        Ending of the annotation files.
    progress
        Called with the name of each record before it is run.

    Raises
    ------
    UserError
        The folder has no record, or the arguments do not fit together.
    """
    if lead not in LEADS:
        raise UserError(f"--lead: expected one of {', '.join(LEADS)}; got {lead!r}")
    if (noise is None) != (snr_db is None):
        raise UserError("--noise: expected together with --snr; got only one of them")
    results: list[RecordResult] = []
    failed: dict[str, str] = {}
    for name, record in readable_records(folder, names, failed, annotations, progress):
        key = (name, record.recording.samples.shape[1])
        substitute = (held_out or {}).get(key)
        try:
            noisy = record if noise is None or snr_db is None else with_noise(record, noise, snr_db, seed)
            result = run_record(noisy, substitute or detect, lead=lead, seed=seed)
            results.append(replace(result, held_out=substitute is not None))
        except UserError as reason:
            failed[name] = str(reason)
    condition = "as recorded" if noise is None else f"{noise_name(noise)} {snr_db:g} dB"
    return Evaluation(tuple(results), failed, condition)
