"""Several monitors of one group on one machine: ``beatwire monitor --workers N``.

Python runs one thread at a time; what a monitor does with messages one by one is bound by that long before the
kernels are. So N of them run as processes of their own, each with transactions and partitions of its own; the group
shares the partitions out, and takes them from a worker that dies. Here they are started, told to stop, and waited for.

A worker whose parent is gone (its standard input ends) finishes its tick, publishes, leaves the group, and ends.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from beatwire.errors import FatalError, UserError
from beatwire.signals import stop_on_signals

_LOOK_S = 0.2
_FINISH_S = 90.0


def run_workers(commands: Sequence[Sequence[str]], say: Callable[[str], None]) -> None:
    """Run a worker for each command (arguments of ``beatwire``) until SIGINT or SIGTERM, or until one fails.

    Raises
    ------
    UserError, FatalError
        A worker ended without being told to; the others are told to stop. Its own words are on standard error.
    """
    with stop_on_signals() as stop, ExitStack() as started:
        workers = [started.enter_context(Worker("beatwire", *command)) for command in commands]
        say(f"{len(workers)} workers; Ctrl-C stops them")
        ended: list[int] = []
        while not stop.wait(_LOOK_S) and not ended:
            ended = [k for k, worker in enumerate(workers) if worker.poll() is not None]
    for k in ended:
        code = workers[k].returncode
        if code == 2:
            raise UserError(f"monitor: expected {len(workers)} workers to run; worker {k + 1} could not: see above")
        raise FatalError(f"monitor: expected {len(workers)} workers to run; worker {k + 1} ended with code {code}")


def stop_with_parent(stop: threading.Event) -> None:
    """Set ``stop`` when standard input ends."""

    def watch() -> None:
        sys.stdin.read()
        stop.set()

    threading.Thread(target=watch, name="parent", daemon=True).start()


class Worker(subprocess.Popen[str]):
    """A module of ours as a process that the end of its input stops, and a kill where it does not."""

    def __init__(self, module: str, *arguments: str, stdout: int | None = None) -> None:
        super().__init__(
            [sys.executable, "-m", module, *arguments], stdin=subprocess.PIPE, stdout=stdout, text=True
        )  # fmt: skip

    def __exit__(self, *_: object) -> None:
        """End its input and wait."""
        if self.stdin is not None:
            self.stdin.close()
        try:
            self.wait(_FINISH_S)
        except subprocess.TimeoutExpired:
            self.kill()
            self.wait()
