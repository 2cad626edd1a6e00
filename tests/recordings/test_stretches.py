"""Stretches of leads of different rates, in DICOM groups and LabChart blocks: each value is its time."""

from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
from beatwire.recordings import NO_VALUE, read_recording
from dicom_files import write_dicom
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("pydicom", reason="needs pydicom (pip install 'beatwire[formats]')")

NUMBER = count()
FAST = st.sampled_from([500, 1000])
LAST = 12  # samples of a fast lead in one of a slow lead, or more
SLOW = st.sampled_from([100, 125, 128, 200, 240])


def times_ms(rate_hz: int, begin_s: float, seconds: float) -> np.ndarray:
    return 1000 * (begin_s + np.arange(round(seconds * rate_hz)) / rate_hz)


def write_groups(path: Path, fast: int, slow: int, begins_s: list[float], seconds: float) -> None:
    groups = [
        {"rate_hz": rate, "offset_ms": 1000 * begin_s, "stored": "SL", "bits": 32,
         "channels": [(name, 1, "uV", 0, np.rint(times_ms(rate, begin_s, seconds)))]}
        for begin_s in begins_s for rate, name in ((fast, "II"), (slow, "V1"))
    ]  # fmt: skip
    write_dicom(path, groups)


def write_blocks(path: Path, fast: int, slow: int, begins_s: list[float], seconds: float) -> None:
    pieces = [[times_ms(rate, begin_s, seconds) / 1000 for begin_s in begins_s] for rate in (fast, slow)]
    edges = np.cumsum([0, *(len(piece) for row in pieces for piece in row)])
    shape = 2, len(begins_s)
    scipy.io.savemat(path, {
        "data": np.concatenate([piece for row in pieces for piece in row])[None],
        "datastart": edges[:-1].reshape(shape) + 1.0, "dataend": edges[1:].reshape(shape) + 0.0,
        "samplerate": np.repeat([[float(fast)], [float(slow)]], len(begins_s), axis=1),
        "titles": np.array(["II", "V1"]), "unittext": np.array(["mV"]), "unittextmap": np.ones(shape),
        "blocktimes": 738000 + np.array(begins_s)[None] / 86400,
    })  # fmt: skip


@pytest.mark.parametrize("write", [write_groups, write_blocks])
@settings(max_examples=draws(15), deadline=None)
@given(fast=FAST, slow=SLOW, gaps_ms=st.lists(st.integers(20, 1500), min_size=1, max_size=3))
def test_a_slower_lead_is_at_its_time_to_the_sample_of_the_faster_one(
    write: Any, fast: int, slow: int, gaps_ms: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"stretches{next(NUMBER)}.x"
    begins_s = [0.0]
    for gap_ms in gaps_ms:
        begins_s.append(round(begins_s[-1] + 2 + gap_ms / 1000, 3))
    write(path, fast, slow, begins_s, 2.0)
    recording = read_recording(path)
    assert (recording.leads, recording.rate_hz) == (("II", "V1"), fast)
    got = np.where(recording.samples == NO_VALUE, np.nan, recording.samples * recording.uv_per_unit)
    known = np.isfinite(got).all(axis=0)
    inner = np.convolve(~known, np.ones(2 * LAST + 1), "same") == 0  # the last sample lasts until the end
    inner[-LAST:] = False
    assert inner.sum() > 0.8 * fast * 2 * len(begins_s)
    assert np.abs(np.diff(got[:, inner], axis=0)).max() <= 1.6 + 0.5 * 1000 / fast
