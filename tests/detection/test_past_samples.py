"""The past that the network reads: what is stored is near to the samples, the same for every cut, and enough."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from beatwire.jit import cpu
from beatwire.kernels.peaks import past_samples, wave_input
from beatwire.kernels.peaks.doubt import HIDDEN_S
from beatwire.kernels.peaks.past_samples import BLOCK_BYTES, STEPS, VALUES
from beatwire.pipeline.settings import Settings
from beatwire.recordings import NO_VALUE
from beatwire.records.detection import FreshLanes
from beatwire.records.waveform import WaveGrid
from beatwire.stages.detection.doubt import blocks_of, grid_for
from beatwire.stages.support.room import columns_for
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from past import NO_PAST, past_of
from small_network import DEPTH

RATES_HZ = (50.0, 100.0, 128.0, 250.0, 333.3, 360.0, 1000.0)


def signal(rng: np.random.Generator, n: int, step: int, lost: int) -> np.ndarray:
    """Return a signal of two leads that lacks some values."""
    x = np.cumsum(rng.integers(-step, step + 1, (2, n)), axis=1).clip(-32767, 32767).astype(np.int16)
    x[rng.integers(0, 2, lost), rng.integers(0, n, lost)] = NO_VALUE
    return x


def grid_of(halvings: int, recent: int = 0) -> WaveGrid:
    return WaveGrid(np.zeros(1, np.int64), 1, recent, halvings, 0, 0)


@settings(max_examples=draws(60), deadline=None)
@given(
    seed=st.integers(0, 1000),
    halvings=st.integers(0, 3),
    base=st.integers(0, 300),
    step=st.sampled_from([0, 1, 40, 30000]),
)
def test_a_value_is_the_mean_of_its_samples_to_a_step_of_its_block(
    seed: int, halvings: int, base: int, step: int
) -> None:
    stride = 1 << halvings
    rng, n = np.random.default_rng(seed), 4 * VALUES * stride + 300
    x = signal(rng, n, step, 20)
    past = past_of(x, grid_of(halvings), base)
    np.testing.assert_array_equal(past, past_of(x, grid_of(halvings), base, lambda body: body))
    held = np.where(np.arange(n) < base, x[:, base : base + 1], x)
    span = VALUES * stride
    for k in range(base // span, n // span):
        parts = held[:, k * span : (k + 1) * span].reshape(2, VALUES, stride)
        known, means = (parts != NO_VALUE).all(axis=2), parts.astype(np.int64).sum(axis=2) // stride
        own = np.zeros((2, VALUES), np.int64)
        for lead in range(2):
            past_samples.read_past(past[lead], k, k + 1, own[lead])
            of_known, true = own[lead][known[lead]], means[lead][known[lead]]
            assert (own[lead][~known[lead]] == NO_VALUE).all()
            assert (of_known != NO_VALUE).all()
            if len(true):
                step_of = int(true.max() - true.min()) / STEPS
                assert np.abs(of_known - true).max() <= 0.51 * step_of + 0.5
                assert of_known.min() == true.min()


@settings(max_examples=draws(40), deadline=None)
@given(data=st.data(), halvings=st.integers(0, 3), base=st.integers(0, 300), recent=st.integers(0, 400))
def test_cuts_change_no_block(data: st.DataObject, halvings: int, base: int, recent: int) -> None:
    stride = 1 << halvings
    n = 3 * VALUES * stride + 900
    x = signal(np.random.default_rng(stride), n, 30, 20)
    cuts = data.draw(st.lists(st.integers(base, n), max_size=12))
    grid = grid_of(halvings, recent)
    whole = past_of(x, grid, base)
    np.testing.assert_array_equal(past_of(x, grid, base, cuts=cuts), whole)
    stored = (n - recent) // (VALUES * stride) - max(base, 0) // (VALUES * stride)
    assert (whole.any(axis=2).sum(axis=1) == max(0, stored)).all()


def read(compile_body: Any, x: np.ndarray, past: np.ndarray, base: int, c: int, grid: WaveGrid) -> np.ndarray:
    """Return the points around a peak; the ring is ``x``."""
    numbers = np.zeros((4, len(grid.offset)), np.int64)
    compile_body(wave_input.gather)(x, past, base, c, grid, numbers)
    return numbers[wave_input.POINT, : len(grid.offset)].copy()


@settings(max_examples=draws(25), deadline=None)
@given(
    seed=st.integers(0, 1000), rate_hz=st.sampled_from(RATES_HZ), reorder_s=st.sampled_from([0.05, 0.4, 2.0]),
    pass_s=st.sampled_from([0.5, 1.1, 3.0]),
)  # fmt: skip
def test_all_that_a_peak_needs_is_in_ring_and_past_when_it_is_decided(
    seed: int, rate_hz: float, reorder_s: float, pass_s: float
) -> None:
    s, rng = replace(Settings(), reorder_s=reorder_s, pass_s=pass_s), np.random.default_rng(seed)
    n, base = int(22 * rate_hz), int(rng.integers(0, 2 * rate_hz))
    x, grid = signal(rng, n, 30, 50)[:1], grid_for(rate_hz, 7)
    delay = int(np.ceil(s.decide_s * rate_hz))
    complete, numbers = past_of(x, grid, base)[0], np.zeros((4, len(grid.offset)), np.int64)
    ring = np.zeros(columns_for(s.ring_s, rate_hz, np.int16), np.int16)
    past = np.zeros((1, 1, blocks_of(s.past_s, rate_hz), BLOCK_BYTES), np.uint8)
    start, zero, work = base, np.zeros(1, np.int64), np.zeros((1, VALUES), np.int32)
    gather, store = cpu.compiled(wave_input.gather), cpu.compiled(past_samples.store_past)
    ring[(base - 1) % len(ring)] = NO_VALUE
    while start < n:
        stop = min(n, start + int(rng.integers(1, s.longest_pass_s * rate_hz)))
        ahead = min(n, stop + int(reorder_s * rate_hz))  # chunks that came before their turn
        ring[np.arange(start, ahead) % len(ring)] = x[0, start:ahead]
        lanes = FreshLanes(zero, zero, np.array([start]), np.array([stop]), np.array([base]))
        store(0, lanes, grid, ring[None, None], past, work)
        for peak in (start - delay, stop - delay - 1):
            for c in (peak, peak - int(HIDDEN_S[0] * rate_hz)):
                if c >= base:
                    early = gather(ring, past[0, 0], base, c, grid, numbers)
                    own = numbers[wave_input.POINT].copy()
                    assert early == gather(x[0], complete, base, c, grid, numbers)
                    np.testing.assert_array_equal(own, numbers[wave_input.POINT])
        start = stop


@pytest.mark.parametrize("rate_hz", [100.0, 250.0, 360.0, 500.0, 1000.0])
def test_the_past_of_a_heartbeat_is_near_to_it(rate_hz: float) -> None:
    t = np.arange(int(20 * rate_hz)) / rate_hz
    x = 200 * np.exp(-0.5 * ((t % 0.8 - 0.4) / 0.012) ** 2) + 40 * np.exp(-0.5 * ((t % 0.8 - 0.7) / 0.05) ** 2) + 900
    samples, grid = np.rint(x).astype(np.int16), grid_for(rate_hz, 7)
    c = int(17 * rate_hz)
    of_past = read(cpu.compiled, samples, past_of(samples[None], grid)[0], 0, c, grid_for(rate_hz, DEPTH))
    of_ring = read(cpu.compiled, samples, NO_PAST, 0, c, grid_for(rate_hz, DEPTH)._replace(recent=len(samples)))
    newest = round((wave_input.AHEAD_S + past_samples.RECENT_S) * wave_input.GRID_HZ)
    np.testing.assert_array_equal(of_past[-newest:], of_ring[-newest:])
    worst = np.abs(of_past - of_ring).max() / wave_input.FRACTION
    assert 0 < worst < 12
