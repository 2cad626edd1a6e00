"""Parts of functions that are written in LLVM's own instructions: vectors of 8 x 32 bits, and checks of argument types.

Numba lowers an ``intrinsic`` by calling its ``generate(context, builder, signature, arguments)``, which appends
instructions by ``builder``; these functions are called there.
"""

from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.core import cgutils, config
from numba.core.errors import TypingError

Body = Callable[..., Any]
LANES = 8  # int32 or float32 of a 256-bit vector

i8, i16, i32, i64, f32 = ir.IntType(8), ir.IntType(16), ir.IntType(32), ir.IntType(64), ir.FloatType()
i32x8, f32x8 = ir.VectorType(i32, LANES), ir.VectorType(f32, LANES)


def has(feature: str) -> bool:
    """Return True if Numba compiles for this CPU and it has a feature, by LLVM's name for it."""
    if config.CPU_NAME or config.CPU_FEATURES is not None:
        return False  # it compiles for another CPU
    try:
        return bool(llvm.get_host_cpu_features().get(feature, False))
    except RuntimeError:  # LLVM cannot detect features on this system
        return False


def element(builder: Any, pointer: Any, index: Any) -> Any:
    """Return a pointer to an element."""
    return builder.gep(pointer, [index])


def load_vector(builder: Any, pointer: Any, index: Any, kind: Any = i32x8) -> Any:
    """Load a vector that begins at an element."""
    return builder.load(builder.bitcast(element(builder, pointer, index), kind.as_pointer()), align=4)


def store_vector(builder: Any, vector: Any, pointer: Any, index: Any) -> None:
    """Store a vector that begins at an element."""
    builder.store(vector, builder.bitcast(element(builder, pointer, index), vector.type.as_pointer()), align=4)


def splat(builder: Any, value: Any, lanes: int) -> Any:
    """Return a vector of ``lanes`` times one value."""
    undefined = ir.Constant(ir.VectorType(value.type, lanes), ir.Undefined)
    first = builder.insert_element(undefined, value, i32(0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(i32, lanes), [0] * lanes))


def repeated(kind: Any, value: float) -> Any:
    """Return a vector of one constant."""
    return ir.Constant(kind, [value] * kind.count)


def function(builder: Any, name: str, result: Any, *arguments: Any) -> Any:
    """Return an intrinsic function of LLVM."""
    return cgutils.get_or_insert_function(builder.module, ir.FunctionType(result, arguments), name)


def row_type(kind: Any, dtype: Any = types.int32, axes: int = 1) -> Any:
    """Return the Numba type of a contiguous array, checked.

    Raises
    ------
    TypingError
        It is the type of another array, or of one that is not contiguous.
    """
    if kind.dtype != dtype or kind.ndim != axes or kind.layout != "C":
        raise TypingError(f"jit.x86: expected a contiguous array of {dtype} with {axes} axes; got {kind}")
    return kind
