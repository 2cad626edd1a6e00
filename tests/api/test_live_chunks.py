"""The chunks of ``Live`` as rows: columns by names in any style, never a clock as a lead, units that are said."""

import re

import numpy as np
import pandas as pd
import pytest
from beatwire import Live, UserError
from beatwire.api.live_chunks import ChunkColumns
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

STYLES = ["{}", " {} ", "Lead {}", "ECG_{}", "ecg {} (mV)", "{} [uV]"]
BESIDE = {
    "time": np.arange(9) / 250,
    "sample": np.arange(9),
    "date": pd.date_range("2026-01-01", periods=9, freq="4ms"),
}


@settings(max_examples=draws(80), deadline=None)
@given(
    style=st.sampled_from(STYLES), lower=st.booleans(), order=st.permutations(["II", "V1", "aVR", "V5"]),
    leads=st.lists(st.sampled_from(["II", "V1", "aVR", "V5"]), min_size=1, max_size=4, unique=True),
    beside=st.lists(st.sampled_from([*BESIDE]), unique=True), as_dict=st.booleans(),
)  # fmt: skip
def test_columns_are_the_leads_by_their_names_in_any_style(
    style: str, lower: bool, order: list[str], leads: list[str], beside: list[str], as_dict: bool
) -> None:
    values = dict(zip(order, np.random.default_rng(1).normal(size=(4, 9)), strict=True))
    names = {lead: style.format(lead).lower() if lower else style.format(lead) for lead in order}
    table = {name: BESIDE[name] for name in beside} | {names[lead]: values[lead] for lead in order}
    notes: list[str] = []
    found, unit = ChunkColumns(leads, None, notes.append).rows_of(table if as_dict else pd.DataFrame(table))
    assert np.array_equal(found, [values[lead] for lead in leads])
    assert (unit, notes) == ({"ecg {} (mV)": 1000.0, "{} [uV]": 1.0}.get(style), [])


@settings(max_examples=draws(60), deadline=None)
@given(
    names=st.lists(st.sampled_from(["a", "b", "wave", "x", "y"]), min_size=1, max_size=3, unique=True),
    leads=st.lists(st.sampled_from(["II", "V1", "V5"]), min_size=1, max_size=3, unique=True), drawn=st.data(),
    beside=st.lists(st.sampled_from([*BESIDE]), unique=True),
)  # fmt: skip
def test_columns_with_other_names_are_taken_in_order_without_clocks_and_found_again_by_their_names(
    names: list[str], leads: list[str], beside: list[str], drawn: st.DataObject
) -> None:
    values = dict(zip(names, np.random.default_rng(1).normal(size=(3, 9)), strict=False))
    table = pd.DataFrame({name: BESIDE[name] for name in beside} | values)
    notes: list[str] = []
    columns = ChunkColumns(leads, None, notes.append)
    if len(names) != len(leads):
        with pytest.raises(UserError, match=rf"push: expected columns of the leads, {', '.join(leads)}, or .*; got "):
            columns.rows_of(table)
        return
    turned = table[drawn.draw(st.permutations([*table.columns]))]
    for chunk in (table, turned, table):
        assert np.array_equal(columns.rows_of(chunk)[0], [*values.values()])
    pairs = ", ".join(f"{name!r} as {lead!r}" for name, lead in zip(names, leads, strict=True))
    assert notes == ([f"columns are taken as the leads in their order: {pairs}"] if len(leads) > 1 else [])


@pytest.mark.parametrize("names", [["0", "1"], [0, 1]])
def test_columns_that_are_numbered_have_no_other_names(names: list[str | int]) -> None:
    notes: list[str] = []
    found, _ = ChunkColumns(["II", "V1"], None, notes.append).rows_of(pd.DataFrame(np.eye(2), columns=names))
    assert (found.tolist(), notes) == ([[1, 0], [0, 1]], [])


@pytest.mark.parametrize(("name", "is_said"), [("V1", True), ("hr", True), ("ECG", False), ("wave", False)])
def test_the_name_of_another_lead_is_said(name: str, is_said: bool) -> None:
    notes: list[str] = []
    ChunkColumns(["II"], None, notes.append).rows_of(pd.DataFrame({name: np.zeros(9)}))
    assert notes == [f"columns are taken as the leads in their order: {name!r} as 'II'"] * is_said


@settings(max_examples=draws(40), deadline=None)
@given(
    kind=st.sampled_from(["time", "count", "int16", "signal"]), lead=st.integers(0, 1),
    cuts=st.lists(st.integers(1, 400), max_size=4), seed=st.integers(0, 99),
)  # fmt: skip
def test_a_row_that_rises_evenly_is_said(kind: str, lead: int, cuts: list[int], seed: int) -> None:
    count, beat = np.arange(400), np.cumsum(np.random.default_rng(seed).normal(size=400))
    row = {"time": count / 250, "count": count + 7.0, "int16": count, "signal": beat}
    chunk = np.stack([beat, row[kind]] if lead else [row[kind], beat])
    notes: list[str] = []
    columns = ChunkColumns(["II", "V1"], None, notes.append)
    for part in np.split(chunk.astype(np.int16) if kind == "int16" else chunk, sorted({*cuts}), axis=1):
        columns.rows_of(part)
    said = f"{['II', 'V1'][lead]!r} rises evenly, as a clock or a count: is it a lead?"
    assert notes == [said] * (kind != "signal")


@pytest.mark.parametrize("stated", [{"units": "mV"}, {"gain": 200}, {"units": "adc"}])
def test_a_unit_in_names_that_does_not_count_is_said(stated: dict) -> None:
    notes: list[str] = []
    with Live(250, ["II"], notes=notes.append, **stated) as live:
        for _ in range(3):
            live.push(pd.DataFrame({"II (uV)": np.zeros(9)}))
    said = ", ".join(f"{key} {value}" for key, value in stated.items())
    assert notes == [f"Live: {said} counts, not the unit of 'II (uV)'"]


@pytest.mark.parametrize("empty", [[[], []], {"II": [], "V1": np.zeros(0)}, pd.DataFrame({"II": []}), np.zeros((2, 0))])
def test_a_chunk_without_samples_is_none(empty: object) -> None:
    with Live(250, ["II", "V1"], units="mV") as live:
        live.push(np.zeros((2, 5)))
        assert not live.push(empty)
        assert live.position == 5
    with pytest.raises(UserError, match=r"push: expected the shape \[n\] or \[leads, n\]; got \[\]"):
        Live(250, ["II"], units="mV").push(np.array(1.0))


@pytest.mark.parametrize(
    ("names", "got"),
    [
        (["II", "V1", "V1"], "'V1', 'V1'"), (["II", "V1 (mV)", "V1 (adu)"], "'V1 (mV)', 'V1 (adu)'"),
        (["II", "v1", "ECG V1"], "'v1', 'ECG V1'"), (["II", "V1", "v1", "V1 (mV)"], None),
        (["II", "V1_raw", "V1"], None),
    ],
)  # fmt: skip
def test_a_lead_is_one_column_alone(names: list[str], got: str | None) -> None:
    columns = ChunkColumns(["II", "V1"], None, print)
    chunk = pd.DataFrame(np.arange(2.0 * len(names)).reshape(2, -1), columns=names)
    if got is None:
        at = names.index("V1")
        assert np.array_equal(columns.rows_of(chunk)[0][1], chunk.iloc[:, at])
    else:
        with pytest.raises(UserError, match=re.escape(f"push: expected one column of the lead 'V1'; got {got}")):
            columns.rows_of(chunk)


@pytest.mark.parametrize("leads", [["II"], ["II", "V1"]])
def test_a_table_with_a_row_for_each_lead_is_refused(leads: list[str]) -> None:
    columns = ChunkColumns(leads, None, print)
    for chunk in (pd.Series({"II": 0.1, "V1": 0.2}), pd.DataFrame(np.eye(2), index=["V1", "II"])):
        with pytest.raises(
            UserError, match=r"push: expected a row for each sample; got rows called (II, V1|V1, II): turn"
        ):
            columns.rows_of(chunk)
