"""Threads of the host that share the items of a kernel.

``use(n)`` lets each kernel run on ``n`` threads: the one that calls it and ``n - 1`` helpers. Items are independent, so
output is the same to the bit for any number of threads; each helper has scratch of its own. One caller at a time is
helped: another one, as the thread of a scoring model may be, runs all of its items itself. So does a caller with few
items, because waking a helper takes longer.

A helper that has not begun when the items are gone is not waited for: another process may have its core.
"""

from __future__ import annotations

import itertools
import os
import threading
from _thread import allocate_lock
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any

import numpy as np

PIECES = 3  # of a kernel's items for each thread: one that is slow takes fewer

Run = Callable[..., None]  # takes the first item, the end, and the arguments


class Job:
    """The items of one call of a kernel."""

    def __init__(self, run: Run, n: int, pieces: int, arguments: tuple[Any, ...], scratch: Sequence[int]) -> None:
        self.run, self.n, self.pieces, self.arguments, self.scratch = run, n, pieces, arguments, scratch
        self.numbers = itertools.count()  # of pieces; taking one is atomic
        self.error: BaseException | None = None

    def work(self, arguments: tuple[Any, ...]) -> None:
        """Run pieces until none is left."""
        for k in self.numbers:
            if k >= self.pieces:
                return
            self.run(self.n * k // self.pieces, self.n * (k + 1) // self.pieces, *arguments)


class Request:
    """A job for one helper: whoever takes ``begun`` first, the helper or the caller who needs it no more, has it."""

    def __init__(self, job: Job) -> None:
        self.job, self.begun, self.ended = job, allocate_lock(), allocate_lock()
        self.ended.acquire()


class Helper:
    """A thread that runs pieces of jobs."""

    def __init__(self, number: int) -> None:
        self.requests: SimpleQueue[Request] = SimpleQueue()
        self._scratch: dict[tuple[Run, int], Any] = {}
        threading.Thread(target=self._serve, name=f"kernels {number}", daemon=True).start()

    def _serve(self) -> None:
        while True:
            request = self.requests.get()
            if request.begun.acquire(blocking=False):
                try:
                    request.job.work(self._own(request.job))
                except BaseException as error:  # the caller raises it
                    request.job.error = error
                finally:
                    request.ended.release()

    def _own(self, job: Job) -> tuple[Any, ...]:
        """Return the arguments of a job with scratch of this helper."""
        arguments = list(job.arguments)
        for k in job.scratch:
            given, own = arguments[k], self._scratch.get((job.run, k))
            if own is None or own.shape != given.shape:
                own = self._scratch[job.run, k] = np.empty_like(given)
            arguments[k] = own
        return tuple(arguments)


class Helpers:
    """The helpers of this process."""

    def __init__(self) -> None:
        self.count = 1  # threads, with the caller
        self.smallest: int | None = None  # items of a piece, in place of those of each kernel
        self._busy = threading.Lock()
        self._helpers: list[Helper] = []

    def run(self, run: Run, n: int, pieces: int, arguments: tuple[Any, ...], scratch: Sequence[int]) -> None:
        """Run a job on all threads."""
        if not self._busy.acquire(blocking=False):
            run(0, n, *arguments)
            return
        try:
            while len(self._helpers) < self.count - 1:
                self._helpers.append(Helper(len(self._helpers) + 1))
            job = Job(run, n, pieces, arguments, scratch)
            requests = [Request(job) for _ in range(min(self.count, pieces) - 1)]
            for helper, request in zip(self._helpers, requests, strict=False):
                helper.requests.put(request)
            try:
                job.work(arguments)
            finally:
                for request in requests:
                    if not request.begun.acquire(blocking=False):
                        request.ended.acquire()
            if job.error is not None:
                raise job.error
        finally:
            self._busy.release()


helpers = Helpers()


def use(count: int) -> None:
    """Run kernels of this process on so many threads."""
    helpers.count = count


@contextmanager
def using(count: int, smallest: int | None = None) -> Iterator[None]:
    """Run kernels on so many threads within a block; pieces of ``smallest`` items, None: as many as are worth it."""
    before = helpers.count, helpers.smallest
    helpers.count, helpers.smallest = count, smallest
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


def shared(run: Run, grain: int, scratch: Sequence[int], kept: Sequence[int] = ()) -> Callable[..., None]:
    """Return a function ``(n, *arguments)`` that runs items 0 ... n - 1 on the threads in use.

    Parameters
    ----------
    grain
        Items that are worth a helper.
    scratch
        Places of arguments of which each thread has its own.
    kept
        The same, unless such an argument has more than one row: then it has one for each result, and is shared.
    """

    def run_all(n: int, *arguments: Any) -> None:
        count = helpers.count
        if count > 1:
            n = n.__index__()
            pieces = min(n // (helpers.smallest or grain), PIECES * count)
            if pieces > 1:
                own = [*scratch, *(k for k in kept if len(arguments[k]) == 1)]
                helpers.run(run, n, pieces, arguments, own)
                return
        run(0, n, *arguments)

    return run_all
