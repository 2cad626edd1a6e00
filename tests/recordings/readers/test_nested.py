"""Leads in lists, structures, fields and cells of files: a known ECG, drawn in the shapes in which programs nest it."""

import json
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.io
from beatwire.recordings import Recording, as_recording, read_recording
from beatwire.recordings.synthetic.person import synthetic_recording
from beatwire.records import F64
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from sources import message_of

NUMBER = count()
RATES = st.sampled_from([125.0, 250.0, 500.0])
UNITS = {"mV": 1.0, "uV": 1e3, "V": 1e-3}
NAMES = ["I", "II", "III", "aVR", "V1", "V5"]
LEADS = st.permutations(NAMES).flatmap(lambda names: st.integers(1, 6).map(lambda count: names[:count]))


def ecg(rate_hz: float, leads: int) -> F64:
    recording = synthetic_recording(f"synthetic:seconds=6,leads={leads}", rate_hz=rate_hz)
    return recording.samples * recording.uv_per_unit / 1000.0


def is_of(recording: Recording, mv: F64, rate_hz: float, names: list[str] | None = None) -> None:
    assert (recording.rate_hz, recording.samples.shape) == (rate_hz, mv.shape)
    assert names is None or recording.leads == tuple(names)
    np.testing.assert_allclose(recording.samples * recording.uv_per_unit / 1000, mv, atol=0.003)


def path_of(factory: pytest.TempPathFactory, ending: str) -> Path:
    return factory.getbasetemp() / f"nested{next(NUMBER)}{ending}"


def write_table(path: Path, table: pa.Table) -> None:
    writers = {".parquet": pyarrow.parquet.write_table, ".feather": pyarrow.feather.write_feather}
    writers[path.suffix](table, path)


@settings(max_examples=draws(40), deadline=None)
@given(
    rate_hz=RATES, leads=st.integers(2, 12), stated=st.booleans(),
    ending=st.sampled_from([".json", ".jsonl", ".parquet", ".feather"]), of_one=st.booleans(),
)  # fmt: skip
def test_a_list_of_a_moment_is_its_leads_and_a_list_of_a_packet_its_samples(
    rate_hz: float, leads: int, stated: bool, ending: str, of_one: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    mv = ecg(rate_hz, leads).round(4)
    if of_one:
        mv = mv[:1, : mv.shape[1] // leads * leads]
        rows = [{"t": k / rate_hz, "ecg": mv[0, k : k + leads].tolist()} for k in range(0, mv.shape[1], leads)]
    else:
        rows = [{"t": k / rate_hz, "ecg": moment.tolist()} for k, moment in enumerate(mv.T)]
    path = path_of(tmp_path_factory, ending)
    facts = {"fs": rate_hz} if stated else {}
    if ending == ".json":
        path.write_text(json.dumps({**facts, "unit": "mV", "rows": rows}))
    elif ending == ".jsonl":
        path.write_text("\n".join(json.dumps({**facts, **row}) for row in rows))
    else:
        write_table(path, pa.Table.from_pylist([{**facts, **row} for row in rows]))
    is_of(read_recording(path), mv, rate_hz)


@settings(max_examples=draws(40), deadline=None)
@given(
    rate_hz=RATES, names=LEADS, unit=st.sampled_from(sorted(UNITS)), ending=st.sampled_from([".parquet", ".feather"]),
    form=st.sampled_from(["structure", "fields", "table", "one row", "packets"]), zone=st.sampled_from([None, "UTC"]),
)  # fmt: skip
def test_structures_lists_and_what_is_stated_beside_the_columns_of_a_table_are_read(
    rate_hz: float, names: list[str], unit: str, ending: str, form: str, zone: str | None,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    mv = ecg(rate_hz, len(names))
    values, t = mv * UNITS[unit], np.arange(mv.shape[1]) / rate_hz
    columns = {f"{name} ({unit})": row for name, row in zip(names, values, strict=True)}
    if form == "structure":
        table = pa.table({"t": t, "ecg": pa.StructArray.from_arrays([pa.array(row) for row in values], [*columns])})
    elif form == "fields":
        fields = [pa.field(name, pa.float64(), metadata={"unit": unit}) for name in names]
        table = pa.Table.from_arrays([pa.array(t), *map(pa.array, values)], schema=pa.schema([("t", pa.float64()), *fields]))  # fmt: skip # noqa: E501
    elif form == "table":
        table = pa.table(dict(zip(names, values, strict=True)))
        table = table.replace_schema_metadata({"sampling_rate": f"{rate_hz:g}", "units": unit})
    elif form == "one row":
        table = pa.table({"fs": [rate_hz], **{name: [row.tolist()] for name, row in columns.items()}})
    else:
        size = round(rate_hz)
        mv = mv[:, : mv.shape[1] // size * size]
        begins = np.datetime64("2026-03-05T10:00:00", "ms") + 1000 * np.arange(mv.shape[1] // size)
        lists = {name: row[: mv.shape[1]].reshape(-1, size).tolist() for name, row in columns.items()}
        table = pa.table({"time": pa.array(begins, pa.timestamp("ms", zone)), **lists})
    path = path_of(tmp_path_factory, ending)
    write_table(path, table)
    is_of(read_recording(path), mv, rate_hz, names)


@settings(max_examples=draws(40), deadline=None)
@given(
    rate_hz=RATES, names=LEADS, unit=st.sampled_from(sorted(UNITS)), column=st.booleans(),
    form=st.sampled_from(["array", "cells", "FieldTrip", "sampling"]), key=st.sampled_from(["name", "label", "lead"]),
    holder=st.sampled_from(["ecg", "channels", "x", "rec"]),
)  # fmt: skip
def test_structures_in_arrays_and_cells_of_matlab_are_the_channels_of_one_recording(
    rate_hz: float, names: list[str], unit: str, column: bool, form: str, key: str, holder: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    mv = ecg(rate_hz, len(names))
    values = mv * UNITS[unit]
    rows = values[:, :, None] if column else values[:, None]
    cells = np.empty((1, len(names)), object)
    for k, name in enumerate(names):
        cells[0, k] = {key: name, "data": rows[k], "fs": rate_hz, "unit": unit}
    held: dict[str, Any] = {holder: cells}
    if form == "array":
        array = np.empty((1, len(names)), [(field, object) for field in cells[0, 0]])
        for k in range(len(names)):
            array[0, k] = tuple(cells[0, k].values())
        held = {holder: array}
    elif form == "FieldTrip":
        one = np.empty((1, 2), object)
        one[0] = [values, np.arange(mv.shape[1])[None] / rate_hz]
        labels = np.array(names, object)[:, None]
        held = {"data": {"label": labels, "fsample": rate_hz, "trial": one[:, :1], "time": one[:, 1:],
                         "sampleinfo": [[1, mv.shape[1]]], "hdr": {"chanunit": [unit]}}}  # fmt: skip
    elif form == "sampling":
        labels = np.array(names, object)[:, None]
        held = {holder: {"ecg": values, "sampling": {"rate": rate_hz, "unit": "Hz"}, "leads": labels, "units": unit}}
    path = path_of(tmp_path_factory, "")
    with path.open("wb") as content:
        scipy.io.savemat(content, held, appendmat=False)
    is_of(read_recording(path), mv, rate_hz, names if len(names) > 1 else None)


@settings(max_examples=draws(30), deadline=None)
@given(
    rate_hz=RATES, leads=st.integers(1, 3), unit=st.sampled_from(["mV", "uV"]), offset=st.sampled_from([0.0, 1.5]),
    lost=st.integers(0, 50), each=st.booleans(), whole=st.booleans(),
)  # fmt: skip
def test_arrays_that_are_packed_by_the_rules_of_netcdf_are_unpacked(
    rate_hz: float, leads: int, unit: str, offset: float, lost: int, each: bool, whole: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    h5py = pytest.importorskip("h5py", reason="needs h5py (pip install 'beatwire[formats]')")
    mv, path = ecg(rate_hz, leads), path_of(tmp_path_factory, "")
    scales = [0.002 * UNITS[unit] * (1 + k * each) for k in range(leads)]
    with h5py.File(path, "w") as file:
        file.attrs["fs"] = rate_hz
        for k, row in enumerate(mv):
            packed = np.rint((row * UNITS[unit] - offset) / scales[k]).astype("i2" if whole else "f4")
            packed[:lost] = -9999
            stored = file.create_dataset(NAMES[k], data=packed)
            stored.attrs.update({"scale_factor": scales[k], "add_offset": offset, "units": unit, "_FillValue": -9999})
    recording = read_recording(path)
    assert (recording.samples[:, :lost] == -32768).all()
    assert (recording.rate_hz, recording.leads) == (rate_hz, tuple(NAMES[:leads]))
    found = recording.samples[:, lost:] * recording.uv_per_unit / 1000
    np.testing.assert_allclose(found, mv[:, lost:], atol=0.002 * leads)


@settings(max_examples=draws(30), deadline=None)
@given(
    rate_hz=RATES, names=LEADS, unit=st.sampled_from(sorted(UNITS)), stated=st.sampled_from(["one", "each", "leads"]),
    form=st.sampled_from(["fields", "one field", "inner"]), in_file=st.booleans(),
)  # fmt: skip
def test_fields_of_records_are_leads_each_in_its_unit(
    rate_hz: float, names: list[str], unit: str, stated: str, form: str, in_file: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    h5py = pytest.importorskip("h5py", reason="needs h5py (pip install 'beatwire[formats]')")
    mv = ecg(rate_hz, len(names))
    inner = [(name, "f8") for name in names]
    kinds: dict[str, Any] = {"fields": inner, "one field": [("ecg", "f8", (len(names),))], "inner": [("leads", inner)]}
    table = np.zeros(mv.shape[1], [("t", "f8"), *kinds[form]])
    table["t"] = np.arange(mv.shape[1]) / rate_hz
    for k, name in enumerate(names):
        where = {
            "fields": table,
            "one field": {name: table["ecg"][:, k]} if form == "one field" else {},
            "inner": table,
        }
        target = table["leads"][name] if form == "inner" else where[form][name]
        target[:] = mv[k] * UNITS[unit]
    if not in_file:
        is_of(as_recording(table, units=unit), mv, rate_hz)
        return
    path = path_of(tmp_path_factory, "")
    units = {"one": unit, "each": ["s", *[unit] * len(names)], "leads": [unit] * len(names)}[stated]
    with h5py.File(path, "w") as file:
        file.create_dataset("ecg", data=table).attrs["units"] = units
    is_of(read_recording(path), mv, rate_hz, names if form == "fields" else None)


@pytest.mark.parametrize("shape", [(3, -1, 1), (3, 1, -1), (2, -1, 2), (2, 2, -1)])
def test_arrays_of_several_recordings_are_refused(shape: tuple[int, ...], tmp_path: Path) -> None:
    values = np.stack([ecg(250.0, max(1, shape[-1], shape[1]) * 3)] * 2).ravel()[: 12 * 1000].reshape(shape)
    np.savez(tmp_path / "x.npz", x=values, fs=250.0)
    assert "expected one recording, [leads, n]; got 'x'" in message_of(tmp_path / "x.npz")
