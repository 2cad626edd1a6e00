"""The detector's trees: reading and checking the files, conversion from LightGBM, calibration."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from beatwire.errors import UserError
from beatwire.kernels.peaks import classify, peak_features, risk
from beatwire.model.trees import INPUTS_KEY, KNOTS, SHIPPED, complete, in_halves, load_trees
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.training.detector.card import detector_card
from beatwire.training.forest import calibrate, flatten, joined
from safetensors.numpy import load_file, save_file


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    for suffix in (".safetensors", ".json"):
        shutil.copy(SHIPPED.with_suffix(suffix), tmp_path / f"mine{suffix}")
    return tmp_path / "mine.safetensors"


def test_the_shipped_detector_is_named_by_version_and_content_and_has_a_card(copied: Path) -> None:
    shipped = load_trees()
    assert shipped.name.startswith("trees-2+")
    assert load_trees(copied).name == shipped.name
    card = SHIPPED.with_suffix(".card.md").read_text()
    assert shipped.name in card
    assert "ODC-By" in card
    metrics = json.loads(SHIPPED.with_suffix(".metrics.json").read_text())
    assert metrics["model"] == shipped.name
    assert card == detector_card(shipped.name, metrics)
    assert metrics["databases"]["mitdb"]["by_trees"]["as recorded"]["f1"] >= 99.8
    config = copied.with_suffix(".json")
    config.write_text(config.read_text() + " ")
    assert load_trees(copied).name != shipped.name


def test_the_graph_takes_other_trees_or_the_rule_by_its_settings(copied: Path) -> None:
    assert Pipeline(Settings(trees=copied)).trees is not None
    assert Pipeline(Settings(detector="rule")).trees is None
    with pytest.raises(UserError, match="expected detector trees, rule or network; got 'oracle'"):
        Settings(detector="oracle")  # type: ignore[arg-type]


def change(path: Path, **arrays: Any) -> None:
    save_file({**load_file(path), **arrays}, path)


def test_files_that_are_not_trees_are_refused_with_the_reason(copied: Path) -> None:
    with pytest.raises(UserError, match="of a detector"):
        load_trees(copied.with_suffix(".pkl"))
    with pytest.raises(UserError, match="there is no such file"):
        load_trees(copied.with_name("other.safetensors"))
    copied.write_bytes(b"\0" * 20)
    with pytest.raises(UserError, match="expected safetensors and a JSON config"):
        load_trees(copied)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"leaf": np.zeros(5, np.int32)}, "values of leaf, one per node; got 5"),
        ({"leaf": np.zeros(5, np.float32)}, "expected leaf as finite int32"),
        ({"roots": np.zeros(0, np.int32)}, "an even number of roots"),
        ({"roots": np.array([10**8], np.int32)}, "an even number of roots"),
        ({"probability": np.linspace(1, 0, KNOTS)}, "probabilities in ascending order"),
        ({"probability": np.full(KNOTS, np.nan)}, "expected probability as finite"),
    ],
)
def test_arrays_that_are_not_trees_are_refused(copied: Path, changed: dict[str, Any], reason: str) -> None:
    change(copied, **changed)
    with pytest.raises(UserError, match=reason):
        load_trees(copied)


def test_trees_with_a_cycle_are_refused(copied: Path) -> None:
    below = load_file(copied)["below"]
    feature = load_file(copied)["feature"]
    below[np.flatnonzero(feature >= 0)[5]] = 0
    change(copied, below=below)
    with pytest.raises(UserError, match="children after their parents"):
        load_trees(copied)


def test_trees_trained_on_other_features_are_refused(copied: Path) -> None:
    config = json.loads(copied.with_suffix(".json").read_text())
    config[INPUTS_KEY]["spans_s"][0] = 0.5
    copied.with_suffix(".json").write_text(json.dumps(config))
    with pytest.raises(UserError, match="expected a detector trained with spans_s"):
        load_trees(copied)


def test_flattened_trees_have_the_logits_of_lightgbm() -> None:
    lightgbm = pytest.importorskip("lightgbm", reason="needs LightGBM (pip install 'beatwire[train]')")
    rng = np.random.default_rng(2)
    x = rng.normal(size=(3000, peak_features.FEATURES)).astype(np.float32)
    y = x[:, 0] + x[:, 1] * x[:, 2] > 0.3
    settings = {"objective": "binary", "num_leaves": 9, "verbosity": -1, "seed": 1, "num_threads": 1}
    booster = lightgbm.train(settings, lightgbm.Dataset(x, y), 12)
    flat = flatten(booster, bias=0.5)
    expected = booster.predict(x[:200], raw_score=True) + 0.5
    whole = complete(Path("booster"), flat)
    ours = [classify.evaluate_trees(*whole, row) for row in x[:200]]
    np.testing.assert_allclose(ours, expected, atol=2e-5)


def chain(levels: int) -> dict[str, Any]:
    """Return one tree that is a chain: a value above k goes on to level k + 1; its leaves count the levels."""
    feature, below, leaf = [], [], []
    for k in range(levels):
        feature += [-1, 0] if k else [0]
        below += [0, 2 * k + 1] if k else [1]
        leaf += [k, 0] if k else [0]
    feature, below, leaf = [*feature, -1, -1], [*below, 0, 0], [*leaf, levels, levels + 1]
    threshold = [float((n + 1) // 2) for n in range(len(feature))]
    return {
        "feature": np.array(feature, np.int32),
        "threshold": np.array(threshold, np.float32),
        "below": np.array(below, np.int32),
        "leaf": np.array(leaf, np.int32) * classify.LEAF_UNIT,
        "roots": np.zeros(1, np.int32),
    }


def test_a_leaf_above_the_last_level_keeps_its_value_in_a_complete_tree() -> None:
    whole = complete(Path("chain"), chain(4))
    assert whole[0].shape == (15, 1)
    found = [classify.evaluate_trees(*whole, np.array([above], np.float32)) for above in (-0.5, 0.5, 1.5, 2.5, 3.5)]
    assert found == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_trees_that_are_too_deep_are_refused() -> None:
    with pytest.raises(UserError, match="at most 10 levels"):
        complete(Path("chain"), chain(11))


def test_the_calibration_is_monotonic_and_follows_the_share_of_beats() -> None:
    rng = np.random.default_rng(1)
    logit = rng.uniform(-8, 8, 200_000)
    truth = 1 / (1 + np.exp(-(logit - 2.0)))
    table = calibrate(logit, (rng.uniform(size=len(logit)) < truth).astype(float), np.ones(len(logit)))
    assert np.all(np.diff(table) >= 0)
    for at in (-4.0, 0.0, 2.0, 5.0):
        assert risk.beat_probability(at, table) == pytest.approx(1 / (1 + np.exp(-(at - 2.0))), abs=0.03)


def test_boosters_of_different_numbers_of_trees_stay_apart(tmp_path: Path) -> None:
    """LightGBM stops early where there are few examples; each half of the trees is that of one booster."""
    few, many = (
        {
            "feature": np.full(n, -1, np.int32), "threshold": np.zeros(n, np.float32), "below": np.zeros(n, np.int32),
            "leaf": np.full(n, leaf, np.int32), "roots": np.arange(n, dtype=np.int32),
        }
        for n, leaf in ((1, 3), (4, 5))
    )  # fmt: skip
    for one, other, sums in ((few, many, [3, 20]), (many, few, [20, 3])):
        arrays = joined(one, other)
        _, _, leaf = in_halves(tmp_path / "mine.safetensors", arrays)
        assert leaf[:, 0].sum(axis=1).tolist() == sums
        assert leaf.shape[2] == classify.SIDE_BY_SIDE, "vector instructions take whole vectors of trees"
