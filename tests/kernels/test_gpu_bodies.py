"""Bodies that a card runs in another way write what the bodies write that they replace."""

import numpy as np
import pytest
from beatwire.jit.cuda import overrides
from beatwire.kernels.detection import ricker
from beatwire.kernels.peaks.wave_network import MOST_FRAMES
from beatwire.kernels.scores import vae


@pytest.mark.parametrize("leads", [1, 3])
@pytest.mark.parametrize("half", [1, 5, 13])
def test_five_neighbours_at_a_time_write_what_four_taps_at_a_time_write(
    rng: np.random.Generator, half: int, leads: int
) -> None:
    taps = rng.integers(-3000, 3000, half + 1).astype(np.int32)
    rings = rng.integers(-9000, 9000, (leads, 512)).astype(np.int16)
    for n in (1, 2, 3, 4, 5, 64, 127):
        x, by_taps, by_fives = rng.integers(-9000, 9000, (3, 192)).astype(np.int32)
        ricker.filter_block(x, n, taps, by_taps)
        overrides.BODIES[ricker.filter_block](x, n, taps, by_fives)
        np.testing.assert_array_equal(by_fives[:n], by_taps[:n])
        for base in (0, 290, 300):
            expected, found = rng.integers(-99, 99, (2, 3, 192)).astype(np.int32)
            ricker.magnitude(rings, base, 300, n, taps, 4, expected)
            overrides.BODIES[ricker.magnitude](rings, base, 300, n, taps, 4, found)
            np.testing.assert_array_equal(found[2, :n], expected[2, :n])


@pytest.mark.parametrize(("n", "columns"), [(1, 16), (48, 32), (320, 64)])
def test_four_rows_at_a_time_are_multiplied_as_one_row_at_a_time_is(
    rng: np.random.Generator, n: int, columns: int
) -> None:
    x, matrix = (rng.integers(-99, 100, shape).astype(np.float32) for shape in ((4, n + 3), (n, columns)))
    expected, found = np.zeros((2, 4, columns + 1), np.float32)
    vae.multiply(x, n, matrix, expected)
    overrides.BODIES[vae.multiply](x, n, matrix, found)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(found[:, :columns], x[:, :n] @ matrix)
    x, found = (
        np.tile(x, (MOST_FRAMES // 4, 1)) + np.arange(MOST_FRAMES, dtype=np.float32)[:, None],
        np.tile(found, (8, 1)),
    )
    overrides.BODIES[vae.multiply](x, n, matrix, found)
    np.testing.assert_array_equal(found[:, :columns], x[:, :n] @ matrix)
