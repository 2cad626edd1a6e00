"""Rows that a kernel writes of each run of events."""

import os

import numpy as np
from beatwire.bench.hours import resident_mb
from beatwire.stages.support.runs import room_for_few, rows_written


def test_a_few_rows_far_apart_take_little_memory() -> None:
    room, written = room_for_few(1 << 20, 9), slice(None, None, 1 << 15)  # 75 MB, 32 rows
    before = resident_mb(os.getpid())
    room[written] = 7
    assert resident_mb(os.getpid()) - before < 2.0
    assert room.dtype == np.int64
    assert (room[written] == 7).all()
    assert room.sum() == 7 * 9 * 32


def test_room_for_nothing_has_its_shape_and_type() -> None:
    room = room_for_few(0, 9, dtype=np.float64)
    assert room.shape == (0, 9)
    assert room.dtype == np.float64


def test_the_rows_of_each_run_begin_at_its_own_room() -> None:
    assert rows_written(np.array([2, 0, 1]), np.array([0, 3, 4, 6]), 5).tolist() == [0, 1, 20]
    assert rows_written(np.zeros(2, np.int64), np.array([0, 3, 4]), 5).tolist() == []
