"""A whole report: the folder as recorded, down a ladder of noise, with rivals beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import process_time
from typing import Any

from beatwire.evaluation.detection import Detect
from beatwire.evaluation.evaluate import evaluate
from beatwire.evaluation.noise import read_noise
from beatwire.evaluation.report import as_json
from beatwire.evaluation.rivals import rivals
from beatwire.stages.score import ANOMALOUS

Json = dict[str, Any]


def full_report(
    folder: Path,
    detect: Detect,
    *,
    lead: str = "first",
    seed: int = 0,
    noise: Sequence[str] = (),
    snr_db: Sequence[float] = (12.0, 6.0, 0.0),
    with_rivals: bool = False,
    threshold: float = ANOMALOUS,
    names: Sequence[str] | None = None,
    instead: Mapping[tuple[str, int], Detect] | None = None,
    progress: Callable[[str], None] = lambda name: None,  # noqa: ARG005
) -> Json:
    """Evaluate, and add ``noise`` (one object a source and ratio) and ``rivals``.

    What is not listed here is as in :func:`evaluate`. Rivals see the first lead, whatever ``lead`` is.
    ``seconds`` is the processor time of a run, reading and judging included.

    Parameters
    ----------
    noise, snr_db
        Sources as :func:`beatwire.evaluation.noise.read_noise` takes them, each at each of these ratios.
    with_rivals
        Other packages go over the same records.

    Raises
    ------
    UserError
        as :func:`evaluate`.
    """

    def run(what: Detect, on: str, label: str, source: str | None = None, snr: float | None = None) -> Json:
        began = process_time()
        found = evaluate(
            folder, what, lead=on, seed=seed, noise=source, snr_db=snr, names=names,
            instead=instead if what is detect else None, progress=lambda name: progress(f"{label}{name}"),
        )  # fmt: skip
        figures = as_json(found, threshold=threshold, draws=1000 if source is None and what is detect else 0)
        return {**figures, "seconds": round(process_time() - began, 2)}

    def ladder(what: Detect, on: str, label: str) -> list[Json]:
        return [_short(run(what, on, f"{label}{snr:g} dB ", source, snr)) for source in noise for snr in snr_db]

    for source in noise:
        read_noise(source, 250.0, seed, samples=500, leads=1)  # what cannot be read is said before the work
    report = run(detect, lead, "")
    report["lead"] = lead
    report["noise"] = ladder(detect, lead, "")
    if with_rivals:
        there, missing = rivals()
        report["rivals"] = {
            name: {**_short(run(rival, "first", f"{name} ")), "noise": ladder(rival, "first", f"{name} ")}
            for name, rival in there.items()
        }
        report["rivals_missing"] = missing
    return report


def _short(figures: Json) -> Json:
    """Keep what stands beside the main run."""
    kept = (
        "condition", "gross", "gross_paced", "gross_after_5min", "timing_ms", "delay_ms", "confidence", "auroc",
        "false_positives_per_day", "failed", "seconds",
    )  # fmt: skip
    return {key: figures[key] for key in kept}
