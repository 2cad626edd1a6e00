"""A network of one's own scores windows: alike on every backend, refused when it cannot be used, never in the way."""

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import beatwire
import numpy as np
import pytest
from beatwire.backends.cpu import CPU
from beatwire.backends.cuda.backend import CudaBackend
from beatwire.backends.patient import PatientCpu
from beatwire.errors import UserError
from beatwire.model.checkpoint import load_model
from beatwire.model.scorer import Scorer, load_scorer, save_scorer
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.recordings.synthetic.person import synthesise
from laws import Run, Signal
from scorers import Broken, normal, scored, stream
from simulated import SimulatedCard

RATE = 250
CALIBRATION = load_model().calibration


GOOD = {"format": 1, "level": np.arange(0, 3, 0.1).tolist(), "values": np.arange(0, 3, 0.1).tolist()}


@pytest.fixture(scope="module")
def peak(networks: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_scorer(networks.Peak(), tmp_path_factory.mktemp("scorer") / "peak.pt2", normal())


@pytest.fixture(scope="module")
def signal() -> Signal:
    return Signal("bed", synthesise(2, rate_hz=RATE, seconds=40, ectopy=0.2).recording.samples, RATE)


def test_a_value_becomes_the_reconstruction_error_that_as_many_normal_beats_exceed(peak: Path) -> None:
    windows = normal(seed=1)
    errors = scored(load_scorer(peak, CALIBRATION), windows)
    knots, level = CALIBRATION.errors, CALIBRATION.level
    for share in (0.5, 0.1, 0.01):
        limit = np.interp(-np.log10(share), level, knots)
        assert (errors > limit).mean() == pytest.approx(share, rel=0.35)
    assert np.corrcoef(np.argsort(np.argsort(errors)), np.argsort(np.argsort(np.abs(windows).max(1))))[0, 1] > 0.999
    far = scored(load_scorer(peak, CALIBRATION), 100 * windows[:2])
    assert (far > knots[-1]).all(), "stranger than all normal beats"


def test_latents_count_by_their_squared_length(networks: ModuleType, tmp_path: Path) -> None:
    path = save_scorer(networks.Latents(), tmp_path / "latents.pt2", normal())
    windows = normal(200, 3)
    errors = scored(load_scorer(path, CALIBRATION), windows)
    order = np.argsort(np.square(windows[:, 60:63]).sum(1))
    assert (np.diff(errors[order]) >= 0).all()


def test_without_a_scale_there_is_no_value_and_no_other_beat_is_changed(peak: Path) -> None:
    scorer, windows = load_scorer(peak, CALIBRATION), normal(8)
    windows[3] = np.nan
    scale = np.full(8, 2.0, np.float32)
    scale[3] = np.nan
    found = scored(scorer, windows, scale)
    assert np.isnan(found).tolist() == [k == 3 for k in range(8)]
    np.testing.assert_allclose(np.delete(found, 3), scored(scorer, 2 * np.delete(windows, 3, 0)), rtol=1e-6)


def test_windows_and_results_are_shared_and_not_copied(peak: Path) -> None:
    scorer, windows, out = load_scorer(peak, CALIBRATION), normal(4), np.empty(4, np.float32)
    for array in (windows, out):
        assert scorer._shared(array).data_ptr() == array.ctypes.data


@pytest.mark.parametrize("size", [50, 333, 2000])
def test_any_cut_of_a_stream_gives_the_scores_of_one_piece(peak: Path, signal: Signal, size: int) -> None:
    whole = stream(Pipeline(Settings(scorer=peak)), signal, signal.samples.shape[1])
    assert_near(stream(Pipeline(Settings(scorer=peak)), signal, size), whole)


def assert_near(one: Run, other: Run) -> None:
    assert [row[1] for row in one.beats["bed"]] == [row[1] for row in other.beats["bed"]]
    np.testing.assert_allclose([row[7] for row in one.beats["bed"]], [row[7] for row in other.beats["bed"]], atol=1e-4)


def test_analyze_and_a_patient_monitor_give_the_scores_of_the_graph(peak: Path, signal: Signal) -> None:
    recording = beatwire.analyze(signal.samples, fs=RATE, gain=200, scorer=peak, backend="cpu")
    assert recording.model.startswith("vae-")
    assert " peak+" in recording.model
    patient = stream(Pipeline(Settings(scorer=peak), PatientCpu(30.0)), signal, 2 * RATE)
    assert_near(patient, stream(Pipeline(Settings(scorer=peak), CPU), signal, 2 * RATE))
    plain = stream(Pipeline(Settings()), signal, 2 * RATE)
    assert [row[1] for row in plain.beats["bed"]] == [row[1] for row in patient.beats["bed"]]
    assert [row[7] for row in plain.beats["bed"]] != [row[7] for row in patient.beats["bed"]]


@pytest.mark.parametrize(
    ("network", "table", "message"),
    [
        ("Whole", GOOD, r"expected values of shape \[1\] or latents \[1, n\]; got \[\]"),
        ("Narrow", GOOD, r"expected values of shape \[1\] or latents \[1, n\]; got \[2\]"),
        ("Counted", GOOD, "expected float values; got torch.int64"),
        ("NoNumber", GOOD, "expected finite values; got NaN or infinity"),
        ("Neighbours", GOOD, "expected a value of each window alone; got another one among"),
        ("Peak", None, "expected the values of normal beats in it; got none"),
        ("Peak", "[", "expected beatwire.json with level and values; got"),
        ("Peak", GOOD | {"values": GOOD["values"][::-1]}, "expected beatwire.json with ascending levels and values"),
        ("Peak", GOOD | {"values": [0.0]}, "expected beatwire.json with ascending levels and values"),
    ],
)
def test_a_network_that_cannot_be_used_is_an_error_at_the_start(
    networks: ModuleType, network: str, table: Any, message: str, tmp_path: Path
) -> None:
    path = networks.write(tmp_path / "bad.pt2", getattr(networks, network)(), table)
    with pytest.raises(UserError, match=f"--scorer .*bad.pt2: .*{message}"):
        Pipeline(Settings(scorer=path))


def test_a_file_that_is_no_network_is_an_error_at_the_start(tmp_path: Path) -> None:
    for name, content in (("text.pt2", b"text"), ("zip.pt2", b"PK\5\6" + bytes(18))):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UserError, match=f"--scorer .*{name}: expected a file of torch.export, NAME.pt2"):
            load_scorer(tmp_path / name, CALIBRATION)
    with pytest.raises(UserError, match="there is no such file"):
        beatwire.analyze("synthetic:seconds=10", scorer=tmp_path / "none.pt2")


def raises(_: Any) -> Any:
    raise RuntimeError("out of\nmemory")


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (raises, "RuntimeError: out of"),
        (lambda windows: windows.sum(1) / 0, "expected finite values; got NaN or infinity"),
        (lambda windows: windows[1:].sum(1), "expected values of shape"),
        (lambda _: None, "expected float values; got NoneType"),
    ],
)
@pytest.mark.parametrize("backend", [CPU, PatientCpu(30.0)])
def test_a_network_that_fails_later_costs_scores_and_nothing_else(
    peak: Path, signal: Signal, backend: Any, result: Callable[[Any], Any], reason: str
) -> None:
    pipeline = Pipeline(Settings(scorer=peak), backend)
    scorer = pipeline.model.network.scorer
    assert isinstance(scorer, Scorer)
    works, scorer._network = scorer._network, Broken(result)
    run = stream(pipeline, replace(signal, samples=signal.samples[:, : 20 * RATE]), 2 * RATE)
    plain = stream(Pipeline(Settings()), replace(signal, samples=signal.samples[:, : 20 * RATE]), 2 * RATE)
    assert [row[1] for row in run.beats["bed"]] == [row[1] for row in plain.beats["bed"]]
    assert np.isnan([row[7] for row in run.beats["bed"]]).all()
    assert {row[9] for row in run.beats["bed"]} <= {2, 3}  # overload, or no window
    assert scorer.failure is not None
    assert scorer.failure.startswith(reason)
    scorer._network = works
    assert scorer.score_into(normal(2), np.ones(2, np.float32), np.empty(2, np.float32))
    assert scorer.failure is None


def test_a_network_that_is_too_slow_is_dropped_and_taken_again(peak: Path, signal: Signal) -> None:
    pipeline, backend = Pipeline(Settings(scorer=peak), PatientCpu(0.05)), None
    backend = pipeline.backend
    scorer = pipeline.model.network.scorer
    assert isinstance(scorer, Scorer)
    works, answers = scorer._network, threading.Event()

    def waits(windows: Any) -> Any:
        answers.wait(60)
        return works(windows)

    scorer._network = Broken(waits)
    slow = stream(pipeline, replace(signal, samples=signal.samples[:, : 10 * RATE]), RATE)
    assert {row[9] for row in slow.beats["bed"]} == {2}  # overload
    answers.set()
    assert isinstance(backend, PatientCpu)
    assert backend._running is not None
    backend._running.result(60)
    assert not backend.is_stalled


def test_the_example_trains_and_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from beatwire.training import scorer as example
    from beatwire.training import specs
    from beatwire.training.settings import ScorerSettings
    from page_folder import write_records

    monkeypatch.setitem(
        specs.SPECS, "scorer", replace(specs.SPECS["scorer"], settings=partial(ScorerSettings, steps=50))
    )
    write_records(tmp_path, ("100", "203", "205", "207", "208"))
    made = beatwire.train("scorer", [tmp_path], tmp_path / "mine.pt2")
    assert made["people"] == 5
    assert not beatwire.analyze(tmp_path / "100", scorer=tmp_path / "mine.pt2").beats["score"].isna().all()
    assert len(Path(example.__file__).read_text().split("class Autoencoder")[1].splitlines()) < 60


def test_a_scorer_of_few_or_strange_windows_is_not_written(networks: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"expected NAME\.pt2"):
        save_scorer(networks.Peak(), tmp_path / "x.pt", normal())
    with pytest.raises(UserError, match="of at least 30 normal beats; got 20 of 20 beats"):
        save_scorer(networks.Peak(), tmp_path / "x.pt2", normal(20))
    with pytest.raises(UserError, match=r"expected values of shape \[4000\]"):
        save_scorer(networks.Whole(), tmp_path / "x.pt2", normal())
    assert not list(tmp_path.iterdir())


def test_a_backend_with_a_card_runs_the_scorer_between_the_network_and_what_follows(peak: Path) -> None:
    device = CudaBackend(SimulatedCard(), "simulated")
    scorer = load_scorer(peak, CALIBRATION)
    network = replace(load_model().network, scorer=scorer)
    windows, scale = device.constant(normal(6)), device.constant(np.ones(6, np.float32))
    latents, errors = device.grown(None, (8, 8), np.float32), device.grown(None, (8,), np.float32)
    device.begin()
    assert device.embed(network, windows, scale, 6, latents, errors)
    device.fetch([])
    np.testing.assert_allclose(errors[:6], scored(scorer, normal(6)), rtol=1e-6)
    assert (np.asarray(errors[6:]) == 0).all()
    assert np.asarray(latents[:6]).any(axis=1).all(), "the latents are those of the model"


@pytest.mark.gpu
def test_on_a_card_arrays_keep_their_address_at_every_hop_and_scores_are_those_of_the_cpu(peak: Path) -> None:
    cupy, cuda = pytest.importorskip("cupy"), pytest.importorskip("numba.cuda")
    cudf, torch = pytest.importorskip("cudf"), pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    from beatwire.backends.choose import choose

    device: Any = choose("gpu")
    column = cudf.Series(normal(64).reshape(-1))
    held = cupy.asarray(column)
    windows = held.reshape(64, 256)
    view = cuda.as_cuda_array(windows)
    scorer = load_scorer(peak, CALIBRATION)
    shared = scorer._shared(windows)
    addresses = {
        int(held.data.ptr), int(windows.data.ptr), int(view.device_ctypes_pointer.value), int(shared.data_ptr()),
        int(cupy.from_dlpack(shared).data.ptr),
    }  # fmt: skip
    assert len(addresses) == 1
    out, scale = cupy.empty(64, np.float32), cupy.ones(64, np.float32)
    count = cupy.array([60])
    before = device.memory.allocations
    device.card.score(scorer, windows, scale, out, count)
    device.card.wait()
    assert device.memory.allocations > before, "torch allocates from the pool of the card"
    expected = scored(load_scorer(peak, CALIBRATION), windows.get())
    np.testing.assert_allclose(out.get()[:60], expected[:60], atol=1e-3)
    assert np.isnan(out.get()[60:]).all()
    theirs = beatwire.analyze(synthesise(3, rate_hz=RATE, seconds=60).recording, scorer=peak, backend=device)
    ours = beatwire.analyze(synthesise(3, rate_hz=RATE, seconds=60).recording, scorer=peak)
    np.testing.assert_allclose(theirs.beats["score"], ours.beats["score"], atol=1e-3)
