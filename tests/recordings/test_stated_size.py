"""A recording that states a size that no heart has says so; others do not."""

from pathlib import Path

import numpy as np
import pytest
from beatwire.recordings import NO_VALUE, Recording
from beatwire.recordings.read import as_recording
from beatwire.recordings.synthetic.person import synthesise
from hypothesis import given
from hypothesis import strategies as st

REMARK = "more than a heart"


def remarks(recording: Recording) -> list[str]:
    return [note for note in recording.notes if note.startswith(REMARK)]


@given(
    seed=st.integers(0, 20),
    rate_hz=st.sampled_from([50.0, 128.0, 257.0, 1000.0]),
    times=st.floats(0.1, 60.0),
    gap=st.integers(0, 400),
    seconds=st.floats(2.5, 30.0),
)
def test_it_is_said_where_half_of_the_stretches_span_more_than_a_heart(
    seed: int, rate_hz: float, times: float, gap: int, seconds: float
) -> None:
    heart = synthesise(seed, rate_hz=rate_hz, seconds=seconds).recording
    samples = heart.samples.copy()
    samples[:, :gap] = NO_VALUE
    span_mv = float(np.ptp(heart.samples[0].astype(float))) * heart.uv_per_unit / 1000
    found = as_recording(Recording("x", rate_hz, heart.leads, times * heart.uv_per_unit, samples))
    if times * span_mv < 8.0:
        assert not remarks(found)
    if times > 20 and gap < rate_hz:
        assert len(remarks(found)) == 1
    assert not remarks(as_recording(Recording("x", rate_hz, heart.leads, 0.0, samples)))


@pytest.mark.parametrize(
    ("name", "said"), [("motion/m0101rest", True), ("mitdb/119", False), ("mitdb/208", False), ("nsrdb/16265", False)]
)
def test_of_known_recordings_those_with_a_gain_that_nobody_measured(ecg_folder: Path, name: str, said: bool) -> None:
    if not (ecg_folder / f"{name}.hea").exists():
        name = f"nsrdb/{min((ecg_folder / 'nsrdb').glob('*.hea')).stem}"
    assert bool(remarks(as_recording(ecg_folder / f"{name}.hea"))) is said
