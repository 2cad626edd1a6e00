"""Text tables of any dialect give the right samples, rate and unit."""

import re
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from beatwire.recordings import read_blocks, read_recording
from draws import draws
from hypothesis import given, settings
from text_dialects import Dialect, dialects, truth_of, write


def read(dialect: Dialect) -> None:
    """Read a file of a dialect and compare it with the truth."""
    truth = truth_of(dialect)
    has_rate = dialect.head in ("keys", "German keys", "JSON")
    is_clock = dialect.clock not in ("none", "count", "count 0-15")
    fs = None if is_clock or has_rate else dialect.rate_hz
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        path = Path(folder) / "x.csv"
        write(path, dialect)
        recording = read_recording(path, fs=fs, lead="all")
        blocks = list(read_blocks(path, fs=fs, samples=3000 if dialect.clock == "whole seconds" else 700))
    assert recording.samples.shape == (1, len(truth)), recording.notes
    assert abs(recording.rate_hz / dialect.rate_hz - 1) < 1e-3
    samples = recording.samples[0].astype(float)
    if recording.uv_per_unit:
        assert np.abs(samples * recording.uv_per_unit / 1000.0 - truth).max() < 0.003
    else:
        assert any("not calibrated" in note for note in recording.notes)
        assert np.corrcoef(samples, truth)[0, 1] > 0.999
    if dialect.unit == "none":
        assert any(re.match("no unit: read as millivolts", note) for note in recording.notes)
    joined = np.concatenate([block.samples[0] * block.uv_per_unit for block in blocks])
    assert np.abs(joined - samples * recording.uv_per_unit).max() < 3


@settings(max_examples=draws(60), deadline=None)
@given(dialects())
def test_a_text_table_of_any_dialect_gives_the_right_samples_rate_and_unit(dialect: Dialect) -> None:
    read(dialect)
