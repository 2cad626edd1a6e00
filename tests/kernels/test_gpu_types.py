"""Kernels of a card compile for one up to LLVM's instructions: a type that CUDA lacks is found without a card."""

import importlib
import re
from collections.abc import Iterator
from typing import Any

import pytest
from beatwire.jit.arguments import flattened
from beatwire.jit.precompile import from_text, table
from beatwire.jit.quicker import quicker
from beatwire.kernels.peaks import doubt
from beatwire.model.waveform import load_waveform
from beatwire.pipeline.settings import NETWORK_BYTES
from beatwire.pipeline.settings import Settings as OfGraph
from beatwire.stages.detection.doubt import scratch_of
from numba import types

pytest.importorskip("_numba_cuda_redirector", reason="numba-cuda is not installed (extra dev or gpu, on Linux)")
from beatwire.jit.cuda import launchers
from beatwire.jit.cuda.numba_patches import one_of_each_module

needs_compiler = pytest.mark.skipif(launchers.SIMULATED, reason="needs Numba's compiler; this is its simulator")
LONG = {"classify_peaks", "select_beats"}  # half of the time
DATA_LAYOUT = (
    "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-"
    "v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
)  # of NVVM IR, see its specification


class Library:
    """What Numba asks NVIDIA's compiler before it has anything to compile."""

    data_layout = DATA_LAYOUT

    def get_ir_version(self) -> tuple[int, int, int, int]:
        return 2, 0, 3, 2


class Device:
    compute_capability = (9, 0)


def kernels() -> list[Any]:
    """Return name and types of the arguments of each kernel that a card has."""
    return [
        pytest.param(name, tuple(from_text(signature)[-1]), id=name, marks=[pytest.mark.slow] if name in LONG else [])
        for name, signatures in table().items()
        if name in launchers.PLANS
        for signature in signatures
    ]


def kernels_of_doubt() -> list[tuple[str, tuple[Any, ...]]]:
    """Return name and types of the arguments of each kernel that only the detector with a network uses."""
    of_doubt = {name for name, plan in launchers.PLANS.items() if plan.body.__module__ == doubt.__name__}
    return [(name, tuple(from_text(one)[-1])) for name, found in table().items() if name in of_doubt for one in found]


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let Numba compile for a card that is not there."""
    monkeypatch.setattr("numba.cuda.cudadrv.nvvm.NVVM", Library)
    for module in ("dispatcher", "compiler", "api", "cudadrv.devices"):
        owner = importlib.import_module(f"numba.cuda.{module}")
        if hasattr(owner, "get_current_device"):
            monkeypatch.setattr(owner, "get_current_device", lambda: Device)
    with quicker():
        yield


@needs_compiler
@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize(("name", "arguments"), kernels())
def test_every_kernel_has_types_that_a_card_has(name: str, arguments: tuple[Any, ...]) -> None:
    plan = launchers.PLANS[name]
    body = launchers.compiled(flattened(plan.body).body, plan.wide)
    body.compile_device((types.int64, *arguments))


@needs_compiler
@pytest.mark.usefixtures("compiler")
def test_the_kernels_of_doubtful_peaks_have_types_that_a_card_has() -> None:
    found = kernels_of_doubt()
    assert len(found) == 5
    for name, arguments in found:
        plan = launchers.PLANS[name]
        launchers.compiled(flattened(plan.body).body, plan.wide).compile_device((types.int64, *arguments))


@needs_compiler
@pytest.mark.usefixtures("compiler")
def test_shared_memory_of_a_team_is_defined_once() -> None:
    (arguments,) = (given.values[1] for given in kernels() if given.id == "respond_leads")
    body = launchers.compiled(flattened(launchers.PLANS["respond_leads"].body).body, launchers.BLOCK_TEAM)
    library = body.compile_device((types.int64, *arguments)).library
    with one_of_each_module():
        defined = re.findall(r"^@\"?(_cudapy_smem_\d+)", "\n".join(map(str, library.modules)), re.MULTILINE)
    assert sorted(defined) == sorted(set(defined))
    assert len(defined) >= len(("most", "fewest"))


def test_admission_leaves_memory_for_all_teams_that_judge_doubtful_peaks() -> None:
    scratch = sum(array.nbytes for array in scratch_of(load_waveform().network))
    teams = launchers.PLANS["judge_doubt"].most_teams
    assert teams is not None
    assert 0.8 * NETWORK_BYTES < teams * scratch <= NETWORK_BYTES
    assert OfGraph(detector="network").fixed_bytes == NETWORK_BYTES
    assert OfGraph(detector="trees").fixed_bytes == 0
