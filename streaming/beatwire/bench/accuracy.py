"""Sensitivity and positive predictivity on the development records of MIT-BIH without the paced ones.

Streamed, first lead, random cuts, 150 ms, whole records, the flutter of 207 left out. The records are
read from ``../shared/ecg`` beside the checkout, or from the folder that BEATWIRE_ECG names.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from beatwire.bench.row import Row
from beatwire.evaluation.evaluate import evaluate
from beatwire.evaluation.streamed import Streamed


def folder() -> Path | None:
    """Return the folder of annotated recordings, None where there is none."""
    named = os.environ.get("BEATWIRE_ECG")
    path = Path(named) if named else Path(__file__).parents[2].parent / "shared" / "ecg"
    return path if path.is_dir() else None


def measure(say: Callable[[str], None]) -> Iterator[Row]:
    """Against 99.7 per cent each."""
    where = folder()
    if where is None:
        say("accuracy: left out, no annotated recordings beside the checkout (BEATWIRE_ECG names a folder)")
        return
    results = [r for r in evaluate(where / "mitdb", Streamed(), instead=Streamed().instead()).results if not r.paced]
    tp, fn, fp = (sum(getattr(r.wide, name) for r in results) for name in ("tp", "fn", "fp"))
    say(f"accuracy: {len(results)} records, TP {tp} FN {fn} FP {fp}")
    yield Row("sensitivity", 100 * tp / (tp + fn), "%", "the bar", 99.7, ">= 1")
    yield Row("positive predictivity", 100 * tp / (tp + fp), "%", "the bar", 99.7, ">= 1")
