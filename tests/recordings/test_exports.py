"""Exports: files of beats and alerts read back as written, in every format."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import wfdb
from beatwire.errors import UserError
from beatwire.offline.results.beat import BEAT_FIELDS, DECIMALS
from beatwire.offline.results.exports import FIRST_COLUMNS, write_alert_lines, write_alerts, write_beats
from beatwire.offline.results.files import check_out
from beatwire.outputs import check_output
from beatwire.wire import schema

BEATS = {
    "sample": np.array([90, 390, 1_000_000]),
    "score": np.array([np.nan, 1.23456789, 2.0], np.float32),
    "rr_ms": np.array([np.nan, 1200.0, 801.5], np.float32),
    "quality": np.array([0.25, 0.5, 1.0]),
    "rate_bpm": np.array([np.nan, 50.0, 75.0]),
    "scored_by": ["gap", "history", "population"],
}


@pytest.mark.parametrize("name", ["beats.csv", "beats.csv.gz"])
def test_a_csv_has_the_first_columns_in_order_and_reads_back(tmp_path: Path, name: str) -> None:
    path = write_beats(tmp_path / name, BEATS, rate_hz=250)
    table = pd.read_csv(path)
    assert tuple(table.columns[:5]) == FIRST_COLUMNS == ("sample", "time_s", "rr_ms", "quality", "score")
    assert set(table.columns[5:]) == {"rate_bpm", "scored_by"}
    assert table["sample"].tolist() == [90, 390, 1_000_000]
    assert table["time_s"].tolist() == [0.36, 1.56, 4000.0]
    assert np.isnan(table["rr_ms"][0])
    assert table["score"][1] == pytest.approx(1.2346)
    if name == "beats.csv":
        assert path.read_text().splitlines()[1] == "90,0.36,,0.25,,,gap"


def test_parquet_reads_back_in_full(tmp_path: Path) -> None:
    table = pd.read_parquet(write_beats(tmp_path / "beats.parquet", pd.DataFrame(BEATS), rate_hz=250))
    assert tuple(table.columns[:5]) == FIRST_COLUMNS
    assert table["sample"].dtype == np.int64
    assert np.array_equal(table["score"], BEATS["score"], equal_nan=True)
    assert table["scored_by"].tolist() == BEATS["scored_by"]


@pytest.mark.parametrize("rate_hz", [250, 250.0, 128.5])
@pytest.mark.parametrize("name", ["100.atr", "100.beats", "a record.v2.atr"])
def test_an_annotation_file_is_read_by_wfdb(tmp_path: Path, name: str, rate_hz: float) -> None:
    path = write_beats(tmp_path / name, BEATS, rate_hz=rate_hz)
    read = wfdb.rdann(str(path.with_suffix("")), path.suffix[1:])
    assert read.sample.tolist() == [90, 390, 1_000_000]
    assert read.symbol == ["N", "N", "N"]
    assert read.fs == rate_hz


def test_annotations_keep_their_symbols(tmp_path: Path) -> None:
    write_beats(tmp_path / "x.atr", {"sample": [10, 400, 700], "symbol": ["N", "V", "N"]}, rate_hz=250)
    assert wfdb.rdann(str(tmp_path / "x"), "atr").symbol == ["N", "V", "N"]


@pytest.mark.parametrize("name", ["x.csv", "x.parquet", "x.atr"])
def test_without_beats_the_file_is_empty(tmp_path: Path, name: str) -> None:
    path = write_beats(tmp_path / name, {key: np.zeros(0) for key in BEATS}, rate_hz=250)
    if name == "x.atr":
        assert len(wfdb.rdann(str(tmp_path / "x"), "atr").sample) == 0
    else:
        table = pd.read_csv(path) if name == "x.csv" else pd.read_parquet(path)
        assert len(table) == 0
        assert tuple(table.columns[:5]) == FIRST_COLUMNS


def test_the_sample_column_alone_is_enough(tmp_path: Path) -> None:
    path = write_beats(tmp_path / "x.csv", {"sample": [1, 2]}, rate_hz=100)
    assert path.read_text() == "sample,time_s,rr_ms,quality,score\n1,0.01,,,\n2,0.02,,,\n"


def test_a_file_is_replaced_and_no_temporary_file_remains(tmp_path: Path) -> None:
    for _ in range(2):
        write_beats(tmp_path / "x.csv", BEATS, rate_hz=250)
    assert [p.name for p in tmp_path.iterdir()] == ["x.csv"]


def test_alerts_are_written_beside_the_beats_one_per_line(tmp_path: Path) -> None:
    alerts = [
        {"id": "a", "onset": np.int64(5), "text": "Asystolie, 4 s, jetzt: äöü"},
        {"id": "b", "value": np.float32(2.5)},
    ]
    path = write_alerts(tmp_path / "beats.csv", alerts)
    assert path.name == "beats.csv.alerts.jsonl"
    assert [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] == [
        {"id": "a", "onset": 5, "text": "Asystolie, 4 s, jetzt: äöü"},
        {"id": "b", "value": 2.5},
    ]
    assert write_alerts(tmp_path / "none.csv", []).read_text() == ""


@pytest.mark.parametrize("nothing", [float("nan"), float("inf"), np.float32("nan"), np.array(np.nan)])
def test_a_number_that_is_not_finite_is_null_in_the_json_of_an_alert(tmp_path: Path, nothing: Any) -> None:
    path = write_alert_lines(tmp_path / "alerts", [{"rule": "pause", "value": nothing, "limit": 3.0}])
    assert path.read_text() == '{"rule": "pause", "value": null, "limit": 3.0}\n'


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_refused_before_anything_runs(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(UserError, match=r"--alerts: .* [Pp]ermission"):
            check_output("--alerts", tmp_path / "alerts.jsonl")
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.parametrize(
    "name",
    [
        "beats",
        "beats.json",
        "beats.csv.zip2",
        ".atr",
        "beats.a1",
        "beats.a",
        "beats.docx",
        "beats.HTML",
        "beats.beatwire",
    ],
)
def test_an_ending_without_a_format_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match=r"--out: expected CSV .*; got "):
        check_out(tmp_path / name)


def test_a_missing_folder_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="expected a file in an existing folder; there is no folder"):
        check_out(tmp_path / "no" / "beats.csv")
    (tmp_path / "x.csv").mkdir()
    with pytest.raises(UserError, match="got the folder"):
        check_out(tmp_path / "x.csv")


def test_the_wire_format_has_the_fields_of_a_beat_under_their_names() -> None:
    own = {"time_s", "decided"}  # a recording has no clock, and a message comes when it is decided
    assert set(BEAT_FIELDS) - own < {field["name"] for field in schema("beat")["fields"]}
    assert set(DECIMALS) < set(BEAT_FIELDS)
