"""On a GPU: shards of a recording give the output of the CPU, in any cut and with little memory."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from beatwire.backends.cuda.card import missing
from beatwire.bench.card.out_of_core_worker import in_managed_memory, move_to_card
from beatwire.offline.analyze import analyze
from beatwire.offline.analyzer import Analyzer
from beatwire.offline.plan import Plan
from beatwire.pipeline.settings import Settings
from test_analyzer import PLANS, assert_same, person, with_gaps

WHY = missing()
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(WHY is not None, reason=f"needs a GPU: {WHY}")]


@pytest.mark.parametrize("plan", [*PLANS[:2], Plan(60.0, 91.0, 8192, by_pass=False), Plan(119.0, 20.0, 3)])
@pytest.mark.parametrize(("rate_hz", "leads"), [(250.0, 1), (257.0, 1), (360.0, 3)])
def test_shards_on_a_gpu_give_the_output_of_the_cpu(device: Any, plan: Plan, rate_hz: float, leads: int) -> None:
    recording = with_gaps(person(6, rate_hz, leads), 1)
    assert_same(analyze(recording, plan=plan, backend=device), analyze(recording))


def test_samples_on_the_gpu_give_the_output_of_samples_on_the_host(device: Any) -> None:
    cupy = pytest.importorskip("cupy", reason="needs CuPy (pip install 'beatwire[gpu]')")
    recording = person(7)
    on_gpu = replace(recording, samples=cupy.asarray(recording.samples))
    assert_same(analyze(on_gpu, backend=device), analyze(recording))


def test_the_memory_limit_changes_the_number_of_lanes_only(device: Any) -> None:
    recording = person(8, 500.0, 12, seconds=900.0)
    small = Analyzer(Settings(), backend=device, memory_bytes=20 << 20)
    beats = small.analyze(recording, "x")[0].beats
    assert len(beats.sample) > 500
    assert np.array_equal(beats.sample, analyze(recording).beats["sample"])


@pytest.mark.parametrize("moved", [True, False])
def test_samples_in_managed_memory_give_the_output_of_samples_on_the_host(device: Any, moved: bool) -> None:
    recording = person(9, 360.0, 3)
    managed = in_managed_memory(device, recording.samples)
    if moved:
        move_to_card(device, managed)
    assert_same(analyze(replace(recording, samples=managed), backend=device), analyze(recording))
