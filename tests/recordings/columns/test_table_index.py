"""The index of a table or a Series: times and counts in it show gaps, at any level; rows in another order are said."""

from itertools import count

import numpy as np
import pandas as pd
import pytest
from beatwire.errors import UserError
from beatwire.recordings import NO_VALUE, as_recording
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

NUMBER = count()
INDICES = {
    "dates": pd.date_range("2026-03-01 12:00", periods=600, freq="4ms"),
    "dates of a zone": pd.date_range("2026-03-29 01:59:59", periods=600, freq="4ms", tz="Europe/Berlin"),
    "durations": pd.to_timedelta(np.arange(600) * 4, unit="ms"),
    "count": pd.RangeIndex(600),
}
VOLTS = {"uV": 1e-3, "mV": 1.0, "V": 1e3, "nV": 1e-6}  # millivolts


@settings(max_examples=draws(50), deadline=None)
@given(
    kind=st.sampled_from(sorted(INDICES)), level=st.sampled_from([None, 0, 1]), lost=st.integers(1, 200),
    at=st.integers(100, 300), form=st.sampled_from(["table", "series", "parquet"]), stated=st.booleans(),
    named=st.booleans(),
)  # fmt: skip
def test_an_index_shows_the_gaps_at_any_level(
    kind: str, level: int | None, lost: int, at: int, form: str, stated: bool, named: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    mv = np.random.default_rng(6).uniform(-1, 1, 600)
    index = INDICES[kind].rename("sample" if kind == "count" else "t") if named else INDICES[kind]
    if level is not None:
        beside = pd.Index(["bed 3"] * 600, name="patient" if named else None)
        index = pd.MultiIndex.from_arrays([index, beside] if level == 0 else [beside, index])
    kept = np.r_[0:at, at + lost : 600]
    table = pd.DataFrame({"II": mv}, index=index).iloc[kept]
    source: object = table["II"] if form == "series" else table
    if form == "parquet":
        source = tmp_path_factory.getbasetemp() / f"index{next(NUMBER)}.parquet"
        table.to_parquet(source)
    recording = as_recording(source, fs=250 if stated or kind == "count" else None)
    truth = np.rint(mv * 1000)
    truth[at : at + lost] = NO_VALUE
    assert (recording.rate_hz, recording.leads) == (250, ("II",))
    assert np.abs(recording.samples[0] - truth).max() <= 1


@settings(max_examples=draws(30), deadline=None)
@given(
    order=st.randoms(use_true_random=False),
    kind=st.sampled_from(["shuffled", "one after the other", "in order", "one"]),
)
def test_rows_in_another_order_than_their_index_are_said(order: object, kind: str) -> None:
    mv, index = np.random.default_rng(6).uniform(-1, 1, 600), list(range(600))
    if kind == "shuffled":
        order.shuffle(index)  # type: ignore[attr-defined]
    elif kind == "one after the other":
        index = [*range(251), *range(349)]
    elif kind == "one":
        index = [0] * 600
    recording = as_recording(pd.DataFrame({"II": mv}, index=index), fs=250)
    assert np.abs(recording.samples[0] - np.rint(mv * 1000)).max() <= 1
    falls = int((np.diff(index) < 0).sum())
    said = [note for note in recording.notes if "rows are read in the order of the file" in note]
    assert len(said) == (falls > 0)
    if falls:
        assert said[0].startswith(f"the count of 'index' falls {falls} time{'s'[: falls > 1]}, first from ")


@settings(max_examples=draws(30), deadline=None)
@given(
    unit=st.sampled_from(sorted(VOLTS)),
    size_mv=st.floats(0.01, 3.0),
    lead=st.sampled_from(["II", "ECG", "MLII", "ecg x"]),
)
def test_the_name_of_a_series_is_that_of_its_lead_and_has_its_unit(unit: str, size_mv: float, lead: str) -> None:
    mv = np.random.default_rng(6).uniform(-1, 1, 600) * size_mv
    recording = as_recording(pd.Series(mv / VOLTS[unit], name=f"{lead} ({unit})"), fs=250)
    assert recording.leads == (lead,)
    half = recording.uv_per_unit / 2000
    assert np.abs(recording.samples[0] * recording.uv_per_unit / 1000 - mv).max() <= half * 1.001
    assert as_recording(pd.Series(mv, name="x"), fs=250).leads == ("lead 0",)


@pytest.mark.parametrize("make", [list, tuple, np.asarray])
def test_a_row_for_each_recording_is_one_error(make: type) -> None:
    mv = np.random.default_rng(6).uniform(-1, 1, 600)
    got = "got 600 in one row of column 'ecg': give one recording of it"
    for table in (pd.DataFrame({"ecg": [make(mv)] * 30, "age": range(30)}), pd.Series([make(mv)] * 30, name="ecg")):
        with pytest.raises(UserError, match=f"expected a row for each sample; {got}"):
            as_recording(table, fs=250)


@pytest.mark.parametrize("cell", [[1, 2], {"a": 1}, np.zeros(3), {"N"}])
def test_a_column_of_lists_or_objects_beside_the_ecg_is_left_out(cell: object) -> None:
    mv = np.random.default_rng(6).uniform(-1, 1, 600)
    recording = as_recording(pd.DataFrame({"ecg": mv, "marks": [cell] * 600}), fs=250)
    assert recording.leads == ("ecg",)
    assert "left out: 'marks'" in " ".join(recording.notes)
