"""Training of the scoring model, on small synthetic records."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import wfdb
from beatwire.errors import UserError
from beatwire.evaluation.streamed import Streamed
from beatwire.model.checkpoint import held_out_models, load_model
from beatwire.training.settings import VaeSettings
from beatwire.training.specs import fit
from beatwire.training.vae.calibrate import mixed_quantiles, pooled_quantiles
from beatwire.training.vae.dataset import NORMAL, VENTRICULAR, read_subjects
from beatwire.training.vae.subgroups import in_runs_of_three

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


def test_three_ventricular_beats_in_a_row_are_a_run() -> None:
    label = np.array([VENTRICULAR if c == "V" else NORMAL for c in "VVNVVVNVVVV"])
    assert "".join("x" if x else "." for x in in_runs_of_three(label)) == "...xxx.xxxx"
    assert not in_runs_of_three(label[:0]).any()


def test_one_subject_with_variable_beats_has_less_influence_than_in_pooled_quantiles() -> None:
    rng = np.random.default_rng(4)
    calm, variable = [rng.normal(0, 1, 5000) for _ in range(9)], rng.normal(0, 6, 5000)
    level = np.array([0.5, 1.0, 2.0])
    pooled, table = pooled_quantiles([*calm, variable], level), mixed_quantiles([*calm, variable], level)
    assert (np.diff(table) > 0).all()
    assert table[2] < pooled[2]
    assert np.mean(variable >= table[2]) > 0.01 > np.mean(np.concatenate(calm) >= table[2])
    np.testing.assert_allclose(mixed_quantiles(calm, level), pooled_quantiles(calm, level), atol=0.05)


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
