"""The quality of a beat as people read it: its probability, less a share of the disturbance."""

import numpy as np
from beatwire.offline.analyze import analyze
from beatwire.records.beats import MOST_ERRORS, RISK_PER_ERROR, TickBeats
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from noisy_streams import noisy_recording


def with_quality(quality: list[float], disturbance: list[float]) -> TickBeats:
    none = np.zeros(len(quality), np.float32)
    columns = {"quality": np.array(quality, np.float32), "disturbance": np.array(disturbance, np.float32)}
    names = (f for f in TickBeats.__dataclass_fields__ if TickBeats.__dataclass_fields__[f].default is not None)
    return TickBeats(**(dict.fromkeys(names, none) | columns))


@settings(max_examples=draws(60), deadline=None)
@given(quality=st.floats(0, 1), errors=st.floats(0, 60), more=st.floats(0, 60))
def test_what_looks_certain_is_less_so_in_a_disturbance(quality: float, errors: float, more: float) -> None:
    one, other, unknown = with_quality([quality] * 3, [errors, errors + more, np.nan]).published_quality
    assert unknown == np.float32(quality)
    assert np.float32(quality) * (1 - RISK_PER_ERROR * MOST_ERRORS) <= other * (1 + 1e-6)
    assert other <= one <= unknown


def test_equally_certain_beats_differ_by_the_disturbance() -> None:
    beats = analyze(noisy_recording(1, 1)).beats
    assert len(np.unique(beats["quality"])) > 0.7 * len(beats["quality"])
