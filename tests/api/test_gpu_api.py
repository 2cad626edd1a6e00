"""import beatwire with arrays on a GPU: used in place, and the beats are those of the CPU."""

from typing import Any

import beatwire
import numpy as np
import pytest
from beatwire.backends.cuda.card import missing
from beatwire.recordings import NO_VALUE, as_recording
from beatwire.recordings.synthetic.person import synthesise

WHY = missing()
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(WHY is not None, reason=f"needs a GPU: {WHY}")]
FS = 250.0


@pytest.fixture(scope="module")
def samples() -> np.ndarray:
    made = synthesise(3, rate_hz=FS, seconds=60, leads=2).recording.samples.copy()
    made[:, 5000:5250] = NO_VALUE
    return made


def assert_same(found: beatwire.Result, expected: beatwire.Result) -> None:
    assert found.beats["sample"].tolist() == expected.beats["sample"].tolist()
    np.testing.assert_allclose(found.beats["score"], expected.beats["score"], atol=1e-3)


def test_cupy_arrays_are_used_in_place(samples: np.ndarray) -> None:
    cupy = pytest.importorskip("cupy", reason="needs CuPy")
    array = cupy.asarray(samples)
    assert as_recording(array, FS, gain=200).samples.data.ptr == array.data.ptr
    assert as_recording(array[1], FS, gain=200).samples.data.ptr == array[1].data.ptr
    assert_same(beatwire.analyze(array, FS, gain=200), beatwire.analyze(samples, FS, gain=200))


def test_torch_tensors_are_used_in_place(samples: np.ndarray) -> None:
    torch = pytest.importorskip("torch", reason="needs torch")
    tensor = torch.from_numpy(samples).cuda()
    recording = as_recording(tensor, FS, gain=200)
    assert recording.samples.data.ptr == tensor.data_ptr()
    assert_same(beatwire.analyze(tensor, FS, gain=200), beatwire.analyze(samples, FS, gain=200))


def test_a_cudf_series_is_used_in_place_and_a_frame_on_the_device(samples: np.ndarray) -> None:
    cudf = pytest.importorskip("cudf", reason="needs cuDF")
    series = cudf.Series(samples[0])
    pointer = series.values.data.ptr
    assert as_recording(series, FS, gain=200).samples.data.ptr == pointer
    expected = beatwire.analyze(samples, FS, gain=200, leads=["II", "V1"])
    assert_same(beatwire.analyze(cudf.DataFrame({"II": samples[0], "V1": samples[1]}), FS, gain=200), expected)


def test_fractions_on_the_device_are_converted_there(samples: np.ndarray) -> None:
    cupy = pytest.importorskip("cupy", reason="needs CuPy")
    mv: Any = np.where(samples == NO_VALUE, np.nan, samples * 0.005)
    found = beatwire.analyze(cupy.asarray(mv), FS)
    assert isinstance(found.recording.samples, cupy.ndarray)
    assert_same(found, beatwire.analyze(mv, FS))
    np.testing.assert_allclose(found.signal(), mv, atol=0.0006)
