"""Archives: results equal those of analyze to the bit; what is done stays done."""

import itertools
import json
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import beatwire
import fsspec
import numpy as np
import pandas as pd
import pytest
from archive_folders import NAMES, assert_as_analyzed, patterns, row, run
from beatwire.api.archive import read_table
from beatwire.archives import work
from beatwire.archives.store import SCHEMAS, Store
from beatwire.errors import UserError
from beatwire.model.checkpoint import SHIPPED
from beatwire.model.storage import model_files
from beatwire.offline.batch import ShardBatch, ShardResults
from beatwire.recordings.synthetic.person import synthesise
from distributed import Client
from page_folder import write_table

pytest_plugins = ("archive_fixtures",)


@pytest.mark.parametrize("lead", ["first", "all"])
def test_tables_equal_those_of_analyze_to_the_bit(records: Path, client: Client, tmp_path: Path, lead: str) -> None:
    out = tmp_path / "out"
    done = run(patterns(records), out, client, lead=lead)
    assert sorted(done.rows) == sorted([*NAMES[:3], "100", "203"])
    assert done.failed == {}
    for name in done.rows:
        source = records / name if name.endswith(".csv") else records / "wfdb" / name
        assert_as_analyzed(out, source, name, lead)
    assert row(out, NAMES[2])["beats"] == 0


def test_what_stops_an_analysis_midway_leaves_nothing_to_the_next(
    records: Path, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch, calls = ShardBatch._finish, itertools.count()

    def failing(batch: ShardBatch, results: ShardResults) -> Callable[[], None]:
        if next(calls) == 1:
            raise RuntimeError("midway")
        return fetch(batch, results)

    monkeypatch.setattr(ShardBatch, "_finish", failing)
    done = run(patterns(records), tmp_path / "out", client)
    assert len(done.failed) == 1
    for name in set(done.rows) - set(done.failed):
        source = records / name if name.endswith(".csv") else records / "wfdb" / name
        assert_as_analyzed(tmp_path / "out", source, name, "all")


def test_a_model_that_is_replaced_at_its_path_is_read_again(client: Client, tmp_path: Path) -> None:
    model = tmp_path / "own.safetensors"
    for path in model_files(SHIPPED):
        shutil.copy(path, tmp_path / path.name.replace(SHIPPED.stem, model.stem, 1))
    (tmp_path / "in").mkdir()
    names = [f"{k}.csv" for k in range(6)]  # more than there are workers
    for k, name in enumerate(names):
        write_table(tmp_path / "in" / name, synthesise(k, rate_hz=250.0, seconds=60.0))
    run(tmp_path / "in", tmp_path / "out", client, model=model)
    config = json.loads(model.with_suffix(".json").read_text())
    config["calibration"]["sums"] = [[3.0 * x for x in sums] for sums in config["calibration"]["sums"]]
    model.with_suffix(".json").write_text(json.dumps(config))
    run(tmp_path / "in", tmp_path / "out", client, model=model)
    for name in names:
        scores = pd.read_parquet(Store(tmp_path / "out").path("beats", name))["score"]
        expected = beatwire.analyze(tmp_path / "in" / name, model=model, lead="all").beats["score"]
        assert np.isfinite(expected).any()
        np.testing.assert_array_equal(scores, expected)


def test_the_hum_of_each_recording_is_in_its_row(client: Client, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name, mv, rate_hz in (("hum.csv", 0.3, 250.0), ("clean.csv", 0.0, 250.0), ("slow.csv", 0.0, 100.0)):
        made = synthesise(1, rate_hz=rate_hz, seconds=30.0, leads=2, noise=0.0)
        hum = mv * 1000 / made.recording.uv_per_unit * np.sin(2 * np.pi * 50.0 / rate_hz * np.arange(30 * rate_hz))
        made.recording.samples[1] += hum.round().astype(np.int16)
        write_table(tmp_path / "in" / name, made)
    run(tmp_path / "in", tmp_path / "out", client, lead="all")
    rows = read_table(tmp_path / "out").compute(scheduler="synchronous").set_index("recording")
    assert rows.loc["hum.csv", ["hum_mv", "hum_share"]].tolist() == [pytest.approx(0.3, abs=0.02), 1.0]
    assert rows["hum_share"].fillna(-1.0).to_dict() == {"hum.csv": 1.0, "clean.csv": 0.0, "slow.csv": -1.0}
    assert rows.loc[["clean.csv", "slow.csv"], "hum_mv"].isna().all()


def test_a_table_is_a_dask_frame_with_a_partition_a_recording(folder: Path, client: Client, tmp_path: Path) -> None:
    beats = beatwire.archive(folder, tmp_path / "out", scheduler=client, notes=lambda _: None)
    assert beats.npartitions == 3
    found = beats.compute(scheduler="synchronous")
    assert set(found["recording"]) == set(NAMES[:2])
    recordings = read_table(tmp_path / "out").compute(scheduler="synchronous").set_index("recording")
    assert recordings.loc[NAMES[1], "beats"] == (found["recording"] == NAMES[1]).sum()
    assert set(recordings.index) == set(NAMES[:3])


@pytest.mark.parametrize("table", [*SCHEMAS])
def test_the_tables_of_an_archive_of_which_nothing_could_be_read_are_empty(
    client: Client, tmp_path: Path, table: str
) -> None:
    said: list[str] = []
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "words.csv").write_text("no numbers\n")
    found = beatwire.archive(tmp_path / "in", tmp_path / "out", table=table, scheduler=client, notes=said.append)
    assert list(found.columns) == [*SCHEMAS[table], "recording"]
    rows = found.compute(scheduler="synchronous")
    assert len(rows) == (1 if table == "recordings" else 0)
    assert len(rows.groupby("recording", observed=True).size()) == len(rows)
    assert any(line.startswith("words.csv: ") for line in said)


def test_what_is_done_is_not_done_again_and_what_changed_is(
    folder: Path, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, read = tmp_path / "out", work.as_recording
    seen: list[str] = []
    monkeypatch.setattr(work, "as_recording", lambda source, *a, **b: (seen.append(source), read(source, *a, **b))[1])
    assert run(folder, out, client).before == 0
    seen.clear()
    assert run(folder, out, client).before == 3
    assert seen == []
    write_table(folder / NAMES[0], synthesise(9, rate_hz=250.0, seconds=20.0))
    os.utime(folder / NAMES[1], ns=(1, 1))
    assert run(folder, out, client).before == 1
    assert sorted(seen) == sorted(str(folder / name) for name in NAMES[:2])
    assert_as_analyzed(out, folder / NAMES[0], NAMES[0], "all")
    seen.clear()
    assert run(folder, out, client, lead="first").before == 0, "other options are another analysis"
    assert len(seen) == 3


def test_an_archive_at_an_address_is_that_of_the_folder(records: Path, client: Client, tmp_path: Path) -> None:
    files = fsspec.filesystem("memory")
    files.put(str(records / "wfdb"), "/holters/wfdb", recursive=True)
    done = run("memory://holters", "memory://tables", client)
    assert sorted(done.rows) == ["wfdb/100", "wfdb/203"]
    run(records / "wfdb", tmp_path / "out", client)
    for name in ("100", "203"):
        theirs = pd.read_parquet(Store(tmp_path / "out").path("beats", name))
        ours = pd.read_parquet(files.open(Store("memory://tables").path("beats", f"wfdb/{name}")))
        pd.testing.assert_frame_equal(ours, theirs, check_exact=True)
    assert run("memory://holters", "memory://tables", client).before == 2


def test_reports_are_written_on_request_and_then_only(folder: Path, client: Client, tmp_path: Path) -> None:
    pytest.importorskip("bokeh")
    out = tmp_path / "out"
    run(folder / NAMES[0], out, client)
    assert not (out / "reports").exists()
    assert run(folder / NAMES[0], out, client, report=True).before == 0
    path = Path(row(out, NAMES[0])["report"])
    assert path.read_text().startswith("<!doctype html>")
    assert run(folder / NAMES[0], out, client, report=True).before == 1


def test_recordings_of_another_folder_do_not_replace_those_of_the_same_name(
    folder: Path, client: Client, tmp_path: Path
) -> None:
    out, other = tmp_path / "out", tmp_path / "other"
    run(folder, out, client)
    other.mkdir()
    write_table(other / NAMES[0], synthesise(8, rate_hz=250.0, seconds=20.0))
    with pytest.raises(UserError, match="expected a folder of its own for each archive"):
        run(other, out, client)
    moved = folder.rename(tmp_path / "moved")
    assert run(moved, out, client).before == 3, "the same files, moved"


def test_two_runs_into_one_folder_at_once_do_no_harm(folder: Path, client: Client, tmp_path: Path) -> None:
    out = tmp_path / "out"
    runs = [threading.Thread(target=run, args=(folder, out, client)) for _ in range(2)]
    for one in runs:
        one.start()
    for one in runs:
        one.join()
    assert {r["state"] for r in Store(out).rows().values()} == {"done"}
    assert_as_analyzed(out, folder / NAMES[0], NAMES[0], "all")
