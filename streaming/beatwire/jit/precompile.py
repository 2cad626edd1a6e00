"""Compile all kernels before the first sample, in several processes that store the machine code in one folder.

``signatures.txt`` lists the kernels and the types of their flat arguments, a line for each signature, the longest
compilation first. It is what a warm-up of the graph uses; ``tests/kernels/test_kernel_cache.py`` compares the two, and
``python tests/helpers/kernels/kernel_signatures.py`` writes the file again. A kernel that it lacks is compiled when it
is first called.

Numba holds Python's lock while it compiles, so threads gain nothing. The helpers are new interpreters, ``python -m
beatwire.jit.precompile FOLDER``: a fork is unsafe beside the threads of a Kafka client. A helper reads names of kernels
from its standard input and writes each name to its standard output when that kernel is stored. This process compiles
what a helper that ended has not stored. Without a folder the command compiles all kernels: ``make`` does while pip
installs what they do not need.
"""

import contextlib
import hashlib
import platform
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

import llvmlite
import llvmlite.binding as llvm
import numba
from numba import types
from numba.core import config
from numba.core.errors import NumbaError

from beatwire.jit import cpu
from beatwire.jit.quicker import quicker
from beatwire.jit.threads import cores
from beatwire.kernels.table import HostKernels
from beatwire.locks import locked
from beatwire.signals import deferred

SIGNATURES = Path(__file__).with_name("signatures.txt")
MOST_PROCESSES = 4  # the longest kernel takes a fifth of the time of all, and each process needs 250 MB
ENDS_WITHIN_S = 300.0  # a helper compiles one kernel in seconds; one that takes this long is stopped

Progress = Callable[[int, int], None]  # gets the number of kernels that are compiled, and of all


def table() -> dict[str, list[str]]:
    """Return the signatures of each kernel as ``signatures.txt`` has them."""
    listed: dict[str, list[str]] = {}
    for line in SIGNATURES.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, _, signature = line.partition(" ")
            listed.setdefault(name, []).append(signature)
    return listed


def as_text(signature: Iterable[Any]) -> str:
    """Return a signature as ``signatures.txt`` has it; ``*`` stands before the types of ``*arguments``.

    >>> as_text((types.int64, types.Tuple((types.Array(types.uint8, 1, "C", readonly=True), types.bool_))))
    'int64 * uint8[1,C,readonly] bool'
    """
    return " ".join(
        f"* {as_text(one)}"
        if isinstance(one, types.BaseTuple)
        else f"{one.dtype}[{one.ndim},{one.layout}{'' if one.mutable else ',readonly'}]"
        if isinstance(one, types.Array)
        else str(one)
        for one in signature
    )


def from_text(signature: str) -> tuple[Any, ...]:
    """Return the types of a signature.

    >>> print(*from_text("int64 * int16[3,C] uint8[1,C,readonly]"))
    int64 Tuple(array(int16, 3d, C), readonly array(uint8, 1d, C))
    """
    before, star, after = signature.partition("* ")
    kinds = [tuple(map(_type, words.split())) for words in (before, after)]
    return (*kinds[0], types.Tuple(kinds[1])) if star else kinds[0]


def _type(word: str) -> Any:
    name, _, rest = word.rstrip("]").partition("[")
    kind = types.boolean if name == "bool" else getattr(types, name)
    if not rest:
        return kind
    axes, layout, *readonly = rest.split(",")
    return types.Array(kind, int(axes), layout, readonly=bool(readonly))


def precompile(names: Iterable[str], on_progress: Progress, processes: int | None = None) -> int:
    """Compile kernels, unless a process with the same text, versions and processor has done so.

    Parameters
    ----------
    names
        Kernels of ``cpu.kernels``.
    on_progress
        Called when a kernel is compiled, from several threads, one at a time; first with 0. Where another process
        compiles them it is called with 0 and, at the end, with all.
    processes
        This one included; None: as many as there are cores for this process, at most ``MOST_PROCESSES``.

    Returns
    -------
    compiled
        The number of kernels that were compiled, here or in the process that this one waited for; 0 where nothing had
        to be done.
    """
    listed = table()
    kernels = [name for name in listed if name in set(names)]
    folder = cpu.folder()
    mark = folder / f"compiled-{_key(kernels)}"
    if mark.exists():
        return 0
    on_progress(0, len(kernels))
    with locked(folder / "lock"):
        if mark.exists():
            on_progress(len(kernels), len(kernels))
            return len(kernels)
        work = _Work(kernels, on_progress)
        helpers = [_Helper(folder, work) for _ in range(min(processes or cores(), MOST_PROCESSES, len(kernels)) - 1)]
        try:
            with quicker():
                for name in work:
                    compile_kernel(name, listed[name])
                    work.done()
                for name in [name for helper in helpers for name in helper.lost()]:
                    compile_kernel(name, listed[name])
                    work.done()
        finally:
            for helper in helpers:
                helper.stop()
        with contextlib.suppress(OSError):
            mark.touch()
    return len(kernels)


def compile_kernel(name: str, signatures: Iterable[str]) -> None:
    """Compile a kernel, or load its machine code where it is stored.

    A signature that the kernel no longer has is left out: the first call then compiles the right one, or fails.
    """
    for signature in signatures:
        with contextlib.suppress(NumbaError, TypeError), deferred():  # LLVM calls back
            getattr(cpu.kernels, name).dispatcher.compile(from_text(signature))


class _Work:
    """The kernels that no process has begun; several threads take from it."""

    def __init__(self, kernels: list[str], on_progress: Progress) -> None:
        self._waiting, self._count, self._on_progress = deque(kernels), 0, on_progress
        self._of = len(kernels)
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[str]:
        """Yield kernels until none is left."""
        with contextlib.suppress(IndexError):
            while True:
                yield self._waiting.popleft()

    def done(self) -> None:
        """Count a kernel."""
        with self._lock:
            self._count += 1
            self._on_progress(self._count, self._of)


class _Helper:
    """A process that compiles, and the thread that gives it kernels."""

    def __init__(self, folder: Path, work: _Work) -> None:
        self._lost: list[str] = []
        self._process: subprocess.Popen[str] | None = None
        with contextlib.suppress(OSError):
            self._process = subprocess.Popen(  # noqa: S603  this module, by this interpreter
                [sys.executable, "-m", "beatwire.jit.precompile", str(folder)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                start_new_session=True,  # Ctrl-C is for the parent, which stops its helpers
            )  # fmt: skip
        self._thread = threading.Thread(target=self._give, args=(work,), name="compiler", daemon=True)
        self._thread.start()

    def _give(self, work: _Work) -> None:
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            return
        if process.stdout.readline() != "ready\n":  # it takes no kernel before it could compile it
            return
        for name in work:
            try:
                process.stdin.write(f"{name}\n")
                process.stdin.flush()
                answer = process.stdout.readline()
            except OSError:
                answer = ""
            if answer != f"{name}\n":
                self._lost.append(name)
                return
            work.done()

    def lost(self) -> list[str]:
        """Wait until no kernel is waiting; return those that the process was given and has not stored."""
        self._thread.join(ENDS_WITHIN_S)
        if self._thread.is_alive():
            self.stop()
        return self._lost

    def stop(self) -> None:
        """End the process and the thread."""
        if self._process is not None:
            with contextlib.suppress(OSError), self._process:  # closes the pipes: one may be broken
                self._process.kill()
                self._thread.join()


def _key(kernels: list[str]) -> str:
    """Return a name for what the machine code depends on besides the text of the kernels, and which they are."""
    parts = [
        sys.version, platform.machine(), numba.__version__, llvmlite.__version__, llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features().flatten(), str(config.CPU_NAME), str(config.CPU_FEATURES), *kernels,
    ]  # fmt: skip
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _serve(lines: TextIO, folder: Path) -> None:
    """Compile the kernels that are named on ``lines``, until these end."""
    cpu.store_in(folder)
    listed = table()
    print("ready", flush=True)  # noqa: T201
    with quicker():
        for line in lines:
            compile_kernel(line.strip(), listed[line.strip()])
            print(line.strip(), flush=True)  # noqa: T201


def _compile_all() -> None:
    """Compile all kernels of the host; Ctrl-C ends it at once, and a helper when its kernel is stored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    precompile([kernel.name for kernel in HostKernels.members()], lambda _done, _of: None)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _serve(sys.stdin, Path(sys.argv[1]))
    else:
        _compile_all()
