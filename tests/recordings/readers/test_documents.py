"""JSON of any shape, and Arrow files: samples, rate, unit, leads and gaps of a known ECG."""

import gzip
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pytest
from beatwire.recordings import read_recording
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from sources import heart, message_of

RATE_HZ = 250.0
MV = np.stack([heart(RATE_HZ, seconds=8), -heart(RATE_HZ, seconds=8)])
N = MV.shape[1]
T = np.arange(N) / RATE_HZ
LEADS = ["I", "II"]
UV = np.round(MV * 1000).astype(int)
FRAME = pd.DataFrame({"time": T, "I (mV)": MV[0], "II (mV)": MV[1]})
PACKETS = [slice(k, k + 40) for k in range(0, N, 40)]
STATED = {"sampling_rate": RATE_HZ, "unit": "mV"}

DOCUMENTS: dict[str, Any] = {
    "lists": {"fs": 250, "unit": "mV", "I": MV[0].tolist(), "II": MV[1].tolist()},
    "objects": {"meta": {"fs": "250 Hz"}, "leads": {"I": MV[0].tolist(), "II": MV[1].tolist()}},
    "an object for each lead": {"fs": 250, "I": {"data": MV[0].tolist()}, "II": {"data": MV[1].tolist()}},
    "lists of lists": {**STATED, "data": MV.tolist(), "leads": LEADS},
    "list of moments": {**STATED, "data": MV.T.tolist(), "lead_names": LEADS},
    "microvolts": {"samplingFrequencyHz": "250", "units": "uV", "data": UV.tolist(), "leads": LEADS},
    "texts": {"fs": 250, "I": [f"{v:.4f}" for v in MV[0]], "II": [f"{v:.4f}" for v in MV[1]]},
    "remarks beside samples": {
        "fs": 250, "unit": "mV", "I": MV[0].tolist(), "II": MV[1].tolist(),
        "marks": [{"t": k, "x": 1} for k in range(9)],
    },
    "numbers in a text": {"fs": 250, "I": " ".join(map(str, MV[0])), "II": ",".join(map(str, MV[1]))},
    "one reading": {"readings": [{"fs": 250, "hr": 70.5, "I": MV[0].tolist(), "II": MV[1].tolist()}]},
    "rows": [{"t": t, "I": a, "II": b} for t, a, b in zip(T.tolist(), *MV.tolist(), strict=True)],
    "rows in an object": {
        **STATED, "data": [{"n": k, "I": a, "II": b} for k, (a, b) in enumerate(zip(*MV.tolist(), strict=True))],
    },
    "records": json.loads(FRAME.to_json(orient="records")),
    "columns": json.loads(FRAME.to_json()),
    "split": json.loads(FRAME.to_json(orient="split")),
    "index": json.loads(FRAME.to_json(orient="index")),
    "table": json.loads(FRAME.to_json(orient="table")),
}  # fmt: skip


def assert_is_ecg(path: Path, leads: tuple[str, ...] = ("I", "II"), mv: Any = MV, **options: Any) -> None:
    recording = read_recording(path, **options)
    got = np.where(recording.samples == -32768, np.nan, recording.samples * recording.uv_per_unit / 1000)
    assert (recording.rate_hz, recording.leads) == (RATE_HZ, leads)
    np.testing.assert_allclose(got, mv, atol=0.002)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("shape", DOCUMENTS)
def test_a_document_of_any_shape_is_read(shape: str, indent: int | None, encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(DOCUMENTS[shape], indent=indent), encoding)
    assert_is_ecg(path)


@pytest.mark.parametrize("indent", [None, 1])
def test_a_list_of_numbers_is_a_lead(indent: int | None, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(MV[0].tolist(), indent=indent))
    assert np.abs(read_recording(path, fs=250).samples[0] - UV[0]).max() <= 1


@settings(max_examples=draws(40), deadline=None)
@given(
    clock=st.sampled_from(("ts", "time", "seq", "first", "none")), nested=st.sampled_from(("no", "leads", "moments")),
    lost=st.integers(5, 40), are_lines=st.booleans(), unit=st.sampled_from(("mV", "uV", "uv_per_unit")),
    is_cut=st.booleans(),
)  # fmt: skip
def test_packets_are_one_recording_with_what_was_lost_as_a_gap(
    clock: str, nested: str, lost: int, are_lines: bool, unit: str, is_cut: bool
) -> None:
    per_mv = {"mV": 1.0, "uV": 1000.0, "uv_per_unit": 500.0}[unit]
    packets, expected = [], MV.copy()
    for k, part in enumerate(PACKETS):
        if k == lost and clock != "none":
            expected[:, part] = np.nan
            continue
        value = (MV[:, part] * per_mv).round(4)
        samples = {
            "no": {"I": value[0].tolist(), "II": value[1].tolist()}, "leads": {"samples": value.tolist()},
            "moments": {"samples": value.T.tolist()},
        }[nested]  # fmt: skip
        at = {
            "ts": {"ts": 160 * k}, "time": {"time": 1_790_000_000_000_000 + 160_000 * k}, "seq": {"seq": 7 + k},
            "first": {"first": 40 * k}, "none": {},
        }[clock]  # fmt: skip
        size = {"uv_per_unit": 2.0} if unit == "uv_per_unit" else {"unit": unit}
        packets.append({**at, "rate_hz": 250, "leads": LEADS, **size, **samples})
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.jsonl"
        text = "\n".join(map(json.dumps, packets)) if are_lines else json.dumps({"packets": packets})
        if are_lines and is_cut:
            text, expected = text[:-30], expected[:, :-40]
        path.write_text(text)
        assert_is_ecg(path, mv=expected)


def test_a_head_before_the_rows_and_a_missing_value(tmp_path: Path) -> None:
    rows = [{"n": k, "ecg": None if k == 700 else v} for k, v in enumerate(MV[0].tolist())]
    path = tmp_path / "x.ndjson"
    path.write_text("\n".join(map(json.dumps, [{"fs": 250, "unit": "mV"}, *rows])))
    expected = MV[:1].copy()
    expected[0, 700] = np.nan
    assert_is_ecg(path, ("ecg",), expected)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([{"fs": 250, "ecg": MV[0].tolist()}] * 2, "expected one recording; got 2 lists of samples: save one of them"),
        ({"a": [{"b": 1}]}, "expected samples in JSON; got none: no list of numbers, and no list of objects"),
        ({"a": "b"}, "expected samples in JSON; got none: no list of numbers, and no list of objects"),
        ({"fs": 250, "ecg": [True, False] * 300}, "expected an array of numbers; got 'fs' (a number), 'ecg' (true and"),
        ({"fs": 250, "ecg": [0.1] * 300 + ["x"]}, "expected an array of numbers; got 'fs' (a number), 'ecg' (text)"),
        ([{"t": k, "ecg": [0.1] * (k % 7 + 1)} for k in range(99)], "expected one recording; got 99 lists of samples"),
        ([{"t": k, "I": [0.1] * 9, "II": [0.1] * 8} for k in range(99)], "expected lists of one length in each packet"),
    ],
)  # fmt: skip
def test_a_document_that_is_no_recording_is_one_line(document: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(document))
    assert message_of(path).startswith(f"x.json: {message}")


@pytest.mark.parametrize("indent", [None, 1])
def test_a_document_that_is_cut_off_is_refused_and_one_of_gzip_is_named(indent: int | None, tmp_path: Path) -> None:
    text = json.dumps(DOCUMENTS["lists"], indent=indent)
    (tmp_path / "x.json").write_text(text[:-99])
    assert message_of(tmp_path / "x.json").startswith("x.json: expected JSON; got: Expecting")
    (tmp_path / "x.json.gz").write_bytes(gzip.compress(text.encode()))
    assert message_of(tmp_path / "x.json.gz").endswith("got a compressed file: unpack it")


def test_an_object_before_a_table_is_its_head(tmp_path: Path) -> None:
    head = json.dumps({"fs": 250, "unit": "mV"}, indent=1)
    rows = "\n".join(f"{a},{b}" for a, b in MV.T.tolist())
    (tmp_path / "x.csv").write_text(f"{head}\nI,II\n{rows}\n")
    assert_is_ecg(tmp_path / "x.csv")


def test_files_and_streams_of_arrow_are_tables(tmp_path: Path) -> None:
    table = pa.Table.from_pandas(FRAME)
    for name, options in {"a.feather": {}, "b": {"compression": "uncompressed"}, "c.csv": {"chunksize": 100}}.items():
        pa.feather.write_feather(table, tmp_path / name, **options)
        assert_is_ecg(tmp_path / name)
    with pa.OSFile(str(tmp_path / "d.arrows"), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)
    assert_is_ecg(tmp_path / "d.arrows")
    (tmp_path / "e.feather").write_bytes((tmp_path / "a.feather").read_bytes()[:-99])
    assert message_of(tmp_path / "e.feather").startswith("e.feather: expected an Arrow table; got: ")


@pytest.mark.parametrize("depth", [6, 33, 64, 490])
def test_lists_and_objects_within_each_other_are_one_error(depth: int, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"fs": 250, "ecg": ' + "[" * depth + "1, 2" + "]" * depth + "}")
    assert "expected a list of numbers in 'ecg'; got lists" in message_of(tmp_path / "x.json")
    (tmp_path / "y.json").write_text('{"a": [' * depth + "[1, 2]" + "]}" * depth)
    assert message_of(tmp_path / "y.json").startswith("y.json: expected ")


def test_a_stated_rate_explains_times_with_few_digits(tmp_path: Path) -> None:
    mv = np.random.default_rng(1).uniform(-1, 1, (400, 61)).round(4)
    packets = [{"time": round(k * 0.122 + 7, 2), "fs": 500, "ecg_mV": row.tolist()} for k, row in enumerate(mv)]
    (tmp_path / "p.json").write_text("\n".join(map(json.dumps, packets)))
    recording = read_recording(tmp_path / "p.json")
    assert (recording.rate_hz, recording.samples.shape) == (500, (1, mv.size))
    assert not any("gap" in note or "states" in note for note in recording.notes)
