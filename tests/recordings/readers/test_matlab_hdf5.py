"""A file of MATLAB 7.3 is read as one of version 5 of the same arrays, and both as they were made."""

from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
from beatwire.recordings import read_recording
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from mat73_files import write_mat73
from sources import UV_PER, heart, message_of

h5py = pytest.importorskip("h5py", reason="needs h5py (pip install 'beatwire[formats]')")

NUMBER = count()
MV = np.stack([heart(250, 8) * k for k in (1.0, -0.5, 0.7)])


def cells(values: list[Any]) -> np.ndarray:
    made = np.empty(len(values), object)
    made[:] = values
    return made


@settings(max_examples=draws(40), deadline=None)
@given(
    others=st.sets(st.integers(0, 2), max_size=2), turned=st.booleans(), unit=st.sampled_from([*UV_PER]),
    names=st.sampled_from(["cells", "characters"]), inside=st.booleans(), kind=st.sampled_from(["f8", "f4"]),
    version=st.sampled_from(["5", "7.3"]), data=st.sampled_from(["array", "cells of leads", "a cell"]),
)  # fmt: skip
def test_names_of_leads_count_whether_they_are_cells_or_rows_of_characters(
    others: set[int], turned: bool, unit: str, names: str, inside: bool, kind: str, version: str, data: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    path = tmp_path_factory.getbasetemp() / f"matlab{next(NUMBER)}.mat"
    titles = ["Resp" if k in others else name for k, name in enumerate(("II", "V1", "aVR"))]
    values = (MV * 1000 / UV_PER[unit]).astype(kind)
    matrix = values.T if turned else values
    samples = {"array": matrix, "a cell": cells([matrix]), "cells of leads": cells([*values])}[data]
    width = max(map(len, titles))
    listed: Any = [title.ljust(width) for title in titles] if names == "characters" else np.array(titles, object)
    held: dict[str, Any] = {"data": samples, "channels": listed, "units": unit, "fs": 250.0}
    held = {"rec": held} if inside else held
    write_mat73(path, held) if version == "7.3" else scipy.io.savemat(path, held)
    recording = read_recording(path)
    kept = [k for k in range(3) if k not in others]
    assert (recording.rate_hz, recording.leads) == (250, tuple(titles[k] for k in kept))
    assert np.abs(recording.samples * recording.uv_per_unit / 1000 - MV[kept]).max() < 0.0011


@pytest.mark.parametrize("most", [100_000, 600])
@pytest.mark.parametrize("version", ["5", "7.3"])
def test_times_of_a_text_in_each_of_many_cells_count(
    version: str, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("beatwire.recordings.readers.hdf5._MOST_CELLS", most)
    rows = np.delete(np.arange(1500), slice(600, 900))
    times = [f"2026-01-01 10:00:0{k // 250}.{k % 250 * 4:03d}" for k in rows]
    held = {"time": np.array(times, object), "ecg": MV[0][rows]}
    path = tmp_path / "times.mat"
    write_mat73(path, held) if version == "7.3" else scipy.io.savemat(path, held)
    if (version, most) == ("7.3", 600):
        recording = read_recording(path, fs=250)
        assert "cells of 'time'" in recording.notes[0]
        return
    recording = read_recording(path)
    assert recording.rate_hz == 250
    assert recording.samples.shape[1] == 1500  # with the gap


@settings(max_examples=draws(20), deadline=None)
@given(
    version=st.sampled_from(["5", "7.3"]), turned=st.booleans(), recordings=st.integers(2, 12), leads=st.integers(2, 12)
)
def test_cells_of_recordings_are_refused(
    version: str, turned: bool, recordings: int, leads: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"cells{next(NUMBER)}.mat"
    matrix = np.random.default_rng(leads).uniform(-1, 1, (leads, 300))
    held = {"ecg": cells([matrix.T if turned else matrix] * recordings), "fs": 250.0}
    write_mat73(path, held) if version == "7.3" else scipy.io.savemat(path, held)
    assert message_of(path).startswith(f"{path.name}: expected an array of numbers; got 'ecg' (cells or objects)")


def test_channels_of_labchart_in_a_later_version_lie_one_after_the_other_too(tmp_path: Path) -> None:
    blocks = [MV[0][:900], MV[1][:900], MV[0][900:], MV[1][900:]]
    ends = np.cumsum([len(one) for one in blocks]).astype(float)
    write_mat73(tmp_path / "x.mat", {
        "data": np.concatenate(blocks), "dataend": ends.reshape(2, 2).T, "samplerate": np.full((2, 2), 250.0),
        "datastart": (1 + np.concatenate([[0.0], ends[:-1]])).reshape(2, 2).T, "titles": ["ECG ", "Resp"],
        "unittext": ["mV"], "unittextmap": np.ones((2, 2)), "blocktimes": 738000 + np.array([0.0, 10 / 86400]),
    })  # fmt: skip
    recording = read_recording(tmp_path / "x.mat")
    assert (recording.leads, recording.rate_hz, recording.samples.shape) == (("ECG",), 250, (1, 2500 + 1100))
    got = np.delete(recording.samples[0], np.s_[900:2500])
    assert np.abs(got * recording.uv_per_unit / 1000 - MV[0]).max() < 0.0011


@settings(max_examples=draws(20), deadline=None)
@given(
    name=st.sampled_from(["recorded", "ecg", "signals/raw"]), is_scalar=st.booleans(), count=st.integers(1, 3),
    turned=st.booleans(),
)  # fmt: skip
def test_references_to_what_has_a_place_of_its_own_change_nothing(
    name: str, is_scalar: bool, count: int, turned: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"references{next(NUMBER)}.h5"
    with h5py.File(path, "w") as file:
        file[name] = MV[:2].T if turned else MV[0]
        file["fs"] = 250.0
    expected = read_recording(path)
    with h5py.File(path, "a") as file:
        reference = file[name].ref
        file.create_dataset("sources", data=reference if is_scalar else [reference] * count, dtype=h5py.ref_dtype)
    got = read_recording(path)
    assert (got.leads, got.notes) == (expected.leads, expected.notes)
    np.testing.assert_array_equal(got.samples, expected.samples)
