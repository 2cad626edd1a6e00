"""An error ends the run of an archive: what is under way is waited for, and not for ever."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from archive_folders import NAMES, run
from beatwire.api.archive import run_archive
from beatwire.archives import run as archives
from beatwire.archives.store import NotWrittenError
from beatwire.errors import FatalError
from distributed import Client
from distributed.scheduler import KilledWorker

pytest_plugins = ("archive_fixtures",)


class Died(KilledWorker):
    """As if a recording had killed worker after worker."""

    def __init__(self, text: str) -> None:
        Exception.__init__(self, text)

    __str__ = Exception.__str__


def fail_with(error: type[Exception], others: Callable[[str], None] = lambda _: None) -> Callable[..., dict[str, Any]]:
    """Return what stands for the analysis: it fails for the first recording."""

    def archive_recording(one: Any, work: Any) -> dict[str, Any]:
        if one.name == NAMES[0]:
            time.sleep(0.2)  # another one is under way
            raise error("No space left on device")
        others(one.name)
        return {"state": "done"}

    return archive_recording


@pytest.mark.parametrize("error", [NotWrittenError, RuntimeError, Died])
def test_nobody_writes_when_the_error_is_raised(
    folder: Path, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    marks = tmp_path / "marks"  # files: Dask copies a function and what it refers to
    marks.mkdir()

    def analyze(name: str) -> None:
        mark = marks / f"{Path(name).stem}.begun"
        mark.touch()
        time.sleep(0.6)
        mark.rename(mark.with_suffix(".ended"))

    def write_failed(*_: Any) -> Any:
        raise NotWrittenError("No space left on device")

    monkeypatch.setattr(archives, "archive_recording", fail_with(error, analyze))
    monkeypatch.setattr(archives, "write_failed", write_failed)
    with pytest.raises(FatalError, match="No space left on device"):
        run(folder, tmp_path / "out", client)
    left = {path.name for path in marks.iterdir()}
    assert not any(name.endswith(".begun") for name in left)
    time.sleep(0.3)
    assert {path.name for path in marks.iterdir()} == left


def test_a_worker_that_does_not_answer_is_waited_for_no_longer_than_the_limit(
    folder: Path, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def is_running(keys: set[str], dask_worker: Any) -> bool:
        await asyncio.sleep(6.0)
        return True

    monkeypatch.setattr(archives, "archive_recording", fail_with(NotWrittenError))
    monkeypatch.setattr(archives, "_is_running", is_running)
    monkeypatch.setattr(archives, "SAYS_AFTER_S", 0.3)
    monkeypatch.setattr(archives, "CANCELS_WITHIN_S", 1.0)
    said: list[str] = []
    said_s: list[float] = []

    def notes(note: str) -> None:
        said.append(note)
        said_s.append(time.monotonic())

    with pytest.raises(FatalError, match="No space left on device"):
        run_archive(folder, tmp_path / "out", scheduler=client, notes=notes)
    assert said[-2:] == [
        "an error ends the run; waiting, 1 s at most, for the recordings that are under way",
        "some workers have not ended 1 s after the error, and may still write",
    ]
    assert said_s[-1] - said_s[-2] < 4.0


def test_for_a_cluster_that_is_lost_nobody_waits() -> None:
    said: list[str] = []
    archives._cancel(SimpleNamespace(status="connecting"), None, set(), said.append)
    assert said == ["the cluster is lost: its workers may still write"]
