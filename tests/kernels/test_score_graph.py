"""The score in the whole graph: scaled and uncalibrated devices, another model, the name of the model in outputs."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from beatwire.backends.cpu import CPU
from beatwire.cli.main import app
from beatwire.cli.recordings.analysis import run_analysis
from beatwire.errors import UserError
from beatwire.kafka.local.mock import MockKafka
from beatwire.model.checkpoint import SHIPPED, load_model
from beatwire.offline.analyze import Analysis, analyze
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.recordings import Recording, read_recording
from beatwire.records import RawTick
from beatwire.service.run import run_monitor
from beatwire.wire.avro import decode_beat
from beatwire.wire.names import ALERTS, BEATS
from laws import Signal
from typer.testing import CliRunner


@pytest.fixture(scope="module")
def recording() -> Recording:
    return read_recording("synthetic:seconds=120,rate=250,seed=4,ectopy=0.1")


@pytest.fixture(scope="module")
def usual(recording: Recording) -> Analysis:
    return analyze(recording)


@pytest.mark.parametrize(("times", "uv_per_unit"), [(1, 0.0), (5, 0.0), (5, 1.0), (2, 2.0)])
def test_scores_do_not_depend_on_calibration_and_scale(
    recording: Recording, usual: Analysis, times: int, uv_per_unit: float
) -> None:
    changed = replace(recording, samples=(times * recording.samples).astype(np.int16), uv_per_unit=uv_per_unit)
    found = analyze(changed)
    np.testing.assert_array_equal(found.beats["sample"], usual.beats["sample"])
    np.testing.assert_allclose(found.beats["score"], usual.beats["score"], atol=0.01)  # hum is taken out in units
    assert np.isfinite(usual.beats["score"]).sum() > 100


def test_early_wide_beats_of_a_synthetic_signal_have_higher_scores(usual: Analysis) -> None:
    early = usual.beats["prematurity"] > 0.2
    assert early.sum() > 5
    assert np.nanmedian(usual.beats["score"][early]) > 2 > np.nanquantile(usual.beats["score"][~early], 0.9)


def test_beats_before_enough_history_are_scored_by_the_population(usual: Analysis) -> None:
    by = usual.beats["scored_by"]
    first = np.flatnonzero(by == "history")[0]
    assert 3 < first < 10
    assert set(by[1:first]) == {"population"}
    assert set(by[first:]) == {"history"}
    assert np.isfinite(usual.beats["score"][1:first]).all()


def another_model(folder: Path, **window: float) -> Path:
    path = folder / "other.safetensors"
    shutil.copy(SHIPPED, path)
    config = json.loads(SHIPPED.with_suffix(".json").read_text())
    config["window"] |= window
    config["version"] = "mine-7"
    path.with_suffix(".json").write_text(json.dumps(config))
    return path


def test_every_beat_and_every_alert_carries_the_version_and_hash_of_the_model(
    tmp_path: Path, recording: Recording
) -> None:
    path = another_model(tmp_path)
    pipeline = Pipeline(Settings(model=path))
    samples = recording.samples[:, : 250 * 30].copy()
    samples[:, 250 * 20 :] = samples[0, 250 * 20]
    signal = Signal("bed", samples)
    out = [o for a in range(0, samples.shape[1], 500) for o in pipeline.emit(RawTick.of([signal.chunk(a, a + 500)]))]
    beats = [decode_beat(v) for o in out if o.topic == BEATS for v in o.values]
    alerts = [json.loads(v) for o in out if o.topic == ALERTS for v in o.values]
    assert len(beats) > 10
    assert "asystole" in {a["rule"] for a in alerts}
    assert {record["model"] for record in [*beats, *alerts]} == {load_model(path).name}
    assert load_model(path).name.startswith("mine-7+")


def test_the_output_of_analyze_names_the_model_and_holds_map_coordinates(tmp_path: Path) -> None:
    source = "synthetic:seconds=40,rate=250,seed=4,ectopy=0.1"
    summary = run_analysis(source, out=tmp_path / "beats.csv")
    assert summary["model"] == load_model().name
    head, *rows = (tmp_path / "beats.csv").read_text().splitlines()
    assert len(rows) > 30  # of 40 s
    at = [head.split(",").index(name) for name in ("map_x", "map_y")]
    assert all(abs(float(row.split(",")[k])) < 20 for row in rows[1:] for k in at)


def test_an_incompatible_model_stops_the_monitor_at_its_start_with_the_reason(tmp_path: Path) -> None:
    for wrong, reason in (
        ({"points": 128}, "window points 256; got 128"),
        ({"rate_hz": 250.0}, r"window rate_hz 492\.308; got 250"),
        ({"half_s": 0.3}, r"window half_s 0\.26; got 0\.3"),
    ):
        with MockKafka() as kafka, pytest.raises(UserError, match=reason):
            run_monitor(
                kafka.cluster, "g", CPU, "at-least-once", settings=Settings(model=another_model(tmp_path, **wrong))
            )


@pytest.mark.parametrize("cut", [{}, {"chunk_ms": 200.0}])
def test_analyze_scores_with_the_given_model(tmp_path: Path, cut: dict[str, float]) -> None:
    model = another_model(tmp_path)
    source = "synthetic:seconds=20,rate=250,seed=4"
    summary = run_analysis(source, model=model, out=tmp_path / "beats.csv", **cut)
    assert summary["model"] == load_model(model).name != load_model().name
    again = run_analysis(source, **cut)
    same = set(summary) - {"model", "took_s", "out", "alerts_out"}
    assert summary["beats"] > 15  # of 20 s
    assert {k: summary[k] for k in same} == {k: again[k] for k in same}


def test_analyze_refuses_an_incompatible_model_before_it_reads_the_recording(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="window points 256; got 128"):
        run_analysis(str(tmp_path / "no.csv"), model=another_model(tmp_path, points=128))


@pytest.mark.parametrize("command", ["evaluate", "analyze"])
def test_a_missing_model_file_is_refused(tmp_path: Path, command: str) -> None:
    done = CliRunner().invoke(app, [command, str(tmp_path), "--model", str(tmp_path / "no.safetensors")])
    assert isinstance(done.exception, UserError)
    assert "there is no such file" in str(done.exception)
