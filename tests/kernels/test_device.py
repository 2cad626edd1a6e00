"""The GPU backend: in the simulator, and on a card where there is one."""

import itertools
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from beatwire.backends.choose import choose
from beatwire.backends.cpu import CPU
from beatwire.backends.cuda import answers, card
from beatwire.backends.network import embed
from beatwire.bench.card.gpu_ticks import scores_differ
from beatwire.bench.graph import ticks_for
from beatwire.errors import LostCardError, UserError
from beatwire.jit.cuda import launchers
from beatwire.kernels.detection.windows import WINDOW
from beatwire.model.checkpoint import load_model
from beatwire.model.waveform import load_waveform
from beatwire.pipeline import Pipeline
from beatwire.pipeline import settings as pipeline_settings
from beatwire.pipeline.settings import Settings
from beatwire.recordings.synthetic.person import synthesise
from beatwire.records import RawTick
from beatwire_producers.ward import ward
from kernel_calls import judged_again
from laws import Run, Signal, assert_same, collect, run_graph, ticks_of
from noisy_streams import noisy_recording, with_noise
from pulses import with_pulses_and_steps
from simulated import embedded

MISSING = card.missing()
on_a_card = pytest.mark.skipif(MISSING is not None, reason=f"needs a GPU: {MISSING}")


@pytest.mark.timeout(900)
@pytest.mark.parametrize("which", ["not slow", pytest.param("slow", marks=pytest.mark.slow)])
def test_kernels_and_graph_on_the_simulator(which: str) -> None:
    plain = ["-q", "-x", "-p", "no:cacheprovider", "-o", "timeout=800", "-m", which]
    files = [f"tests/helpers/kernels/{part}on_the_simulator.py" for part in ("", "parts_")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *plain, *files],
        cwd=Path(__file__).parents[2], env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


@pytest.mark.skipif(MISSING is None, reason="a GPU is present")
def test_without_a_gpu_asking_for_one_is_an_error_and_auto_names_its_choice() -> None:
    with pytest.raises(UserError, match=r"--backend gpu: expected a usable GPU; got: .+"):
        choose("gpu")
    assert choose("auto").reason.startswith("backend cpu: ")


def test_without_the_driver_no_package_is_advised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("beatwire.backends.cards.driver_of", lambda: None)
    assert choose("auto").reason == "backend cpu: no NVIDIA driver"
    with pytest.raises(UserError, match=r"got: no NVIDIA driver\. Use --backend cpu or auto"):
        choose("gpu")


def test_a_lost_card_ends_the_process_with_one_line_and_leaves_its_libraries_alone() -> None:
    script = """
import atexit
from beatwire.cli import main as cli
from beatwire.errors import LostCardError

def lost(prog_name):
    raise LostCardError("gpu: the card failed: it fell off the bus")

atexit.register(print, "taken down")
cli._app = lambda: lost
cli.main()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "beatwire: gpu: the card failed: it fell off the bus\n"
    assert done.stdout == ""


def test_a_card_that_never_answers_is_lost_and_what_has_failed_is_not_waited_for() -> None:
    left = iter([answers.NOT_READY] * 3 + [0])
    answers.wait_for(lambda: next(left))
    assert next(left, None) is None
    answers.wait_for(lambda: 700, within_s=0.0)  # an illegal address
    with pytest.raises(LostCardError, match=r"expected the card to be done within 0\.05 s; got no answer"):
        answers.wait_for(lambda: answers.NOT_READY, within_s=0.05)


def run_on(ticks: list[list[bytes]], device: Any, settings: Settings) -> Run:
    pipeline, run = Pipeline(settings, device), Run()
    collect(pipeline, run)
    for values in ticks:
        pipeline.emit(RawTick.of(values))
    return run


@pytest.mark.parametrize(
    ("few", "others", "says"),
    [
        (2e-3, 1e-7, None),
        (2e-2, 1e-7, "1 of 1000 scores differ by more than 0.0001, one by 0.02"),
        (2e-3, 2e-4, "1000 of 1000 scores differ by more than 0.0001, one by 0.002"),
    ],
)
def test_few_scores_of_a_card_may_differ_and_none_by_much(few: float, others: float, says: str | None) -> None:
    apart = np.full(1002, others, np.float32)
    apart[0], apart[1:3] = few, np.nan
    assert scores_differ(apart) == says


@pytest.mark.gpu
@on_a_card
def test_the_name_of_stored_machine_code_contains_the_width_of_the_team(device: Any) -> None:
    files = {
        launchers.launcher("classify_peaks", width, True, False)._cache._cache_file._index_name for width in (4, 16, 32)
    }
    assert {name.split("-")[0] for name in files} == {
        f"templates.classify_peaks_{width}_shared" for width in (4, 16, 32)
    }


@pytest.mark.gpu
@on_a_card
@pytest.mark.parametrize("pass_s", [0.3, 2.0])
def test_the_output_of_a_card_equals_that_of_the_cpu_for_a_ward_with_all_events(device: Any, pass_s: float) -> None:
    rng = np.random.default_rng(3)
    shown = ward(24, 40, seed=5, rates_hz=(128, 250, 360, 500, 1000), leads=(1, 2, 3, 12))
    signals = [
        Signal(f.stream, f.recording.samples, f.recording.rate_hz, f.recording.uv_per_unit or 5.0) for f in shown.feeds
    ]
    ticks = ticks_of(signals, rng, 200, per_tick=60)
    ticks = [[m for m in values if rng.random() > 0.01] for values in ticks]  # holes
    ticks = [[values[k] for k in rng.permutation(len(values))] if rng.random() < 0.1 else values for values in ticks]
    settings = Settings(pass_s=pass_s)
    run, expected = run_on(ticks, device, settings), run_graph(ticks, settings)
    assert sum(map(len, expected.beats.values())) > 600
    assert_same(run, expected)


@pytest.mark.gpu
@on_a_card
@pytest.mark.parametrize("lanes", [1, 40, 700])
def test_a_card_judges_doubtful_peaks_as_the_cpu_does(device: Any, lanes: int) -> None:
    network = load_waveform().network
    expected = judged_again(CPU, network, lanes)
    for _ in device.rehearsals():
        found = judged_again(device, network, lanes)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)  # a card may round a product and a sum at once


@pytest.mark.gpu
@on_a_card
def test_beats_of_noisy_streams_by_the_network_of_a_card_equal_those_of_the_cpu(device: Any) -> None:
    rng = np.random.default_rng(5)
    signals = [
        Signal(f"bed-{k}", noisy_recording(1 + k % 3, k, rate_hz).samples, rate_hz)
        for k, rate_hz in enumerate((250.0, 360.0, 500.0, 128.0, 250.0, 1000.0))
    ]
    ticks = ticks_of(signals, rng, 200, per_tick=60)
    ticks = [[m for m in values if rng.random() > 0.01] for values in ticks]  # holes
    chosen = Settings(detector="network")
    expected = run_graph(ticks, chosen)
    assert_same(run_on(ticks, device, chosen), expected)
    by_trees = run_graph(ticks, Settings(detector="trees")).beats
    assert not all(
        np.array_equal(np.array(found, float), np.array(by_trees[stream], float), equal_nan=True)
        for stream, found in expected.beats.items()
    ), "expected doubtful peaks"


@pytest.mark.gpu
@on_a_card
def test_a_card_chooses_the_lead_that_is_left_as_the_cpu_does(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, signals = np.random.default_rng(7), []
    for k, (rate_hz, leads) in enumerate(itertools.product((250.0, 360.0, 500.0), (2, 3))):
        recording = synthesise(k, rate_hz=rate_hz, leads=leads, seconds=50.0).recording
        begin = int(10 * rate_hz)
        samples = with_noise(recording.samples, k % leads, begin, 3 * begin, 6.0, k)
        signals.append(Signal(f"bed-{k}", samples, rate_hz, recording.uv_per_unit or 5.0))
    ticks = ticks_of(signals, rng, 200, per_tick=60)
    expected = run_graph(ticks)
    assert_same(run_on(ticks, device, Settings()), expected)
    monkeypatch.setattr(pipeline_settings, "MOST_ALONE", 0)
    together = run_graph(ticks).beats
    assert any(len(together[stream]) != len(found) for stream, found in expected.beats.items()), "expected a choice"


@pytest.mark.gpu
@on_a_card
def test_beats_beside_pulses_and_steps_on_a_card_equal_those_of_the_cpu(device: Any) -> None:
    ticks = ticks_of(with_pulses_and_steps(1, 15, 45.0), np.random.default_rng(5), 200, per_tick=40)
    assert_same(run_on(ticks, device, Settings()), run_graph(ticks))


@pytest.mark.gpu
@on_a_card
def test_after_some_ticks_of_a_size_nothing_is_allocated_and_launch_lists_are_graphs(device: Any) -> None:
    pipeline = Pipeline(Settings(), device)
    allocations = []
    for tick in ticks_for(300, ticks=24, per_tick=1):
        pipeline.emit(tick)
        allocations.append(device.card.memory.allocations)
    assert allocations[-1] == allocations[-6]
    assert device.card.graph_count > 0


@pytest.mark.gpu
@on_a_card
@pytest.mark.parametrize("n", [1, 5, 16, 3001])
def test_the_network_on_a_card_equals_that_on_the_cpu(device: Any, n: int) -> None:
    rng, network = np.random.default_rng(n), load_model().network
    windows = rng.normal(size=(n, WINDOW)).astype(np.float32)
    scale = rng.uniform(0.5, 2.0, n).astype(np.float32)
    scale[n // 2 :: 7] = np.nan
    latents, reconstruction_error = embedded(device, network, windows, scale)
    expected = embed(network, windows, scale)
    np.testing.assert_allclose(latents, expected[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(reconstruction_error, expected[1], rtol=1e-4, atol=1e-5)
