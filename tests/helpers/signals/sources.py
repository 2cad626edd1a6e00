"""Recordings of tests: an ECG, units, and the error messages of what cannot be read."""

from typing import Any

import numpy as np
import pytest
from beatwire.errors import UserError
from beatwire.recordings import read_recording

UV_PER = {"mV": 1000.0, "uV": 1.0, "V": 1e6}


def heart(rate_hz: float, seconds: float = 20) -> np.ndarray:
    """Return an ECG of 75 beats a minute in millivolts."""
    recording = read_recording(f"synthetic:seconds={seconds:g},rate={rate_hz:g},bpm=75,noise=0.01")
    return recording.samples[0] * recording.uv_per_unit / 1000


def message_of(source: object, **kwargs: Any) -> str:
    """Return the one-line error of a recording that cannot be read."""
    with pytest.raises(UserError) as error:
        read_recording(str(source), **kwargs)
    assert "\n" not in str(error.value)
    return str(error.value)
