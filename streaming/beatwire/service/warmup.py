"""Compile all kernels, and allocate memory, before the first sample arrives."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.jit.precompile import Progress, precompile
from beatwire.kernels.table import HostKernels, Kernels
from beatwire.pipeline.settings import DETECTOR, Detector
from beatwire.service.process_tuning import keep_freed_memory, spare_collector
from beatwire.service.rehearsal import rehearse

BEGINNING = "compiling the kernels, once for this version"


def beginning(of: int) -> str:
    """Return the line that is said before so many kernels are compiled."""
    return f"{BEGINNING}: {of} kernels, about half a minute"


def warm_up(
    say: Callable[[str], None],
    backend: Backend = CPU,
    *,
    detector: Detector = DETECTOR,
    on_progress: Progress | None = None,
) -> None:
    """Compile the kernels and run made-up chunks through a graph; nothing is compiled after it.

    Parameters
    ----------
    say
        Gets a line when kernels have to be compiled, and one when they are.
    backend
        Whose kernels are compiled.
    detector
        Of the graph that follows.
    on_progress
        Called with the number of kernels compiled so far, and of all; None: a progress bar on a terminal.
    """
    keep_freed_memory()
    compile_kernels(say, backend, detector=detector, on_progress=on_progress)
    for _ in backend.rehearsals():
        rehearse(backend, detector)
    spare_collector()


def compile_kernels(
    say: Callable[[str], None],
    backend: Backend = CPU,
    *,
    detector: Detector = DETECTOR,
    on_progress: Progress | None = None,
) -> None:
    """Compile the kernels that are not stored yet; parameters as for ``warm_up``."""
    on_device = {kernel.name for kernel in Kernels.members()} if backend is not CPU and backend.name != "cpu" else set()
    names = [kernel.name for kernel in HostKernels.members() if kernel.name not in on_device]
    begin = time.perf_counter()
    with _shown(say, on_progress) as shown:
        compiled = precompile(names, shown)
    if compiled:
        say(f"{compiled} kernels compiled in {time.perf_counter() - begin:.0f} s; the next start takes a second")
    if on_device:
        from beatwire.service import card_kernels  # it imports what only a card needs

        card_kernels.precompile(backend.card, say, detector)  # type: ignore[attr-defined]  # that of a CudaBackend


@contextmanager
def _shown(say: Callable[[str], None], on_progress: Progress | None) -> Iterator[Progress]:
    """Return what shows progress: a bar on a terminal, else one line."""
    if on_progress is not None:
        yield on_progress
        return
    columns = TextColumn(BEGINNING), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    bar = Bar(*columns, console=Console(stderr=True), transient=True)
    task: list[object] = []

    def show(done: int, of: int) -> None:
        if not sys.stderr.isatty():
            if done == 0:
                say(beginning(of))
            return
        if not task:
            bar.start()
            task.append(bar.add_task("", total=of))
        bar.update(task[0], completed=done)  # type: ignore[arg-type]

    try:
        yield show
    finally:
        if task:  # a bar that was not started prints an empty line when it is stopped
            bar.stop()
