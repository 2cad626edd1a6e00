"""The scoring model on disk, and its accuracy on annotated records."""

import json
import shutil
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from beatwire.errors import UserError
from beatwire.evaluation.anomaly import auroc
from beatwire.kernels.scores.history import LATENTS, STORED
from beatwire.model.checkpoint import SHIPPED, WINDOW, held_out_models, load_model
from beatwire.records import Terms
from beatwire.stages.detection.history import Memory, terms_of
from beatwire.stages.score import TERMS, score_terms, sum_levels
from beatwire.training.vae.card import vae_card
from beatwire.training.vae.dataset import NORMAL, VENTRICULAR, read_subjects
from beatwire.training.vae.network import Vae, export
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file


def copy_of_shipped(folder: Path, change: dict[str, Any] | None = None, drop: str | None = None) -> Path:
    path = folder / "vae.safetensors"
    shutil.copy(SHIPPED, path)
    config = json.loads(SHIPPED.with_suffix(".json").read_text())
    config.update(change or {})
    config.pop(drop, None) if drop else None
    path.with_suffix(".json").write_text(json.dumps(config))
    return path


def test_the_shipped_model_is_small_and_named_by_version_and_hash() -> None:
    model = load_model()
    version, digest = model.name.split("+")
    assert version == "vae-4"
    assert len(digest) == 8
    assert sum(p.stat().st_size for p in SHIPPED.parent.glob("vae*")) < 1e6
    assert model.name in SHIPPED.with_suffix(".card.md").read_text()
    n = model.network
    assert sum(w.size for w in (n.encode, n.latent, n.decode, n.output)) < 100_000


def test_another_config_is_another_name(tmp_path: Path) -> None:
    path = copy_of_shipped(tmp_path, {"trained": "elsewhere"})
    assert load_model(path).name != load_model().name


@pytest.mark.parametrize(
    ("change", "drop", "reason"),
    [
        ({"window": {"points": 128}}, None, "expected a model with window points 256; got 128"),
        ({}, "window", "expected the window that the model was trained on; got none"),
        ({}, "calibration", "expected a calibration; got none"),
        ({"calibration": {"level": [1, 2]}}, None, "expected calibration terms as numbers"),
        ({"window": {**WINDOW, "rate_hz": 500.0}}, None, "expected a model with window rate_hz 492.308; got 500"),
        ({"window": {**WINDOW, "half_s": 0.3}}, None, "expected a model with window half_s 0.26; got 0.3"),
        ({}, "reference", "expected a reference for drift; got none"),
        ({"reference": {"centre": 1}}, None, "expected reference whitener as numbers"),
        ({"format": 99}, None, "expected model format 1; got 99"),
        ({"variance": -1}, None, "expected a variance above 0; got -1"),
    ],
)
def test_a_model_that_does_not_fit_is_refused_with_the_reason(
    tmp_path: Path, change: dict[str, Any], drop: str | None, reason: str
) -> None:
    with pytest.raises(UserError, match=reason):
        load_model(copy_of_shipped(tmp_path, change, drop))


def test_a_file_that_is_not_a_model_is_refused(tmp_path: Path) -> None:
    path = copy_of_shipped(tmp_path)
    path.write_bytes(b"\x80\x04not a model")
    with pytest.raises(UserError, match="expected safetensors and a JSON config"):
        load_model(path)
    with pytest.raises(UserError, match="there is no such file"):
        load_model(tmp_path / "none.safetensors")
    with pytest.raises(UserError, match=r"expected the NAME\.safetensors of a model"):
        load_model(tmp_path)


@given(st.permutations(range(LATENTS)))
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_only_a_model_whose_decoder_reads_most_the_latents_that_past_beats_are_stored_by_is_taken(
    tmp_path: Path, order: list[int]
) -> None:
    path, shipped = copy_of_shipped(tmp_path), load_model().network
    weights = {f.name: getattr(shipped, f.name) for f in fields(shipped) if f.name not in ("variance", "scorer")}
    save_file(weights | {"decode": np.ascontiguousarray(shipped.decode[order])}, path)
    if min(order[-STORED:]) >= LATENTS - STORED:
        load_model(path)
    else:
        with pytest.raises(UserError, match="expected the latents that the decoder reads most to be the last"):
            load_model(path)


def test_a_trained_network_has_the_latents_that_its_decoder_reads_most_last() -> None:
    net, windows = Vae(16), np.random.default_rng(0).standard_normal((50, 256)).astype(np.float32)
    made = export(net, windows, 0.1)
    assert (np.diff(np.linalg.norm(made.decode, axis=1)) >= 0).all()
    with torch.no_grad():
        latents = net.latent(torch.relu(net.encode(torch.from_numpy(windows))))
        expected = net.output(torch.relu(net.decode(latents))).numpy()
    z = np.maximum(windows @ made.encode + made.encode_bias, 0) @ made.latent + made.latent_bias
    found = np.maximum(z @ made.decode + made.decode_bias, 0) @ made.output + made.output_bias
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_a_descending_calibration_is_refused(tmp_path: Path) -> None:
    table = json.loads(SHIPPED.with_suffix(".json").read_text())["calibration"]
    table["level"] = table["level"][::-1]
    with pytest.raises(UserError, match="ascending"):
        load_model(copy_of_shipped(tmp_path, {"calibration": table}))


def test_no_score_is_higher_than_the_documents_say() -> None:
    far = np.full(1, 1e6, np.float32)
    terms = Terms(
        population=far, history=far, prematurity=far, rate_term=far, early=far, reconstruction_error=far,
        latent=np.zeros((1, 8), np.float32),
    )  # fmt: skip
    [highest] = score_terms(load_model(SHIPPED).calibration, terms).score
    words = Path(__file__).parents[2] / "docs" / "reference" / "words.md"
    assert f"{highest:.1f} at most" in words.read_text()


def test_the_shipped_model_has_a_held_out_model_for_each_subject() -> None:
    subjects = json.loads(SHIPPED.with_suffix(".metrics.json").read_text())["by_record"]
    assert {name for name, _ in held_out_models()} == {name.partition("/")[2] for name in subjects}


def test_the_card_is_generated_from_the_metrics() -> None:
    metrics = json.loads(SHIPPED.with_suffix(".metrics.json").read_text())
    assert vae_card(metrics["model"], metrics) == SHIPPED.with_suffix(".card.md").read_text()
    assert metrics["drift"]["VAE"]["inverted_lead"] > 10 * metrics["drift"]["VAE"]["as_recorded"]


def test_the_shipped_model_has_its_nominal_false_positive_rate_on_held_out_subjects() -> None:
    for name, found in json.loads(SHIPPED.with_suffix(".metrics.json").read_text())["databases"].items():
        marked = found["marked_at_1_percent"]
        assert 0.005 <= marked["normal"] <= 0.02, name
        assert marked["V"] >= 0.85, name


def test_the_rate_term_saturates_at_a_tail_probability_of_one_in_a_thousand() -> None:
    calibration = load_model().calibration
    zero = np.zeros(3, np.float32)
    rate_term = calibration.terms[TERMS.index("rate_term")][[20, -1, -1]] + [0.0, 0.0, 1.0]
    terms = Terms(zero, zero, zero, rate_term.astype(np.float32), zero, zero, np.zeros((3, 8), np.float32))
    usual, fast, faster = sum_levels(calibration, terms)
    assert usual < fast == faster


def test_ties_count_half_in_auroc() -> None:
    assert auroc(np.array([1.0, 1.0, 2.0, 0.0]), np.array([True, False, True, False])) == pytest.approx(0.875)


def test_ventricular_beats_of_annotated_records_score_above_normal_ones(ecg_folder: Path, tmp_path: Path) -> None:
    for name in ("106", "119", "223"):
        for suffix in (".hea", ".dat", ".atr"):
            (tmp_path / f"{name}{suffix}").symlink_to(ecg_folder / "mitdb" / f"{name}{suffix}")
    model = load_model()
    for subject in read_subjects([tmp_path]):
        score = score_terms(model.calibration, terms_of(model.network, Memory(), subject.beats)).score
        rows = np.isin(subject.label, (NORMAL, VENTRICULAR)) & ~np.isnan(score)
        assert auroc(score[rows], subject.label[rows] == VENTRICULAR) > 0.97
        assert np.mean(score[rows & (subject.label == NORMAL)] >= 2) < 0.03
