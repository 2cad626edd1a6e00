"""The whole report of a folder: as recorded, with noise at several ratios, and rival detectors on the same records."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import process_time
from typing import Any

from beatwire.evaluation.beats.detection import Detect
from beatwire.evaluation.beats.noise import read_noise
from beatwire.evaluation.beats.rivals import rivals
from beatwire.evaluation.evaluate import evaluate
from beatwire.evaluation.figures import as_json
from beatwire.recordings.wfdb.annotations import ENDING

Json = dict[str, Any]
SHORT = (  # keys of the figures of noise and rivals
    "condition", "gross", "gross_paced", "gross_after_5min", "timing_ms", "delay_ms", "confidence", "auroc",
    "false_positives_per_day", "promise", "failed", "seconds",
)  # fmt: skip


def full_report(
    folder: Path,
    detect: Detect,
    *,
    lead: str = "first",
    seed: int = 0,
    noise: Sequence[str] = (),
    snr_db: Sequence[float] = (12.0, 6.0, 0.0),
    with_rivals: bool = False,
    held_out: Mapping[tuple[str, int], Detect] | None = None,
    annotations: str = ENDING,
    progress: Callable[[str], None] = lambda name: None,  # noqa: ARG005
) -> Json:
    """Return the figures of ``as_json`` with ``noise`` (an object per source and ratio) and ``rivals`` added.

    The other parameters are those of :func:`evaluate`. Rivals run on the first lead, whatever ``lead`` is.
    ``seconds`` is the processor time of a run, including reading and measuring.

    Parameters
    ----------
    noise, snr_db
        Sources as in :func:`beatwire.evaluation.beats.noise.read_noise`, each added at each of these ratios in dB.
    with_rivals
        Run the rival detectors on the same records.

    Raises
    ------
    UserError
        As in :func:`evaluate`, and if a noise source cannot be read.
    """

    def run(detector: Detect, on: str, label: str, source: str | None = None, snr: float | None = None) -> Json:
        is_main = detector is detect
        begin = process_time()
        evaluation = evaluate(
            folder, detector, lead=on, seed=seed, noise=source, snr_db=snr,
            held_out=held_out if is_main else None, annotations=annotations,
            progress=lambda name: progress(f"{label}{name}"),
        )  # fmt: skip
        figures = as_json(evaluation, resamples=1000 if source is None and is_main else 0)
        return {**figures, "seconds": round(process_time() - begin, 2)}

    def run_noise(detector: Detect, on: str, label: str) -> list[Json]:
        return [_short(run(detector, on, f"{label}{snr:g} dB ", source, snr)) for source in noise for snr in snr_db]

    for source in noise:
        read_noise(source, 250.0, seed, samples=500, leads=1)  # fail before the work if it cannot be read
    report = run(detect, lead, "")
    report["lead"] = lead
    report["noise"] = run_noise(detect, lead, "")
    if with_rivals:
        installed, missing = rivals()
        report["rivals"] = {
            name: {**_short(run(rival, "first", f"{name} ")), "noise": run_noise(rival, "first", f"{name} ")}
            for name, rival in installed.items()
        }
        report["rivals_missing"] = missing
    return report


def _short(figures: Json) -> Json:
    """Return the figures that are kept of every run but the main one."""
    return {key: figures[key] for key in SHORT}
