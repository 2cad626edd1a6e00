"""Seconds from ``git clone`` to the first alert of ``make demo``, with an empty home folder; ``make first-alert``.

The last commit is cloned into a temporary folder. Prints the seconds at which each stage ends and, at the end, how long
the processors worked. Needs a network and Linux.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pty
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
ENDS_WITHIN_S = 600
STAGES = {  # what the screen shows when it ends
    "cloned": r"^python3? -m venv|^Installing",
    "environment made, packages installed": r"^\S*beatwire demo",
    "demo started": r"^broker   starting",
    "kernels compiled": r"^kernels  \d+ kernels compiled",
    "broker ready": r"^broker   (Apache|librdkafka)",
    "ward begins": r"^\s+TIME  STREAM",
    "first alert": r"^\s*[\d.]+ s  bed-\d+\s+\*+\s+on ",
}
_CHILD_SUBREAPER = 36  # of prctl: processes whose parent has ended are children of this one, so that they are counted


def lines_of(command: list[str], folder: Path, environment: dict[str, str]) -> Iterator[str]:
    """Run a command on a terminal of its own; yield its lines without colours; end it when nobody reads on."""
    mine, its = pty.openpty()
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdin=its, stdout=its, stderr=its, start_new_session=True
    )
    os.close(its)
    try:
        with os.fdopen(mine, errors="replace") as shown:
            yield from (re.sub(r"\x1b\[[\d;]*m", "", line) for line in shown)
    except OSError:  # the other end is closed: the command has ended
        pass
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
        process.wait(60)


def main() -> int:
    """Measure once; return 0 if an alert came."""
    ctypes.CDLL(None).prctl(_CHILD_SUBREAPER, 1)
    signal.alarm(ENDS_WITHIN_S)
    waiting = dict(STAGES)
    with tempfile.TemporaryDirectory(prefix="beatwire-clone-", ignore_cleanup_errors=True) as scratch:
        home, clone = Path(scratch) / "home", Path(scratch) / "clone"
        home.mkdir()
        own = ("PYTHONPATH", "VIRTUAL_ENV", "XDG_CACHE_HOME", "MAKEFLAGS", "MAKELEVEL", "UV_CACHE_DIR", "PIP_CACHE_DIR")
        environment = {name: value for name, value in os.environ.items() if name not in own}
        environment |= {"HOME": str(home), "COLUMNS": "120", "NO_COLOR": "1"}
        begin_s = time.monotonic()
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        for line in lines_of(["make", "demo"], clone, environment):
            at_s = time.monotonic() - begin_s
            sys.stderr.write(f"{at_s:7.1f}  {line}")
            for stage in [stage for stage, pattern in waiting.items() if re.search(pattern, line)]:
                del waiting[stage]
                print(f"{at_s:6.1f} s  {stage}", flush=True)
            if "first alert" not in waiting:
                break
        with contextlib.suppress(ChildProcessError):  # those that make has left in the background have ended by now
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{used.ru_utime + used.ru_stime:6.1f} s  of processors")
    return int("first alert" in waiting)


if __name__ == "__main__":
    sys.exit(main())
