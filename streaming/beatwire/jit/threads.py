"""Threads of the host that share the items of a kernel.

``use(n)`` lets each kernel run on ``n`` threads: the one that calls it and ``n - 1`` helpers. Items are independent, so
output is the same to the bit for any number of threads; each helper has scratch of its own. One caller at a time is
helped: another one, as the thread of a scoring model may be, runs all of its items itself. So does a caller with few
items.

To wake a thread takes as long as a kernel, so a helper waits at the board for a moment before it sleeps (``board``). A
helper that has not begun when the items are gone is not waited for: another process may have its core.
"""

import os
import threading
from _thread import allocate_lock
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any

import numpy as np

from beatwire.jit import board

LEAST, SHARES = 8, 8  # items that a thread takes at a time: so few at least, a share of those of all threads at most
WAIT_TURNS = 4000  # of a helper for the next job, of some 50 ns each: as long as the work between two kernels
END_TURNS = 20_000  # of the caller for the end of a job: as long as the longest items

Run = Callable[..., None]  # takes the number of items, how many to take at a time, the board, and the arguments


class Job:
    """One call of a kernel; a helper takes it with a negative size."""

    def __init__(self, run: Run, n: int, size: int, arguments: tuple[Any, ...], scratch: Sequence[int]) -> None:
        self.run, self.n, self.size, self.arguments, self.scratch = run, n, size, arguments, scratch
        self.error: BaseException | None = None


class Request:
    """A job for one helper: whoever takes ``begun`` first, the helper or the caller who needs it no more, has it."""

    def __init__(self, job: Job) -> None:
        self.job, self.begun, self.ended = job, allocate_lock(), allocate_lock()
        self.ended.acquire()


class Helper:
    """A thread that takes items of jobs."""

    def __init__(self, number: int, shared_board: Any) -> None:
        self.requests: SimpleQueue[Request] = SimpleQueue()
        self._board, self._scratch = shared_board, dict[tuple[Run, int], Any]()
        threading.Thread(target=self._serve, name=f"kernels {number}", daemon=True).start()

    def _serve(self) -> None:
        while True:
            request = self._next()
            if request.begun.acquire(blocking=False):
                try:
                    job = request.job
                    job.run(job.n, -job.size, self._board, *self._own(job))
                except BaseException as error:  # the caller raises it
                    request.job.error = error
                finally:
                    request.ended.release()
            del request

    def _next(self) -> Request:
        """Wait for a request: first at the board, then asleep."""
        changed = board.waits().changed
        while True:
            known = int(self._board[board.ANNOUNCED])
            if self.requests.empty() and changed(self._board, board.ANNOUNCED, known, WAIT_TURNS) != known:
                continue
            return self.requests.get()

    def _own(self, job: Job) -> list[Any]:
        """Return the arguments of a job with scratch of this helper."""
        arguments = list(job.arguments)
        for k in job.scratch:
            given, own = arguments[k], self._scratch.get((job.run, k))
            if own is None or own.shape != given.shape:
                own = self._scratch[job.run, k] = np.empty_like(given)
            arguments[k] = own
        return arguments


class Helpers:
    """The helpers of this process.

    count     threads, with the caller
    smallest  of items, as many as are worth a helper, in place of the number of each kernel; None: that
    """

    def __init__(self) -> None:
        self.count = 1
        self.smallest: int | None = None
        self.board = board.new_board()
        self._busy = threading.Lock()
        self._helpers: list[Helper] = []

    def run(self, run: Run, n: int, grain: int, arguments: tuple[Any, ...], scratch: Sequence[int]) -> None:
        """Run a kernel on all threads."""
        count = min(self.count, n // grain)
        if not self._busy.acquire(blocking=False):
            run(n, 0, self.board, *arguments)
            return
        try:
            while len(self._helpers) < count - 1:
                self._helpers.append(Helper(len(self._helpers) + 1, self.board))
            self.board[board.TAKEN] = self.board[board.ENDED] = 0
            size = max(min(LEAST, grain), n // (SHARES * count))
            job = Job(run, n, size, arguments, scratch)
            requests = [Request(job) for _ in range(count - 1)]
            for helper, request in zip(self._helpers, requests, strict=False):
                helper.requests.put(request)
            try:
                run(n, size, self.board, *arguments)
            finally:
                begun = [request for request in requests if not request.begun.acquire(blocking=False)]
                if board.waits().reached(self.board, board.ENDED, 1 + len(begun), END_TURNS) <= len(begun):
                    for request in begun:
                        request.ended.acquire()
            if job.error is not None:
                raise job.error
        finally:
            self._busy.release()


helpers = Helpers()


def use(count: int) -> None:
    """Run kernels of this process on so many threads."""
    helpers.count = count
    if count > 1:
        board.waits()


@contextmanager
def using(count: int, smallest: int | None = None) -> Iterator[None]:
    """Run kernels on so many threads within a block.

    Parameters
    ----------
    smallest
        How many items are worth a helper; None: as many as the kernel says.
    """
    before = helpers.count, helpers.smallest
    use(count)
    helpers.smallest = smallest
    try:
        yield
    finally:
        helpers.count, helpers.smallest = before


def cores() -> int:
    """Return the number of cores for this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def share_of_cores(processes: int) -> int:
    """Return the threads of each of so many processes: its share of the cores, at least one.

    >>> share_of_cores(10_000)
    1
    """
    return max(1, cores() // processes)


def shared(run: Run, grain: int | None, scratch: Sequence[int], kept: Sequence[int] = ()) -> Callable[..., None]:
    """Return a function ``(n, *arguments)`` that runs items 0 ... n - 1 on the threads in use.

    Parameters
    ----------
    grain
        How many items are worth a helper; None: the caller runs all of them.
    scratch
        Places of arguments of which each thread has its own.
    kept
        The same, unless such an argument has more than one row: then it has one for each result, and is shared.
    """

    def run_all(n: int, *arguments: Any) -> None:
        if helpers.count > 1 and grain is not None:
            worth, n = helpers.smallest or grain, n.__index__()
            if n >= 2 * worth:
                own = [*scratch, *(k for k in kept if len(arguments[k]) == 1)]
                helpers.run(run, n, worth, arguments, own)
                return
        run(n, 0, helpers.board, *arguments)

    return run_all
