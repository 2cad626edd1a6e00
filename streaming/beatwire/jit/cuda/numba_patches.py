"""Changes of Numba's CUDA compiler for our kernels: modules linked once, plain indices and ranges, stored machine code.

Numba has no options for these: functions of it are replaced while a kernel is compiled. That they exist is checked by
``tests/kernels/test_canary.py``. ``BEATWIRE_DISABLE=cuda-patches`` switches off all but the first, without which some
kernels are not compiled.
"""

import contextlib
import functools
import importlib
import pickle
from collections.abc import Iterator
from typing import Any

from beatwire.jit.cache import cache_folder
from beatwire.jit.tricks import enabled


def patched(kernel: Any) -> Any:
    """Apply the changes to a kernel that has not been compiled yet; return it."""
    kernel = linked_once(kernel)
    return stored(plain(kernel)) if enabled("cuda-patches") else kernel


def linked_once(kernel: Any) -> Any:
    """Compile a kernel with each module linked once.

    Numba links a function as often as there are ways to it. What is in shared memory, as in ``most`` of a team that is
    a whole block, is then defined several times.
    """
    compile_as_usual = kernel.compile

    def compile_once(signature: Any) -> Any:
        with one_of_each_module():
            return compile_as_usual(signature)

    kernel.compile = compile_once
    return kernel


@contextlib.contextmanager
def one_of_each_module() -> Iterator[None]:
    """Let the modules of a library be different ones."""
    library: Any = importlib.import_module("numba.cuda.codegen").CUDACodeLibrary
    original = library.modules
    library.modules = property(lambda self: list(dict.fromkeys(original.fget(self))))
    try:
        yield
    finally:
        library.modules = original


def plain(kernel: Any) -> Any:
    """Compile a kernel without support for negative indices and without a second test in each step of a range.

    The first costs a comparison, a sum and a choice for each index, and twice that for a slice. The second costs two
    choices and a comparison for each step, and the compiler no longer sees a variable that grows by one. No body needs
    either. Without the first, the kernels of a tick of 100,000 lanes take 1,008 us instead of 1,135 us on an H200. A
    Numba that has these functions elsewhere compiles the kernel as usual.
    """
    compile_as_usual = kernel.compile

    def compile_plain(signature: Any) -> Any:
        with _plain_indices(), _plain_ranges():
            return compile_as_usual(signature)

    kernel.compile = compile_plain
    return kernel


@contextlib.contextmanager
def _plain_indices() -> Iterator[None]:
    """Let Numba use indices as they are, and limit only the end of a slice to the length of the array."""
    try:
        slicing: Any = importlib.import_module("numba.cuda.cpython.slicing")
    except ImportError:
        yield
        return

    def fix_index(_builder: Any, index: Any, _size: Any) -> Any:
        return index

    def fix_slice(builder: Any, part: Any, size: Any) -> None:
        part.stop = builder.select(builder.icmp_signed("<", part.stop, size), part.stop, size)

    original = slicing.fix_index, slicing.fix_slice
    slicing.fix_index, slicing.fix_slice = fix_index, fix_slice
    try:
        yield
    finally:
        slicing.fix_index, slicing.fix_slice = original


@contextlib.contextmanager
def _plain_ranges() -> Iterator[None]:
    """Let a step of a range only count; the loop tests for the end."""
    cells = range_steps()
    original = [cell.cell_contents for cell in cells]

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
        for cell, function in zip(cells, original, strict=True):
            cell.cell_contents = function


@functools.cache
def range_steps() -> tuple[Any, ...]:
    """Return the closure cells that hold the code of a step of a range, one for each integer type; () if not found."""
    try:
        ranges: Any = importlib.import_module("numba.cuda.cpython.rangeobj")
        steps = [function for function, name, _ in ranges.registry.functions if name == "iternext"]
        return tuple(_closure_cell(_closure_cell(step, "func").cell_contents, "iternext") for step in steps)
    except (ImportError, AttributeError, ValueError, TypeError):
        return ()


def _closure_cell(function: Any, name: str) -> Any:
    """Return the cell of a free variable of a function."""
    return function.__closure__[function.__code__.co_freevars.index(name)]


def stored(kernel: Any) -> Any:
    """Store the machine code of a kernel on disk, in the folder that ``jit.cache`` names by the text of all kernels.

    Numba finds it by the qualified name of the kernel and the types of its arguments. That name therefore contains
    everything else that the code depends on: globals and options. Code that cannot be stored is compiled at each start.
    """
    config: Any = importlib.import_module("numba.cuda.core.config")
    original, config.CACHE_DIR = config.CACHE_DIR, str(cache_folder() / "cuda")
    try:
        kernel.enable_caching()
    finally:
        config.CACHE_DIR = original
    cache = kernel._cache  # noqa: SLF001
    save = cache.save_overload

    def save_overload(signature: Any, compiled: Any) -> None:
        compiled._codelibrary._linking_files.clear()  # noqa: SLF001 - the machine code contains the linked files by now
        with contextlib.suppress(RuntimeError, OSError, pickle.PicklingError):
            save(signature, compiled)

    cache.save_overload = save_overload
    return kernel
