"""Stored machine code is loaded without what Numba needs to compile: half a second of a core in each start.

Before it loads, Numba makes its compiler ready: it imports and registers what it knows of Python's and NumPy's
functions. Machine code that counts no references needs none of it, and a compilation makes the compiler ready itself.
That Numba has these functions is checked by ``tests/kernels/test_canary.py``.
"""

from typing import Any

from beatwire.jit.tricks import enabled


def without_compiler(function: Any) -> Any:
    """Let a function of Numba, which counts no references, load its stored machine code at once; return it."""
    cache = function._cache  # noqa: SLF001

    def load_overload(signature: Any, context: Any) -> Any:
        with cache._guard_against_spurious_io_errors():  # noqa: SLF001
            return cache._load_overload(signature, context)  # noqa: SLF001

    if enabled("lean"):  # else it counts references
        cache.load_overload = load_overload
    return function
