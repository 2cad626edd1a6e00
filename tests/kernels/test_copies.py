"""Copies of arrays by all threads."""

import numpy as np
import pytest
from beatwire.jit import copies, threads
from beatwire.kernels.copies import BLOCK


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(
    "rows", [0, 1, BLOCK - 1, copies.WORTH // 4, copies.WORTH // 4 + 1, 5 * copies.WORTH // 8 + 77]
)
def test_a_copy_has_every_byte_and_nothing_behind_it(rows: int, count: int) -> None:
    source = np.random.default_rng(rows).integers(-(1 << 30), 1 << 30, (rows, 2)).astype(np.int16)
    source.flags.writeable = False
    target = np.full((rows + 1, 2), 7, np.int16)
    with threads.using(count):
        copies.copy_into(target[:rows], source)
        made = copies.copied(source)
    np.testing.assert_array_equal(target[:rows], source)
    assert (target[rows:] == 7).all()
    np.testing.assert_array_equal(made, source)
    assert made.flags.writeable
    assert not np.shares_memory(made, source)


def test_arrays_that_are_not_contiguous_are_copied_too() -> None:
    source = np.arange(2 * copies.WORTH, dtype=np.int32).reshape(2, -1).T
    np.testing.assert_array_equal(copies.copied(source), source)
    target = np.zeros_like(source, order="F")
    copies.copy_into(target, np.ascontiguousarray(source))
    np.testing.assert_array_equal(target, source)
