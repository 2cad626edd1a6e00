"""Arrays in .npy, .npz and .mat files: leads, rates and times by their names."""

from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.io
from beatwire.recordings import read_recording
from draws import draws
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sources import message_of

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
    names = [f"n{k}" for k in range(leads)]
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
    unnamed = ("ecg",) if kind == "struct" and leads == 1 else tuple(f"lead {k}" for k in range(leads))
    assert recording.leads == (tuple(names) if named else unnamed)


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


OTHERS = {
    "heart_rate": 72.0, "resp_rate": 60.0, "line_freq": 50.0, "cutoff_freq": 100.0, "frame_rate": 60.0,
    "bit_rate": 128.0, "ppg_fs": 125.0, "resp.fs": 62.5, "original_fs": 500.0, "notch_hz": 60.0,
    "ppg.sampling_rate": 64.0,
}  # fmt: skip
UV = {"V": 1e6, "mV": 1e3, "uV": 1.0, "µV": 1.0, "nV": 1e-3}


@settings(max_examples=draws(40), deadline=None)
@given(
    rate=st.sampled_from(["fs", "Fs", "sampling_rate", "ecg_fs", "ecg.fs", "SamplingRate", "data_rate", "rate", None]),
    others=st.lists(st.sampled_from(sorted(OTHERS)), max_size=4, unique=True), matlab=st.booleans(),
    each=st.booleans(),
)  # fmt: skip
def test_only_a_number_that_is_called_like_the_rate_of_the_samples_is_it(
    rate: str | None, others: list[str], matlab: bool, each: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"rate{next(NUMBER)}"
    held: dict[str, Any] = {"ecg_mv": np.random.default_rng(3).uniform(-1, 1, (2, 600))}
    names = [*others, *([rate] if rate else [])]
    if rate is None and "original_fs" in others:
        names.remove("original_fs")  # where nothing else is said, it is taken
    for name in names:
        value = np.full(2, OTHERS.get(name, 250.0)) if each else np.array(OTHERS.get(name, 250.0))
        first, _, last = name.rpartition(".")
        if matlab and first:
            held.setdefault(first, {})[last] = value
        else:
            held[name] = value
    with path.open("wb") as file:
        if matlab:
            scipy.io.savemat(file, held, appendmat=False)
        else:
            np.savez(file, **held)
    if rate is None:
        assert message_of(path) == f"{path.name}: expected a sampling rate; the table states none: give --fs, in Hz"
    assert read_recording(path, fs=None if rate else 250.0).rate_hz == 250


def test_a_file_that_states_two_rates_is_one_error(tmp_path: Path) -> None:
    np.savez(tmp_path / "r.npz", ecg=np.zeros((2, 600)), fs=[250, 500])
    got = "got 250 Hz by its 'fs', 500 Hz by its 'fs': give --fs"
    assert message_of(tmp_path / "r.npz") == f"r.npz: expected one sampling rate; {got}"


@settings(max_examples=draws(40), deadline=None)
@example(units=["mmHg", "mmHg"], kind="text", name="units", apart=True, single=True)
@given(
    units=st.lists(st.sampled_from(["mV", "uV", "V", "nV", "µV", "adu", "mmHg"]), min_size=2, max_size=2),
    kind=st.sampled_from(["text", "bytes", "cells"]), name=st.sampled_from(["units", "ecg_units", "channel_units"]),
    apart=st.booleans(), single=st.booleans(),
)  # fmt: skip
def test_each_lead_has_the_unit_that_its_file_states(
    units: list[str], kind: str, name: str, apart: bool, single: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"units{next(NUMBER)}"
    units = units[:1] if single else units
    each = units * 2 if single else units
    uv = [UV.get(unit, 0.0) for unit in each]
    mv = np.random.default_rng(4).uniform(-1, 1, (2, 600))
    rows = np.stack([row * 1000 / (one or 1000.0) for row, one in zip(mv, uv, strict=True)])
    leads = {"II": rows[0], "V5": rows[1]} if apart else {"ecg": rows}
    texts = [unit.encode("latin-1") for unit in units] if kind == "bytes" else units
    with path.open("wb") as file:
        if kind == "cells":
            scipy.io.savemat(file, {**leads, name: np.array(units, object), "fs": 250.0}, appendmat=False)
        else:
            np.savez(file, **{name: np.array(texts)}, fs=250.0, **leads)
    if set(units) == {"mmHg"}:  # whatever their names
        assert "(mmHg)' is none" in message_of(path)
        return
    recording = read_recording(path)
    kept = [k for k, unit in enumerate(each) if unit != "mmHg"]
    assert len(recording.leads) == len(kept)
    if all(uv[k] for k in kept):
        assert np.abs(recording.samples * recording.uv_per_unit / 1000 - mv[kept]).max() <= 0.0006
    else:
        assert recording.uv_per_unit == 0
        assert "not calibrated" in " ".join(recording.notes)


def test_what_is_behind_the_first_array_of_a_file_is_said(tmp_path: Path) -> None:
    with (tmp_path / "r.npy").open("wb") as file:
        np.save(file, np.linspace(-1, 1, 500) ** 3)
        np.save(file, np.zeros(9))
    assert "left out: 200 bytes behind the first array" in read_recording(tmp_path / "r.npy", fs=250).notes


def test_the_name_of_a_person_is_no_lead(tmp_path: Path) -> None:
    np.savez(tmp_path / "r.npz", ecg=np.linspace(-1, 1, 500) ** 3, fs=250, patient_name="A B", name="A B")
    assert read_recording(tmp_path / "r.npz").leads == ("ecg",)


@settings(max_examples=draws(20), deadline=None)
@given(
    leads=st.integers(2, 12), length=st.integers(250, 999), turned=st.booleans(), kind=st.sampled_from(["npz", "mat"])
)
def test_a_table_that_is_shorter_than_the_one_that_is_read_is_said(
    leads: int, length: int, turned: bool, kind: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"shorter{next(NUMBER)}.{kind}"
    mv = np.random.default_rng(leads).uniform(-1, 1, (leads, 1000))
    held = {"first": mv, "second": mv[:, :length].T if turned else mv[:, :length], "fs": 250.0}
    np.savez(path, **held) if kind == "npz" else scipy.io.savemat(path, held)  # type: ignore[arg-type]
    recording = read_recording(path)
    assert recording.samples.shape == (leads, 1000)
    assert "left out: 'second' (fewer than the 1,000 values of the others)" in recording.notes
