"""Time series of NWB, and arrays of HDF5 whose neighbours have units: each by its own unit, factor, rate and times."""

from itertools import count
from pathlib import Path

import numpy as np
import pytest
from beatwire.recordings import NO_VALUE, read_recording
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from sources import UV_PER, heart, message_of

h5py = pytest.importorskip("h5py", reason="needs h5py (pip install 'beatwire[formats]')")

NUMBER = count()
WORDS = {"V": "volts", "mV": "millivolts", "uV": "microvolts"}
MV = {rate: np.stack([heart(rate, 8), -heart(rate, 8), heart(rate, 8) / 2]) for rate in (250, 500)}


def add_series(
    file: h5py.File, name: str, data: np.ndarray, unit: str, times: tuple[float, float] | np.ndarray, **stated: float
) -> None:
    """Add a series; ``times`` are its start and rate, or those of its samples."""
    series = file.create_group(f"acquisition/{name}")
    made = series.create_dataset("data", data=data)
    made.attrs.update({"unit": unit, "resolution": -1.0, "conversion": 1.0, **stated})
    if isinstance(times, np.ndarray):
        series["timestamps"] = times
        series["timestamps"].attrs.update({"unit": "seconds", "interval": 1})
    else:
        series["starting_time"] = times[0]
        series["starting_time"].attrs.update({"unit": "seconds", "rate": times[1]})


@settings(max_examples=draws(40), deadline=None)
@given(
    leads=st.integers(1, 3), rate_hz=st.sampled_from(sorted(MV)), unit=st.sampled_from(sorted(WORDS)),
    counts=st.booleans(), offset_mv=st.sampled_from([0.0, 0.25]), each=st.booleans(), first=st.booleans(),
    gap=st.sampled_from([None, 0, 300]), others=st.sets(st.sampled_from(["Resp", "Events", "Temp"])),
)  # fmt: skip
def test_each_series_of_nwb_is_read_by_its_own_unit_factor_and_times(
    leads: int, rate_hz: int, unit: str, counts: bool, offset_mv: float, each: bool, first: bool, gap: int | None,
    others: set[str], tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    path = tmp_path_factory.getbasetemp() / f"series{next(NUMBER)}.nwb"
    mv, per = MV[rate_hz][:leads], UV_PER[unit] / 1000  # millivolts in a unit
    factors = np.array([1.0, 2.0, 0.5])[:leads] if each else np.ones(leads)
    step = 0.0005 if counts else per
    data = ((mv - offset_mv) / step / factors[:, None]).T
    data = np.rint(data).astype(np.int16) if counts else data
    at = np.arange(mv.shape[1]) + (np.arange(mv.shape[1]) >= 1000) * (gap or 0)
    with h5py.File(path, "w") as file:
        file.attrs["nwb_version"] = "2.6.0"
        ecg = (data if leads > 1 else data[:, 0], WORDS[unit], (3.5, rate_hz) if gap is None else 3.5 + at / rate_hz)
        if first:
            add_series(file, "ECG", *ecg, conversion=step / per, offset=offset_mv / per)
        for name in sorted(others):
            irregular = np.array([0.1, 0.5, 0.50001, 3.0, 9.0])
            times = irregular if name == "Events" else (0.0, 100.0)
            values = np.arange(5.0) if name == "Events" else np.arange(800.0)
            add_series(file, name, values, {"Resp": "volts", "Events": "a.u.", "Temp": "celsius"}[name], times)
        if not first:
            add_series(file, "ECG", *ecg, conversion=step / per, offset=offset_mv / per)
        if each:
            file["acquisition/ECG/channel_conversion"] = factors
    recording = read_recording(path)
    assert recording.leads == (("ECG",) if leads == 1 else tuple(f"ECG {k}" for k in range(leads)))
    assert recording.rate_hz == rate_hz
    got = recording.samples[:, round(3.5 * rate_hz) if "Resp" in others else 0 :]
    assert got.shape == (leads, int(at[-1]) + 1)
    assert (np.delete(got, at, axis=1) == NO_VALUE).all()
    error = got[:, at] * recording.uv_per_unit / 1000 - mv
    error -= np.median(error, axis=1, keepdims=True)  # a scale may subtract an offset
    assert np.abs(error).max() < 0.0016


@settings(max_examples=draws(25), deadline=None)
@given(late=st.integers(-2100, 900), rate_hz=st.sampled_from(sorted(MV)))
def test_a_series_that_is_chosen_is_at_its_time_beside_that_in_volts(
    late: int, rate_hz: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path, ecg = tmp_path_factory.getbasetemp() / f"beside{next(NUMBER)}.nwb", MV[rate_hz][0]
    count = np.arange(1.0, 2001.0)
    with h5py.File(path, "w") as file:
        file.attrs["nwb_version"] = "2.6.0"
        add_series(file, "Resp", count, "a.u.", (9.0 + late / rate_hz, rate_hz))
        add_series(file, "ECG", ecg, "millivolts", (9.0, rate_hz))
    recording = read_recording(path, column="ECG,Resp")
    expected = np.full(recording.samples.shape[1], np.nan)
    shown = count[max(0, -late) :]
    expected[max(0, late) : max(0, late) + len(shown)] = shown
    got = np.where(recording.samples[1] == NO_VALUE, np.nan, recording.samples[1].astype(float))
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
    assert (np.diff(got[~np.isnan(got)]) >= 0).all()


def test_times_that_do_not_fit_a_series_of_volts_are_one_line(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "x.nwb", "w") as file:
        file.attrs["nwb_version"] = "2.6.0"
        add_series(file, "ECG", MV[250][0], "millivolts", np.arange(100) / 250)
    assert message_of(tmp_path / "x.nwb") == "x.nwb: expected 2000 timestamps of 'ECG'; got 100"


@settings(max_examples=draws(25), deadline=None)
@given(
    row=st.integers(0, 499), wrong=st.sampled_from([np.nan, np.inf]), is_start=st.booleans(), is_ecg=st.booleans(),
    rows=st.integers(2, 500),
)  # fmt: skip
def test_a_time_that_is_no_number_is_one_line_where_it_counts_and_a_note_where_it_does_not(
    row: int, wrong: float, is_start: bool, is_ecg: bool, rows: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"times{next(NUMBER)}.nwb"
    rows = 500 if is_ecg else rows
    times = np.arange(rows) / 250
    times[row % rows] = wrong
    where = f"in every row of column '{'ECG' if is_ecg else 'Resp'}.timestamps'; row {row % rows + 1} has {wrong}"
    expected = f"a starting time of '{'ECG' if is_ecg else 'Resp'}', in seconds; got {wrong}"
    expected = f"expected {expected if is_start else f'a time {where}'}"
    wrong_times = (wrong, 250.0) if is_start else times
    with h5py.File(path, "w") as file:
        file.attrs["nwb_version"] = "2.6.0"
        add_series(file, "ECG", MV[250][0][:500], "millivolts", wrong_times if is_ecg else (0.0, 250.0))
        add_series(file, "Resp", np.ones(rows), "a.u.", (0.0, 250.0) if is_ecg else wrong_times)
    if is_ecg:
        assert message_of(path) == f"{path.name}: {expected}"
    else:
        assert f"left out: Resp ({expected})" in read_recording(path).notes


@settings(max_examples=draws(25), deadline=None)
@given(
    leads=st.integers(1, 3), unit=st.sampled_from(sorted(WORDS)), of_array=st.booleans(),
    others=st.sets(st.sampled_from([("time", "s"), ("temp", "C"), ("hr", "bpm"), ("resp", "V"), ("fs", "Hz")]),
                   min_size=1),
)  # fmt: skip
def test_the_unit_of_an_array_that_is_no_lead_is_not_that_of_a_lead(
    leads: int, unit: str, of_array: bool, others: set[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"arrays{next(NUMBER)}.h5"
    mv = MV[250][:leads]
    with h5py.File(path, "w") as file:
        for name, of in sorted(others):
            n = np.arange(mv.shape[1])
            file[name] = {"time": n / 250, "fs": 250.0}.get(name, np.sin(n / 99))
            file[name].attrs["units"] = of
        file["ecg"] = (mv if leads > 1 else mv[0]) * 1000 / UV_PER[unit]
        (file["ecg"] if of_array else file).attrs["units"] = unit
        if ("fs", "Hz") not in others:
            file.attrs["fs"] = 250.0
    recording = read_recording(path)
    assert recording.samples.shape == mv.shape
    assert np.abs(recording.samples * recording.uv_per_unit / 1000 - mv).max() < 0.0011


@settings(max_examples=draws(15), deadline=None)
@given(late_s=st.floats(86_401, 1e15), is_volts=st.booleans())
def test_a_series_that_begins_a_day_later_is_left_out_or_refused(
    late_s: float, is_volts: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"late{next(NUMBER)}.nwb"
    with h5py.File(path, "w") as file:
        file.attrs["nwb_version"] = "2.6.0"
        add_series(file, "ECG", MV[250][0], "millivolts", (2.0, 250.0))
        add_series(file, "V1", MV[250][1], "millivolts" if is_volts else "a.u.", (2.0 + late_s, 250.0))
    if is_volts:
        assert ": expected gaps shorter than a day; got " in message_of(path)
    else:
        recording = read_recording(path)
        assert (recording.leads, recording.samples.shape) == (("ECG",), (1, len(MV[250][0])))
        assert recording.notes[-1].startswith("left out: V1 (expected gaps shorter than a day; got ")
