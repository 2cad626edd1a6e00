"""Numbers in memory: whatever holds them, the recording is the same; what is no lead and what is no value is known."""

import datetime
from typing import Any

import beatwire
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from beatwire.recordings import NO_VALUE, as_recording, units
from beatwire.recordings.units import to_units
from draws import draws
from hypothesis import assume, given, settings
from hypothesis import strategies as st

FS = 250
MV = beatwire.analyze("synthetic:seconds=12,rate=250,bpm=80").signal()[0]
UV = np.round(MV * 1000)
N = len(MV)
TIMES = np.arange(N) / FS
UNITS = {"V": 1e-6, "mV": 1e-3, "uV": 1.0, "nV": 1e3}  # of a microvolt
SPELLINGS = {
    "V": ["V", "v", "volt", "Volts"], "mV": ["mV", "MV", "mv", "millivolts"],
    "uV": ["uV", "UV", "µV", "μV", "microvolt"], "nV": ["nV", "NV", "nanovolts"],
}  # fmt: skip


def mv_of(recording: Any) -> np.ndarray:
    """Return the samples in millivolts, NaN where there is no value."""
    return np.where(recording.samples == NO_VALUE, np.nan, recording.samples * recording.uv_per_unit / 1000)


def table(columns: dict[str, Any], kind: str) -> Any:
    if kind == "structured":
        made = np.zeros(N, [(name, np.asarray(values).dtype) for name, values in columns.items()])
        for name, values in columns.items():
            made[name] = values
        return made
    if kind == "record":
        return np.rec.fromarrays(list(columns.values()), names=",".join(columns))
    return {"pandas": pd.DataFrame, "arrow": pa.table, "mapping": dict}[kind](columns)


KINDS = ["pandas", "arrow", "mapping", "structured", "record"]
DTYPES = ["f8", "f4", "i4", "i8", "i2"]


@settings(max_examples=draws(150), deadline=None)
@given(st.data())
def test_any_table_of_leads_clock_and_other_columns_is_the_ecg(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(KINDS))
    unit = data.draw(st.sampled_from(list(UNITS)))
    dtype = data.draw(st.sampled_from(DTYPES if unit == "uV" else ["f8", "i8"] if unit == "nV" else ["f8"]))
    lead = np.round(UV * UNITS[unit], 9).astype(dtype)
    columns: dict[str, Any] = {"II": lead}
    clock = data.draw(st.sampled_from([None, "time", "x", "seconds_elapsed", "t_ms", "ns"]))
    if clock is not None:
        scale = {"t_ms": 1000, "ns": 1e9}.get(clock, 1)
        columns[clock] = (TIMES * scale).astype("i8") if clock == "ns" else TIMES * scale
    for name in data.draw(st.lists(st.sampled_from(["marker", "HR", "battery"]), unique=True, max_size=2)):
        columns[name] = np.zeros(N, np.int16) + data.draw(st.integers(0, 90))
    order = data.draw(st.permutations(list(columns)))
    source = table({name: columns[name] for name in order}, kind)
    fs = data.draw(st.sampled_from([FS, None])) if clock else FS
    found = as_recording(source, fs, units=data.draw(st.sampled_from(SPELLINGS[unit])))
    assert (found.leads, found.rate_hz, found.samples.dtype) == (("II",), FS, np.int16)
    assert np.abs(mv_of(found)[0] - (mv_of(found)[0] - MV).mean() - MV).max() < 0.002


@settings(max_examples=draws(100), deadline=None)
@given(st.data())
def test_what_is_masked_none_or_infinite_is_no_value(data: st.DataObject) -> None:
    missing = np.zeros(N, bool)
    for first in data.draw(st.lists(st.integers(0, N - 1), max_size=5)):
        missing[first : first + data.draw(st.integers(1, 300))] = True
    kind = data.draw(st.sampled_from(["masked", "masked int16", "none", "inf", "nullable", "arrow", "list", "2-d"]))
    values = UV / 1000
    source: Any = {
        "masked": lambda: np.ma.masked_array(np.where(missing, 99.0, values), missing),
        "masked int16": lambda: np.ma.masked_array(np.where(missing, 99, UV).astype(np.int16), missing),
        "none": lambda: np.array([None if gone else v for v, gone in zip(values, missing, strict=True)], object),
        "inf": lambda: np.where(missing, np.inf, values).astype(np.float32),
        "nullable": lambda: pd.Series(values, dtype="Float64").mask(missing),
        "arrow": lambda: pa.table({"II": pa.array(values, mask=missing)}),
        "list": lambda: [None if gone else v for v, gone in zip(values.tolist(), missing, strict=True)],
        "2-d": lambda: np.ma.masked_array([values, values], [missing, missing]),
    }[kind]()
    if missing.all():
        return
    found = as_recording(source, FS, units="uV" if kind == "masked int16" else "mV")
    for row in mv_of(found):
        assert (np.isnan(row) == missing).all()
        assert np.nanmax(np.abs(row - values)) < 0.002


@pytest.mark.parametrize("unit", [None, *UNITS])
def test_without_a_unit_only_plausible_fractions_are_millivolts(unit: str | None) -> None:
    numbers = MV * (1e-3 if unit is None else UNITS[unit] * 1000) + 0.0
    found = as_recording(numbers, FS)
    assert (found.uv_per_unit > 0) is (unit == "mV")
    if unit != "mV":
        assert any("for millivolts" in note for note in found.notes)
        assert any(note.startswith("not calibrated") for note in found.notes)
    expected = beatwire.analyze(MV, FS)
    assert len(beatwire.analyze(numbers, FS).beats) == len(expected.beats)


@settings(max_examples=draws(60), deadline=None)
@given(
    st.sampled_from(["i2", ">i2", "i4", "f4", ">f8"]), st.sampled_from([-32768, 9999, -9999]),
    st.integers(1, 30), st.integers(0, N - 40), st.booleans(),
)  # fmt: skip
def test_a_code_for_no_value_is_none_whatever_the_type(dtype: str, code: int, count: int, at: int, named: bool) -> None:
    values = UV.copy()
    values[at : at + count] = code
    array = values.astype(dtype.lstrip(">") if named else dtype)
    before = array.copy()
    found = as_recording({"II": array, "V1": array} if named else array, FS, units="uV")
    assert np.array_equal(array, before)
    missing = values == code
    for row in mv_of(found):
        assert (np.isnan(row) == missing).all()
        assert np.nanmax(np.abs(row - MV)) < 0.002
    assert any('is taken for "no value"' in note for note in found.notes) is not ("i2" in dtype and code == -32768)


def test_dates_in_digits_are_times_to_their_last_digit() -> None:
    digits = [int(f"20260305095{int(5 + t):03d}"[:14]) for t in TIMES[:1000]]
    whole = np.array([d * 1000 + round(t * 1000) % 1000 for d, t in zip(digits, TIMES[:1000], strict=True)])
    for stamps in (whole, pd.Series(whole), whole.astype(str)):
        found = as_recording(pd.DataFrame({"when": stamps, "II": MV[:1000]}))
        assert (found.rate_hz, found.samples.shape) == (FS, (1, 1000))


def test_a_shock_does_not_make_millivolts_implausible() -> None:
    shocked = np.concatenate([MV] * 20)
    shocked[9000:9500] += 300
    assert as_recording(shocked, FS).uv_per_unit > 0


CLOCKS: dict[str, Any] = {
    "seconds": pd.Index(TIMES, name="t"),
    "dates": pd.date_range("2026-01-01", periods=N, freq="4ms"),
    "dates of a zone": pd.date_range("2026-01-01", periods=N, freq="4ms", tz="Europe/Zurich"),
    "durations": pd.to_timedelta(TIMES, unit="s"),
}


@pytest.mark.parametrize("clock", CLOCKS)
def test_an_index_of_times_is_the_clock_and_its_holes_are_gaps(clock: str) -> None:
    frame = pd.DataFrame({"II": MV, "V1": MV}, index=CLOCKS[clock])
    for source in (frame, frame["II"]):
        assert as_recording(source).rate_hz == FS
        found = as_recording(source.drop(source.index[1000:1500]))
        assert found.samples.shape == (1 if source.ndim == 1 else 2, N)
        assert (found.samples[:, 1000:1500] == NO_VALUE).all()
        assert (found.samples[:, 1500:] != NO_VALUE).all()
        with pytest.raises(beatwire.UserError, match="expected fs 250"):
            as_recording(source, 500)


def test_rows_that_were_dropped_are_gaps_by_their_numbers() -> None:
    frame = pd.DataFrame({"II": np.where(np.arange(N) % 700 > 669, np.nan, MV)}).dropna()
    found = as_recording(frame, FS)
    assert found.samples.shape == (1, N)
    assert any("missing by the count" in note for note in found.notes)


@pytest.mark.parametrize("column", ["dates", "durations", "text", "python"])
def test_a_column_of_dates_or_durations_is_the_clock(column: str) -> None:
    dates = pd.date_range("2026-01-01T10:00:00", periods=N, freq="4ms")
    values: Any = {
        "dates": dates, "durations": pd.to_timedelta(TIMES, unit="s"), "text": dates.strftime("%H:%M:%S.%f"),
        "python": [datetime.datetime.fromtimestamp(1.7e9 + t, datetime.UTC) for t in TIMES],
    }[column]  # fmt: skip
    found = as_recording(pd.DataFrame({"when": values, "II": MV}))
    assert (found.leads, found.rate_hz) == (("II",), FS)


def test_a_row_that_rises_evenly_is_the_clock_of_an_array() -> None:
    for rows, kept in (([TIMES, MV], 1), ([MV, np.arange(N), MV], 2), ([MV, MV], 2), ([MV, np.zeros(N)], 2)):
        assert as_recording(np.stack(rows), FS).samples.shape == (kept, N)
    assert as_recording(np.stack([TIMES, MV])).rate_hz == FS
    assert as_recording(np.stack([TIMES, MV]), leads=["II"]).leads == ("II",)
    assert as_recording(np.stack([TIMES, MV]), leads=["t", "II"]).leads == ("II",)


def test_units_in_the_names_of_a_table_count_unless_a_unit_is_given() -> None:
    frame = pd.DataFrame({"II (uV)": MV * 1000, "V1 [mV]": MV})
    found = as_recording(frame, FS)
    assert found.leads == ("II", "V1")
    assert np.abs(mv_of(found) - MV).max() < 0.002
    assert as_recording(frame, FS, units="mV", column="V1 [mV]").leads == ("V1",)


def test_int16_stays_in_place_in_any_layout_that_allows_it() -> None:
    samples = np.stack([UV, UV]).astype(np.int16)
    assert np.shares_memory(as_recording(samples, FS, units="uV").samples, samples)
    assert np.shares_memory(as_recording(pd.Series(samples[0]), FS, units="uV").samples, samples)
    mixed = as_recording(pd.DataFrame({"I": samples[0], "II": MV * 1000}), FS, units="uV")
    assert np.abs(mv_of(mixed) - MV).max() < 0.002


WRONG: dict[str, tuple[Any, str]] = {
    "complex": (MV * 1j, "got complex numbers in 'lead 0'"),
    "bool": (MV > 0, "got true and false in 'lead 0'"),
    "dates": (np.arange(N).astype("M8[s]"), "expected numbers; got times in 'lead 0'"),
    "text": (["a", "b"], "got text in 'lead 0'"),
    "bytes": (b"abc", "expected an array, a table or a list of numbers"),
    "a set": ({1.0, 2.0}, "expected an array, a table or a list of numbers"),
    "a number": (5, "expected an array, a table or a list of numbers"),
    "nothing": (None, "expected an array, a table or a list of numbers"),
    "an object": (object(), "expected an array, a table or a list of numbers"),
    "a point": (np.array(3.0), "expected the shape"),
    "a cube": (np.zeros((2, 2, 2)), "expected the shape"),
    "uneven rows": ([[1, 2], [3]], "expected rows of equal length"),
    "uneven columns": ({"I": [1.0, 2.0], "II": [1.0]}, "expected columns of equal length"),
    "no column": (pd.DataFrame(index=range(5)), "it has no column"),
    "labels": (pd.DataFrame({"a": ["x"] * N}), "got text in 'a'"),
    "a clock alone": (pd.DataFrame({"time": TIMES, "count": np.arange(N)}), "expected a column of ECG"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_no_ecg_is_one_line(what: str) -> None:
    source, message = WRONG[what]
    with pytest.raises(beatwire.UserError, match=message) as error:
        beatwire.analyze(source, FS)
    assert "\n" not in str(error.value)
    assert "--" not in str(error.value)


def test_the_conversion_to_int16_does_not_depend_on_the_block_size(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(7).normal(0, 1, (2, 1000))
    values[0, [3, 500]], values[1, :40] = (np.nan, np.inf), np.nan
    whole = to_units(list(values), [1000.0, 500.0])
    monkeypatch.setattr(units, "_HOST_BLOCK", 7)
    blocks = to_units(list(values), [1000.0, 500.0])
    assert np.array_equal(whole[0], blocks[0])
    assert whole[1:] == blocks[1:]
    assert np.count_nonzero(whole[0] == NO_VALUE) == 42


@pytest.mark.parametrize("dead", [np.nan, 0.0, 5.0])
def test_a_lead_that_never_changes_beside_others_is_said(dead: float) -> None:
    ecg = np.random.default_rng(1).normal(0, 0.3, (3, 5000))
    ecg[1] = dead
    assert "no signal in V1" in as_recording(ecg, 250, leads=["II", "V1", "V2"], units="mV").notes
    ecg[1, 4000:4002] = 1.0, 2.0
    assert as_recording(ecg, 250, leads=["II", "V1", "V2"], units="mV").notes == ()


@settings(max_examples=draws(60), deadline=None)
@given(
    size=st.sampled_from([1e-6, 1e-3, 0.01, 30.0, 300.0, 3e5]), others=st.sampled_from([None, 0.01, 0.1, 20.0, 200.0]),
    dc=st.sampled_from([0.0, 0.0, 3.0, 300.0]), sparks=st.integers(0, 3), spark=st.sampled_from([5.0, 50.0, 5e3, 1e5]),
)  # fmt: skip
def test_of_numbers_without_a_unit_each_lead_is_fine_enough_for_its_waves(
    size: float, others: float | None, dc: float, sparks: int, spark: float
) -> None:
    leads = [MV * size + dc * size, *([] if others is None else [MV * size * others])]
    rng = np.random.default_rng(sparks)
    sparks = sparks if others is None else 0
    at = rng.choice(N, sparks, replace=False)
    values = np.array(leads)
    values[0, at] = size * spark * rng.uniform(1, 2, sparks)
    recording = as_recording(values, FS, column="0,1"[: 2 * len(leads) - 1])
    assume(not recording.uv_per_unit)  # of millivolts a microvolt is fine enough
    kept = np.delete(np.arange(N), at)
    for lead, samples in zip(values[:, kept], recording.samples[:, kept], strict=True):
        assert np.corrcoef(lead, samples)[0, 1] > 0.99


@given(leads=st.integers(1, 3), offset=st.sampled_from([0.0, 40.0]), spark=st.sampled_from([90.0, -90.0]))
def test_an_offset_is_said_only_if_one_is_subtracted(leads: int, offset: float, spark: float) -> None:
    samples = np.tile(np.round(MV - np.median(MV), 3), (leads, 1))
    samples[-1] += offset
    samples[0, 100] = spark
    notes = as_recording(samples, float(FS), units="mV").notes
    said = ", ".join(f"{offset if k == leads - 1 else 0:g}" for k in range(leads))
    assert [note for note in notes if "offset" in note] == [f"subtracted an offset: {said}"] * bool(offset)
