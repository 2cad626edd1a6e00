"""Workers of one machine: they are told to stop before the first of them is waited for."""

import threading
from typing import Any

import pytest
from beatwire.service import workers

# A worker that, told to stop, waits for the others before it ends.
_SCRIPT = """
import pathlib, sys, time
here = pathlib.Path(__file__).parent
sys.stdin.readline()
(here / f"runs-{sys.argv[-1]}").touch()
sys.stdin.read()
(here / f"told-{sys.argv[-1]}").touch()
until_s = time.monotonic() + 60
while len(list(here.glob("told-*"))) < 3 and time.monotonic() < until_s:
    time.sleep(0.01)
sys.exit(0 if len(list(here.glob("told-*"))) == 3 else 1)
"""


def test_all_workers_are_told_to_stop_before_one_is_waited_for(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slow_to_stop.py").write_text(_SCRIPT, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    started: list[workers.Worker] = []

    class SlowWorker(workers.Worker):
        def __init__(self, module: str, *arguments: str, **options: Any) -> None:
            super().__init__("slow_to_stop", *arguments, **options)
            started.append(self)

    class AllRun(threading.Event):
        """Is set when every worker runs."""

        def wait(self, timeout: float | None = None) -> bool:
            super().wait(timeout)
            return len(list(tmp_path.glob("runs-*"))) == 3

    class Signals:
        def __enter__(self) -> threading.Event:
            return AllRun()

        def __exit__(self, *_: object) -> None: ...

    monkeypatch.setattr(workers, "Worker", SlowWorker)
    monkeypatch.setattr(workers, "stop_on_signals", Signals)
    workers.run_workers(3, "configuration", None, "127.0.0.1")
    assert [worker.returncode for worker in started] == [0, 0, 0]
