"""Archives where something fails: a recording, a reader, a process, a disk, a cluster, an argument."""

import errno
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, ClassVar

import beatwire
import dask.config
import fsspec
import pandas as pd
import pytest
from archive_folders import NAMES, assert_as_analyzed, row, run
from beatwire.archives import work
from beatwire.archives.cluster import connected, ending
from beatwire.archives.run import DIED
from beatwire.archives.store import SCHEMAS, Store
from beatwire.cli.main import app
from beatwire.errors import FatalError, UserError
from beatwire.recordings.synthetic.person import synthesise
from distributed import Client
from draws import draws
from fsspec.implementations.memory import MemoryFileSystem
from hypothesis import given, settings
from hypothesis import strategies as st
from page_folder import write_table
from typer.testing import CliRunner

pytest_plugins = ("archive_fixtures",)
CRASHES = """
import os, signal, time
from beatwire.archives import work
from beatwire.recordings import as_recording as read

def as_recording(source, *given, **named):
    if "crash" in source:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.5)
    return read(source, *given, **named)

work.as_recording = as_recording
"""


def test_a_recording_that_cannot_be_read_is_a_row_with_its_reason_and_is_tried_again(
    folder: Path, client: Client, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    (folder / "broken.edf").write_bytes(b"0       " + b"x" * 400)
    (folder / "words.csv").write_text("none of this\nis a number\n")
    done = run(folder, out, client)
    assert sorted(done.failed) == ["broken.edf", "words.csv"]
    assert all("expected" in reason for reason in done.failed.values())
    assert row(out, "words.csv")["state"] == "failed"
    assert not Path(Store(out).path("beats", "words.csv")).exists()
    write_table(folder / "words.csv", synthesise(4, rate_hz=250.0, seconds=20.0))
    again = run(folder, out, client)
    assert (again.before, sorted(again.failed)) == (3, ["broken.edf"])
    (folder / "words.csv").write_text("none of this\nis a number\n")
    run(folder, out, client)
    assert not Path(Store(out).path("beats", "words.csv")).exists(), "beats of a file that is no longer there"


def test_a_fault_of_a_reader_is_the_row_of_its_recording(
    folder: Path, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = work.as_recording

    def faulty(source: str, *given: Any, **named: Any) -> Any:
        if source.endswith(NAMES[0]):
            raise ZeroDivisionError("by nothing\nat all")
        return read(source, *given, **named)

    monkeypatch.setattr(work, "as_recording", faulty)
    done = run(folder, tmp_path / "out", client)
    assert list(done.failed) == [NAMES[0]]
    assert "ZeroDivisionError in test_archives_faults.py:" in done.failed[NAMES[0]]
    assert done.failed[NAMES[0]].endswith("by nothing")


@pytest.mark.slow  # workers start six times
def test_a_worker_that_is_killed_and_a_reader_that_kills_its_process_stop_no_other_recording(
    folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "crashes.py").write_text(CRASHES)
    (folder / "crash.csv").write_text("1\n2\n")
    for k in range(4):
        write_table(folder / f"{k}.csv", synthesise(k, rate_hz=250.0, seconds=20.0))
    out, killed = tmp_path / "out", []

    def kill(done: int, of: int, _failed: int) -> None:
        if done == 2 and not killed:
            killed.append(next(iter(one.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    preloaded = dask.config.set({"distributed.worker.preload": [str(tmp_path / "crashes.py")]})
    with preloaded, connected(None, 2, "cpu", str(out), lambda _: None) as one:
        done = run(folder, out, one, progress=kill)
    assert killed
    assert sorted(done.rows) == sorted([*NAMES[:3], "crash.csv", *(f"{k}.csv" for k in range(4))])
    assert done.failed == {"crash.csv": f"{folder / 'crash.csv'}: {DIED}"}
    assert row(out, "crash.csv")["state"] == "failed"
    assert_as_analyzed(out, folder / "0.csv", "0.csv", "all")


class Full(MemoryFileSystem):
    """A file system that is full after so many files."""

    protocol = "full"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    room = 6

    def pipe_file(self, path: str, value: bytes, **_: Any) -> None:
        if len(self.store) >= self.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        super().pipe_file(path, value)


def test_a_full_disk_ends_the_run_with_one_error_and_the_next_run_goes_on(folder: Path, client: Client) -> None:
    fsspec.register_implementation("full", Full, clobber=True)
    Full.store.clear()
    Full.room = 6  # the four files of a recording, and some of the next
    with pytest.raises(FatalError, match=r"No space left on device; \d of 3 recordings are done; a new run goes on"):
        run(folder, "full://out", client)
    left = dict(Full.store)
    Full.room = 1000
    time.sleep(0.2)
    assert Full.store == left, "no worker writes when the error has been raised"
    done = run(folder, "full://out", client)
    assert done.failed == {}
    assert done.before + len(done.rows) == 3
    assert len(Full.store) == 4 * 3
    assert set(Store("full://out").rows()) == set(NAMES[:3])


def test_a_small_disk_that_is_full_leaves_whole_files(folder: Path, client: Client, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", small], capture_output=True)
    if mounted.returncode:
        pytest.skip("needs the right to mount a tmpfs")
    try:
        for k in range(20):
            write_table(folder / f"{k}.csv", synthesise(k, rate_hz=250.0, seconds=20.0))
        with pytest.raises(FatalError, match="No space left on device"):
            run(folder, small, client)
        files = [path for path in small.rglob("*") if path.is_file()]
        assert files
        assert all(path.name == "0.parquet" for path in files), "nothing half-written is left"
        for path in files:
            pd.read_parquet(path)
    finally:
        subprocess.run(["umount", small], check=True)


@settings(max_examples=draws(20), deadline=None)
@given(st.integers(0, 1_000_000))
def test_a_row_that_a_power_cut_has_torn_is_none(tmp_path_factory: pytest.TempPathFactory, left: int) -> None:
    store = Store(tmp_path_factory.mktemp("tables"))
    store.prepare()
    for name in NAMES[:2]:
        store.write(
            "recordings", name, {column: ["done" if column == "state" else None] for column in SCHEMAS["recordings"]}
        )
    path = Path(store.path("recordings", NAMES[0]))
    path.write_bytes(path.read_bytes()[: left % path.stat().st_size])
    assert list(store.rows()) == [NAMES[1]]
    assert store.row(NAMES[0]) is None


def test_a_cluster_that_cannot_be_used_is_one_error(folder: Path, client: Client, tmp_path: Path) -> None:
    from beatwire.archives import cluster

    before, cluster.CONNECTS_WITHIN_S = cluster.CONNECTS_WITHIN_S, 0.5
    try:
        with pytest.raises(UserError, match=r"--scheduler: expected a scheduler of Dask at 'tcp://127.0.0.1:1'"):
            run(folder, tmp_path / "out", "tcp://127.0.0.1:1")
        with pytest.raises(UserError, match="--scheduler: expected a scheduler of Dask"):
            run(folder, tmp_path / "out", "no address")
    finally:
        cluster.CONNECTS_WITHIN_S = before


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"table": "beat"}, "table: expected one of beats, alerts, quality, recordings; got 'beat'"),
        ({"backend": "tpu"}, "backend: expected cpu, gpu, auto; got 'tpu'"),
        ({"processes": 0}, "processes: expected a whole number of at least 1"),
        ({"fs": 20}, "--fs: expected 50-4000 Hz; got 20"),
        ({"source": 3}, "source: expected names of folders; got 3"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_read(
    given: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError) as error:
        beatwire.archive(**{"source": tmp_path, "out": tmp_path / "out"} | given)
    assert str(error.value).startswith(message)
    assert not (tmp_path / "out").exists()


def test_a_cluster_that_does_not_end_in_time_is_a_remark_when_the_work_is_done() -> None:
    class Slow:
        def close(self) -> None:
            raise TimeoutError("join timed out")

    said: list[str] = []
    with ending(Slow(), said.append) as cluster:
        assert isinstance(cluster, Slow)
    assert said == ["the work is done, but the processes of Dask did not end in time: join timed out"]
    with pytest.raises(UserError, match="ours"), ending(Slow(), said.append):
        raise UserError("ours")


def test_without_dask_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from beatwire.archives import cluster

    monkeypatch.setattr(cluster, "find_spec", lambda name: None)
    done = CliRunner().invoke(app, ["archive", str(tmp_path), "--out", str(tmp_path / "out")])
    assert str(done.exception) == "archive: expected dask; it is not installed (pip install 'beatwire[cluster]')"


def test_the_command_counts_and_ends_with_1_if_a_recording_has_failed(folder: Path, tmp_path: Path) -> None:
    (folder / "bad.csv").write_text("nothing\n")
    line = ["archive", str(folder), "--out", str(tmp_path / "out"), "--processes", "1"]
    done = CliRunner().invoke(app, line)
    assert done.exit_code == 1
    assert re.search(r"^recordings +4 *$", done.stdout, re.MULTILINE)
    assert "bad.csv: expected" in done.stderr
    (folder / "bad.csv").unlink()
    again = CliRunner().invoke(app, [*line, "--json"])
    assert again.exit_code == 0
    assert '"done_before": 3' in again.stdout
