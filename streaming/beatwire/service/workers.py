"""Several monitors of one group on one machine: ``beatwire monitor --workers N``.

In: the configuration of the workers. Out: N processes, started here, stopped together, and waited for; their metrics
and health on one port. Where there are cards, each worker has one of them, in turn.

Python executes one thread at a time, and the work per message reaches that limit long before the kernels do; so each
worker is a process, with partitions and transactions of its own. The group distributes the partitions, and reassigns
those of a worker that has ended.

A worker whose standard input ends, because its parent stops it or has ended, does what SIGTERM does: it finishes its
tick, publishes it, leaves the group, and ends; one that has not begun ends at once.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress

from beatwire.backends.cards import Place, cards, driver_of, places
from beatwire.errors import FatalError, UserError
from beatwire.service.observing.logs import log_event
from beatwire.service.observing.server import Server
from beatwire.service.observing.worker_answers import WorkerAnswers
from beatwire.signals import stop_on_signals

_CHECK_S = 0.2
_FINISH_S = 90.0  # the last tick of a worker, with an outage of the broker, before it is killed


def run_workers(
    count: int, configuration: str, metrics_port: int | None, metrics_address: str, *, with_cards: bool = False
) -> None:
    """Run workers until SIGINT or SIGTERM, or until one of them ends.

    Parameters
    ----------
    count
        How many.
    configuration
        What each worker reads as the first line of its standard input; with a `metrics_port` it writes its own port to
        standard output.
    metrics_port, metrics_address
        TCP port for the metrics and probes of all workers; 0: a free one; None: nothing is served. The address to
        listen on.
    with_cards
        Spread the workers over the cards of this machine.

    Raises
    ------
    UserError, FatalError
        The port is taken, or a worker ended by itself: the others were stopped. The worker has written its error to
        standard error.
    """
    answers = WorkerAnswers()
    of_workers = places_of(count) if with_cards else places(count, [])
    with stop_on_signals() as stop, ExitStack() as started:
        if metrics_port is not None:
            server = started.enter_context(Server(answers, metrics_address, metrics_port))
            log_event("serving", f"metrics and health of all workers on {server.place}", port=server.port)
        stdout = None if metrics_port is None else subprocess.PIPE
        workers = [
            started.enter_context(
                Worker(
                    "beatwire", "monitor", "--as-worker", str(k),
                    *(["--sharing", str(place.workers)] if place.card else []),
                    stdout=stdout, environment=place.environment,
                )
            )
            for k, place in enumerate(of_workers, 1)
        ]  # fmt: skip
        started.callback(tell_to_stop, workers)  # all of them, before the first is waited for
        for worker in workers:
            worker.write_line(configuration)
        for worker in workers if metrics_port is not None else ():
            answers.add(worker)
        log_event("workers", f"{len(workers)} workers; Ctrl-C stops them", workers=len(workers))
        ended: list[int] = []
        while not stop.wait(_CHECK_S) and not ended:
            ended = [k for k, worker in enumerate(workers) if worker.poll() is not None]
        if stop.is_set():  # Ctrl-C stops them too
            ended = []
        answers.stopping = not ended
    for k in ended:
        code = workers[k].returncode
        if code == 2:
            raise UserError(
                f"monitor: expected {len(workers)} workers to run; worker {k + 1} could not start, see above"
            )
        raise FatalError(f"monitor: expected {len(workers)} workers to run; worker {k + 1} ended with code {code}")


def places_of(count: int) -> list[Place]:
    """Return the place of each worker, and log which of several cards have which workers."""
    found = cards(driver_of())
    of_workers = places(count, found)
    if len(found) > 1:
        for k, (card, place) in enumerate(zip(found, of_workers, strict=False)):
            having = ", ".join(str(n + 1) for n in range(k, count, len(found)))
            log_event("card", f"GPU {place.card}, {card.name}: worker {having}")
    return of_workers


def tell_to_stop(workers: Sequence[Worker]) -> None:
    """End the standard input of workers."""
    for worker in workers:
        worker.end_input()


class Worker(subprocess.Popen[str]):
    """A Python module as a child process, stopped by the end of its standard input.

    Parameters
    ----------
    module, arguments
        As in ``python -m module arguments``.
    stdout
        See `subprocess.Popen`.
    environment
        What its environment has besides that of this process.
    """

    def __init__(
        self, module: str, *arguments: str, stdout: int | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        self._told_s = 0.0
        super().__init__(
            [sys.executable, "-m", module, *arguments], stdin=subprocess.PIPE, stdout=stdout, text=True,
            env={**os.environ, **(environment or {})},
        )  # fmt: skip

    def write_line(self, line: str) -> None:
        """Write a line to its standard input."""
        assert self.stdin is not None
        with suppress(BrokenPipeError):  # it has ended: the parent finds that soon
            self.stdin.write(line + "\n")
            self.stdin.flush()

    def end_input(self) -> None:
        """Close its standard input, which tells it to stop."""
        if self.stdin is not None and not self.stdin.closed:
            self._told_s = time.monotonic()
            self.stdin.close()

    def __exit__(self, *_: object) -> None:
        """Tell it to stop, and wait; kill it `_FINISH_S` seconds after it was told."""
        self.end_input()
        try:
            self.wait(max(0.0, self._told_s + _FINISH_S - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.kill()
            self.wait()
