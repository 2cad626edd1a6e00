"""Threads that share the items of kernels: equal output for any number of them, errors, several callers."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from beatwire.bench.graph import ticks_for
from beatwire.jit import threads
from beatwire.pipeline.graph import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.records import RawTick
from beatwire_producers.encode import Encoder
from beatwire_producers.feeds import Lanes
from beatwire_producers.schedule import chunks_of
from beatwire_producers.ward import ward
from hypothesis import given, settings
from hypothesis import strategies as st


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


@pytest.mark.parametrize("n", [0, 1, 7, 64, 1000])
def test_each_item_is_run_once_and_each_thread_has_scratch_of_its_own(n: int) -> None:
    seen, scratches, once = np.zeros(n, np.int64), set[int](), threading.Barrier(3)

    def run(begin: int, end: int, _unused: object, work: Any, kept: Any) -> None:
        if id(work) not in scratches and n == 1000:
            scratches.add(id(work))
            once.wait(10.0)  # all threads are at work
        assert kept is rows
        seen[begin:end] += 1

    rows = np.zeros((2, 1))
    with threads.using(3, 4):
        threads.shared(run, 1, [1], [2])(n, None, np.zeros((1, 8)), rows)
    assert (seen == 1).all()
    assert len(scratches) == (3 if n == 1000 else 0)


def test_few_items_stay_on_the_thread_of_the_caller() -> None:
    calls: list[tuple[int, int, str]] = []
    with threads.using(4):
        run = threads.shared(lambda begin, end: calls.append((begin, end, threading.current_thread().name)), 100, [])
        run(199)
        run(0)
    assert calls == [(0, 199, threading.current_thread().name), (0, 0, threading.current_thread().name)]


def test_an_error_of_a_helper_is_raised_by_the_call() -> None:
    caller = threading.current_thread()

    def run(begin: int, _end: int) -> None:
        if threading.current_thread() is not caller:
            failed.set()
            raise ValueError(f"item {begin}")
        failed.wait(10.0)

    failed = threading.Event()
    with threads.using(2, 1), pytest.raises(ValueError, match="item"):
        threads.shared(run, 1, [])(8)
    with threads.using(2, 1):
        threads.shared(lambda _begin, _end: None, 1, [])(8)  # the helper goes on
