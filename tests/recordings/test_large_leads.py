"""A lead that is no ECG, and much larger, makes no ECG beside it coarse: or that is said."""

import numpy as np
from beatwire.recordings.units import to_units
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

N = 20_000
NO_ECG = ("a slow wave", "steps", "noise", "a pressure")


def drawn(seed: int, kind: str, size_mv: float) -> tuple[np.ndarray, np.ndarray]:
    """Return an ECG of 1 mV and something of another size, both in mV."""
    rng, t = np.random.default_rng(seed), np.arange(N) / 250
    ecg = np.where(np.arange(N) % 200 < 8, 1.0, 0.0) + rng.normal(0, 0.01, N)
    wave = {
        "a slow wave": np.sin(t / 3),
        "steps": np.sign(np.sin(t * 2)),
        "noise": rng.normal(0, 0.5, N),
        "a pressure": 3.0 + 0.5 * np.sin(t * 6),
    }[kind]
    return ecg, size_mv * wave + rng.normal(0, 0.01 * size_mv, N)


@settings(max_examples=draws(60), deadline=None)
@given(
    seed=st.integers(0, 1000), kind=st.sampled_from(NO_ECG), size_mv=st.floats(200.0, 1e6), first=st.booleans(),
    calibrated=st.booleans(),
)  # fmt: skip
def test_an_ecg_beside_a_large_lead_keeps_its_steps_or_it_is_said(
    seed: int, kind: str, size_mv: float, first: bool, calibrated: bool
) -> None:
    ecg, other = drawn(seed, kind, size_mv)
    columns = [ecg, other] if first else [other, ecg]
    uv = 1000.0 if calibrated else 0.0
    samples, uv_per_unit, notes = to_units(columns, [uv, uv])
    units = samples[0 if first else 1].astype(float)
    coarse = np.ptp(units) < 20
    assert any(note.startswith("1 lead spans few steps") for note in notes) >= coarse
    if calibrated:
        assert not coarse
        np.testing.assert_allclose((units - np.median(units)) * uv_per_unit / 1000, ecg - np.median(ecg), atol=0.03)


@settings(max_examples=draws(60), deadline=None)
@given(seed=st.integers(0, 1000), size=st.one_of(st.floats(0.01, 20.0), st.floats(0.0, 1e-9)), calibrated=st.booleans())
def test_leads_of_the_size_of_an_ecg_are_never_called_coarse(seed: int, size: float, calibrated: bool) -> None:
    ecg, other = drawn(seed, NO_ECG[seed % len(NO_ECG)], size)
    uv = 1000.0 if calibrated else 0.0
    assert not any("few steps" in note for note in to_units([ecg, other], [uv, uv])[2])
