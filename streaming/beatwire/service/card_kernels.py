"""Compile the kernels of a card before the first sample, in several processes that store machine code in one folder.

Each process goes through the rehearsals of the graph on a card that launches nothing, and lists the kernels that would
be launched. The lists are the same. A process compiles each kernel that no other has claimed: a claim is a file. What
none has compiled, because a process ended, is compiled when it is first launched.
"""

import contextlib
import hashlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Hashable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from beatwire.backends.cuda.backend import CudaBackend
from beatwire.backends.cuda.card import CudaCard
from beatwire.backends.cuda.protocols import Grid
from beatwire.jit.cache import cache_folder
from beatwire.jit.precompile import table
from beatwire.jit.threads import cores
from beatwire.jit.tricks import enabled
from beatwire.locks import locked
from beatwire.pipeline.settings import DETECTOR, Detector
from beatwire.records import U8
from beatwire.service.rehearsal import rehearse
from beatwire.signals import stop_with_parent

MOST_PROCESSES = 8
POOL_BYTES = 256 << 20  # of a process that compiles
EACH_BYTES = 1 << 30  # of the card's memory, free for each of them: its pool, and half a GiB for its context
ENDS_WITHIN_S = 300.0

Key = tuple[str, Hashable]  # name of a kernel, and the types of its arguments


class Listing:
    """A card that launches nothing; ``listed`` are the kernels that it would launch.

    What a tick copies to the host is zeros: it has no rows.
    """

    def __init__(self) -> None:
        self.listed: dict[Key, Any] = {}

    def launch(self, name: str, kernel: Any, grid: Grid, arguments: tuple[Any, ...]) -> None:  # noqa: ARG002
        """List a kernel."""
        self.listed.setdefault(self.key(kernel, arguments), kernel)

    def key(self, kernel: Any, arguments: tuple[Any, ...]) -> Key:
        """Return what the machine code of a kernel depends on."""
        raise NotImplementedError

    def pinned(self, nbytes: int) -> U8:
        """Return zeros."""
        return np.zeros(nbytes, np.uint8)

    def copy_to_device(self, device: Any, host: U8, first: int, stop: int) -> None:
        """Copy nothing."""

    def embed(self, network: int, most: int, sizes: Any, cell: int, *arrays: Any) -> None:
        """Launch nothing."""

    def copy_to_host(self, segments: Any) -> None:
        """Copy nothing."""


class ListingCard(Listing, CudaCard):
    """A card of this host that launches nothing."""

    def __init__(self) -> None:
        Listing.__init__(self)
        CudaCard.__init__(self, POOL_BYTES, graphs=False)

    def key(self, kernel: Any, arguments: tuple[Any, ...]) -> Key:
        """Return the name of a kernel and Numba's types of the arguments."""
        types = tuple(kernel.typeof_pyval(self._for_numba(argument)) for argument in arguments)
        return kernel.py_func.__qualname__, types


def listed(card: Any, detector: Detector) -> dict[Key, Any]:
    """Return the kernels that the rehearsals launch on a card that lists them, the longest compilations first."""
    backend = CudaBackend(card, "lists its kernels")
    for _ in backend.rehearsals():
        rehearse(backend, detector)
    longest_first = list(table())

    def place(key: Key) -> int:
        """Return the place of the body of a kernel: of the longest name with which that of the kernel begins."""
        bodies = [name for name in longest_first if key[0].startswith(name)]
        return longest_first.index(max(bodies, key=len)) if bodies else len(longest_first)

    return {key: card.listed[key] for key in sorted(card.listed, key=place)}


def unclaimed(kernels: dict[Key, Any], claims: Path) -> Iterator[tuple[Key, Any]]:
    """Claim, one after the other, the kernels that no process has claimed; ``claims`` is a folder of all of them."""
    for key, kernel in kernels.items():
        name = hashlib.sha256(repr(key).encode()).hexdigest()
        with contextlib.suppress(FileExistsError):
            (claims / name).touch(exist_ok=False)
            yield key, kernel


def precompile(card: Any, say: Callable[[str], None], detector: Detector = DETECTOR) -> None:
    """Compile the kernels of a card, unless that has been done for one of its name.

    Parameters
    ----------
    card
        A ``CudaCard``.
    detector
        Of the graph: only ``network`` has kernels of its own.
    say
        Gets a line before and one after the kernels are compiled.
    """
    if not enabled("cuda-patches"):  # nothing is stored
        return
    folder = cache_folder()
    needs = "network" if detector == "network" else "trees"
    key = hashlib.sha256(f"{card.name}\n{needs}\n{version('numba-cuda')}\n{sys.version}".encode()).hexdigest()[:16]
    mark = folder / f"card-{key}"
    if mark.exists():
        return
    say(f"compiling the kernels of {card.name}, once for this version: about a minute")
    begin = time.perf_counter()
    with locked(folder / "card-lock"):
        if mark.exists():
            say("another process has compiled them")
            return
        count = min(cores(), MOST_PROCESSES, card.free_bytes // EACH_BYTES)
        failed = _compile_in_processes(count, detector) if count > 0 else ["too little of its memory is free"]
        if failed:
            say(f"{len(failed)} of {max(1, count)} processes failed: {failed[0]}; the rest is compiled when it is used")
            return
        with contextlib.suppress(OSError):
            mark.touch()
    say(f"compiled in {time.perf_counter() - begin:.0f} s; the next start takes some seconds")


def command(claims: Path, detector: Detector) -> list[str]:
    """Return the command of a process that compiles."""
    return [sys.executable, "-m", __name__, str(claims), detector]


def _compile_in_processes(count: int, detector: Detector) -> list[str]:
    """Compile in so many processes, and wait for them; return the last line of each that failed.

    A process ends when its standard input does: with this one, however that ends.
    """
    ends = time.monotonic() + ENDS_WITHIN_S
    failed = []
    with tempfile.TemporaryDirectory(prefix="beatwire-") as claims, contextlib.ExitStack() as started:
        helpers = []
        for _ in range(count):
            errors = started.enter_context(tempfile.TemporaryFile())
            helper = subprocess.Popen(  # noqa: S603  this module, by this interpreter
                command(Path(claims), detector), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors,
                start_new_session=True,  # Ctrl-C is for this process
            )  # fmt: skip
            started.enter_context(helper)
            started.callback(helper.kill)
            helpers.append((helper, errors))
        for helper, errors in helpers:
            try:
                if helper.wait(max(0.0, ends - time.monotonic())):
                    errors.seek(0)
                    lines = errors.read().decode(errors="replace").strip().splitlines()
                    failed.append(lines[-1] if lines else f"exit code {helper.returncode}")
            except subprocess.TimeoutExpired:
                failed.append(f"not ready after {ENDS_WITHIN_S:.0f} s")
    return failed


def _serve(claims: Path, detector: Detector) -> None:
    """Compile what no other process has claimed."""
    stop_with_parent()
    for (_, types), kernel in unclaimed(listed(ListingCard(), detector), claims):
        kernel.compile(types)


if __name__ == "__main__":
    _serve(Path(sys.argv[1]), sys.argv[2])  # type: ignore[arg-type]  # as `command` has it
