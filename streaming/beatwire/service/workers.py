"""Several monitors of one group on one machine: ``beatwire monitor --workers N``.

In: the command line of each worker. Out: N processes, started here, stopped together, and waited for. Python executes
one thread at a time, and the work per message reaches that limit long before the kernels do; so each worker is a
process, with partitions and transactions of its own. The group distributes the partitions, and reassigns those of a
worker that has ended.

A worker whose standard input ends, because its parent stops it or has ended, finishes its tick, publishes it, leaves
the group, and ends.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from beatwire.errors import FatalError, UserError
from beatwire.signals import stop_on_signals

_CHECK_S = 0.2
_FINISH_S = 90.0  # the last tick of a worker, with an outage of the broker, before it is killed


def run_workers(commands: Sequence[Sequence[str]], say: Callable[[str], None]) -> None:
    """Run workers until SIGINT or SIGTERM, or until one of them ends.

    Parameters
    ----------
    commands
        For each worker the arguments of ``beatwire``.
    say
        Called with each line for the user.

    Raises
    ------
    UserError, FatalError
        A worker ended by itself; the others were stopped. The worker has written its error to standard error.
    """
    with stop_on_signals() as stop, ExitStack() as started:
        workers = [started.enter_context(Worker("beatwire", *command)) for command in commands]
        say(f"{len(workers)} workers; Ctrl-C stops them")
        ended: list[int] = []
        while not stop.wait(_CHECK_S) and not ended:
            ended = [k for k, worker in enumerate(workers) if worker.poll() is not None]
    for k in ended:
        code = workers[k].returncode
        if code == 2:
            raise UserError(
                f"monitor: expected {len(workers)} workers to run; worker {k + 1} could not start, see above"
            )
        raise FatalError(f"monitor: expected {len(workers)} workers to run; worker {k + 1} ended with code {code}")


def stop_with_parent(stop: threading.Event) -> None:
    """Set `stop` when standard input ends, as it does when the parent process ends."""

    def watch() -> None:
        sys.stdin.read()
        stop.set()

    threading.Thread(target=watch, name="parent", daemon=True).start()


class Worker(subprocess.Popen[str]):
    """A Python module as a child process, stopped by the end of its standard input.

    Parameters
    ----------
    module, arguments
        As in ``python -m module arguments``.
    stdout
        See `subprocess.Popen`.
    """

    def __init__(self, module: str, *arguments: str, stdout: int | None = None) -> None:
        super().__init__(
            [sys.executable, "-m", module, *arguments], stdin=subprocess.PIPE, stdout=stdout, text=True
        )  # fmt: skip

    def __exit__(self, *_: object) -> None:
        """Close its standard input and wait; kill it after `_FINISH_S` seconds."""
        if self.stdin is not None:
            self.stdin.close()
        try:
            self.wait(_FINISH_S)
        except subprocess.TimeoutExpired:
            self.kill()
            self.wait()
