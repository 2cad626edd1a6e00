"""Run the threads of a simulated block one at a time, in a new random order after each barrier.

A thread runs until it reaches a barrier or ends; then the next one runs. If a thread reads what another one writes
without a barrier between them, the result depends on the order, which is seeded: the test fails, each time. The
simulator's own blocks run all threads at once, poll which of them wait, and are ten times as slow. Here a thread is a
greenlet, arrays are NumPy's own, and a call of a function of the device searches no module for ``cuda``.
"""

import operator
import random
import sys
from collections.abc import Callable
from types import FrameType, SimpleNamespace
from typing import Any

import numpy as np
from greenlet import greenlet
from numba import cuda
from numba.cuda.simulator import kernel, kernelapi

_order = random.Random(20261122)


class Thread(greenlet):
    """A thread of a block, with the attributes that the simulator reads."""

    def __init__(self, work: Callable[..., None], block: tuple[int, ...], thread: tuple[int, ...]) -> None:
        super().__init__(work)
        self.blockIdx, self.threadIdx = kernelapi.Dim3(*block), kernelapi.Dim3(*thread)
        self.place: list[tuple[str, int]] = []

    def syncthreads(self) -> None:
        """Wait at a barrier."""
        self.place = _lines(sys._getframe(1))
        assert self.parent is not None
        self.parent.switch()
        self.place = []


def _lines(frame: FrameType | None) -> list[tuple[str, int]]:
    """Return the lines of the project on the call stack."""
    lines = []
    while frame is not None:
        if "numba" not in frame.f_code.co_filename and frame.f_code.co_filename != __file__:
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
        threads = [Thread(self._work, block, at) for at in np.ndindex(*self._threads)]
        given = arguments
        while threads:
            _order.shuffle(threads)
            for thread in threads:
                thread.switch(*given)
            given = ()
            places = [thread.place for thread in threads]
            if any(place != places[0] for place in places):
                raise AssertionError(f"threads of a block wait at different barriers: {places}")
            threads = [thread for thread in threads if not thread.dead]


_named: dict[int, list[str]] = {}  # the globals of a function of the device -> the names of ``cuda`` among them
_replaced: list[dict[str, Any]] = []  # such globals in which ``cuda`` is the simulator's at the moment
_call = kernel.FakeCUDAKernel.__call__


def call(function: Any, *arguments: Any) -> Any:
    """Call a kernel, or a function of the device."""
    if function._device:
        names = function.fn.__globals__
        if id(names) not in _named:
            _named[id(names)] = [name for name, value in names.items() if value is cuda]
        for name in _named[id(names)]:
            if names[name] is cuda:
                names[name] = kernel._get_kernel_context()
                _replaced.append(names)
        return function.fn(*arguments)
    try:
        return _call(function, *arguments)
    finally:
        while _replaced:
            names = _replaced.pop()
            names.update(dict.fromkeys(_named[id(names)], cuda))


def array(shared: Any, shape: int, dtype: str) -> Any:
    """Return the shared array of a line of a kernel; the simulator reads the sources of the whole stack for it."""
    assert shape, "expected shared memory of a known size"
    frame = sys._getframe(1)
    line = frame.f_code.co_filename, frame.f_lineno
    if line not in shared._allocations:
        shared._allocations[line] = np.empty(shape, dtype)
    return shared._allocations[line]


kernel.BlockManager = BlockInTurn
kernel.FakeCUDAKernel.__call__ = call
kernel.FakeWithinKernelCUDAArray = operator.attrgetter("_ary")
kernelapi.FakeCUDAShared.array = array
kernelapi.threading = SimpleNamespace(current_thread=greenlet.getcurrent)
