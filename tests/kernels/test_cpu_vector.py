"""Bodies that vector instructions replace: the results are equal, to the bit where no float32 sums are involved."""

import itertools
from collections.abc import Callable

import numba
import numpy as np
import pytest
from beatwire.jit import cpu
from beatwire.jit.x86 import (
    box,
    extremes,
    llvm,
    matrix,
    pair_filter,
    past,
    shapes,
    shuffle,
    stored_shapes,
    trees,
    vector,
)
from beatwire.kernels.classes import beat_shape, stored_shape
from beatwire.kernels.detection import nms, ricker, windows
from beatwire.kernels.peaks import classify, past_samples
from beatwire.kernels.rhythms import flutter
from beatwire.kernels.scores import history

SIZES = (1, 7, 8, 9, 15, 16, 31, 32, 33, 47, 48, 63, 64, 96, 268, 1056, 2047, 2049, 4100)
needs_pairs = pytest.mark.skipif(
    not llvm.has(pair_filter.FEATURE), reason="the CPU has no AVX2: the body itself is compiled"
)
needs_avx2 = pytest.mark.skipif(
    not llvm.has(shuffle.FEATURE), reason="the CPU has no AVX2: the body itself is compiled"
)


@needs_pairs
@pytest.mark.parametrize("half", [1, 2, 14, 20, 57, 511, 600])
def test_the_filter_by_pairs_equals_a_convolution(half: int) -> None:
    rng = np.random.default_rng(half)
    for n in SIZES:
        taps = (rng.integers(-32768, 32768, half + 1) // (2 * half + 1)).astype(np.int32)
        x = rng.integers(-32768, 32768, n + 2 * half).astype(np.int32)
        expected = np.convolve(x.astype(np.int64), np.concatenate([taps[:0:-1], taps]), "valid")
        by_pairs, by_body = np.full(n + 1, 77, np.int32), np.full(n + 1, 77, np.int32)
        cpu.compiled(ricker.filter_block)(x, n, taps, by_body)
        cpu.compiled(vector.BODIES[ricker.filter_block])(x, n, taps, by_pairs)
        assert by_pairs[:n].tolist() == by_body[:n].tolist() == expected.tolist()
        assert by_pairs[n] == 77, "nothing is written beyond the end"


@needs_pairs
def test_the_filter_by_pairs_is_the_same_with_vectors_of_any_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_filter, "WIDE_FEATURE", "none")
    narrow = numba.njit(lambda x, n, taps, out: pair_filter._filter_pairs(x, n, taps, out))
    rng, half = np.random.default_rng(3), 20
    taps = rng.integers(-700, 700, half + 1).astype(np.int32)
    for n in SIZES[2:]:
        x = rng.integers(-32768, 32768, n + 2 * half).astype(np.int32)
        by_wide, by_narrow = np.zeros((2, n), np.int32)
        cpu.compiled(pair_filter.filter_block)(x, n, taps, by_wide)
        narrow(x, n, taps, by_narrow)
        assert by_narrow.tolist() == by_wide.tolist()


@pytest.mark.skipif(not box.BODIES, reason="the CPU has no AVX-512: the body itself is compiled")
@pytest.mark.parametrize("half", [0, 1, 5, 9, 40])
def test_sums_of_boxes_side_by_side_are_those_of_the_body(half: int) -> None:
    rng = np.random.default_rng(half)
    for n in (0, 2, 17, 18, 49, *SIZES):
        a = rng.integers(0, (2**31 - 1) // (2 * half + 1), n + 2 * half).astype(np.int32)
        expected, found = np.full((2, n + 1), 77, np.int32)
        ricker.sum_box(a, n, half, expected)
        cpu.compiled(box.BODIES[ricker.sum_box])(a, n, half, found)
        assert found.tolist() == expected.tolist()
        assert found[n] == 77, "nothing is written beyond the end"


needs_masks = pytest.mark.skipif(not extremes.BODIES, reason="the CPU has no AVX2: the bodies themselves are compiled")


@needs_masks
@pytest.mark.parametrize("bound", [2, 2**31 - 1], ids=["with many that are equal", "of all sizes"])
def test_extremes_of_a_stretch_and_the_place_of_a_value_equal_numpys(bound: int) -> None:
    rng = np.random.default_rng(bound)
    largest, least, place_of = (cpu.compiled(extremes.BODIES[one]) for one in (nms.largest, nms.least, nms.place_of))
    for n in [*range(1, 70), *SIZES]:
        beyond = np.where(np.arange(n + 40) % 2, np.int32(-(2**31)), np.int32(2**31 - 1))  # nothing behind is read
        values = np.concatenate([rng.integers(-bound, bound, n), beyond]).astype(np.int32)
        known = values[:n]
        assert (largest(values, n), least(values, n)) == (known.max(), known.min())
        assert (nms.largest(values, n), nms.least(values, n)) == (known.max(), known.min())
        for value in (int(known[-1]), int(known[rng.integers(n)]), bound, int(beyond[0]), -(2**31)):
            assert place_of(value, known) == nms.place_of(value, known) == next(iter(np.flatnonzero(known == value)), n)


@pytest.mark.skipif(not past.BODIES, reason="the CPU has no AVX2: the body itself is compiled")
@pytest.mark.parametrize("halvings", range(5))
@pytest.mark.parametrize("size", [0, 1, 500, 32767])
def test_a_block_of_the_past_is_that_of_the_body(halvings: int, size: int) -> None:
    rng, values = np.random.default_rng(halvings), np.zeros(past_samples.VALUES, np.int32)
    compiled = cpu.compiled(past.BODIES[past_samples.write_block])
    for offset in (0, 32767 - size, size - 32767):
        samples = rng.integers(offset - size, offset + size + 1, past_samples.VALUES << halvings)
        samples = samples.clip(-32767, 32767).astype(np.int16)
        expected, block = np.full((2, past_samples.BLOCK_BYTES + 1), 77, np.uint8)
        past_samples.write_block(samples, halvings, expected, values)
        compiled(samples, halvings, block, values)
        assert block.tolist() == expected.tolist()
        assert block[-1] == 77, "nothing is written beyond the end"


@pytest.mark.parametrize("gate", [np.zeros(16, np.int64), np.zeros((16, 2), np.float32)[:, 0]])
def test_an_array_of_another_type_or_layout_is_an_error(gate: np.ndarray[tuple[int], np.dtype[np.float32]]) -> None:
    with pytest.raises(Exception, match=r"jit\.x86: expected a contiguous array of float32 with 1 axes; got array"):
        cpu.compiled(vector.count_below)(gate, np.float32(0), np.zeros(16, np.float32), np.float32(1))


def test_values_below_a_limit_are_counted_where_the_gate_is_open() -> None:
    rng = np.random.default_rng(9)
    for _ in range(200):
        gate = rng.integers(-1, 4, history.SIZES).astype(np.float32)
        values = rng.integers(0, 5, history.SIZES).astype(np.float32)
        values[rng.random(history.SIZES) < 0.2] = np.nan
        least, limit = np.float32(rng.integers(-1, 4)), np.float32(rng.integers(0, 6))
        counted = cpu.compiled(vector.count_below)(gate, least, values, limit)
        assert counted == history.count_below(gate, least, values, limit)
        assert counted == np.count_nonzero((gate >= least) & (values < limit))


@pytest.mark.parametrize("columns", [16, 48, 64, 80, 144])
def test_four_rows_times_a_matrix_equal_numpys_product(columns: int) -> None:
    rng = np.random.default_rng(columns)
    for n in (1, 8, 33, 256):
        x = rng.normal(size=(5, n + 3)).astype(np.float32)
        weights, out = rng.normal(size=(n, columns)).astype(np.float32), np.full((4, columns + 1), 7.0, np.float32)
        cpu.compiled(matrix.multiply)(x, n, weights, out)
        np.testing.assert_allclose(out[:, :columns], x[:4, :n] @ weights, atol=1e-4)
        assert (out[:, columns] == 7.0).all(), "nothing is written beside the columns"


def test_code_for_another_cpu_uses_no_feature_of_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llvm.config, "CPU_NAME", "generic")
    assert not llvm.has(pair_filter.FEATURE)


def test_where_llvm_detects_no_features_none_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise RuntimeError("no features")

    monkeypatch.setattr(llvm.llvm, "get_host_cpu_features", fail)
    assert not llvm.has(pair_filter.FEATURE)


@needs_avx2
@pytest.mark.parametrize("rate_hz", [128.0, 250.0, 360.0, 428.0, 429.0, 430.0, 500.0, 1000.0])
def test_interpolated_points_equal_those_of_the_body(rate_hz: float) -> None:
    rng = np.random.default_rng(int(rate_hz))
    step = round(0.52 * rate_hz * windows.FIXED_POINT / (windows.WINDOW - 1))
    for start in (0, 1, 40_000, windows.FIXED_POINT - 1, windows.FIXED_POINT):
        flat = rng.normal(size=(start + 255 * step) // windows.FIXED_POINT + 2).astype(np.float32)
        found, expected = np.full(257, 7.0, np.float32), np.full(257, 7.0, np.float32)
        cpu.compiled(shuffle.BODIES[windows.interpolate])(flat, start, step, found[:256])
        cpu.compiled(windows.interpolate)(flat, start, step, expected[:256])
        assert found.tobytes() == expected.tobytes()
        place = (start + step * np.arange(256)) / windows.FIXED_POINT
        np.testing.assert_allclose(found[:256], np.interp(place, np.arange(len(flat)), flat), atol=1e-5)


@needs_avx2
@pytest.mark.parametrize("size", [63, 64, 512, 1000, 1001, 2048, 2049])
def test_the_points_of_a_block_equal_those_of_the_body_at_every_place_in_the_ring(size: int) -> None:
    rng = np.random.default_rng(size)
    rings = rng.integers(-32768, 32768, (3, size)).astype(np.int16)
    for length in {min(size, one) for one in (60, 256, 500, 720, 999, 1000, 1001, 2000)}:
        for before in {0, 1, min(77, size - 1), max(0, size - length - 1), size - length, size - 2, size - 1}:
            found, expected = np.full(129, 7, np.int32), np.full(129, 7, np.int32)
            cpu.compiled(shuffle.BODIES[flutter.add_spread])(rings[2], before, length, found[:128])
            flutter.add_spread(rings[2], before, length, expected[:128])
            assert found.tolist() == expected.tolist()


def drawn_trees(levels: int, count: int, features: int) -> tuple[np.ndarray, ...]:
    """Return complete trees, and rows of features: many are equal to thresholds, some are NaN."""
    rng = np.random.default_rng(levels * count * features)
    nodes = (1 << levels) - 1
    asked = rng.integers(0, features, (nodes, count)).astype(np.int16)
    limits = rng.integers(-3, 4, (nodes, count)).astype(np.float32)
    limits[rng.random(limits.shape) < 0.1] = np.inf
    leaves = rng.integers(-(1 << 30), 1 << 30, (nodes + 1, count)).astype(np.int32)
    rows = rng.integers(-3, 4, (20, features)).astype(np.float32)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    return asked, limits, leaves, rows


@needs_avx2
@pytest.mark.parametrize("features", [1, 28, 109, 128])
@pytest.mark.parametrize(
    ("evaluate", "levels"), [(trees._evaluate_4, 4), (trees._evaluate_5, 5), (trees._evaluate_6, 6)]
)
def test_trees_side_by_side_equal_the_body_with_vectors_of_any_width(
    evaluate: Callable[..., int], levels: int, features: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for count in (16, 48):
        asked, limits, leaves, rows = drawn_trees(levels, count, features)
        expected = [classify.evaluate_trees(asked, limits, leaves, row) for row in rows]
        found = [cpu.compiled(trees.evaluate_trees)(asked, limits, leaves, row) for row in rows]
        assert found == expected
        monkeypatch.setattr(trees, "WIDE_FEATURE", "none")
        narrow = numba.njit(lambda *arrays: evaluate(*arrays))
        assert [narrow(asked, limits, leaves, row) / classify.LEAF_UNIT for row in rows] == expected


@needs_avx2
@pytest.mark.parametrize(("levels", "count", "features"), [(6, 17, 28), (3, 16, 28), (6, 16, 129), (1, 1, 1)])
def test_trees_that_no_vector_takes_are_evaluated_by_the_body(levels: int, count: int, features: int) -> None:
    *whole, rows = drawn_trees(levels, count, features)
    for row in rows:
        assert cpu.compiled(trees.evaluate_trees)(*whole, row) == classify.evaluate_trees(*whole, row)


@needs_avx2
@pytest.mark.parametrize(
    ("begin", "end"),
    [
        (0, beat_shape.POINTS),
        (beat_shape.QRS_BEGIN, beat_shape.QRS_END),
        (beat_shape.P_BEGIN, beat_shape.P_END),
        (7, 8),
    ],
)
def test_sums_over_points_equal_those_of_the_body_up_to_the_largest_points(begin: int, end: int) -> None:
    rng, most = np.random.default_rng(begin), beat_shape.MOST_POINT + 1
    drawn = rng.integers(-most, most + 1, (20, beat_shape.COLUMNS))
    rows = np.concatenate([drawn, np.full((1, beat_shape.COLUMNS), most), np.full((1, beat_shape.COLUMNS), -most)])
    for one in rows.astype(np.int16):
        assert cpu.compiled(shapes.total_of)(one, begin, end) == one[begin:end].sum(dtype=np.int64)
        for other in rows.astype(np.int16):
            found = cpu.compiled(shapes.inner_product)(one, other, begin, end)
            assert found == one[begin:end].astype(np.int64) @ other[begin:end]
            assert found == beat_shape.inner_product(one, other, begin, end)


@needs_avx2
def test_points_are_packed_and_unpacked_as_by_the_bodies_up_to_the_largest() -> None:
    rng, most = np.random.default_rng(5), beat_shape.MOST_POINT + 1
    rows = rng.integers(-most, most + 1, (40, beat_shape.COLUMNS)) >> rng.integers(0, 15, (40, 1))
    rows[:2] = [[most], [-most]]
    for row in rows.astype(np.int16):
        borders = stored_shape.BORDERS
        for begin, end in itertools.pairwise(borders):
            found = cpu.compiled(stored_shapes.largest_of)(row, begin, end)
            assert found == stored_shape.largest_of(row, begin, end) == np.abs(row[begin:end].astype(int)).max()
        shifts = [stored_shape.shift_of(row, part) for part in range(stored_shape.PARTS)]
        stored, found = (np.full(stored_shape.STORED_COLUMNS, 9, np.uint8) for _ in range(2))
        stored_shape.pack(row, *shifts, stored)
        cpu.compiled(stored_shapes.pack)(row, *shifts, found)
        np.testing.assert_array_equal(found, stored)
        loaded, unpacked = (np.full(beat_shape.COLUMNS, 9, np.int16) for _ in range(2))
        stored_shape.unpack(stored, *shifts, loaded)
        cpu.compiled(stored_shapes.unpack)(stored, *shifts, unpacked)
        np.testing.assert_array_equal(unpacked, loaded)
