"""A run of tests of which a process is lost, or that does not end, fails and says why."""

import os
import subprocess
import sys
import time
from pathlib import Path

import lost_processes
import pytest
from moments import LIMIT_S

_FILE = """
import ctypes, os, signal, time
import pytest

@pytest.mark.parametrize("number", range(3))
def test_one(number):
    if {lost} and number == 1:
        {how}
"""


def run_lost(
    folder: Path, how: str, *, before: str = "", longest_s: float = LIMIT_S
) -> subprocess.CompletedProcess[str]:
    """Run files of tests by two processes, one of which does something in a test, or before it has any."""
    for name in "abcd":
        (folder / f"test_{name}.py").write_text(_FILE.format(lost=name == "b", how=how))
    (folder / "conftest.py").write_text(f"import os, signal\ndef pytest_collection(session):\n    {before or 'pass'}\n")
    (folder / "pytest.ini").write_text("[pytest]\n")
    command = ["-m", "pytest", "-p", "lost_processes", "-n", "2", "--dist", "loadfile", "--max-worker-restart=0"]
    return subprocess.run(
        [sys.executable, *command, str(folder)],
        cwd=folder, capture_output=True, text=True, timeout=LIMIT_S, check=False,
        env=os.environ | {
            "PYTHONPATH": str(Path(lost_processes.__file__).parent), "LONGEST_TESTS_S": f"{longest_s}",
            "PYTEST_DEBUG_TEMPROOT": str(folder),
        },
    )  # fmt: skip


@pytest.mark.parametrize(
    ("how", "code", "said"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", -9, ""),
        ("ctypes.string_at(0)", -11, "in test_one"),
        ("os._exit(0)", 0, ""),
    ],
    ids=["killed", "segmentation fault", "exit"],
)
def test_a_process_that_is_lost_ends_the_run_which_says_how_it_ended(
    tmp_path: Path, how: str, code: int, said: str
) -> None:
    done = run_lost(tmp_path, how)
    assert done.returncode not in (0, 5)
    assert f"ended with exit code {code}" in done.stdout
    assert said in done.stdout


def test_a_process_that_is_lost_before_its_first_test_is_no_success(tmp_path: Path) -> None:
    kills = "os.environ.get('PYTEST_XDIST_WORKER') == 'gw1' and os.kill(os.getpid(), signal.SIGKILL)"
    done = run_lost(tmp_path, "pass", before=kills)
    assert done.returncode not in (0, 5)
    assert "gw1 ended with exit code -9" in done.stdout


def test_a_run_that_does_not_end_is_ended_and_says_where_it_was(tmp_path: Path) -> None:
    begun_s = time.monotonic()
    done = run_lost(tmp_path, "time.sleep(600)", longest_s=10.0)
    assert done.returncode not in (0, 5)
    assert "expected the tests to end in 10 s" in done.stdout
    assert "ended with exit code -6" in done.stdout
    assert "in test_one" in done.stdout
    assert time.monotonic() - begun_s < LIMIT_S
