"""Bodies that a card runs in another way write what the bodies write that they replace."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from beatwire.jit.cuda import overrides, tiles
from beatwire.kernels.detection import ricker
from beatwire.kernels.peaks import wave_network
from small_network import small_network


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


class Warp:
    """A warp that runs a function thread by thread, several times, with the sums of what each added up the last time.

    Twice for each ``wait`` between them: then all threads have read what the others write. Sums are of the parts of a
    matrix that PTX gives each thread (ISA, ``mma.m16n8k8`` of TF32).
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.thread = 0
        self.added: list[list[Any]] = []
        self.before: list[list[Any]] = []
        monkeypatch.setattr(tiles, "member", lambda: self.thread)
        monkeypatch.setattr(wave_network, "member", lambda: self.thread)
        for module in (tiles, wave_network):
            monkeypatch.setattr(module, "WIDTH", 32)
        monkeypatch.setattr(tiles, "four_values", self.four_values)
        monkeypatch.setattr(tiles, "add_products", self.add_products)

    def run(self, call: Callable[[], None]) -> None:
        for _ in range(4):
            self.before, self.added = self.added, [[] for _ in range(32)]
            for self.thread in range(32):
                call()

    def four_values(self, array: np.ndarray, index: int) -> list[float]:
        assert index % 4 == 0
        assert index + 4 <= len(array)
        return list(array[index : index + 4])

    def add_products(self, sums: Any, rows: Any, columns: Any) -> tuple[float, ...]:
        done = len(self.added[self.thread])
        self.added[self.thread].append((rows, columns))
        more = self.sums_of(done) if self.before else [0.0] * 8
        return tuple(a + b for a, b in zip(sums, more, strict=True))

    def sums_of(self, call: int) -> list[float]:
        rows, columns = np.zeros((16, 8)), np.zeros((8, 16))
        for other in range(32):
            group, quarter = other >> 2, other & 3
            (a, b, c, d), (e, f, g, h) = self.before[other][call]
            rows[group, quarter], rows[group + 8, quarter] = a, b
            rows[group, quarter + 4], rows[group + 8, quarter + 4] = c, d
            columns[quarter, group], columns[quarter + 4, group] = e, f
            columns[quarter, group + 8], columns[quarter + 4, group + 8] = g, h
        product, row, column = rows @ columns, self.thread >> 2, 2 * (self.thread & 3)
        return [product[row + r, column + c + left] for c in (0, 8) for r in (0, 8) for left in (0, 1)]


@pytest.mark.parametrize(("n", "begin"), [(1, 0), (13, 0), (37, 0), (37, 6), (5, 5)])
def test_layers_by_tiles_write_what_layers_by_rows_write(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, n: int, begin: int
) -> None:
    network = small_network(3)
    size, rows = network.narrow.shape[2], 5 * network.narrow.shape[2]
    x = rng.integers(0, 1024, (2 * n + 8) * size * 8).astype(np.float32)
    for name, pitch, given in (
        ("halve", 6, (6, n, begin, wave_network.FIRST, network.first, network)),
        ("halve", size, (size, n, begin, wave_network.SECOND, network.second, network)),
        ("look_back", size, (n, begin, 1, network)),
    ):
        assert pitch * 2 * n <= len(x)
        work, found, expected = (
            np.zeros((3, wave_network.MOST_FRAMES, max(rows, 8 * size)), np.float32),
            *(np.full((2, n * size), -1.0, np.float32)),
        )
        getattr(wave_network, name)(x, *given, work, expected)
        with monkeypatch.context() as on_a_card:
            warp = Warp(on_a_card)
            body = tiles.BODIES[getattr(wave_network, name)]
            warp.run(lambda body=body, given=given, work=work, found=found: body(x, *given, work, found))
        np.testing.assert_array_equal(found, expected, name)
        assert len(np.unique(expected)) > 3 or begin == n
