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
import time
from _thread import allocate_lock
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from beatwire.jit import board
from beatwire.jit.sharing import room_for

LEAST, SHARES = 8, 8  # items that a thread takes at a time: so few at least, a share of those of all threads at most
WAIT_TURNS = 20_000  # of a helper for the next job, of some 50 ns each: as long as the work between two kernels
END_TURNS = 20_000  # of the caller for the helpers, as long as the longest items; then it sleeps, and looks again
PAUSE_S = 50e-6

Run = Callable[..., None]  # takes the number of items, how many to take at a time, the board, and the arguments


class Helper:
    """A thread that takes items of jobs; ``number`` is 1 or more. ``asleep``: it waits for ``wake``, not for a job."""

    def __init__(self, number: int, shared_board: Any) -> None:
        self._number, self._board = number, shared_board
        self.asleep, self._wake = False, allocate_lock()
        self._wake.acquire()
        threading.Thread(target=self._serve, name=f"kernels {number}", daemon=True).start()

    def _serve(self) -> None:
        serve = board.waits().serve
        while True:
            serve(self._board, self._number, WAIT_TURNS)
            self.asleep = True
            self._wake.acquire()

    def wake(self) -> None:
        """Let it serve again if it sleeps."""
        if self.asleep:
            self.asleep = False
            self._wake.release()


class Helpers:
    """The helpers of this process.

    count     threads, with the caller
    smallest  of items, as many as are worth a helper, in place of the number of each kernel; None: that
    started   helpers
    """

    def __init__(self) -> None:
        self.count = 1
        self.smallest: int | None = None
        self.board = board.new_board()
        self._room = np.empty(0, np.uint8)
        self._arguments: tuple[Any, ...] = ()  # of the present job: helpers may go on when the caller is interrupted
        self._busy = threading.Lock()
        self.started: list[Helper] = []

    def run(self, run: Run, n: int, grain: int, arguments: tuple[Any, ...], scratch: Sequence[int]) -> None:
        """Run a kernel on all threads."""
        count = min(self.count, n // grain)
        if not self._busy.acquire(blocking=False):
            run(n, 0, self.board, *arguments)
            return
        try:
            self._wait()  # for helpers at a job that was interrupted
            self._arguments = arguments
            self._make_ready(count - 1, room_for(arguments, scratch, count - 1))
            run(n, max(min(LEAST, grain), n // (SHARES * count)), self.board, *arguments)
            self._wait()
            self._arguments = ()
            if self.board[board.FAILED]:
                raise RuntimeError("a kernel has failed")
        finally:
            self._busy.release()

    def _wait(self) -> None:
        """Wait until no helper is at work."""
        while not board.waits().wait(self.board, END_TURNS):
            time.sleep(PAUSE_S)

    def _make_ready(self, count: int, room: int) -> None:
        """Let so many helpers wait for a job, and write what it needs on the board."""
        while len(self.started) < count:
            self.started.append(Helper(len(self.started) + 1, self.board))
        if len(self._room) < room:
            self._room = np.empty(room, np.uint8)
            self.board[board.ROOM] = self._room.ctypes.data
        self.board[board.HELPERS] = count
        self.board[board.TAKEN] = self.board[board.FAILED] = 0
        for helper in self.started[:count]:
            helper.wake()


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
