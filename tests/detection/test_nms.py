"""Peaks and levels against a loop over every sample, in any cut."""

import numpy as np
import pytest
from beatwire.kernels.detection.level import NO_CUT
from beatwire.records import Response
from beatwire.records.columns import PEAK_BESIDE, PEAK_CEILING, PEAK_COLUMNS
from beatwire.records.detection import LevelLimits, Rings
from beatwire.stages.detection import nms
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import cut
from signal_oracles import blocks_of, peaks_of
from steps import fresh_of

DELAY = 21
NO_SAMPLES = np.zeros((1, 1, 1), np.int16)
NO_JUMPS = np.zeros((1, 3), np.int64)


def suppressed(
    f: np.ndarray,
    cuts: list[tuple[int, int]],
    base: int,
    settings: nms.Settings,
    rate_hz: float,
    ceiling: int | None = None,
    columns_to: int = PEAK_CEILING,
) -> tuple[list[tuple[int, ...]], list[tuple[int, int]], list[int]]:
    """Process ``f`` [n] of a lane that begins at ``base``; return peaks, blocks, and the watermark after each cut."""
    limits = None if ceiling is None else LevelLimits(np.ones(2), 1.0, float(ceiling), 1.0, np.inf, np.inf)
    state = nms.State(settings)
    longest = max(b - a for a, b in cuts)
    columns = longest + round(3 * (settings.left_s + settings.right_s) * rate_hz) + 2 * DELAY
    ring = np.full((2, columns), 2**30, np.int32)
    peaks: list[tuple[int, ...]] = []
    blocks: list[tuple[int, int]] = []
    known: list[int] = []
    for a, b in cuts:
        ready = np.arange(max(0, a - DELAY), max(0, b - DELAY))
        ring[1, (base + ready) % columns] = f[ready]
        fresh = fresh_of([5, base + a], [5, base + b], [5, base], rate_hz=rate_hz)
        got = nms.step(state, Response(fresh, Rings(NO_SAMPLES, ring, NO_JUMPS), DELAY, limits=limits))[1]
        watermark, got = got.watermark, got.table
        assert got.found[0] == got.closed[0] == 0
        peaks += [tuple(p) for p in got.peaks[1, : got.found[1], :columns_to].tolist()]
        blocks += [tuple(p) for p in got.blocks[1, : got.closed[1]].tolist()]
        known.append(int(watermark[1]))
    return peaks, blocks, known


def ties(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.integers(0, 4, n)


def heart(rng: np.random.Generator, n: int) -> np.ndarray:
    f = rng.integers(0, 50, n)
    for at in range(30, n - 10, 180):
        f[at - 9 : at + 10] += (900 + int(rng.integers(0, 300))) * (10 - np.abs(np.arange(-9, 10)))
    return f


def silence(rng: np.random.Generator, n: int) -> np.ndarray:
    f = np.zeros(n, np.int64)
    f[rng.integers(0, n, 5)] = 7
    return f


def stairs(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.repeat(rng.integers(0, 2**31 - 1, n // 40 + 1), 40)[:n]


def shocks(rng: np.random.Generator, n: int) -> np.ndarray:
    f = heart(rng, n)
    for at in rng.integers(0, n, 4):
        f[at : at + int(rng.integers(1, 300))] *= int(rng.integers(2, 90))
    return f


@pytest.mark.parametrize("signal", [ties, heart, silence, stairs, shocks])
@pytest.mark.parametrize("seed", range(4))
def test_any_cut_gives_the_peaks_levels_and_blocks_of_a_loop_over_every_sample(signal, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rate_hz = (50.0, 128.0, 250.0, 250.0)[seed]
    times = nms.Settings() if seed < 3 else nms.Settings(left_s=0.1, right_s=0.02, block_s=0.5)
    n, base = round(26 * rate_hz), int(rng.integers(0, 10**9))
    f = signal(rng, n)
    peaks, blocks, known = suppressed(f, cut(n, rng, int(rng.integers(3, 900))), base, times, rate_hz)
    left, right, block = (int(np.floor(d * rate_hz + 0.5)) for d in (times.left_s, times.right_s, times.block_s))
    assert known[-1] == base + n - DELAY - right
    assert peaks == peaks_of(f[: n - DELAY], base, left, right, block)
    assert blocks == blocks_of(f[: n - DELAY], base, block)


def side_of(f: np.ndarray, c: int, near: np.ndarray, known: np.ndarray, ceiling: int, *, after: bool) -> int:
    """Return what ``beside.overlooks`` does: of the samples from ``c`` outwards that hide, and that are known."""
    larger = np.flatnonzero(f[near] > f[c] if after else f[near] >= f[c])
    if not len(larger):
        return 1
    first = int(larger[0])
    if 2 * min(f[c], f[near[:first]].min(initial=f[c])) > f[c]:
        return 0
    skirt = f[known[first:]]
    falls = np.flatnonzero(np.diff(skirt) < 0)
    return 2 * bool((skirt[: falls[0] + 1 if len(falls) else None] > ceiling).any())


def beside_of(f: np.ndarray, left: int, right: int, ceiling: int) -> list[tuple[int, int]]:
    """Return the peaks by a loop over every sample, and whether each stands beside a disturbance."""
    found = []
    for c in np.flatnonzero(f[: len(f) - right] > 0):
        before, after = np.arange(c - 1, max(0, c - left - DELAY) - 1, -1), np.arange(c + 1, c + right + 1)
        sides = side_of(f, c, after, after, ceiling, after=True)
        sides *= side_of(f, c, before[: min(c, left)], before, ceiling, after=False)
        if sides == 1 or (sides == 2 and f[c] <= ceiling):
            found.append((int(c), int(sides == 2)))
    return found


@settings(deadline=None, max_examples=draws(60))
@given(
    heights=st.lists(st.tuples(st.integers(1, 60), st.sampled_from((3, 20, 90, 300, 5000))), min_size=2, max_size=60),
    longest=st.integers(3, 300),
    seed=st.integers(0, 9),
)
def test_beside_a_disturbance_any_cut_gives_the_peaks_of_a_loop_over_every_sample(
    heights: list[tuple[int, int]], longest: int, seed: int
) -> None:
    """The response is a row of straight lines: ``heights`` are their lengths and the values at their ends."""
    rng, rate_hz = np.random.default_rng(seed), 100.0
    at = np.cumsum([0] + [n for n, _ in heights])
    f = np.interp(np.arange(at[-1]), at, [0] + [value for _, value in heights]).astype(np.int64)
    known = len(f) - DELAY
    if known <= 22:  # no peak is decided
        return
    got, _, _ = suppressed(f, cut(len(f), rng, longest), 0, nms.Settings(), rate_hz, 1000, PEAK_COLUMNS)
    assert [(p[0], p[PEAK_BESIDE]) for p in got] == beside_of(f[:known], 25, 22, 1000)


def test_a_plateau_is_one_peak_at_its_beginning() -> None:
    f = np.zeros(400, np.int64)
    f[100:110] = 9
    f[300:380] = 9
    peaks, _, _ = suppressed(f, [(0, 400)], 0, nms.Settings(), 100.0)
    assert [p[:2] for p in peaks] == [(100, 9), (300, 9)]


def test_a_zero_response_has_no_peak() -> None:
    peaks, blocks, _ = suppressed(np.zeros(1000, np.int64), [(0, 1000)], 0, nms.Settings(), 100.0)
    assert peaks == []
    assert blocks == [(200, 0), (400, 0), (600, 0), (800, 0)]


def test_of_two_equal_maxima_near_each_other_the_first_is_the_peak() -> None:
    f = np.zeros(300, np.int64)
    f[[100, 115]] = 5
    assert [p[0] for p in suppressed(f, [(0, 300)], 0, nms.Settings(), 100.0)[0]] == [100]
    f[126] = 5
    assert [p[0] for p in suppressed(f, [(0, 300)], 0, nms.Settings(), 100.0)[0]] == [100]
    f[:] = 0
    f[[100, 126]] = 5
    assert [p[0] for p in suppressed(f, [(0, 300)], 0, nms.Settings(), 100.0)[0]] == [100, 126]


def test_a_restart_of_a_lane_clears_its_levels() -> None:
    f = np.full(1500, 1, np.int64)
    f[50::100] = 1000
    state = nms.State(nms.Settings())
    ring = np.zeros((1, 4096), np.int32)
    ring[0, :1500] = f
    nms.step(state, Response(fresh_of([0], [1500], rate_hz=100.0), Rings(NO_SAMPLES, ring, NO_JUMPS), 0))
    ring[0, 2000:2300] = 0
    ring[0, 2150] = 10
    fresh = fresh_of([2000], [2300], [2000], rate_hz=100.0)
    got = nms.step(state, Response(fresh, Rings(NO_SAMPLES, ring, NO_JUMPS), 0))[1].table
    assert got.peaks[0, : got.found[0]].tolist() == [[2150, 10, 0, 0, 0, NO_CUT, 0, 0]]


@pytest.mark.parametrize("at", [150, 190, 210, 370])
def test_a_peak_behind_a_disturbance_has_no_level_of_what_came_after_the_last_block(at: int) -> None:
    f = np.full(600, 3, np.int64)
    f[:100] = 90_000
    f[at] = 500
    peaks = suppressed(f, [(0, 600)], 0, nms.Settings(), 100.0, 1000)[0]
    assert [p[2] for p in peaks if p[0] == at] == [0], "no block is known: the first one is disturbed"


def test_beats_that_are_larger_than_any_heart_have_no_level_until_it_is_known() -> None:
    f = np.full(2400, 30, np.int64)
    f[30::80] = 5000
    peaks = suppressed(f, [(0, 2400)], 0, nms.Settings(), 100.0, 1000)[0]
    levels = {p[0]: p[2] for p in peaks if p[1] == 5000}
    assert set(levels) == set(range(30, 2400 - DELAY - 22, 80))
    assert {c: 5000 * (c + 22 + 1 >= 1000) for c in levels} == levels
