"""Threads that share the items of kernels: equal output for any number of them, errors, several callers."""

import threading
from typing import Any

import numpy as np
import pytest
from beatwire.backends.cpu import CPU
from beatwire.bench.graph import ticks_for
from beatwire.jit import cpu, threads
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


class Marking(cpu.CpuKernels):
    """A table with a kernel of its own."""

    mark = OverItems(mark, "work", grain=1)


@pytest.mark.parametrize("n", [0, 1, 7, 64, 100_000])
def test_each_item_is_run_once_and_each_thread_has_scratch_of_its_own(n: int) -> None:
    seen, others = np.zeros(n, np.int64), np.zeros(n, np.int64)
    kernels = Marking()
    for count in (1, 2, 5):
        with threads.using(count):
            kernels.mark(n, seen, others, np.zeros(8, np.int64))
    assert (seen == 3).all()
    assert not others.any()


def test_few_items_stay_on_the_thread_of_the_caller() -> None:
    calls: list[tuple[int, int, str]] = []
    with threads.using(4):
        run = threads.shared(lambda n, size, _board: calls.append((n, size, threading.current_thread().name)), 100, [])
        run(199)
        run(0)
    assert calls == [(n, 0, threading.current_thread().name) for n in (199, 0)]


def test_scratch_with_a_row_for_each_result_is_shared() -> None:
    caller, begun, rows = threading.current_thread(), threading.Event(), np.zeros((2, 3))

    def run(_n: int, size: int, _board: Any, work: Any, kept: Any) -> None:
        assert kept is rows
        if size < 0:
            assert work is not scratch
            begun.set()
        else:
            assert work is scratch
            assert begun.wait(60)

    scratch = np.zeros((1, 3))
    with threads.using(2):
        threads.shared(run, 1, [0], [1])(8, scratch, rows)
    assert threading.current_thread() is caller


def test_an_error_of_a_helper_is_raised_by_the_call_and_the_helper_goes_on() -> None:
    failed = threading.Event()

    def run(_n: int, size: int, _board: Any) -> None:
        if size < 0:
            failed.set()
            raise ValueError("no memory")
        assert failed.wait(60)

    with threads.using(2):
        for _ in range(2):
            failed.clear()
            with pytest.raises(ValueError, match="no memory"):
                threads.shared(run, 1, [])(8)
