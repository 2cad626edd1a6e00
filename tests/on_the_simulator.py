"""The device's kernels and its whole graph in Numba's simulator; ``test_device`` runs this in a process of its own.

Blocks are small here, ten threads or one team, so that a few lanes cross the borders between them. Their threads come
in turn (``in_turn``): a missing barrier shows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import in_turn  # noqa: F401  in the place of the simulator's blocks
import numpy as np
import pytest
from laws import Run, Signal, assert_same, cut, grouped, listen, shuffled
from numba import cuda
from simulated import OnDevice, SimulatedCard, embedded

from producers.synthetic import synthesise
from streaming import archive
from streaming.archive import Archive, Plan
from streaming.backend import CPU, Backend
from streaming.device import Device
from streaming.errors import LostCardError
from streaming.kernels import gpu
from streaming.kernels.scan import SCANNED, SCANS
from streaming.model.checkpoint import load_model
from streaming.network import embed
from streaming.orders import Orders
from streaming.pieces import Whole
from streaming.pipeline import Pipeline
from streaming.records import RawTick
from streaming.settings import Settings
from streaming.tape import Line, Tapes, rounded

ALIKE = {"cut_window", "recall_beats", "in_terms"}  # where sums of floats may be rounded otherwise

OF_PIECES = {"is_answered", "score_beat", "tell_beat"}


@pytest.fixture(autouse=True)
def small_teams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "PLANS", {k: plan._replace(wide=min(4, plan.wide)) for k, plan in gpu.PLANS.items()})


class Twins(SimulatedCard):
    """A card that also runs every kernel on the CPU, on a copy of the same, and compares."""

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
        n, plan = int(sizes[cell]), gpu.PLANS[name]
        flat = [*given[0], *given[1 : 1 + plan.stop - plan.first], *(given[-1] if len(given) > 1 else ())]
        copies = [np.array(a) if isinstance(a, np.ndarray) else a for a in flat]
        scratch = range(plan.first, plan.stop)
        super().launch(name, kernel, grid, arguments)
        twin = getattr(CPU.kernels, name, None)
        if twin is None:
            for i in range(n):
                plan.body(i, *copies)
        else:
            ample = [np.zeros((*a.shape[1:-1], 1 << 14), a.dtype) if k in scratch else a for k, a in enumerate(copies)]
            twin(n, *ample)
        for k, (a, b) in enumerate(zip(flat, copies, strict=True)):
            if isinstance(a, np.ndarray) and k not in scratch:
                where = f"{name}: argument {k}"
                if name in ALIKE and a.dtype.kind == "f":
                    np.testing.assert_allclose(a, b, rtol=2e-6, atol=2e-6, err_msg=where)
                else:
                    assert a.tobytes() == b.tobytes(), where
        self.items[name] = self.items.get(name, 0) + n


def messages(seconds: float) -> list[list[bytes]]:
    """Ticks of four people with duplicates, gaps, leads that go off, chunks before their turn and a restart.

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
    queues[0].append(Signal("bed-0", np.ones((1, 9), np.int16)).chunk(0, 9, session=2))
    return grouped(shuffled(queues, rng), rng, 30)


def said(ticks: list[list[bytes]], backend: Backend, **settings: Any) -> Run:
    pipeline, run = Pipeline(Settings(**settings), backend), Run()
    listen(pipeline, run)
    for values in ticks:
        pipeline.emit(RawTick.of(values))
    return run


@pytest.fixture(scope="module")
def ticks() -> list[list[bytes]]:
    return messages(3.2)


@cuda.jit  # type: ignore[untyped-decorator]
def turn_round(row: Any, first_that_waits: int) -> None:
    shared = cuda.shared.array(4, "int64")
    j = cuda.threadIdx.x
    shared[j] = row[j]
    if j >= first_that_waits:
        cuda.syncthreads()
    row[j] = shared[3 - j]


def test_a_missing_barrier_shows_and_one_that_not_all_come_to_is_an_error() -> None:
    rows = np.arange(80).reshape(20, 4)
    for row in rows:
        turn_round[1, 4](row, 0)
    np.testing.assert_array_equal(rows, np.arange(80).reshape(20, 4)[:, ::-1])
    for row in rows:
        turn_round[1, 4](row, 4)
    assert (rows != np.arange(80).reshape(20, 4)).any()
    with pytest.raises(AssertionError, match="different barriers"):
        turn_round[1, 4](rows[0], 1)


def test_machine_code_of_no_two_kernels_is_kept_by_one_name() -> None:
    """Of some only the width of the team differs, or where scratch is: not the types of what they are given."""
    names = [
        gpu.launcher(name, width, shared, ordered).fn.__qualname__  # type: ignore[attr-defined]
        for name, plan in gpu.PLANS.items()
        for width in {plan.wide, plan.narrow, *([64] if plan.whole else [])}
        for shared in {False, plan.stop > plan.first}
        for ordered in {False, plan.busy is not None}
    ]
    assert len(set(names)) == len(names)


def test_where_there_is_room_each_item_of_some_kernels_has_a_block() -> None:
    card = SimulatedCard()
    card.blocks = 18
    tapes = Tapes(card, many=30)
    assert [tapes.width("respond_leads", n) for n in (1, 18, 19, 40)] == [gpu.WHOLE, gpu.WHOLE, 4, 8]
    assert [tapes.width("respond", n) for n in (1, 18, 19, 40)] == [4, 4, 4, 8]


def test_the_graph_says_the_same_and_every_kernel_writes_what_its_twin_on_the_cpu_does(
    ticks: list[list[bytes]],
) -> None:
    card = Twins()
    run = said(ticks, Device(card, "simulated"))
    assert_same(run, said(ticks, CPU))
    assert sum(map(len, run.beats.values())) > 6
    assert {name for name, n in card.items.items() if n > 2} == set(gpu.PLANS) - OF_PIECES, (
        "what hardly runs shows nothing"
    )


@pytest.mark.parametrize(("pass_s", "by_pass"), [(3.0, False), (1.5, True)])
def test_a_recording_in_pieces_says_the_same(monkeypatch: pytest.MonkeyPatch, pass_s: float, by_pass: bool) -> None:
    made = synthesise(3, rate_hz=128.0, seconds=30).recording
    recording = replace(made, samples=made.samples[:, : 6 * 128])
    monkeypatch.setattr(archive, "WARM_S", 1.0)
    card = Twins()
    device = Device(card, "simulated")
    whole = Archive(Settings(), Plan(3.0, 3.0), rules=False).analyze(recording, "x")[0].beats
    monkeypatch.setattr(Archive, "_source", lambda _, samples, *__: Whole(device.constant(samples)))
    monkeypatch.setattr(Archive, "_part", lambda _, __, samples, *___: device.constant(samples))
    plan = Plan(3.0, pass_s, by_pass=by_pass)
    beats = Archive(Settings(), plan, device, rules=False).analyze(recording, "x")[0].beats
    assert len(beats.sample) > 4
    for name in ("sample", "decided", "scored_by"):
        np.testing.assert_array_equal(getattr(beats, name), getattr(whole, name), err_msg=name)
    np.testing.assert_allclose(beats.score, whole.score, rtol=1e-4)
    assert min(card.items[name] for name in OF_PIECES) > 2
    between = device.room("between recordings", (1,), np.int64)
    device.begin()
    assert device.room("between recordings", (1,), np.int64) is between


def test_sums_are_those_of_the_rows_before() -> None:
    rng = np.random.default_rng(1)
    device = Device(SimulatedCard(), "simulated")
    for n in (1, 8, 9, 70):
        count = rng.integers(0, 4, n)
        count[-1] = 1
        device.next_pass()
        there, ones = device.constant(count), device.constant(np.ones(4 * n, np.int64))
        first, total = device.positions("rows", n, there, 4 * n)
        second, again = device.positions("rows of these", total, ones, 4 * n)
        device.fetch([device.table("kept", again, (np.int64,))])
        np.testing.assert_array_equal(first[: n + 1], np.concatenate([[0], np.cumsum(count)]))
        np.testing.assert_array_equal(second[: count.sum() + 1], np.arange(count.sum() + 1))


def test_a_tick_that_nobody_has_waited_for_keeps_what_it_says() -> None:
    device = Device(SimulatedCard(), "simulated")

    def finished(n: int) -> Any:
        device.begin()
        device.next_pass()
        _, total = device.positions("rows", n, device.constant(np.ones(n, np.int64)), 9)
        table = device.table("kept", total, (np.int64,))
        table.columns[0][:n] = n * np.arange(n)
        return device.finish([table])

    last, coming = 0, None
    for n in (3, 5, 2, 7, 1):
        this = finished(n)
        if coming is not None:
            assert coming()[0][0].tolist() == [last * k for k in range(last)]
        last, coming = n, this
    finished(4)
    with pytest.raises(ValueError, match="at most one tick"):
        device.begin()


def test_of_many_rows_the_busy_ones_come_first() -> None:
    rng = np.random.default_rng(1)
    device = Device(SimulatedCard(), "simulated")
    for n in (1, 8, 9, 70):
        count = rng.integers(0, 3, n)
        for counted, summed in ((count, False), (np.concatenate([[0], np.cumsum(count)]), True)):
            device.next_pass()
            tape: list[Line] = []
            orders = Orders(device.card.address, device.room)
            number = np.array([n]).view(OnDevice), 0
            order = orders.busy_first(tape, device.constant(counted), summed, n, number)
            assert orders.busy_first(tape, tape[0].arguments[0], summed, n, number) is order
            for line in tape:
                SCANS[line.name][n // SCANNED + 1, SCANNED](line.sizes, line.cell, *line.arguments)
            right = np.concatenate([np.flatnonzero(count), np.flatnonzero(count == 0)])
            np.testing.assert_array_equal(order[:n], right)


def test_of_no_rows_the_sum_is_nothing() -> None:
    device = Device(SimulatedCard(), "simulated")
    device.next_pass()
    _, total = device.positions("rows", 3, device.constant(np.zeros(3, np.int64)), 9)
    _, again = device.positions("rows of these", total, device.constant(np.ones(9, np.int64)), 9)
    table = device.table("kept", again, (np.int64,))
    assert [len(column) for column in device.fetch([table])[0]] == [0]


def test_the_network_runs_over_as_many_windows_as_there_are() -> None:
    rng, network = np.random.default_rng(1), load_model().network
    windows, scale = rng.normal(size=(5, 256)).astype(np.float32), np.ones(5, np.float32)
    latents, misfit = embedded(Device(SimulatedCard(), "simulated"), network, windows, scale)
    np.testing.assert_allclose(latents, embed(network, windows, scale)[0], atol=1e-6)
    assert len(misfit) == 5


def test_what_grows_within_a_tick_keeps_what_was_called_before() -> None:
    device = Device(SimulatedCard(), "simulated")
    ring = device.constant(np.ones((2, 1, 4), np.int16))
    device.next_pass()
    device.kernels.begin_lane(1, np.array([1]), np.array([2]), ring)
    grown = device.grown(ring, (3, 1, 4), np.int16)
    device.kernels.begin_lane(1, np.array([2]), np.array([1]), grown)
    first, total = device.positions("rows", 2, device.constant(np.array([1, 2])), 4)
    table = device.table("kept", total, (np.int64,))
    device.fetch([table])
    assert grown[:, 0].tolist() == [[1, 1, 1, 1], [1, 0, 1, 1], [0, 0, 0, 0]]
    assert first[:3].tolist() == [0, 1, 3]


def test_kernels_for_many_say_what_kernels_for_few_do(ticks: list[list[bytes]]) -> None:
    class Noted(SimulatedCard):
        blocks = 18
        kernels: ClassVar[set[str]] = set()

        def launch(self, name: str, kernel: Any, *given: Any) -> None:
            self.kernels.add(kernel.fn.__qualname__)
            super().launch(name, kernel, *given)

    device = Device(Noted(), "simulated")
    first, *others = [said(ticks[:3], device) for _ in device.rehearsals()]
    for run in others:
        assert_same(run, first)
    several = {name for name in Noted.kernels if name.startswith("respond_leads")}
    assert several == {"respond_leads_2", "respond_leads_4", "respond_leads_8"}, (
        "each is compiled before the first beat"
    )


def test_a_tick_goes_up_in_one_piece_and_after_some_nothing_is_allocated() -> None:
    heart = Signal("bed", synthesise(1, rate_hz=128.0, seconds=30).recording.samples, 128.0, 2.0)
    card = SimulatedCard()
    device = Device(card, "simulated")
    pipeline = Pipeline(Settings(), device)
    allocated, moved, tapes = [], [], []
    for a in range(0, 1024, 128):
        before = device.transfers
        pipeline.emit(RawTick.of([heart.chunk(a, a + 64), heart.chunk(a + 64, a + 128)]))
        allocated.append(card.allocated)
        moved.append(device.transfers - before)
        tapes.append(card.ran[-1:])
    assert allocated[-1] == allocated[4]
    assert set(moved[4:]) == {2}, "one up, one down"
    assert tapes[-1] == tapes[-2], "two ticks of the same size are one graph"


def test_what_a_tick_left_when_it_failed_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    heart = Signal("bed", synthesise(1, rate_hz=128.0, seconds=30).recording.samples, 128.0, 2.0)
    device = Device(SimulatedCard(), "simulated")
    pipeline = Pipeline(Settings(), device)
    pipeline.emit(RawTick.of([heart.chunk(0, 64)]))
    with monkeypatch.context() as broken:
        broken.setattr(device, "table", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            pipeline.emit(RawTick.of([heart.chunk(64, 128)]))
    pipeline.reset()
    assert_same(said_by(pipeline, heart), said_by(Pipeline(Settings()), heart))


def said_by(pipeline: Pipeline, heart: Signal) -> Run:
    run = Run()
    listen(pipeline, run)
    for a in range(0, 512, 128):
        pipeline.emit(RawTick.of([heart.chunk(a, a + 128)]))
    return run


def test_arrays_of_the_simulated_card_are_not_taken_for_the_hosts() -> None:
    card = SimulatedCard()
    assert type(card.empty((3,), np.int64)[1:]) is OnDevice
    assert [rounded(n) for n in (0, 16, 17, 1000, 1025)] == [16, 16, 18, 1024, 1152]


def test_a_card_that_fails_ends_the_process_with_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    heart = Signal("bed", synthesise(1, rate_hz=128.0, seconds=30).recording.samples, 128.0, 2.0)
    card = SimulatedCard()
    pipeline = Pipeline(Settings(), Device(card, "simulated"))

    def lost(*_: object) -> None:
        raise RuntimeError("the card fell off the bus")

    monkeypatch.setattr(card, "up", lost)
    with pytest.raises(LostCardError, match=r"^gpu: the card failed: the card fell off the bus$"):
        pipeline.emit(RawTick.of([heart.chunk(0, 64)]))
