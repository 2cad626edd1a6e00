"""Arrays in .npy, .npz and .mat files: leads, rates and times by their names."""

from itertools import count
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.io
from beatwire.recordings import read_recording
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

NUMBER = count()


@settings(max_examples=draws(30), deadline=None)
@given(
    leads=st.integers(1, 12), turned=st.booleans(), kind=st.sampled_from(["npz", "mat", "struct"]),
    rate_name=st.sampled_from(["fs", "Fs", "sampling_rate", "sfreq", "SampleRate", "rate_hz"]), named=st.booleans(),
)  # fmt: skip
def test_arrays_in_a_file_are_found_with_their_rate_and_the_names_of_leads(
    leads: int, turned: bool, kind: str, rate_name: str, named: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"array{next(NUMBER)}"
    mv = np.random.default_rng(leads).uniform(-1, 1, (leads, 300))
    held: dict[str, object] = {"signals": mv.T if turned else mv, rate_name: 200.0}
    names = [f"L{k}" for k in range(leads)]
    if named:
        held["lead_names"] = np.array(names)
    with path.open("wb") as file:
        if kind == "npz":
            np.savez(file, **held)  # type: ignore[arg-type]
        else:
            scipy.io.savemat(file, {"ecg": held} if kind == "struct" else held, appendmat=False)
    recording = read_recording(path)
    assert (recording.rate_hz, recording.samples.shape) == (200, (leads, 300))
    assert np.abs(recording.samples * recording.uv_per_unit / 1000 - mv).max() <= 0.0006
    assert recording.leads == (tuple(names) if named else tuple(f"lead {k}" for k in range(leads)))


@settings(max_examples=draws(30), deadline=None)
@given(
    kind=st.sampled_from(["parquet", "npz", "npz of two", "npy of records", "mat"]),
    clock=st.sampled_from(["t", "x", "zeit"]),
    unit_s=st.sampled_from([1.0, 1000.0]), rate_hz=st.sampled_from([125.0, 250.0, 500.0]), first=st.booleans(),
)  # fmt: skip
def test_a_column_of_times_beside_the_leads_is_their_clock_whatever_its_name(
    kind: str, clock: str, unit_s: float, rate_hz: float, first: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"t{next(NUMBER)}"
    mv = np.random.default_rng(5).uniform(-1, 1, (2, 600))
    times = {clock: np.arange(600) / rate_hz * unit_s}
    leads = {"II": mv[0], "V5": mv[1]}
    columns = {**times, **leads} if first else {**leads, **times}
    with path.open("wb") as file:
        if kind == "parquet":
            pd.DataFrame(columns).to_parquet(file)
        elif kind == "npz":
            np.savez(file, **columns)
        elif kind == "npz of two":
            np.savez(file, **times, signals=mv, lead_names=np.array(["II", "V5"]))
        elif kind == "npy of records":
            np.save(file, np.array(list(zip(*columns.values(), strict=True)), [(name, "f8") for name in columns]))
        else:
            scipy.io.savemat(file, columns, appendmat=False)
    recording = read_recording(path)
    assert (recording.leads, recording.rate_hz) == (("II", "V5"), rate_hz)
    assert np.abs(recording.samples * recording.uv_per_unit / 1000 - mv).max() <= 0.0006
    one = read_recording(path, column="V5")
    assert (one.leads, one.rate_hz) == (("V5",), rate_hz)
    if kind == "npz of two":
        assert read_recording(path, column="signals").rate_hz == rate_hz


@pytest.mark.parametrize("kind", ["npz", "mat"])
@pytest.mark.parametrize("other", ["acc", "ppg", "resp", "r_peaks", "hr"])
def test_an_array_that_is_called_like_a_lead_comes_before_longer_and_wider_ones(
    kind: str, other: str, tmp_path: Path
) -> None:
    rng = np.random.default_rng(4)
    uv = rng.integers(-900, 900, 600)
    for shape in ((600, 3), (1200,), (90,), (600,)):
        held = {other: rng.normal(0, 1, shape), "ecg": uv, "fs": 250, "units": "uV"}
        with (tmp_path / "x").open("wb") as file:
            if kind == "npz":
                np.savez(file, **held)  # type: ignore[arg-type]
            else:
                scipy.io.savemat(file, held, appendmat=False)
        recording = read_recording(tmp_path / "x")
        assert recording.samples.shape == (1, 600)
        assert np.array_equal(recording.samples[0] * recording.uv_per_unit, uv)


def test_a_matrix_of_the_challenges_is_read_by_its_header(tmp_path: Path) -> None:
    digital = np.random.default_rng(6).integers(-2000, 2000, (12, 500)).astype(np.int16)
    scipy.io.savemat(tmp_path / "A0001.mat", {"val": digital}, format="4")
    assert (tmp_path / "A0001.mat").stat().st_size == 24 + digital.nbytes
    names = ("I", "II", "III", "aVR", "aVL", "aVF", "V1", "V2", "V3", "V4", "V5", "V6")
    lines = [f"A0001.mat 16+24 1000/mV 16 0 {d[0]} 0 0 {name}" for d, name in zip(digital, names, strict=True)]
    (tmp_path / "A0001.hea").write_text("\n".join(["A0001 12 500 500 12-May-2020 12:33:59", *lines, "#Age: 74"]))
    for source in ("A0001", "A0001.mat", "A0001.hea"):
        recording = read_recording(tmp_path / source)
        assert (recording.leads, recording.rate_hz, recording.uv_per_unit) == (names, 500, 1.0)
        assert np.array_equal(recording.samples, digital)
