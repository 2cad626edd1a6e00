"""``beatwire train ventricular``: the judges of ventricular tachycardia and of runs, cross-validated by person.

1. Every record goes through the graph; its beats are labelled (``training.ventricular.examples``).
2. In a bedside record whose alarm experts called true, the beats of the run are not marked. First those are taken that
   are most likely ventricular, three in a row; then, in each round, those with the largest logits by a judge that was
   not trained on the record.
3. For each of five folds of people both judges are trained on the other four; they are written beside the shipped ones
   (``NAME.foldK``), so that a record of the training data is evaluated by judges that have not seen its person.
4. The judges that ship are trained on all people.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from beatwire.kernels.rhythms.ventricular import FEATURES, FEATURES_OF_BOTH
from beatwire.model.ventricular import save_ventricular_judges
from beatwire.records import F64, I64
from beatwire.training.checks import require_both, require_own_names
from beatwire.training.forest import boost, flatten, joined
from beatwire.training.progress import Progress
from beatwire.training.references import reference_paths
from beatwire.training.settings import FOLDS, VentricularSettings, fold_of
from beatwire.training.task import Task
from beatwire.training.ventricular.card import ventricular_card
from beatwire.training.ventricular.examples import NONE, RUN, UNMARKED, RunExamples, read_run_examples

JUDGED = ("ventricular tachycardia", "ventricular run")  # in the order of the trees


def train_ventricular(task: Task[VentricularSettings]) -> tuple[dict[str, Any], str]:
    """Train the judges of ventricular tachycardia and of runs, and their companions."""
    settings, progress = task.settings, task.part(0.8, 0.2)
    paths = reference_paths(task.folders, task.noise, task.annotations)
    examples = []
    for done, one in enumerate(read_run_examples(paths, task.annotations)):
        task.progress(0.8 * done / len(paths), f"{one.folder}/{one.name}")
        examples.append(one)
    require_own_names((e.folder, e.name) for e in examples)
    by_row = ((FEATURES_OF_BOTH, settings), (FEATURES, settings.of_runs()))
    judges = []
    for row, (columns, own) in enumerate(by_row):
        read = [replace(e, features=e.features[:, :columns]) for e in examples]
        judges.append(_fit(read, own, _part_of(progress, row)))
    metadata = {"settings": asdict(settings), "folders": sorted({e.folder for e in examples})}
    arrays = [joined(*(flatten(one, settings.bias) for one in both)) for both in zip(*judges, strict=True)]
    shipped = task.save_folds(
        save_ventricular_judges, arrays, lambda fold: {e.name: e.samples for e in examples if fold_of(e.group) == fold},
        metadata,
    )  # fmt: skip
    figures = {name: _figures(examples, boosters, settings) for name, boosters in zip(JUDGED, judges, strict=True)}
    metrics = {"model": shipped.name, **metadata, "beats": figures}
    return metrics, ventricular_card(shipped.name, metrics)


def _part_of(progress: Progress, row: int) -> Progress:
    """Return the progress of one of the two judges."""
    return lambda share, step: progress((row + share) / 2.0, step)


def _fit(examples: Sequence[RunExamples], settings: VentricularSettings, progress: Progress) -> list[Any]:
    """Train one judge in rounds; return those of the folds, then that of all people."""
    labels = [first_labels(e, settings) for e in examples]
    boosters: list[Any] = []
    for turn in range(settings.rounds):
        progress(turn / (settings.rounds + 1), f"round {turn + 1} of {settings.rounds}")
        boosters = [
            train_judge([(e, y) for e, y in zip(examples, labels, strict=True) if fold_of(e.group) != fold], settings)
            for fold in range(FOLDS)
        ]
        if turn + 1 < settings.rounds:
            labels = [
                marked(e, logits(boosters[fold_of(e.group)], e), settings) if (e.label == UNMARKED).any() else y
                for e, y in zip(examples, labels, strict=True)
            ]
    progress(settings.rounds / (settings.rounds + 1), "all people")
    return [*boosters, train_judge(list(zip(examples, labels, strict=True)), settings)]


def first_labels(e: RunExamples, settings: VentricularSettings) -> I64:
    """Return the labels of a record before the first round."""
    return marked(e, e.likely, settings) if (e.label == UNMARKED).any() else e.label


def marked(e: RunExamples, evidence: F64, settings: VentricularSettings) -> I64:
    """Return the labels of a record in which the beats of a run are those with the largest evidence."""
    label = e.label.copy()
    open_ones = np.flatnonzero(label == UNMARKED)
    label[open_ones[np.argsort(-evidence[open_ones], kind="stable")[: settings.beats_of_alarm]]] = RUN
    return label


def train_judge(parts: Sequence[tuple[RunExamples, I64]], settings: VentricularSettings) -> Any:
    """Train a booster on labelled records; a record with many beats has the weight of one with few."""
    features, label, weight = [], [], []
    for e, labels in parts:
        judged = ~np.isnan(e.features[:, 0])
        for y in (RUN, NONE):
            use = judged & (labels == y)
            n, times = int(use.sum()), settings.weight if y == RUN else 1.0
            features.append(e.features[use])
            label.append(np.full(n, y))
            weight.append(np.full(n, times * min(1.0, _most(e, y, settings) / max(1, n))))
    rows, labels_of_rows, weights = (np.concatenate(part) for part in (features, label, weight))
    require_both(labels_of_rows == RUN, "beats of ventricular runs", "others")
    return boost(rows, labels_of_rows, weights, settings, settings.min_beats, max_bin=127, num_threads=1)


def _most(e: RunExamples, y: int, settings: VentricularSettings) -> float:
    """Return how many beats of a label count in a record."""
    if y == RUN:
        return settings.most_unmarked if (e.label == UNMARKED).any() else settings.most_marked
    return settings.most_none if (e.label == RUN).any() or len(e.label) > 1000 else settings.most_none_alarm


def logits(booster: Any, e: RunExamples) -> F64:
    """Return the logit of each beat; of one that is not judged minus infinity."""
    out = np.full(len(e.label), -np.inf)
    judged = ~np.isnan(e.features[:, 0])
    if judged.any():
        out[judged] = booster.predict(e.features[judged, : booster.num_feature()], raw_score=True)
    return out


def _figures(examples: Sequence[RunExamples], boosters: Sequence[Any], settings: VentricularSettings) -> dict[str, Any]:
    """Return by folder how many beats of runs, and of none, are judged to be one, by judges of other people."""
    found: dict[str, Any] = {}
    for e in examples:
        yes = logits(boosters[fold_of(e.group)], e) + settings.bias > 0
        counts = found.setdefault(e.folder, {"of runs": 0, "true": 0, "of none": 0, "false": 0})
        counts["of runs"] += int((e.label == RUN).sum())
        counts["true"] += int((yes & (e.label == RUN)).sum())
        counts["of none"] += int((e.label == NONE).sum())
        counts["false"] += int((yes & (e.label == NONE)).sum())
    return found
