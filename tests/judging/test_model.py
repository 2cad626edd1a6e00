"""The scoring model on disk, its training on small synthetic records, and its accuracy on annotated ones."""

import json
import shutil
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
import wfdb
from beatwire.errors import UserError
from beatwire.evaluation.anomaly import auroc
from beatwire.evaluation.streamed import Streamed
from beatwire.kernels.scores.history import LATENTS, STORED
from beatwire.model.checkpoint import SHIPPED, WINDOW, held_out_models, load_model
from beatwire.records import Terms
from beatwire.stages.detection.history import Memory, terms_of
from beatwire.stages.score import TERMS, score_terms, sum_levels
from beatwire.training.settings import VaeSettings
from beatwire.training.specs import fit
from beatwire.training.vae.calibrate import mixed_quantiles, pooled_quantiles
from beatwire.training.vae.card import vae_card
from beatwire.training.vae.dataset import NORMAL, VENTRICULAR, read_subjects
from beatwire.training.vae.network import Vae, export
from beatwire.training.vae.subgroups import in_runs_of_three
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

SHORT = VaeSettings(steps=60, batch=64)


class Trained(NamedTuple):
    records: Path
    model: Path
    metrics: dict[str, Any]
    shares: list[float]


def write_records(folder: Path, subjects: int = 6, beats: int = 160) -> Path:
    """Write synthetic records, each with its own beat shape, every twelfth beat wide and premature."""
    folder.mkdir()
    for k in range(subjects):
        rng = np.random.default_rng(k)
        early = np.arange(beats) % 12 == 9
        rr = np.where(early, 0.5, rng.normal(0.8, 0.02, beats))
        at = np.rint((1 + np.cumsum(rr)) * 250).astype(int)
        t = np.arange(at[-1] + 500) / 250
        signal = rng.normal(0, 0.01, len(t))
        for a, wide in zip(at, early, strict=True):
            near = slice(a - 100, a + 130)
            u = t[near] - a / 250
            width = 0.05 if wide else 0.012 + 0.002 * k
            signal[near] += np.exp(-((u / width) ** 2) / 2) + 0.25 * np.exp(-(((u - 0.25) / 0.05) ** 2) / 2)
        wfdb.wrsamp(
            f"r{k}", fs=250, units=["mV"], sig_name=["I"], p_signal=signal[:, None], fmt=["16"], write_dir=str(folder)
        )
        wfdb.wrann(f"r{k}", "atr", at, np.where(early, "V", "N"), write_dir=str(folder))
    return folder


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """Train on synthetic records; return their folder, the model, its metrics, and what was said of the progress."""
    folder = tmp_path_factory.mktemp("trained")
    records, model, shares = write_records(folder / "records"), folder / "a" / "m.safetensors", list[float]()
    metrics = fit("vae", [records], model, settings=SHORT, progress=lambda done, _: shares.append(done))
    return Trained(records, model, metrics, shares)


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


@pytest.mark.slow  # it trains
def test_training_twice_gives_the_same_model_and_metrics(trained: Trained, tmp_path: Path) -> None:
    first, again = trained.metrics, fit("vae", [trained.records], tmp_path / "m.safetensors", settings=SHORT)
    assert first == again
    assert first["model"] == load_model(trained.model).name
    assert trained.shares == sorted(trained.shares)
    assert trained.shares[-1] == 1.0
    assert first["databases"]["records"]["auroc"]["V"]["pooled"] > 0.9
    assert "ODC-By" in trained.model.with_suffix(".card.md").read_text()
    assert sorted(p.name for p in trained.model.parent.iterdir()) == [
        "m.card.md",
        *(f"m.fold{k}.{kind}" for k in range(5) for kind in ("json", "safetensors")),
        "m.json",
        "m.metrics.json",
        "m.population.json",
        "m.safetensors",
    ]


def test_every_record_of_the_training_data_has_a_model_that_was_not_trained_on_it(trained: Trained) -> None:
    found = held_out_models(trained.model)
    assert sorted(name for name, _ in found) == [f"r{k}" for k in range(6)]
    assert {len(read_subjects([trained.records])[0].beats.slot)} == {160}
    names = {load_model(path).name for path in found.values()}
    assert len(names) == 5
    assert load_model(trained.model).name not in names
    assert found.keys() <= Streamed(trained.model).held_out().keys()


def test_the_shipped_model_has_a_held_out_model_for_each_subject() -> None:
    subjects = json.loads(SHIPPED.with_suffix(".metrics.json").read_text())["by_record"]
    assert {name for name, _ in held_out_models()} == {name.partition("/")[2] for name in subjects}


def test_three_ventricular_beats_in_a_row_are_a_run() -> None:
    label = np.array([VENTRICULAR if c == "V" else NORMAL for c in "VVNVVVNVVVV"])
    assert "".join("x" if x else "." for x in in_runs_of_three(label)) == "...xxx.xxxx"
    assert not in_runs_of_three(label[:0]).any()


def test_the_card_is_generated_from_the_metrics() -> None:
    metrics = json.loads(SHIPPED.with_suffix(".metrics.json").read_text())
    assert vae_card(metrics["model"], metrics) == SHIPPED.with_suffix(".card.md").read_text()
    assert metrics["drift"]["VAE"]["inverted_lead"] > 10 * metrics["drift"]["VAE"]["as_recorded"]


def test_the_shipped_model_has_its_nominal_false_positive_rate_on_held_out_subjects() -> None:
    for name, found in json.loads(SHIPPED.with_suffix(".metrics.json").read_text())["databases"].items():
        marked = found["marked_at_1_percent"]
        assert 0.005 <= marked["normal"] <= 0.02, name
        assert marked["V"] >= 0.85, name


def test_one_subject_with_variable_beats_has_less_influence_than_in_pooled_quantiles() -> None:
    rng = np.random.default_rng(4)
    calm, variable = [rng.normal(0, 1, 5000) for _ in range(9)], rng.normal(0, 6, 5000)
    level = np.array([0.5, 1.0, 2.0])
    pooled, table = pooled_quantiles([*calm, variable], level), mixed_quantiles([*calm, variable], level)
    assert (np.diff(table) > 0).all()
    assert table[2] < pooled[2]
    assert np.mean(variable >= table[2]) > 0.01 > np.mean(np.concatenate(calm) >= table[2])
    np.testing.assert_allclose(mixed_quantiles(calm, level), pooled_quantiles(calm, level), atol=0.05)


def test_the_rate_term_saturates_at_a_tail_probability_of_one_in_a_thousand() -> None:
    calibration = load_model().calibration
    zero = np.zeros(3, np.float32)
    rate_term = calibration.terms[TERMS.index("rate_term")][[20, -1, -1]] + [0.0, 0.0, 1.0]
    terms = Terms(zero, zero, zero, rate_term.astype(np.float32), zero, zero, np.zeros((3, 8), np.float32))
    usual, fast, faster = sum_levels(calibration, terms)
    assert usual < fast == faster


def test_an_interrupted_training_continues_where_it_stopped(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from beatwire.training.vae import network  # torch: the other tests of this process need not import it

    fits = network.fit

    def stop(done: float, step: str) -> None:
        if step == "all subjects":
            raise KeyboardInterrupt

    def with_a_word(windows: Any, weight: Any, settings: VaeSettings, progress: Any) -> Any:
        progress(settings.steps)  # by itself it has one of each hundred steps
        fitted.append(len(windows))
        return fits(windows, weight, settings, progress)

    fitted: list[int] = []
    monkeypatch.setattr(network, "fit", with_a_word)
    few = VaeSettings(steps=10, batch=64)
    with pytest.raises(KeyboardInterrupt):
        fit("vae", [trained.records], tmp_path / "m.safetensors", settings=few, progress=stop)
    assert len(fitted) == 5
    steps: list[str] = []
    again = fit(
        "vae", [trained.records], tmp_path / "m.safetensors", settings=few, progress=lambda _, s: steps.append(s)
    )
    assert steps == ["reading records", "all subjects", "done"]
    assert len(fitted) == 6
    assert [one["settings"]["steps"] for one in (again, trained.metrics)] == [10, 60]


def test_a_folder_without_annotated_records_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"expected WFDB records with \.atr annotations; found none"):
        fit("vae", [tmp_path], tmp_path / "m.safetensors")
    with pytest.raises(UserError, match=r"--out: expected NAME\.safetensors"):
        fit("vae", [tmp_path], tmp_path / "m.pt")


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
