"""Figures of the beat classes in cross-validation: sensitivity and positive predictivity of V and S by record.

In:  the records of a run, and the logits of their beats by trees that were not trained on the record
Out: the ``databases`` of the metrics, and the shares of beats called V and S in records without annotated beats

As EC57 counts: beats that were not found count as missed, false detections that are called V or S as false, and fusion
beats called V neither.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from beatwire.evaluation.beats.classes import LETTERS
from beatwire.evaluation.beats.match import Counts
from beatwire.kernels.peaks.risk import LOGIT_RANGE
from beatwire.records import F64
from beatwire.training.classes.examples import ClassRecord
from beatwire.training.classes.forest import count, decide

HeldOut = Mapping[str, Sequence[F64]]  # name of a record -> of each of its examples logits [2, b]


def figures(
    records: Sequence[ClassRecord], held_out: HeldOut, calibration: F64, least: tuple[float, float]
) -> dict[str, Any]:
    """Return for each database and number of leads the counts of V and S, in all and by record.

    Paced records are a database of their own.
    """
    knots = np.linspace(-LOGIT_RANGE, LOGIT_RANGE, len(calibration))
    sums: dict[str, dict[str, dict[str, Counts]]] = {}
    by_record: dict[str, dict[str, Any]] = {}
    for r in records:
        database = "paced" if r.paced else r.database
        for one, logit in zip(r.examples, held_out[r.name], strict=True):
            if not one.judged:
                continue
            leads = "all leads" if one.several else "first lead"
            decided = decide(one, np.interp(logit, knots, calibration), least)
            counts = {letter: count(letter, one, decided) for letter in LETTERS}
            total = sums.setdefault(database, {}).setdefault(leads, {})
            for letter, one_count in counts.items():
                total[letter] = total.get(letter, Counts()) + one_count
            if not one.several:
                by_record.setdefault(database, {})[r.name] = {k: [c.tp, c.fn, c.fp] for k, c in counts.items()}
    return {
        database: {
            **{leads: {k: _rates(c) for k, c in counts.items()} for leads, counts in of_database.items()},
            "records": by_record[database],
        }
        for database, of_database in sums.items()
    }


def called(
    records: Sequence[ClassRecord], held_out: HeldOut, calibration: F64, least: tuple[float, float]
) -> dict[str, Any]:
    """Return for each comment of records without annotated beats how many of the beats are called V and S, per cent."""
    knots = np.linspace(-LOGIT_RANGE, LOGIT_RANGE, len(calibration))
    decided: dict[str, list[Any]] = {}
    for r in records:
        if r.comment:
            one, logit = r.examples[0], held_out[r.name][0]
            given = decide(one, np.interp(logit, knots, calibration), least)
            decided.setdefault(r.comment, []).append(given[one.use])
    return {
        comment: {"records": len(parts), "beats": sum(map(len, parts))}
        | {k: round(100 * float((np.concatenate(parts) == k).mean()), 2) for k in LETTERS}
        for comment, parts in sorted(decided.items())
    }


def _rates(count: Counts) -> dict[str, Any]:
    """Return sensitivity, positive predictivity and the number of annotated beats; None without beats."""
    rates = {"se": count.se, "ppv": count.ppv}
    return {k: None if np.isnan(v) else round(v, 2) for k, v in rates.items()} | {"beats": count.beats}
