"""What is asked of Numba besides when it compiles a kernel for a card: lean machine code, kept on disk.

Both reach into Numba, which has no options for them.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import pickle
from collections.abc import Iterator
from typing import Any

from beatwire.jit.cache import cache_folder


def lean(kernel: Any) -> Any:
    """Have Numba compile a kernel without what no body needs: indices from the end, ranges that are asked when done.

    The first cost every index a comparison, a sum and a choice, of a slice both ends; the second every step of a range
    two choices and a comparison, and what is chosen is no longer known to grow by one each time. The kernels of a tick
    of 100,000 lanes took 1,135 us with the first, 1,008 without. A Numba that has these elsewhere compiles as it always
    does.
    """
    compile_as_is = kernel.compile

    def compile_lean(signature: Any) -> Any:
        with _plain_indices(), _plain_ranges():
            return compile_as_is(signature)

    kernel.compile = compile_lean
    return kernel


@contextlib.contextmanager
def _plain_indices() -> Iterator[None]:
    """Take indices as they are, and of a slice the end at most as it is long."""
    try:
        slicing: Any = importlib.import_module("numba.cuda.cpython.slicing")
    except ImportError:
        yield
        return

    def index_as_is(_builder: Any, index: Any, _size: Any) -> Any:
        return index

    def end_within(builder: Any, part: Any, size: Any) -> None:
        part.stop = builder.select(builder.icmp_signed("<", part.stop, size), part.stop, size)

    with_care = slicing.fix_index, slicing.fix_slice
    slicing.fix_index, slicing.fix_slice = index_as_is, end_within
    try:
        yield
    finally:
        slicing.fix_index, slicing.fix_slice = with_care


@contextlib.contextmanager
def _plain_ranges() -> Iterator[None]:
    """Let a range count on without asking whether it is done; who goes through it asks."""
    cells = _steps_of_ranges()
    with_care = [cell.cell_contents for cell in cells]

    def step(self: Any, _context: Any, builder: Any, result: Any) -> None:
        left, value = builder.load(self.count), builder.load(self.iter)
        result.set_valid(builder.icmp_signed(">", left, left.type(0)))
        result.yield_(value)
        builder.store(builder.sub(left, left.type(1), flags=["nsw"]), self.count)
        builder.store(builder.add(value, self.step), self.iter)

    for cell in cells:
        cell.cell_contents = step
    try:
        yield
    finally:
        for cell, careful in zip(cells, with_care, strict=True):
            cell.cell_contents = careful


@functools.cache
def _steps_of_ranges() -> tuple[Any, ...]:
    """Return where Numba has what it does at each step of a range, one of each type of integer."""
    try:
        ranges: Any = importlib.import_module("numba.cuda.cpython.rangeobj")
        steps = [whole for whole, what, _ in ranges.registry.functions if what == "iternext"]
        return tuple(_kept_by(_kept_by(whole, "func").cell_contents, "iternext") for whole in steps)
    except (ImportError, AttributeError, ValueError, TypeError):
        return ()


def _kept_by(function: Any, name: str) -> Any:
    """Return the cell of a name that a function has from where it was made."""
    return function.__closure__[function.__code__.co_freevars.index(name)]


def kept(kernel: Any) -> Any:
    """Have a kernel's machine code kept on disk, in a folder named by the text of all kernels.

    Numba finds it by the qualified name of the kernel and the types it is given; that name therefore holds all that
    Numba does not look at: globals and options. What cannot be kept is compiled again.
    """
    config: Any = importlib.import_module("numba.cuda.core.config")
    previous, config.CACHE_DIR = config.CACHE_DIR, str(cache_folder() / "cuda")
    try:
        kernel.enable_caching()
    finally:
        config.CACHE_DIR = previous
    cache = kernel._cache  # noqa: SLF001
    save = cache.save_overload

    def save_overload(signature: Any, compiled: Any) -> None:
        compiled._codelibrary._linking_files.clear()  # noqa: SLF001 - what it links is in its machine code by now
        with contextlib.suppress(RuntimeError, OSError, pickle.PicklingError):
            save(signature, compiled)

    cache.save_overload = save_overload
    return kernel
