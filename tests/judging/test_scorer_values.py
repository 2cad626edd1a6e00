"""The values of a network of one's own: in any unit, and where some are not finite."""

import tempfile
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from beatwire.backends.cpu import CPU
from beatwire.backends.patient import PatientCpu
from beatwire.model.checkpoint import load_model
from beatwire.model.scorer import Scorer, load_scorer, save_scorer
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.recordings.synthetic.person import synthesise
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import Signal
from scorers import Broken, normal, scored, stream

RATE = 250
CALIBRATION = load_model().calibration


@settings(max_examples=draws(24), deadline=None)
@given(exponent=st.integers(-30, 30), seed=st.integers(0, 1 << 16))
def test_the_unit_of_the_values_of_a_network_changes_nothing(networks: ModuleType, exponent: int, seed: int) -> None:
    windows, strange = normal(seed=seed), np.concatenate([normal(20, seed + 1), 3 * normal(2, seed + 2)])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scaled.pt2"
        errors = [
            scored(load_scorer(save_scorer(networks.Scaled(2.0**k), path, windows), CALIBRATION), strange)
            for k in (0, exponent)
        ]
    np.testing.assert_allclose(*errors, rtol=1e-4)


@pytest.mark.parametrize("backend", [CPU, PatientCpu(30.0)])
def test_a_value_that_is_not_finite_costs_the_score_of_its_beat_alone(
    networks: ModuleType, tmp_path: Path, backend: Any
) -> None:
    peak = save_scorer(networks.Peak(), tmp_path / "peak.pt2", normal())
    signal = Signal("bed", synthesise(2, rate_hz=RATE, seconds=40, ectopy=0.2).recording.samples, RATE)

    def fails_for_some(works: Any, windows: Any) -> Any:
        values = works(windows)
        values[windows[:, 128] * 1000 % 5 < 1] = float("nan")
        return values

    missing = []
    for size, fails in ((RATE * 40, False), (RATE * 40, True), (333, True)):
        pipeline = Pipeline(Settings(scorer=peak), backend)
        scorer = pipeline.model.network.scorer
        assert isinstance(scorer, Scorer)
        if fails:
            scorer._network = Broken(partial(fails_for_some, scorer._network))
        run = stream(pipeline, signal, size)
        missing.append([bool(np.isnan(row[7])) for row in run.beats["bed"]])
    assert missing[1] == missing[2], "whatever the cut is"
    assert 0 < sum(missing[1]) - sum(missing[0]) < len(missing[0]) // 2
