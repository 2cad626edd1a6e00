"""What the tests of archives share: workers that are threads, and folders of recordings."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from archive_folders import NAMES
from beatwire.recordings.synthetic.person import synthesise
from distributed import Client, LocalCluster
from page_folder import write_records, write_table


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """Threads in place of processes: what tests replace is replaced for the workers too."""
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(**options) as cluster, Client(cluster) as one:
        yield one


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Tables of two rates, one of them without a beat, and a folder for WFDB records."""
    folder = tmp_path / "in"
    (folder / "ward=2").mkdir(parents=True)
    write_table(folder / NAMES[0], synthesise(1, rate_hz=250.0, leads=2, seconds=40.0, ectopy=0.2))
    write_table(folder / NAMES[1], synthesise(2, rate_hz=128.0, seconds=30.0))
    (folder / NAMES[2]).write_text("time,II\n" + "".join(f"{k / 250},0.0\n" for k in range(1000)))  # without a beat
    (folder / "wfdb").mkdir()
    return folder


@pytest.fixture
def records(folder: Path) -> Path:
    write_records(folder / "wfdb", ("100", "203"))
    return folder
