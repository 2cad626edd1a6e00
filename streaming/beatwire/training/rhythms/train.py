"""``beatwire train rhythm``: the trees that judge fibrillation and atrial fibrillation, cross-validated by person.

1. Every record goes through the graph; its decisions are labelled (``training.rhythms.examples``).
2. For each of five folds of people, judges are trained on the other four; they are written beside the judges
   (``NAME.foldK``), so that a record of the training data is evaluated by judges that have not seen its person.
3. The judges that ship are trained on all people.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from beatwire.kernels.rhythms import atrial, fibrillation
from beatwire.model.judges import no_judges
from beatwire.model.rhythm import save_rhythm_judges
from beatwire.records.events import BEAT, BLOCK
from beatwire.training.checks import require_both, require_own_names
from beatwire.training.forest import boost, flatten, joined
from beatwire.training.references import reference_paths
from beatwire.training.rhythms.card import rhythm_card
from beatwire.training.rhythms.examples import LEFT_OUT, RhythmExamples, read_examples
from beatwire.training.settings import FOLDS, JudgeSettings, fold_of
from beatwire.training.task import Task

_LEAF = {"feature": [-1, -1], "threshold": [0.0, 0.0], "below": [0, 0], "leaf": [0, 0], "roots": [0, 1]}
_JUDGED = {BLOCK: "fibrillation", BEAT: "atrial fibrillation"}
_FEATURES = {BLOCK: len(fibrillation.NAMES), BEAT: len(atrial.NAMES)}


def train_rhythm(task: Task[JudgeSettings]) -> tuple[dict[str, Any], str]:
    """Train the judges of the rhythm and their companions."""
    settings, progress = task.settings, task.part(0.8, 0.2)
    paths = reference_paths(task.folders, task.noise, task.annotations)
    done = iter(range(len(paths)))
    with tempfile.TemporaryDirectory() as temporary:
        unjudged = Path(temporary) / "none.safetensors"
        save_rhythm_judges(unjudged, _LEAF, {})
        examples = read_examples(
            paths,
            unjudged,
            no_judges(),
            lambda name: task.progress(0.8 * next(done) / len(paths), name),
            task.annotations,
        )
    require_own_names((e.folder, e.name) for e in examples)
    boosters: dict[int | None, dict[int, Any]] = {}
    for k, fold in enumerate([*range(FOLDS), None]):
        progress(k / (FOLDS + 1), "all people" if fold is None else f"fold {fold + 1} of {FOLDS}")
        chosen = [e for e in examples if fold is None or fold_of(e.person) != fold]
        boosters[fold] = {kind: _train_judge(chosen, kind, settings) for kind in (BLOCK, BEAT)}
    metadata = {"settings": asdict(settings), "folders": sorted({e.folder for e in examples})}
    arrays = [_arrays(of_fold, settings) for of_fold in boosters.values()]
    judges = task.save_folds(
        save_rhythm_judges, arrays, lambda fold: {e.name: e.samples for e in examples if fold_of(e.person) == fold},
        metadata,
    )  # fmt: skip
    metrics = {"model": judges.name, **metadata, "decisions": _figures(examples, boosters, settings)}
    return metrics, rhythm_card(judges.name, metrics)


def _train_judge(examples: Sequence[RhythmExamples], kind: int, settings: JudgeSettings) -> Any:
    """Train the booster of one judge: each person has the same weight in a folder, and so has each folder nearly."""
    parts = [(e, (e.kind == kind) & (e.label != LEFT_OUT)) for e in examples]
    features = np.concatenate([e.features[use, : _FEATURES[kind]] for e, use in parts])
    label = np.concatenate([e.label[use] for e, use in parts])
    weight = np.concatenate([_weights(e, use, settings) for e, use in parts])
    require_both(label == 1, f"decisions in {_JUDGED[kind]}", "others")
    weight[label == 1] *= settings.positive_share(kind == BEAT) * weight[label == 0].sum() / weight[label == 1].sum()
    return boost(features, label, weight, settings, settings.min_decisions, num_threads=1)


def _weights(e: RhythmExamples, use: Any, settings: JudgeSettings) -> Any:
    """Return the weights of the decisions of a record: they sum to at most ``most_decisions`` of each label."""
    label = e.label[use]
    count = np.array([max(1, int((label == y).sum())) for y in (0, 1)])
    weight = np.minimum(1.0, settings.most_decisions / count)[label]
    marked = settings.marked_weight if (e.label == 1).any() else 1.0
    return np.where(label == 0, marked, 1.0) * weight


def _arrays(boosters: dict[int, Any], settings: JudgeSettings) -> dict[str, Any]:
    """Return the nodes of both judges, those of atrial fibrillation last."""
    return joined(flatten(boosters[BLOCK], settings.bias_fibrillation), flatten(boosters[BEAT], settings.bias_atrial))


def _figures(
    examples: Sequence[RhythmExamples], boosters: dict[int | None, dict[int, Any]], settings: JudgeSettings
) -> dict[str, Any]:
    """Return by judge and folder the share of decisions of each label that is a yes, by judges of other people."""
    found: dict[str, Any] = {}
    for kind, bias in ((BLOCK, settings.bias_fibrillation), (BEAT, settings.bias_atrial)):
        counts: dict[str, list[int]] = {}
        for e in examples:
            use = (e.kind == kind) & (e.label != LEFT_OUT)
            if use.any():
                raw = boosters[fold_of(e.person)][kind].predict(e.features[use, : _FEATURES[kind]], raw_score=True)
                of_folder = counts.setdefault(e.folder, [0, 0, 0, 0])
                for y in (0, 1):
                    of_folder[2 * y] += int((raw[e.label[use] == y] + bias > 0).sum())
                    of_folder[2 * y + 1] += int((e.label[use] == y).sum())
        found[_JUDGED[kind]] = {
            folder: {"false": c[0], "of normal": c[1], "true": c[2], "of episodes": c[3]}
            for folder, c in counts.items()
        }
    return found
