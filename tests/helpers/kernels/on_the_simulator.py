"""The CUDA kernels and the whole graph in Numba's simulator; ``test_device`` runs this file in a process of its own.

Blocks are small here, ten threads or one team, so that a few lanes cross their borders. Threads run in turn
(``in_turn``), so that a missing barrier changes results.
"""

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import in_turn  # noqa: F401  replaces the simulator's blocks
import numpy as np
import pytest
from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.backends.cuda.backend import CudaBackend
from beatwire.errors import LostCardError
from beatwire.jit.arguments import flattened
from beatwire.jit.cuda import launchers
from beatwire.jit.cuda.scan import SCANS
from beatwire.jit.precompile import table
from beatwire.jit.threads import helpers
from beatwire.model.waveform import save_waveform
from beatwire.offline import analyzer
from beatwire.offline.analyzer import Analyzer
from beatwire.offline.passes import SamplesInPlace
from beatwire.offline.plan import Plan
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.recordings.synthetic.person import synthesise
from beatwire.records import RawTick
from beatwire.service import card_kernels
from fast_hearts import heart, units
from kernel_calls import judged_again
from laws import Run, Signal, assert_same, collect, cut, grouped, shuffled
from simulated import SimulatedCard
from small_network import small_arrays, small_network

ALIKE = {"cut_window", "compare_with_history", "write_terms"}  # where sums of floats may be rounded otherwise

OF_SHARDS = {"mark_owned", "score_beat", "copy_owned"}


@pytest.fixture(autouse=True)
def small_teams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        launchers, "PLANS", {k: plan._replace(wide=min(4, plan.wide)) for k, plan in launchers.PLANS.items()}
    )


class Twins(SimulatedCard):
    """A card that also runs each kernel on the CPU, on copies of the arguments, and compares."""

    def __init__(self) -> None:
        super().__init__()
        self.items: dict[str, int] = {}

    def launch(
        self, name: str, kernel: Any, grid: tuple[tuple[int, int], int, int], arguments: tuple[Any, ...]
    ) -> None:
        if name in SCANS:
            super().launch(name, kernel, grid, arguments)
            return
        sizes, cell, _, *given = arguments
        n, plan = int(sizes[cell]), launchers.PLANS[name]
        flat = [*given[0], *given[1 : 1 + plan.stop - plan.first], *(given[-1] if len(given) > 1 else ())]
        copies = [np.array(a) if isinstance(a, np.ndarray) else a for a in flat]
        scratch = range(plan.first, plan.stop)
        super().launch(name, kernel, grid, arguments)
        if name == "write_in_turn":  # on the CPU items run in their order
            for i in range(n):
                flattened(plan.body).body(i, *copies)
        else:
            ample = [
                np.zeros((*a.shape[1:-1], max(1 << 14, a.shape[-1])), a.dtype) if k in scratch else a
                for k, a in enumerate(copies)
            ]
            getattr(CPU.kernels, name).dispatcher(n, 0, helpers.board, *ample)
        for k, (a, b) in enumerate(zip(flat, copies, strict=True)):
            if isinstance(a, np.ndarray) and k not in scratch:
                where = f"{name}: argument {k}"
                if name in ALIKE and a.dtype.kind == "f":
                    np.testing.assert_allclose(a, b, rtol=2e-6, atol=2e-6, err_msg=where)
                else:
                    assert a.tobytes() == b.tobytes(), where
        self.items[name] = self.items.get(name, 0) + n


def messages(seconds: float) -> list[list[bytes]]:
    """Ticks of four people with duplicates, gaps, leads that go off, chunks before their turn, a restart; a fast heart.

    Two of them have their electrodes the other way round.
    """
    rng = np.random.default_rng(7)
    queues = []
    for number, (rate_hz, leads) in enumerate([(128.0, 1), (100.0, 2), (128.0, 1), (100.0, 2)]):
        samples = synthesise(number, rate_hz=rate_hz, leads=leads, seconds=30).recording.samples * np.int16(
            1 if number < 2 else -1
        )
        signal = Signal(f"bed-{number}", samples[:, : int(seconds * rate_hz)], rate_hz, 2.0)
        queue = []
        for k, (a, b) in enumerate(cut(signal.samples.shape[1], rng, 40)):
            queue.append(signal.chunk(a, b, lead_off=2 if leads > 1 and 5 < k < 9 else 0))
            if k % 11 == 3:
                queue.insert(-1, queue.pop())
            if k % 13 == 5:
                queue.append(queue[-1])
            if k % 17 == 9:
                queue.pop()
            if k > 2 and k % 7 == 6:
                queue[-2:] = queue[-1], queue[-2]
        queues.append(queue)
    fast = Signal("fast", units(heart([(330, 330, seconds)], 128.0, 0.012)[0]), 128.0)
    queues.append([fast.chunk(a, b) for a, b in cut(fast.samples.shape[1], rng, 40)])
    queues[0].append(Signal("bed-0", np.ones((1, 9), np.int16)).chunk(0, 9, session=2))
    return grouped(shuffled(queues, rng), rng, 30)


def run_on(ticks: list[list[bytes]], backend: Backend, **settings: Any) -> Run:
    pipeline, run = Pipeline(Settings(**{"detector": "trees", **settings}), backend), Run()
    collect(pipeline, run)
    for values in ticks:
        pipeline.emit(RawTick.of(values))
    return run


class Listed(card_kernels.Listing, SimulatedCard):
    """A simulated card that launches nothing."""

    blocks = 18

    def __init__(self) -> None:
        SimulatedCard.__init__(self)
        card_kernels.Listing.__init__(self)

    def key(self, kernel: Any, arguments: tuple[Any, ...]) -> card_kernels.Key:
        return kernel.fn.__qualname__, len(arguments)


@pytest.fixture(scope="module")
def ticks() -> list[list[bytes]]:
    return messages(3.2)


def test_the_output_of_the_graph_and_of_every_kernel_equals_that_of_the_cpu(
    ticks: list[list[bytes]], tmp_path: Path
) -> None:
    card, network = Twins(), tmp_path / "small.safetensors"
    save_waveform(network, small_arrays(np.random.default_rng(3), depth=1), {})
    run = run_on(ticks, CudaBackend(card, "simulated"), detector="network", network=network)
    assert_same(run, run_on(ticks, CPU, detector="network", network=network), fewest_beats=7)
    assert {name for name, n in card.items.items() if n > 2} == set(launchers.PLANS) - OF_SHARDS, (
        "what hardly runs shows nothing"
    )


def test_doubtful_peaks_are_judged_as_on_the_cpu_to_the_bit() -> None:
    network = small_network(2, depth=1)
    expected = judged_again(CPU, network, 3)
    assert len(np.unique(expected[:, :2, 0])) > 4, "expected logits of the network"
    card = Twins()
    device = CudaBackend(card, "simulated")
    for _ in device.rehearsals():
        np.testing.assert_array_equal(judged_again(device, network, 3), expected)
    assert card.items == {
        "store_past": 9,
        "copy_logits": 9,
        "count_doubts": 9,
        "list_doubts": 9,
        "judge_doubt": 18,
        "correct_errors": 9,
    }


@pytest.mark.parametrize(("pass_s", "by_pass"), [(3.0, False), pytest.param(1.5, True, marks=pytest.mark.slow)])
def test_a_recording_in_shards_has_the_same_beats(
    monkeypatch: pytest.MonkeyPatch, pass_s: float, by_pass: bool
) -> None:
    made = synthesise(3, rate_hz=128.0, seconds=30).recording
    recording = replace(made, samples=made.samples[:, : 6 * 128])
    monkeypatch.setattr(analyzer, "WARM_S", 1.0)
    card = Twins()
    device = CudaBackend(card, "simulated")
    whole = Analyzer(Settings(detector="trees"), Plan(3.0, 3.0), rules=False).analyze(recording, "x")[0].beats
    monkeypatch.setattr(Analyzer, "_source", lambda _, samples, *__: SamplesInPlace(device.constant(samples)))
    monkeypatch.setattr(Analyzer, "_part", lambda _, __, samples, *___: device.constant(samples))
    plan = Plan(3.0, pass_s, by_pass=by_pass)
    beats = Analyzer(Settings(detector="trees"), plan, device, rules=False).analyze(recording, "x")[0].beats
    assert len(beats.sample) > 4
    for name in ("sample", "decided", "scored_by"):
        np.testing.assert_array_equal(getattr(beats, name), getattr(whole, name), err_msg=name)
    np.testing.assert_allclose(beats.score, whole.score, rtol=1e-4)
    assert min(card.items[name] for name in OF_SHARDS) > 2
    between = device.buffer("between recordings", (1,), np.int64)
    device.begin()
    assert device.buffer("between recordings", (1,), np.int64) is between


@pytest.mark.slow
def test_kernels_for_many_items_write_what_kernels_for_few_items_write(ticks: list[list[bytes]]) -> None:
    class Noted(SimulatedCard):
        blocks = Listed.blocks
        kernels: ClassVar[set[str]] = set()

        def launch(self, name: str, kernel: Any, *given: Any) -> None:
            self.kernels.add(kernel.fn.__qualname__)
            super().launch(name, kernel, *given)

    device = CudaBackend(Noted(), "simulated")
    first, *others = [run_on(ticks[:2], device) for _ in device.rehearsals()]
    for run in others:
        assert_same(run, first, fewest_beats=1)
    listing = Listed()
    lists = CudaBackend(listing, "lists")
    for _ in lists.rehearsals():
        run_on(ticks[:2], lists)
    assert {name for name, _ in listing.listed} == Noted.kernels, "a card that launches nothing lists them all"
    several = {name for name in Noted.kernels if name.startswith("respond_leads")}
    assert several == {"respond_leads_2", "respond_leads_4", "respond_leads_8"}, (
        "each is compiled before the first beat"
    )


def test_a_card_that_launches_nothing_lists_the_kernels_of_every_width(tmp_path: Path) -> None:
    found, again = (card_kernels.listed(Listed(), "network") for _ in range(2))
    assert list(found) == list(again), "each process has the same list"
    names = {name for name, _ in found}
    for name in launchers.PLANS.keys() - OF_SHARDS:
        assert any(one.startswith(name) for one in names), f"{name} is not compiled before the first beat"
    without = {name for name, _ in card_kernels.listed(Listed(), "trees")}
    of_network = "store_past", "copy_logits", "count_doubts", "list_doubts", "judge_doubt", "correct_errors"
    assert without == {name for name in names if not name.startswith(of_network)}
    assert {"respond_leads_2", "respond_leads_4", "respond_leads_8"} <= names
    longest = next(name for name in table() if name in launchers.PLANS)
    assert next(name for name, _ in found).startswith(longest), "the longest first"
    taken = [card_kernels.unclaimed(found, tmp_path) for _ in range(3)]
    keys = [key for turn in itertools.zip_longest(*taken) for one in turn if one is not None for key in one[:1]]
    assert sorted(keys) == sorted(found), "each is compiled by one process"


def test_a_tick_is_copied_in_one_piece_and_after_some_ticks_nothing_is_allocated() -> None:
    heart = Signal("bed", synthesise(1, rate_hz=128.0, seconds=30).recording.samples, 128.0, 2.0)
    card = SimulatedCard()
    device = CudaBackend(card, "simulated")
    pipeline = Pipeline(Settings(detector="trees"), device)
    allocated, copies, keys = [], [], []
    for a in range(0, 1024, 128):
        before = device.copies
        pipeline.emit(RawTick.of([heart.chunk(a, a + 64), heart.chunk(a + 64, a + 128)]))
        allocated.append(card.allocated)
        copies.append(device.copies - before)
        keys.append(card.keys[-1:])
    assert allocated[-1] == allocated[4]
    assert set(copies[4:]) == {2}, "one to the device, one to the host"
    assert keys[-1] == keys[-2], "two ticks of the same size are one graph"


def test_the_launches_of_a_tick_that_failed_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    heart = Signal("bed", synthesise(1, rate_hz=128.0, seconds=30).recording.samples, 128.0, 2.0)
    device = CudaBackend(SimulatedCard(), "simulated")
    pipeline = Pipeline(Settings(detector="trees"), device)
    pipeline.emit(RawTick.of([heart.chunk(0, 64)]))
    with monkeypatch.context() as broken:
        broken.setattr(device, "table", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            pipeline.emit(RawTick.of([heart.chunk(64, 128)]))
    pipeline.reset()
    assert_same(run_of(pipeline, heart), run_of(Pipeline(Settings(detector="trees")), heart), fewest_beats=2)


def run_of(pipeline: Pipeline, heart: Signal) -> Run:
    run = Run()
    collect(pipeline, run)
    for a in range(0, 512, 128):
        pipeline.emit(RawTick.of([heart.chunk(a, a + 128)]))
    return run


def test_a_card_that_fails_ends_the_process_with_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    heart = Signal("bed", synthesise(1, rate_hz=128.0, seconds=30).recording.samples, 128.0, 2.0)
    card = SimulatedCard()
    pipeline = Pipeline(Settings(detector="trees"), CudaBackend(card, "simulated"))

    def lost(*_: object) -> None:
        raise RuntimeError("the card fell off the bus")

    monkeypatch.setattr(card, "copy_to_device", lost)
    with pytest.raises(LostCardError, match=r"^gpu: the card failed: the card fell off the bus$"):
        pipeline.emit(RawTick.of([heart.chunk(0, 64)]))
