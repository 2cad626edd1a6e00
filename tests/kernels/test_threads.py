"""Threads that share the items of kernels: equal output for any number of them, errors, several callers."""

import contextlib
import threading
import time
from typing import Any

import numpy as np
import pytest
from beatwire.backends.cpu import CPU
from beatwire.bench.card.workers import ticks_ms
from beatwire.bench.graph import ticks_for
from beatwire.jit import cpu, threads
from beatwire.jit.board import HELPING, JOB
from beatwire.kernels.table import OverItems
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.records import I64, RawTick
from beatwire_producers.encode import Encoder
from beatwire_producers.feeds import Lanes
from beatwire_producers.schedule import chunks_of
from beatwire_producers.ward import ward
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_calls import judged_again
from small_network import small_network


def drawn_ward(streams: int, seed: int, ticks: int) -> list[RawTick]:
    """Return ticks of a ward with planted events, of one and two leads, half a second to a second each."""
    feeds = ward(streams, 40, seed=seed, distinct=6, rates_hz=(250.0, 360.0), leads=(1, 2)).feeds
    lanes, made = Lanes.of(feeds), []
    encoder, rng, at = Encoder.of(lanes, 1_700_000_000_000_000), np.random.default_rng(seed), 0
    for _ in range(ticks):
        more = int(rng.integers(3, 8))
        payload, start = encoder.encode(chunks_of(lanes, 200.0, at, at + more))
        at, m = at + more, len(start) - 1
        made.append(RawTick(payload, start, np.zeros(m, np.int64), np.zeros(m, np.int32), 0))
    return made


def published(ticks: list[RawTick]) -> list[tuple[Any, ...]]:
    """Return all that a graph publishes, byte by byte."""
    pipeline = Pipeline(Settings())
    return [(out.topic, out.keys, out.values) for tick in ticks for out in pipeline.emit(tick)]


@settings(max_examples=8, deadline=None)
@given(
    count=st.integers(2, 5), smallest=st.sampled_from([1, 2, 3, 7]), streams=st.integers(2, 40), seed=st.integers(0, 99)
)
def test_output_is_equal_to_the_bit_for_any_number_of_threads(
    count: int, smallest: int, streams: int, seed: int
) -> None:
    ticks = drawn_ward(streams, seed, 12)
    alone = published(ticks)
    assert sum(len(values) for topic, _, values in alone if topic == "ecg.beats") >= 5 * streams
    with threads.using(count, smallest):
        assert published(ticks) == alone


def test_graphs_of_several_threads_at_a_time_have_the_output_of_one() -> None:
    ticks = ticks_for(300, 4)
    alone = published(ticks)
    found: list[list[tuple[Any, ...]]] = []
    with threads.using(3, 16):
        callers = [threading.Thread(target=lambda: found.append(published(ticks))) for _ in range(3)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
    assert found == [alone] * 3


def test_doubtful_peaks_are_judged_equally_by_any_number_of_threads() -> None:
    network = small_network(1)
    alone = judged_again(CPU, network, 200)
    with threads.using(4, 1):
        np.testing.assert_array_equal(judged_again(CPU, network, 200), alone)


def mark(i: int, seen: I64, others: I64, work: I64) -> None:
    """Count item ``i``, and if another thread has written to the scratch of this one."""
    work[0] = i
    for k in range(200):
        work[1 + k % 7] = i
    seen[i] += 1
    others[i] = work[0] != i


def keep(i: int, rows: I64, kept: I64) -> None:
    """Write item ``i`` to the row of ``kept`` that is its own, or to the only one, and copy what that has then."""
    row = i if kept.shape[0] > 1 else 0
    for k in range(200):
        kept[row, k % 7] = i
    rows[i] = kept[row, 0]


def fail(i: int, at: int) -> None:
    """Fail at one item."""
    if i == at:
        raise ValueError("no memory")


def linger(i: int, seen: I64, turns: int) -> None:
    """Count item ``i`` after some time."""
    value = 1
    for _ in range(turns):
        value = (value * 6364136223846793005 + i) & 0xFFFFFFFF
    seen[i] += 1 + (value >> 40)


class Own(cpu.CpuKernels):
    """A table with kernels of its own."""

    many = OverItems(mark, "work", grain=100)
    mark = OverItems(mark, "work", grain=1)
    keep = OverItems(keep, kept=("kept",), grain=1)
    fail = OverItems(fail, grain=1)
    linger = OverItems(linger, grain=1)


OWN = Own()


@pytest.mark.parametrize("n", [0, 1, 7, 64, 100_000])
def test_each_item_is_run_once_and_each_thread_has_scratch_of_its_own(n: int) -> None:
    seen, others = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for count in (1, 2, 5):
        with threads.using(count):
            OWN.mark(n, seen, others, np.zeros(8, np.int64))
    assert (seen == 3).all()
    assert not others.any()


def test_no_helper_works_on_a_job_that_is_over() -> None:
    rng = np.random.default_rng(0)
    with threads.using(5):
        for n in rng.integers(2, 60, 3000).tolist():
            seen, others = np.zeros(n + 64, np.int64), np.zeros(n + 64, np.int64)
            OWN.mark(n, seen, others, np.zeros(8, np.int64))
            assert seen.sum() == n == seen[:n].sum()
            assert not others.any()


def is_offered(n: int) -> bool:
    """Return True if a job was offered while ``n`` items were run."""
    work, seen, others = np.zeros(8, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    board, before = threads.helpers.board, int(threads.helpers.board[JOB])
    OWN.many(n, seen, others, work)
    assert seen.sum() == n
    return int(board[JOB]) > before


def test_few_items_stay_on_the_thread_of_the_caller() -> None:
    with threads.using(4):
        assert not is_offered(0)
        assert not is_offered(199)
        assert is_offered(200)
    with threads.using(1):
        assert not is_offered(200)


@pytest.mark.parametrize("n", [1, 8, 5000])
def test_scratch_with_a_row_for_each_result_is_shared_and_a_single_row_is_not(n: int) -> None:
    rows, kept = np.zeros(n, np.int64), np.zeros((n, 8), np.int64)
    with threads.using(3):
        OWN.keep(n, rows, kept)
        np.testing.assert_array_equal(kept[:, 0], np.arange(n))
        rows[:] = -1
        OWN.keep(n, rows, np.zeros((1, 8), np.int64))
        np.testing.assert_array_equal(rows, np.arange(n))


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("at", [0, 63, 5000, 9999])
def test_a_kernel_that_fails_is_an_error_on_any_thread_and_the_helpers_go_on(count: int, at: int) -> None:
    with threads.using(count):
        for _ in range(20):
            with pytest.raises(RuntimeError, match="a kernel has failed"):
                OWN.fail(10_000, at)
        OWN.fail(10_000, -1)


def test_a_helper_that_slept_serves_again() -> None:
    with threads.using(2):
        for _ in range(2):
            OWN.fail(10_000, -1)
            deadline = time.monotonic() + 60
            while not threads.helpers.started[0].asleep and time.monotonic() < deadline:
                time.sleep(0.001)
            assert threads.helpers.started[0].asleep


def test_after_an_interrupted_call_the_next_one_waits_for_the_helpers(monkeypatch: pytest.MonkeyPatch) -> None:
    at_work: list[int] = []
    make_ready = threads.Helpers._make_ready

    def noting(helpers: threads.Helpers, count: int, room: int) -> None:
        at_work.append(int(helpers.board[HELPING]))
        make_ready(helpers, count, room)

    def interrupted(_seconds: float) -> None:
        monkeypatch.undo()
        monkeypatch.setattr(threads.Helpers, "_make_ready", noting)
        raise KeyboardInterrupt

    monkeypatch.setattr(threads, "END_TURNS", 0)
    monkeypatch.setattr(threads.time, "sleep", interrupted)
    first, second = np.zeros(2, np.int64), np.zeros(2, np.int64)
    with threads.using(2):
        with contextlib.suppress(KeyboardInterrupt):  # unless the helper has ended before
            OWN.linger(2, first, 50_000_000)
        monkeypatch.setattr(threads.Helpers, "_make_ready", noting)
        OWN.linger(2, second, 1)
    assert at_work == [0]
    assert (first == 1).all()
    assert (second == 1).all()


@pytest.mark.slow
def test_workers_of_a_benchmark_take_their_ticks_together() -> None:
    taken_ms = ticks_ms(8, 2, on_gpu=False, ticks=3)
    assert taken_ms.shape == (3,)
    assert (taken_ms > 0).all()
