"""Trees of the classes of beats: the kernel against the training, what is refused, the card, and the figures."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from beatwire.errors import UserError
from beatwire.evaluation.beats.classes import LETTERS, class_figures, class_lines, count_class
from beatwire.evaluation.beats.match import Counts
from beatwire.kernels.classes import beat_class, class_features
from beatwire.kernels.classes.beat_class import LETTERS as CLASSES
from beatwire.kernels.peaks.risk import LOGIT_RANGE
from beatwire.model.classes import SHIPPED, load_classes, save_classes
from beatwire.model.trees import KNOTS
from beatwire.records.classification import Trees
from beatwire.training.classes.card import class_card
from beatwire.training.classes.examples import ClassExamples
from beatwire.training.classes.forest import decide, logits, train_forest
from beatwire.training.forest import Forest, arrays_of
from beatwire.training.settings import ClassTreeSettings


@pytest.fixture
def examples() -> ClassExamples:
    rng = np.random.default_rng(1)
    features = rng.standard_normal((3000, class_features.FEATURES)).astype(np.float32)
    label = np.where(features[:, 3] > 1, "V", np.where(features[:, 5] > 1, "S", "N"))
    features[:, class_features.NAMES.index("quality")] = 0.9
    features[:100] = np.nan
    return ClassExamples(False, True, features, label, np.ones(3000, bool), np.zeros(3000, bool), np.array(["V"]))


def test_the_kernel_decides_as_the_trained_trees_do(examples: ClassExamples, tmp_path: Path) -> None:
    settings = ClassTreeSettings(trees=20, least_s=0.4)
    forest = train_forest([examples], settings)
    knots = np.linspace(-LOGIT_RANGE, LOGIT_RANGE, KNOTS)
    calibration, least = 1 / (1 + np.exp(-knots)), (settings.least_v, settings.least_s)
    arrays = arrays_of(Forest(*forest), settings.of_v()) | {"probability": calibration}
    read = save_classes(tmp_path / "mine.safetensors", arrays, least, {})
    e = read.ensemble
    trees = Trees(e.feature, e.threshold, e.leaf, e.probability)
    expected = decide(examples, np.interp(logits(forest, examples), knots, calibration), least)
    assert {*expected} == {"N", "S", "V"}
    for b in range(100, 600):
        v, s = (beat_class.probability_of(row, trees, examples.features[b]) for row in range(2))
        found, probability = beat_class.decide(
            v, s, float(examples.features[b, class_features.RATIO_USUAL]), read.least
        )
        assert CLASSES[found] == expected[b]
        assert 0.3 < probability <= 1
    assert (expected[:100] == "N").all(), "typical beats are normal"


def test_trees_of_other_features_or_without_thresholds_are_refused(tmp_path: Path) -> None:
    for suffix in (".safetensors", ".json"):
        shutil.copy(SHIPPED.with_suffix(suffix), tmp_path / f"mine{suffix}")
    path = tmp_path / "mine.safetensors"
    assert load_classes(path).ensemble.name == load_classes().ensemble.name
    config = json.loads(path.with_suffix(".json").read_text())
    for changed, reason in (
        ({"inputs": config["inputs"] | {"past": [1, 2, 3]}}, r"expected trees trained with past .*; got \[1, 2, 3\]"),
        ({"least": [0.5]}, r"expected least as two probabilities; got \[0.5\]"),
        ({"format": 9}, "expected model of beat classes format 1; got 9"),
    ):
        path.with_suffix(".json").write_text(json.dumps(config | changed))
        with pytest.raises(UserError, match=reason):
            load_classes(path)


def test_the_shipped_trees_have_a_card_with_their_figures() -> None:
    shipped = load_classes()
    metrics = json.loads(SHIPPED.with_suffix(".metrics.json").read_text())
    assert metrics["model"] == shipped.ensemble.name
    assert SHIPPED.with_suffix(".card.md").read_text() == class_card(shipped.ensemble.name, metrics)
    v = metrics["databases"]["mitdb"]["all leads"]["V"]
    assert v["se"] > 85
    assert v["ppv"] > 90


def test_fusion_beats_called_ventricular_are_neither_right_nor_false() -> None:
    annotated, given = ["V", "F", "N", "S", "-", "V"], ["V", "V", "V", "S", "S", "N"]
    counts = {letter: count_class(letter, annotated, given, ["V", "S"]) for letter in LETTERS}
    assert counts == {"V": Counts(1, 2, 1), "S": Counts(1, 1, 1)}
    figures = class_figures([("100", counts), ("101", {letter: Counts() for letter in LETTERS})])
    assert figures["V"] | {"records": None} == {
        "beats": 3, "found": 1, "false": 1, "se": 33.33, "ppv": 50.0, "records": None,
    }  # fmt: skip
    lines = class_lines(figures)
    assert [line.split()[0] for line in lines] == ["classes", "100", "all"]
    assert lines[1].split()[1:] == ["3", "33.3", "50.0", "2", "50.0", "50.0"]
    assert class_lines(class_figures([])) == []
