"""Asystole is not announced while the lead that shows the heart has no values and the others have no signal."""

import beatwire
import numpy as np
import pytest
from beatwire.recordings.synthetic.person import synthesise
from hypothesis import given, settings
from hypothesis import strategies as st

RATE_HZ = 250


def two_leads(seconds: int = 60) -> np.ndarray:
    """Return a heart on the first lead in millivolts, and a second one that is flat: float64 [samples, 2]."""
    lead = synthesise((0, 3), seconds=float(seconds)).recording
    heart = lead.samples[0][: seconds * RATE_HZ] * (lead.uv_per_unit / 1000.0)
    return np.stack([heart, np.zeros(len(heart))], axis=1)


def rules(ecg: np.ndarray) -> set[str]:
    return set(beatwire.analyze(ecg.T, fs=RATE_HZ, units="mV", lead="all").alerts["rule"])


@settings(max_examples=8, deadline=None)
@given(st.floats(15.0, 30.0), st.floats(4.5, 20.0))
def test_no_asystole_begins_while_the_only_lead_with_a_heart_has_no_values(begin_s: float, length_s: float) -> None:
    ecg = two_leads()
    ecg[int(begin_s * RATE_HZ) : int((begin_s + length_s) * RATE_HZ), 0] = np.nan
    found = rules(ecg)
    assert "asystole" not in found
    assert found & {"flat line", "cannot analyse"} or length_s < 8, "it is said that nothing is analysed"


@pytest.mark.parametrize("other", [0.0, np.nan])
def test_asystole_is_announced_where_the_lead_that_shows_the_heart_stands_still(other: float) -> None:
    ecg = two_leads()
    wander = 0.06 * np.sin(2 * np.pi * 2.0 * np.arange(len(ecg)) / RATE_HZ)
    ecg[30 * RATE_HZ : 45 * RATE_HZ, 0] = wander[: 15 * RATE_HZ]
    ecg[30 * RATE_HZ : 45 * RATE_HZ, 1] = other
    assert "asystole" in rules(ecg)
