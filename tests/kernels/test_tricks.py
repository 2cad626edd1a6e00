"""With every optimisation of ``jit`` switched off the output is the same, and the laws hold."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from beatwire.errors import UserError
from beatwire.jit import cache, cpu, tricks
from beatwire.kernels.scores import vae
from beatwire_producers.ward import ward
from laws import Run, Signal, assert_same, run_graph, ticks_of

ROOT = Path(__file__).parents[2]
ALL_OFF = {**os.environ, tricks.VARIABLE: "all", "PYTHONPATH": os.pathsep.join(sys.path)}


def run_of_a_ward() -> Run:
    """Beats and alerts of eight people with everything planted, cut at random."""
    shown = ward(8, 40, seed=5, rates_hz=(128, 250, 360, 500, 1000), leads=(1, 2, 3, 12))
    signals = [Signal(f.stream, f.recording.samples, f.recording.rate_hz, 5.0) for f in shown.feeds]
    return run_graph(ticks_of(signals, np.random.default_rng(1)))


@pytest.mark.slow  # a minute and a half, most of it to compile the kernels without tricks
@pytest.mark.timeout(900)
def test_with_every_trick_off_beats_scores_and_alerts_are_the_same() -> None:
    script = """
import pickle, sys
from test_tricks import run_of_a_ward
from beatwire.jit import cpu, tricks
from beatwire.kernels import team
assert tricks.disabled() == set(tricks.TRICKS)
assert set(cpu.replacements()) == {*cpu.files.BODIES, team.narrow}
sys.stdout.buffer.write(pickle.dumps(run_of_a_ward()))
"""
    done = subprocess.run([sys.executable, "-c", script], env=ALL_OFF, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    here = run_of_a_ward()
    assert sum(map(len, here.beats.values())) > 250
    assert_same(pickle.loads(done.stdout), here)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_with_every_trick_off_the_laws_hold() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-qxp", "no:cacheprovider", "-o", "timeout=800", "tests/laws/test_laws.py"],
        cwd=ROOT, env=ALL_OFF, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def test_machine_code_of_other_switches_is_in_another_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folders = set()
    for names in ("", *tricks.TRICKS, "all", "vector,shuffle"):
        monkeypatch.setenv(tricks.VARIABLE, names)
        folders.add(cache.cache_folder())
    assert len(folders) == len(tricks.TRICKS) + 3
    monkeypatch.setenv(tricks.VARIABLE, " shuffle , vector ")
    assert cache.cache_folder() in folders


def test_a_trick_that_does_not_exist_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(tricks.VARIABLE, "vector,vectors")
    with pytest.raises(UserError, match=r"^BEATWIRE_DISABLE: expected all, or names among vector, .*; got vectors$"):
        tricks.disabled()


def test_only_the_tricks_that_are_named_are_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(tricks.VARIABLE, "vector,lean")
    assert cpu._options(vae.inner_product) == {"error_model": "numpy", "fastmath": False}
    monkeypatch.setenv(tricks.VARIABLE, "bitcode")
    assert cpu._options(vae.inner_product)["forceinline"]
    assert cpu._options(vae.inner_product)["fastmath"] == {"reassoc", "contract", "nsz"}
    assert not tricks.enabled("bitcode")
