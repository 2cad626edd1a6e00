"""Run the threads of a simulated block one at a time, in a new random order after each barrier.

A thread runs until it reaches a barrier or ends; then the next one runs. If a thread reads what another one writes
without a barrier between them, the result depends on the order, which is seeded: the test fails, each time. The
simulator's own blocks run all threads at once, poll which of them wait, and are ten times as slow.
"""

import random
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
from numba.cuda.simulator import kernel
from numba.cuda.simulator.kernelapi import Dim3

_order = random.Random(20261122)


class Thread(threading.Thread):
    """A thread of a block, with the attributes that the simulator reads."""

    def __init__(self, work: Callable[[], None], block: tuple[int, ...], thread: tuple[int, ...]) -> None:
        super().__init__(target=work, daemon=True)
        self.blockIdx, self.threadIdx = Dim3(*block), Dim3(*thread)
        self.error: BaseException | None = None
        self.place: list[tuple[str, int]] = []
        self.ended = False
        self._resumed, self._stopped = threading.Semaphore(0), threading.Semaphore(0)

    def run(self) -> None:
        self._resumed.acquire()
        try:
            super().run()
        except BaseException as error:
            self.error = error
        self.ended, self.place = True, []
        self._stopped.release()

    def run_to_barrier(self) -> None:
        """Run until the next barrier or the end."""
        self._resumed.release()
        self._stopped.acquire()

    def syncthreads(self) -> None:
        """Wait at a barrier."""
        self.place = _lines(sys._getframe(1))
        self._stopped.release()
        self._resumed.acquire()


def _lines(frame: FrameType | None) -> list[tuple[str, int]]:
    """Return the lines of the project on the call stack."""
    lines = []
    while frame is not None:
        if "numba" not in frame.f_code.co_filename and frame.f_code.co_filename not in (__file__, threading.__file__):
            lines.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return lines


class BlockInTurn:
    """Runs the threads of a block."""

    def __init__(self, work: Callable[..., None], _: Any, threads: tuple[int, ...], __: bool) -> None:
        self._work, self._threads = work, threads

    def run(self, block: tuple[int, ...], *arguments: Any) -> None:
        """Run all threads.

        Raises
        ------
        AssertionError
            Threads wait at different barriers.
        """
        threads = [Thread(lambda: self._work(*arguments), block, at) for at in np.ndindex(*self._threads)]
        for thread in threads:
            thread.start()
        while threads:
            _order.shuffle(threads)
            for thread in threads:
                thread.run_to_barrier()
                if thread.error is not None:
                    raise thread.error
            places = [thread.place for thread in threads]
            if any(place != places[0] for place in places):
                raise AssertionError(f"threads of a block wait at different barriers: {places}")
            threads = [thread for thread in threads if not thread.ended]


kernel.BlockManager = BlockInTurn
