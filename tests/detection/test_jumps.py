"""Jumps of an electrode are taken out of the response, those of a heart are not."""

import numpy as np
import pytest
from beatwire.kernels.detection.jumps import BEFORE, EARLY_SHARE, SHARE, beside_jump, most_early, most_others
from beatwire.records import Ringed
from beatwire.stages.detection import ricker
from beatwire.stages.support.filters import Design, Filter, filter_for
from draws import draws
from hypothesis import example, given, settings
from hypothesis import strategies as st
from laws import cut
from signal_oracles import response_of
from steps import fresh_of

LIMIT, UV = 1000.0, 4.0  # in units, and microvolts of one


def count_larger(differences: np.ndarray, least: int, after: int, first: bool = True) -> int:
    """Return how many differences, from a jump on, are larger; each behind equal samples for these.

    The first one only if they last 12 ms.
    """
    changes = np.concatenate([[-1], np.flatnonzero(differences)])
    gaps = np.diff(changes)[np.abs(differences[changes[1:]]) > least]
    weights = 1 + 3 * (gaps - 1)
    weights[: int(first)][5 * gaps[: int(first)] < 3 * after] = 1
    return int(weights.sum())


def without_jumps(x: np.ndarray, one: Filter) -> np.ndarray:
    """Return the response of one lead, by a loop over its differences."""
    half, n = len(one.taps) - 1, len(x)
    taps = np.concatenate([one.taps[:0:-1], one.taps]).astype(np.int64)
    d = np.diff(x.astype(np.int64), prepend=int(x[0]))
    held = np.concatenate([np.full(half, x[0]), x, np.full(half, x[-1])]).astype(np.int64)
    r = np.convolve(held, taps, "valid")
    before, behind = beside_jump(one.after)
    for s in np.flatnonzero(np.abs(d) > LIMIT):
        size = int(abs(d[s]))
        past, future = np.abs(d[max(0, s - BEFORE * one.after) : s]), np.abs(d[s + 1 : s + 1 + one.after])
        larger = np.flatnonzero(future > size)
        seen = s + (int(larger[0]) if len(larger) else one.after)
        others = count_larger(past[::-1], size // SHARE, one.after)
        others += count_larger(future, size // SHARE, one.after, others == 0)
        alone = seen == s + one.after and others <= most_others(one.after, size, int(LIMIT))
        early = count_larger(past[::-1], size // EARLY_SHARE, one.after) <= most_early(one.after)
        if (past >= size).any():
            continue
        for q in range(max(1, s - before), min(n, s + behind + 1)):
            for j in range(max(0, q - half), min(n, q + half)):
                last = j + half
                if last >= s and (alone if last >= s + one.after else early and last <= seen):
                    r[j] -= d[q] * taps[q - j + half :].sum()
    a = np.concatenate([np.zeros(one.box, np.int64), np.abs(r) >> one.shift, np.zeros(one.box, np.int64)])
    return np.convolve(a, np.ones(2 * one.box + 1, np.int64), "valid")[: n - one.delay]


def responses(x: np.ndarray, cuts: list[tuple[int, int]], rate_hz: float) -> np.ndarray:
    """Return the response of every sample of int16 ``x`` [leads, n], processed in cuts."""
    leads, n = x.shape
    one = filter_for(Design(), rate_hz, leads)
    longest = max(b - a for a, b in cuts)
    columns = -(-(longest + 4 * one.delay + 1) // 32) * 32
    ring = np.zeros((1, leads, columns), np.int16)
    state = ricker.State(
        ricker.Settings((longest + 2 * one.delay + 1) / rate_hz, Design(), jump_uv=LIMIT * UV, sharp_uv_s=np.inf)
    )
    found = np.full(n, -1, np.int64)
    for a, b in cuts:
        ring[0][:, np.arange(a, b) % columns] = x[:, a:b]
        fresh = fresh_of([a], [b], [0], rate_hz=rate_hz, leads=leads, uv_per_unit=UV)
        f = ricker.step(state, Ringed(fresh, ring))[1].rings.f
        new = np.arange(max(0, a - one.delay), max(0, b - one.delay))
        found[new] = f[0, new % f.shape[1]]
    return found[: n - one.delay]


@settings(deadline=None, max_examples=draws(40))
@given(
    jumps=st.lists(st.tuples(st.integers(1, 890), st.integers(-30_000, 30_000)), max_size=12),
    noise=st.sampled_from((1, 100, 800)), rate_hz=st.sampled_from((100.0, 128.0, 200.0, 250.0, 500.0)),
    hold=st.sampled_from((1, 1, 2, 4)), seed=st.integers(0, 99),
)  # fmt: skip
@example([(300, 9000), (301, -9000), (400, 2000), (401, 2000), (402, 2000), (403, 2000)], 1, 250.0, 1, 0)
@example([(1, 5000), (890, -20_000)], 100, 250.0, 1, 1)
@example([(300, 9000), (304, -3000), (308, -3000)], 1, 500.0, 4, 1)
@example([(300, 9000), (308, -6000)], 1, 500.0, 4, 1)
def test_any_cut_gives_the_response_without_the_jumps_that_stand_alone(
    jumps: list[tuple[int, int]], noise: int, rate_hz: float, hold: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    x = np.repeat(rng.integers(-noise, noise + 1, 900 // hold), hold)
    for at, height in jumps:
        x[at:] += height
    x = np.clip(x, -32767, 32767).astype(np.int16)
    found = responses(x[None], cut(len(x), rng, 200), rate_hz)
    np.testing.assert_array_equal(found, without_jumps(x, filter_for(Design(), rate_hz, 1)))


@pytest.mark.parametrize("rate_hz", [100.0, 128.0, 200.0, 250.0, 500.0])
@pytest.mark.parametrize("leads", [1, 2])
def test_a_step_has_no_response_on_any_lead(rate_hz: float, leads: int) -> None:
    x = np.zeros((leads, 900), np.int16)
    x[-1, 300:600] = 20_000
    assert responses(x, [(0, 900)], rate_hz).max() == 0


@settings(deadline=None, max_examples=draws(60))
@given(
    rate_hz=st.sampled_from((50.0, 62.5, 100.0, 110.0, 128.0, 180.0, 200.0, 250.0, 360.0, 500.0, 1000.0)),
    sigma_ms=st.floats(7, 14), q=st.floats(0, 0.3), s=st.floats(0, 0.6), height=st.sampled_from((1500, 12_000, 20_000)),
    shift=st.floats(0, 1), noise=st.floats(0, 0.02), hold=st.sampled_from((1, 1, 2, 4, 8)),
)  # fmt: skip
@example(128.0, 8.0, 0.0, 0.15, 12_000, 0.5, 0.01, 1)
@example(200.0, 7.0, 0.0, 0.0, 20_000, 0.5, 0.0, 1)
@example(1000.0, 12.0, 0.1, 0.2, 12_000, 0.5, 0.01, 8)
@example(500.0, 12.0, 0.1, 0.2, 20_000, 0.5, 0.0, 4)
def test_the_slopes_of_a_narrow_qrs_are_no_jumps_at_any_size_and_rate(
    rate_hz: float, sigma_ms: float, q: float, s: float, height: int, shift: float, noise: float, hold: int
) -> None:
    """The R wave is down to 16 ms wide at half of its height: less than that of a newborn child.

    Some devices repeat each sample: of a signal of 125 Hz and more no slope becomes a jump by that.
    """
    hold = hold if rate_hz >= 125 * hold else 1
    width = sigma_ms / 1000
    t = np.arange(round(2 * rate_hz / hold)) / rate_hz * hold - 1 - shift / rate_hz
    wave = sum(size * np.exp(-0.5 * ((t - at * width) / width) ** 2) for size, at in ((1, 0), (-q, -2.2), (-s, 2.4)))
    x = np.rint(height * (wave + noise * np.random.default_rng(1).normal(size=len(t)))).astype(np.int16).repeat(hold)
    whole = response_of(x[None], filter_for(Design(), rate_hz, 1))
    assert np.abs(responses(x[None], [(0, len(x))], rate_hz) - whole).max() < 0.05 * whole.max()
