"""Sensitivity and positive predictivity on the development records of MIT-BIH without the paced ones.

The graph runs streamed on the first lead with random cuts. A detection counts within 150 ms; the flutter of record 207
is excluded. Records of the training data are evaluated with models that were not trained on them. The records are read
from ``../shared/ecg`` beside the checkout, or from the folder named by BEATWIRE_ECG.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from beatwire.bench.result import Log, Result
from beatwire.evaluation.evaluate import evaluate
from beatwire.evaluation.streamed import Streamed

TARGET_PERCENT = 99.7


def records_folder() -> Path | None:
    """Return the folder of annotated recordings, None if there is none."""
    named = os.environ.get("BEATWIRE_ECG")
    path = Path(named) if named else Path(__file__).parents[3].parent / "shared" / "ecg"
    return path if path.is_dir() else None


def measure(log: Log) -> Iterator[Result]:
    """Compare both figures with the target."""
    folder = records_folder()
    if folder is None:
        log("accuracy: skipped, no annotated recordings (set BEATWIRE_ECG to their folder)")
        return
    graph = Streamed()
    results = [r for r in evaluate(folder / "mitdb", graph, held_out=graph.held_out()).results if not r.paced]
    tp, fn, fp = (sum(getattr(r.wide, name) for r in results) for name in ("tp", "fn", "fp"))
    log(f"accuracy: {len(results)} records, {tp} true positives, {fn} false negatives, {fp} false positives")
    yield Result("sensitivity", 100 * tp / (tp + fn), "%", "target", TARGET_PERCENT, ">= 1")
    yield Result("positive predictivity", 100 * tp / (tp + fp), "%", "target", TARGET_PERCENT, ">= 1")
