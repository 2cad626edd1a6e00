"""Tables with a row for each lead, or with rows of several recordings: refused, or said; labels of rows are neither."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from beatwire.errors import UserError
from beatwire.recordings import read_blocks, read_recording
from beatwire.recordings.read import as_recording
from beatwire.recordings.synthetic.person import synthetic_recording
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

ONE = synthetic_recording("synthetic:seconds=8,seed=1,leads=3", rate_hz=250)
MV = np.round(ONE.samples * ONE.uv_per_unit / 1000.0, 3)
N = MV.shape[1]
TIME = np.arange(N) / 250
LABELS = {  # of a column of this name
    "lead": ["I", "II", "III"], "derivation": ["MLII", "V5", "aVF"], "x": ["ECG1", "ECG2", "ECG3"],
    "signal": ["ECG", "Resp", "SpO2"], "variable": ["left", "right", "third"], "channel": [1, 2, 3], "Kanal": [0, 1, 2],
}  # fmt: skip


def table_of(order: str, name: str, leads: int, *, has_time: bool) -> pd.DataFrame:
    """Return a table with a row for each sample of each lead."""
    lead, sample = (part.ravel() for part in np.indices((leads, N)))
    if order == "one moment after the other":
        lead, sample = lead.reshape(leads, N).T.ravel(), sample.reshape(leads, N).T.ravel()
    elif order == "packets":
        lead, sample = (a.reshape(leads, N // 50, 50).swapaxes(0, 1).ravel() for a in (lead, sample))
    columns = {name: np.array(LABELS[name], object)[lead], "value": MV[lead, sample]}
    return pd.DataFrame({"time": TIME[sample], **columns} if has_time else columns)


@settings(deadline=None, max_examples=draws(60))
@given(
    order=st.sampled_from(["one lead after the other", "one moment after the other", "packets"]),
    name=st.sampled_from(sorted(LABELS)), leads=st.integers(2, 3), has_time=st.booleans(), has_names=st.booleans(),
    kind=st.sampled_from(["csv", "parquet", "frame"]),
)  # fmt: skip
def test_a_table_with_a_row_for_each_lead_is_refused_and_named(
    order: str, name: str, leads: int, has_time: bool, has_names: bool, kind: str
) -> None:
    table = table_of(order, name, leads, has_time=has_time)
    is_text = isinstance(LABELS[name][0], str) and name not in ("variable", "signal")
    got = f"by column '({name}|0|1)' \\("  # a file of text and numbers may have no names
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"x.{kind}"
        if kind == "csv":
            table.to_csv(path, index=False, header=has_names or not is_text)
        elif kind == "parquet":
            table.astype({name: type(LABELS[name][0])}).to_parquet(path)
        with pytest.raises(UserError, match=f"expected a column for each lead; got a row for each, {got}"):
            as_recording(table if kind == "frame" else path, fs=None if has_time else 250)
        if kind == "csv":
            with pytest.raises(UserError, match="expected a column for each lead"):
                list(read_blocks(path, fs=None if has_time else 250))


def test_the_levels_of_an_index_tell_leads_apart_too() -> None:
    table = table_of("one lead after the other", "lead", 2, has_time=True).set_index(["lead", "time"])
    with pytest.raises(UserError, match=r"table: expected a column for each lead; got a row .* 'lead' \(I, II\)"):
        as_recording(table, fs=250)


@settings(deadline=None, max_examples=draws(40))
@given(
    labels=st.sampled_from([
        ("symbol", ["N", "V", "A"]), ("rhythm", ["AFIB", "N"]), ("activity", ["rest", "walk"]), ("stage", ["I", "II"]),
        ("sync", ["a", "b"]), ("q", [0, 1]), ("nSeq", [*range(16)]), ("lead", ["II"]), ("channel", [1]),
        ("event", [None, "lead off"]),
    ]),
    row=st.sampled_from(["in turn", "by chance", "in stretches"]), has_time=st.booleans(), seed=st.integers(0, 99),
)  # fmt: skip
def test_labels_of_rows_are_no_leads_and_cost_nothing(
    labels: tuple[str, list[object]], row: str, has_time: bool, seed: int
) -> None:
    name, values = labels
    at = {
        "in turn": np.arange(N) % len(values),
        "by chance": np.random.default_rng(seed).integers(0, len(values), N),
        "in stretches": np.arange(N) * len(values) // N,
    }[row]
    columns = {"II": MV[0], name: np.array(values, object)[at]}
    table = pd.DataFrame({"time": TIME, **columns} if has_time else columns).infer_objects()
    recording = as_recording(table, fs=250)
    assert (recording.leads, recording.rate_hz, recording.samples.shape) == (("II",), 250, (1, N))


@pytest.mark.parametrize(("name", "values"), [("subject", [1, 2, 1]), ("file", ["a.dat", "b.dat", "c.dat"])])
def test_rows_of_several_recordings_are_said(tmp_path: Path, name: str, values: list[object]) -> None:
    table = pd.DataFrame({name: np.repeat(np.array(values, object), N // 4), "ecg": MV[0, : N // 4 * 3]})
    table.to_csv(tmp_path / "x.csv", index=False)
    said = f"column {name!r} changes 2 times: the rows of {len(set(values))} are read as one recording"
    assert said in read_recording(tmp_path / "x.csv", fs=250).notes
    assert said in as_recording(table, fs=250).notes


@settings(deadline=None, max_examples=draws(40))
@given(
    name=st.sampled_from(["patient", "Patient ID", "subject", "record", "device_id", "ID", "file"]),
    values=st.sampled_from([["P01", "P02"], [1, 2], ["a", "b", "c"]]), size=st.sampled_from([1, 2, 7, 50, 250]),
    has_time=st.booleans(), kind=st.sampled_from(["csv", "frame"]),
)  # fmt: skip
def test_rows_of_several_recordings_that_take_turns_are_refused(
    name: str, values: list[object], size: int, has_time: bool, kind: str
) -> None:
    parts = [(k, v, at) for at in range(0, N - size + 1, size) for k, v in enumerate(values)]
    label = np.repeat(np.array([v for _, v, _ in parts], object), size)
    rows = np.concatenate([MV[k, at : at + size] for k, _, at in parts])
    table = pd.DataFrame({name: label, "ecg": rows})
    if has_time:
        table.insert(0, "time", np.concatenate([TIME[at : at + size] for _, _, at in parts]))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.csv"
        table.to_csv(path, index=False)
        with pytest.raises(UserError, match=f"expected rows of one recording; got those of {len(values)}, by column "):
            as_recording(table.infer_objects() if kind == "frame" else path, fs=None if has_time else 250)


def test_an_index_of_times_that_falls_is_refused_with_a_rate_too() -> None:
    table = pd.DataFrame({"II": MV[0]}, index=pd.Index(TIME, name="time"))
    with pytest.raises(UserError, match="expected times that rise in column 'time'; got"):
        as_recording(table.sample(frac=1, random_state=1), fs=250)
