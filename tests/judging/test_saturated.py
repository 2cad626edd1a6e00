"""Leads at the limits of their converters: found, announced, and they hide no silence of the heart."""

import numpy as np
import pytest
from beatwire.kernels.intake.holes import NO_VALUE
from beatwire.kernels.rhythms import flutter, wave_shape
from beatwire.kernels.rhythms.flutter import SATURATED
from beatwire.recordings.synthetic.person import synthesise
from bedside import Ward, rows_of
from hypothesis import given
from hypothesis import strategies as st
from laws import Signal, assert_equal, run_graph, ticks_of


def test_a_lead_at_the_limits_of_its_converter_is_found_at_any_position_in_the_ring() -> None:
    rng = np.random.default_rng(3)
    wave = rng.normal(0, 60, 500)
    clipped = np.clip(wave + 1500 * np.sin(np.arange(500) / 40), -1024, 1023)
    for shift in (0, 100, 511, 1_000_003):
        ring = np.zeros((2, 512), np.int16)
        ring[1, (shift + np.arange(500)) % 512] = clipped
        assert is_marked(ring, shift, 5000)
        assert is_marked(-ring, shift, 5000)
        assert not is_marked(ring, shift, 1000)  # of 1 uV a unit: it is 1 mV from zero
        assert not is_marked(ring, shift, 0)
    assert not is_marked((12 * wave).astype(np.int16)[None], 0, 5000)  # large, but at no limit
    assert is_marked(np.full((1, 500), 32_767, np.int16), 0, 0)


def is_marked(ring: np.ndarray, first: int, nanovolts: int) -> bool:
    return bool(flutter.look_at_leads(ring, first, 500, nanovolts)[1] & wave_shape.LIMITED)


@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(0, 3000), st.sampled_from([0, 1000, 5000]))
def test_what_a_block_is_said_to_be_is_what_its_samples_are(seed: int, leads: int, first: int, nanovolts: int) -> None:
    rng = np.random.default_rng(seed)
    length, size = 200, 256
    block = rng.choice([3, 300, 32_767]) * rng.normal(0, 0.4, (leads, length))
    block = np.clip(block, *rng.choice([[-900, 900], [-32_767, 100], [-32_767, 32_767]])).astype(np.int16)
    block[rng.random(leads) < 0.3] = rng.choice([0, 900, -900])  # one value throughout
    if leads > 1:
        block[rng.random(leads) < 0.3, rng.integers(length)] = NO_VALUE
    ring = rng.integers(-9, 9, (leads, size)).astype(np.int16)
    ring[:, (first + np.arange(length)) % size] = block

    lead, marks = flutter.look_at_leads(ring, first, length, nanovolts)

    has_values = (block != NO_VALUE).all(axis=1)
    far = min(32_000, 4_000_000 // nanovolts) if nanovolts else 32_000
    largest, least = block.astype(int).max(axis=1), block.astype(int).min(axis=1)
    high = (largest >= far) & (8 * (block == largest[:, None]).sum(axis=1) >= length)
    low = (least <= -far) & (8 * (block == least[:, None]).sum(axis=1) >= length)
    assert lead == (int(np.argmax(has_values)) if has_values.any() else -1)
    assert bool(marks & wave_shape.ABSENT) == (not has_values.all())
    assert bool(marks & wave_shape.LIMITED) == bool(((high | low) & has_values).any())
    assert bool(marks & wave_shape.CONSTANT) == bool((largest == least)[has_values].all())


def test_an_alert_of_a_saturated_lead_lasts_over_one_block_that_is_not(ward: Ward) -> None:
    kinds = [0, SATURATED, 0, SATURATED, 0, 0, 0]
    found = ward.tick(blocks=[("bed", 200 * (k + 1), kind) for k, kind in enumerate(kinds)])
    found = [row for row in rows_of(found) if row[0] == "saturated"]
    assert found == [("saturated", "on", 400, 400), ("saturated", "off", 400, 1200)]


def test_a_saturated_lead_is_announced_and_any_cut_gives_the_same_alerts() -> None:
    made = synthesise(3, leads=2, seconds=30).recording
    samples = made.samples.copy()
    samples[1, 2600:3400] = 1023 if made.uv_per_unit * 1023 > 4000 else 32_767
    signal = Signal("bed", samples, made.rate_hz, made.uv_per_unit)
    whole = run_graph([[signal.chunk(a, min(a + 8000, samples.shape[1])) for a in range(0, samples.shape[1], 8000)]])
    found = [(a["state"], a["onset"]) for a in whole.alerts if a["rule"] == "saturated"]
    assert found[0] == ("on", 3000)
    for seed, longest in enumerate((25, 700)):
        assert_equal(run_graph(ticks_of([signal], np.random.default_rng(seed), longest)), whole)


@pytest.mark.parametrize("limited", [0, 1])
def test_a_silent_heart_is_found_beside_a_lead_at_its_limits(limited: int) -> None:
    samples = synthesise(3, leads=2, seconds=40, rate_hz=250.0).recording.samples.copy()
    samples[:, 4000:] = np.random.default_rng(1).integers(-3, 4, (2, samples.shape[1] - 4000))
    samples[limited, 3000:] = 1500
    alerts = run_graph([[Signal("bed", samples, 250.0, 5.0).chunk(0, samples.shape[1])]]).alerts
    (begins,) = (a["decided"] for a in alerts if a["rule"] == "asystole")
    assert begins < 4000 + 10 * 250


def test_a_silent_heart_is_found_on_a_converter_that_keeps_the_offset_of_the_electrodes() -> None:
    """A quiet line far from zero looks like a lead at its limits."""
    samples = synthesise(3, leads=1, seconds=40, rate_hz=250.0).recording.samples.astype(np.int32)
    samples[:, 4000:] = np.random.default_rng(1).integers(0, 2, (1, samples.shape[1] - 4000))
    signal = Signal("bed", (samples - 1200).astype(np.int16), 250.0, 5.0)
    alerts = run_graph([[signal.chunk(0, samples.shape[1])]]).alerts
    (begins,) = (a["decided"] for a in alerts if a["rule"] == "asystole")
    assert begins < 4000 + 6 * 250
