"""Parts of the CUDA backend in Numba's simulator; ``test_device`` runs this file in a process of its own.

Sums, orders, ticks that nobody has waited for, names and widths of kernels. ``on_the_simulator`` tests the whole graph.
"""

from typing import Any

import in_turn  # noqa: F401  replaces the simulator's blocks
import numpy as np
import pytest
from beatwire.backends.cuda.backend import CudaBackend
from beatwire.backends.cuda.compaction import Compaction
from beatwire.backends.cuda.launch_list import Launch, LaunchLists, rounded
from beatwire.backends.network import embed
from beatwire.jit.cuda import launchers
from beatwire.jit.cuda.scan import SCANNED, SCANS
from beatwire.model.checkpoint import load_model
from numba import cuda
from simulated import OnDevice, SimulatedCard, embedded


@cuda.jit  # type: ignore[untyped-decorator]
def turn_round(row: Any, first_that_waits: int) -> None:
    shared = cuda.shared.array(4, "int64")
    j = cuda.threadIdx.x
    shared[j] = row[j]
    if j >= first_that_waits:
        cuda.syncthreads()
    row[j] = shared[3 - j]


def test_a_missing_barrier_changes_the_result_and_one_that_not_all_threads_reach_is_an_error() -> None:
    rows = np.arange(80).reshape(20, 4)
    for row in rows:
        turn_round[1, 4](row, 0)
    np.testing.assert_array_equal(rows, np.arange(80).reshape(20, 4)[:, ::-1])
    for row in rows:
        turn_round[1, 4](row, 4)
    assert (rows != np.arange(80).reshape(20, 4)).any()
    with pytest.raises(AssertionError, match="different barriers"):
        turn_round[1, 4](rows[0], 1)


def test_no_two_kernels_store_machine_code_by_the_same_name() -> None:
    """Some differ only by the width of the team or by the place of scratch, not by the types of their arguments."""
    names = [
        launchers.launcher(name, width, shared, ordered).fn.__qualname__  # type: ignore[attr-defined]
        for name, plan in launchers.PLANS.items()
        for width in {plan.wide, plan.narrow, *([launchers.BLOCK_TEAM] if plan.block_registers else [])}
        for shared in {False, plan.stop > plan.first}
        for ordered in {False, plan.busy is not None}
    ]
    assert len(set(names)) == len(names)


def test_few_items_of_some_kernels_have_a_block_each() -> None:
    card = SimulatedCard()
    card.blocks = 18
    lists = LaunchLists(card, many_items=30)
    assert [lists.width("respond_leads", n) for n in (1, 18, 19, 40)] == [
        launchers.BLOCK_TEAM,
        launchers.BLOCK_TEAM,
        32,
        8,
    ]
    assert [lists.width("respond", n) for n in (1, 18, 19, 40)] == [16, 16, 16, 8]


def test_a_kernel_with_large_scratch_has_few_teams() -> None:
    card = SimulatedCard()
    card.blocks = 2112
    lists = LaunchLists(card)
    assert [lists.blocks("judge_doubt", n) for n in (1, 100, 100_000)] == [16, 104, launchers.MOST_TEAMS]
    assert lists.blocks("select_beats", 100_000) == card.blocks


def test_positions_are_the_sums_of_the_rows_before() -> None:
    rng = np.random.default_rng(1)
    device = CudaBackend(SimulatedCard(), "simulated")
    for n in (1, 8, 9, 70):
        count = rng.integers(0, 4, n)
        count[-1] = 1
        device.next_pass()
        on_device, ones = device.constant(count), device.constant(np.ones(4 * n, np.int64))
        first, total = device.positions("rows", n, on_device, 4 * n)
        second, again = device.positions("rows of these", total, ones, 4 * n)
        device.fetch([device.table("kept", again, (np.int64,))])
        np.testing.assert_array_equal(first[: n + 1], np.concatenate([[0], np.cumsum(count)]))
        np.testing.assert_array_equal(second[: count.sum() + 1], np.arange(count.sum() + 1))


def test_a_tick_that_nobody_has_waited_for_keeps_its_results() -> None:
    device = CudaBackend(SimulatedCard(), "simulated")

    def finished(n: int) -> Any:
        device.begin()
        device.next_pass()
        _, total = device.positions("rows", n, device.constant(np.ones(n, np.int64)), 9)
        table = device.table("kept", total, (np.int64,))
        table.columns[0][:n] = n * np.arange(n)
        return device.finish([table])

    last, wait = 0, None
    for n in (3, 5, 2, 7, 1):
        wait_for_this = finished(n)
        if wait is not None:
            assert wait()[0][0].tolist() == [last * k for k in range(last)]
        last, wait = n, wait_for_this
    finished(4)
    with pytest.raises(ValueError, match="at most one tick"):
        device.begin()


def test_rows_with_work_come_first() -> None:
    rng = np.random.default_rng(1)
    device = CudaBackend(SimulatedCard(), "simulated")
    for n in (1, 8, 9, 70):
        count = rng.integers(0, 3, n)
        for counted, summed in ((count, False), (np.concatenate([[0], np.cumsum(count)]), True)):
            device.next_pass()
            launches: list[Launch] = []
            compaction = Compaction(device.card.address, device.buffer)
            number = np.array([n]).view(OnDevice), 0
            order = compaction.busy_first(launches, device.constant(counted), summed, n, number)
            assert compaction.busy_first(launches, launches[0].arguments[0], summed, n, number) is order
            for one in launches:
                SCANS[one.name][n // SCANNED + 1, SCANNED](one.sizes, one.cell, *one.arguments)
            expected = np.concatenate([np.flatnonzero(count), np.flatnonzero(count == 0)])
            np.testing.assert_array_equal(order[:n], expected)


def test_the_sum_of_no_rows_is_0() -> None:
    device = CudaBackend(SimulatedCard(), "simulated")
    device.next_pass()
    _, total = device.positions("rows", 3, device.constant(np.zeros(3, np.int64)), 9)
    _, again = device.positions("rows of these", total, device.constant(np.ones(9, np.int64)), 9)
    table = device.table("kept", again, (np.int64,))
    assert [len(column) for column in device.fetch([table])[0]] == [0]


def test_the_network_reads_the_number_of_windows_on_the_device() -> None:
    rng, network = np.random.default_rng(1), load_model().network
    windows, scale = rng.normal(size=(5, 256)).astype(np.float32), np.ones(5, np.float32)
    latents, reconstruction_error = embedded(CudaBackend(SimulatedCard(), "simulated"), network, windows, scale)
    np.testing.assert_allclose(latents, embed(network, windows, scale)[0], atol=1e-6)
    assert len(reconstruction_error) == 5


def test_an_array_that_grows_within_a_tick_has_the_results_of_earlier_calls() -> None:
    device = CudaBackend(SimulatedCard(), "simulated")
    ring = device.constant(np.ones((2, 1, 4), np.int16))
    device.next_pass()
    device.kernels.begin_lane(1, np.array([1]), np.array([2]), ring)
    grown = device.grown(ring, (3, 1, 4), np.int16)
    device.kernels.begin_lane(1, np.array([2]), np.array([1]), grown)
    first, total = device.positions("rows", 2, device.constant(np.array([1, 2])), 4)
    table = device.table("kept", total, (np.int64,))
    device.fetch([table])
    assert grown[:, 0].tolist() == [[1, 1, 1, 1], [1, -32768, 1, 1], [-32768, 0, 0, 0]]
    assert first[:3].tolist() == [0, 1, 3]


def test_views_of_arrays_of_the_simulated_card_are_arrays_of_the_card() -> None:
    card = SimulatedCard()
    assert type(card.empty((3,), np.int64)[1:]) is OnDevice
    assert [rounded(n) for n in (0, 16, 17, 1000, 1025)] == [16, 16, 18, 1024, 1152]
