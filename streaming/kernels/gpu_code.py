"""What is asked of Numba besides when it compiles a kernel for a card: lean machine code, kept on disk.

Both reach into Numba, which has no options for them.
"""

from __future__ import annotations

import contextlib
import importlib
import pickle
from typing import Any

from streaming.kernels.cpu import cache_folder


def lean(kernel: Any) -> Any:
    """Have Numba compile a kernel without what it does about indices from the end, which no body has.

    Every index costs a comparison, a sum and a choice, of a slice both ends: the kernels of a tick of 100,000 lanes
    took 1,135 us with that, 1,008 without. A Numba that has this elsewhere compiles it as it always does.
    """
    try:
        slicing: Any = importlib.import_module("numba.cuda.cpython.slicing")
    except ImportError:
        return kernel
    compile_as_is = kernel.compile

    def index_as_is(_builder: Any, index: Any, _size: Any) -> Any:
        return index

    def end_within(builder: Any, part: Any, size: Any) -> None:
        part.stop = builder.select(builder.icmp_signed("<", part.stop, size), part.stop, size)

    def compile_lean(signature: Any) -> Any:
        with_care = slicing.fix_index, slicing.fix_slice
        slicing.fix_index, slicing.fix_slice = index_as_is, end_within
        try:
            return compile_as_is(signature)
        finally:
            slicing.fix_index, slicing.fix_slice = with_care

    kernel.compile = compile_lean
    return kernel


def kept(kernel: Any) -> Any:
    """Have a kernel's machine code kept on disk, in a folder named by the text of all kernels.

    Numba finds it by the name of the kernel, which therefore holds all that it does not look at: globals and options.
    What cannot be kept is compiled again.
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
