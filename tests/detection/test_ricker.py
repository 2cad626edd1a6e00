"""The response equals numpy.convolve, in integers, for every rate and every cut."""

import numpy as np
import pytest
from beatwire.records import Ringed
from beatwire.stages.detection import ricker
from beatwire.stages.support.filters import Design, Filter, filter_for
from laws import cut
from signal_oracles import bounded_response_of, response_of
from steps import fresh_of

RATES_HZ = (128.0, 250.0, 360.0, 500.0, 1000.0)
LONG = Design(sigma_s=0.5, support_s=2.0, box_s=0.05)


def responses(
    x: np.ndarray, cuts: list[tuple[int, int]], *, rate_hz: float = 250.0, base: int = 0, design: Design | None = None
) -> tuple[np.ndarray, Filter]:
    """Process int16 ``x`` [leads, n] in cuts; return the response of every sample, and the filter."""
    leads, n = x.shape
    design = design or Design()
    one = filter_for(design, rate_hz, leads)
    longest = max(b - a for a, b in cuts)
    columns = -(-(longest + 2 * one.delay + 1) // 32) * 32
    ring = np.random.default_rng(0).integers(-32767, 32767, (3, leads, columns)).astype(np.int16)
    state = ricker.State(
        ricker.Settings((longest + 2 * one.delay + 1) / rate_hz, design, jump_uv=np.inf, sharp_uv_s=np.inf)
    )
    responded = np.full(n, -1, np.int64)
    lane = 2
    for a, b in cuts:
        ring[lane][:, np.arange(base + a, base + b) % columns] = x[:, a:b]
        fresh = fresh_of([0, 0, base + a], [0, 0, base + b], [0, 0, base], rate_hz=rate_hz, leads=leads)
        f = ricker.step(state, Ringed(fresh, ring))[1].rings.f
        new = np.arange(max(0, a - one.delay), max(0, b - one.delay))
        responded[new] = f[lane, (base + new) % f.shape[1]]
    return responded[: max(0, n - one.delay)], one


@pytest.mark.parametrize("leads", [1, 2, 12])
@pytest.mark.parametrize("rate_hz", RATES_HZ)
def test_any_cut_gives_the_integers_of_numpy_convolve(rate_hz: float, leads: int) -> None:
    rng = np.random.default_rng(int(rate_hz) + leads)
    n = 1500 if leads == 1 else round(2 * rate_hz)  # no lead is bounded before its first block is complete
    x = rng.integers(-32767, 32768, (leads, n)).astype(np.int16)
    responded, one = responses(x, cut(n, rng, 200), rate_hz=rate_hz, base=int(rng.integers(0, 10**12)))
    np.testing.assert_array_equal(responded, response_of(x, one))


@pytest.mark.parametrize("leads", [2, 3, 12])
def test_any_cut_of_several_leads_gives_their_bounded_sum(leads: int) -> None:
    rng = np.random.default_rng(leads)
    n, base = 6000, int(rng.integers(0, 10**12))
    x = rng.integers(-400, 400, (leads, n)).astype(np.int16)
    x[0, 3000:3040] += 9000
    x[1, 4500:] += np.where(rng.random(1500) < 0.02, 20_000, 0).astype(np.int16)
    responded, one = responses(x, cut(n, rng, 900), base=base)
    bounded, _ = bounded_response_of(x, one, base, 500)
    np.testing.assert_array_equal(responded, bounded)
    assert (responded < response_of(x, one)).sum() > 200, "expected bounded samples in the test signal"


def test_long_kernels_give_the_integers_of_numpy_convolve() -> None:
    rng = np.random.default_rng(5)
    x = rng.integers(-32767, 32768, (1, 5000)).astype(np.int16)
    responded, one = responses(x, cut(5000, rng, 900), rate_hz=500.0, design=LONG)
    assert len(one.taps) == 1001
    np.testing.assert_array_equal(responded, response_of(x, one))


@pytest.mark.parametrize("rate_hz", [50.0, 77.7, *RATES_HZ, 3999.0, 4000.0])
def test_taps_sum_to_zero_and_the_response_fits_into_32_bits(rate_hz: float) -> None:
    for design in (Design(), Design(0.02, 0.08, 0.1)):
        for leads in range(1, 13):
            one = filter_for(design, rate_hz, leads)
            taps = one.taps.astype(np.int64)
            assert taps[0] + 2 * taps[1:].sum() == 0
            size = abs(taps[0]) + 2 * np.abs(taps[1:]).sum()
            assert 0.97 * 32767 < size <= 32767
            assert leads * (2 * one.box + 1) * ((32768 * size) >> one.shift) < 2**31


@pytest.mark.parametrize("rate_hz", RATES_HZ)
def test_rail_to_rail_on_twelve_leads_does_not_overflow(rate_hz: float) -> None:
    one = filter_for(Design(), rate_hz, 12)
    kernel = np.concatenate([one.taps[:0:-1], one.taps])
    worst = np.where(kernel > 0, 32767, -32767)
    x = np.tile(np.concatenate([worst, -worst, worst]), (12, 8)).astype(np.int16)
    responded, _ = responses(x, [(0, x.shape[1])], rate_hz=rate_hz)
    truth = response_of(x, one)
    assert truth.max() > 2**27
    np.testing.assert_array_equal(responded, truth)


def test_offset_and_polarity_do_not_change_the_response() -> None:
    x = np.random.default_rng(3).integers(-9000, 9000, (1, 1200)).astype(np.int16)
    still, _ = responses(np.full((1, 1200), -32767, np.int16), [(0, 1200)])
    assert not still.any()
    plain, _ = responses(x, [(0, 1200)])
    np.testing.assert_array_equal(responses((x + 20_000).astype(np.int16), [(0, 1200)])[0], plain)
    np.testing.assert_array_equal(responses(-x, [(0, 1200)])[0], plain)


def test_the_unit_response_is_the_response_at_the_peak_of_a_wave_of_one_unit() -> None:
    one = filter_for(Design(), 500.0, 1)
    wave = np.concatenate([one.taps[:0:-1], one.taps]) / one.taps[0]
    x = np.zeros((1, 400), np.int16)
    x[0, 200 - len(wave) // 2 : 201 + len(wave) // 2] = np.rint(20_000 * wave)
    assert response_of(x, one)[200] == pytest.approx(20_000 * one.unit, rel=0.002)
