"""Recordings of BIDS: names, units and rate of a table without names are in the JSON beside it."""

import gzip
import json
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from beatwire.recordings import NO_VALUE, read_recording
from beatwire.recordings.files import source_files
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from sources import UV_PER, heart, message_of

NUMBER = count()
MV = heart(200, 12)


def _write(folder: Path, columns: list[str], values: np.ndarray, *, packed: bool, **stated: object) -> Path:
    """Write a table and its JSON; return the path of the table."""
    folder.mkdir()
    text = "".join("\t".join("n/a" if np.isnan(v) else f"{v:.6g}" for v in row) + "\n" for row in values.T)
    path = folder / f"sub-01_task-rest_physio.tsv{'.gz' * packed}"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    stated = {"SamplingFrequency": 200, "StartTime": -22.3, "Columns": columns} | stated
    (folder / "sub-01_task-rest_physio.json").write_text(json.dumps(stated))
    return path


@settings(max_examples=draws(30), deadline=None)
@given(
    at=st.integers(0, 2), unit=st.sampled_from(["V", "mV", "uV", None]), packed=st.booleans(), gap=st.booleans(),
    others=st.sampled_from([[], ["respiratory"], ["respiratory", "trigger"]]),
)  # fmt: skip
def test_the_ecg_of_bids_is_found_by_the_json_beside_it(
    at: int, unit: str | None, packed: bool, gap: bool, others: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    columns = [*others[:at], "ecg", *others[at:]]
    ecg = MV * 1000 / UV_PER[unit or "mV"]
    ecg = np.where(np.arange(len(ecg)) == 900, np.nan, ecg) if gap else ecg
    rng = np.random.default_rng(at)
    values = np.stack([ecg if name == "ecg" else rng.uniform(-1, 1, len(ecg)) for name in columns])
    about = {"ecg": {"Units": unit}} if unit else {}
    folder = tmp_path_factory.getbasetemp() / f"bids{next(NUMBER)}"
    recording = read_recording(_write(folder, columns, values, packed=packed, **about))
    assert (recording.rate_hz, recording.leads, recording.name) == (200, ("ecg",), "sub-01_task-rest_physio")
    assert (recording.samples[0, 900] == NO_VALUE) is np.bool_(gap)
    known = recording.samples[0] != NO_VALUE
    assert np.allclose(recording.samples[0, known] * recording.uv_per_unit, MV[known] * 1000, atol=1.1)


def test_what_contradicts_the_json_of_bids_is_one_error(tmp_path: Path) -> None:
    path = _write(tmp_path / "a", ["ecg", "resp"], MV[None], packed=True)
    assert message_of(path) == f"{path.name}: expected 2 columns, as {path.stem[:-4]}.json states; got 1"
    assert path.with_name("sub-01_task-rest_physio.json") in source_files(path)  # nothing is written there
    path = _write(tmp_path / "b", ["ecg"], MV[None], packed=False)
    assert message_of(path, fs=100).endswith("physio.json, or no --fs; got --fs 100")
    path = _write(tmp_path / "c", ["ecg"], MV[None], packed=False, SamplingFrequency="fast")
    assert message_of(path).endswith(
        "physio.json: expected Columns and SamplingFrequency, in Hz; one of them is missing"
    )
    path = _write(tmp_path / "d", ["cardiac"], MV[None], packed=False)
    path.write_text("ecg\n" + path.read_text())  # names of its own
    assert read_recording(path, fs=100).rate_hz == 100
