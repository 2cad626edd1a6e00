"""Bodies that vector instructions replace, with equal results: loops that compilers do not vectorise.

``pair_filter`` and ``matrix`` are files of their own. Here are extremes of short rows, and counts of a few values.
``BODIES`` maps each body to its replacement; the body itself is compiled where the CPU lacks the instructions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from beatwire.jit.x86 import matrix, pair_filter
from beatwire.jit.x86.llvm import LANES, Body, f32, has, i32, i32x8, i64, load_vector, row_type, splat
from beatwire.kernels import vae
from beatwire.kernels.history import SIZES
from beatwire.kernels.history import count_below as scalar_count_below
from beatwire.kernels.nms import largest as scalar_largest
from beatwire.kernels.nms import least as scalar_least
from beatwire.kernels.ricker import filter_block as scalar_filter_block
from beatwire.kernels.team import narrow as scalar_narrow
from beatwire.records import F32, I32


def _extreme(compare: str, gather: str) -> Any:
    """Return an intrinsic that finds the largest or least of ``values[:n]``; ``n`` is at least ``LANES``."""

    @intrinsic  # type: ignore[untyped-decorator]
    def extreme(_: Any, values: Any, n: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            row = make_array(signature.args[0])(context, builder, arguments[0]).data
            n, size = arguments[1], i64(LANES)
            larger = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(i32x8, [i32x8, i32x8]), f"{compare}.v{LANES}i32"
            )
            largest_lane = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(i32, [i32x8]), f"{gather}.v{LANES}i32"
            )
            found = cgutils.alloca_once_value(builder, load_vector(builder, row, i64(0)))
            last = builder.sub(n, size)
            with cgutils.for_range_slice(builder, size, n, size) as (j, _):
                at = builder.select(builder.icmp_signed("<", j, last), j, last)
                builder.store(builder.call(larger, [builder.load(found), load_vector(builder, row, at)]), found)
            return builder.sext(builder.call(largest_lane, [builder.load(found)]), i64)

        return types.int64(row_type(values), n), generate

    return extreme


_largest = _extreme("llvm.smax", "llvm.vector.reduce.smax")
_least = _extreme("llvm.smin", "llvm.vector.reduce.smin")


def largest(values: I32, n: int) -> int:
    """Do what ``nms.largest`` does."""
    return int(_largest(values, n)) if n >= LANES else scalar_largest(values, n)


def least(values: I32, n: int) -> int:
    """Do what ``nms.least`` does."""
    return int(_least(values, n)) if n >= LANES else scalar_least(values, n)


@intrinsic  # type: ignore[untyped-decorator]
def _count_below(_: Any, gate: Any, least: Any, values: Any, limit: Any) -> Any:  # noqa: ARG001
    """Count without branches: one bit for each value."""
    floats = ir.VectorType(f32, SIZES)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def vector_of(k: int) -> Any:
            pointer = make_array(signature.args[k])(context, builder, arguments[k]).data
            return builder.load(builder.bitcast(pointer, floats.as_pointer()), align=4)

        is_open = builder.fcmp_ordered(">=", vector_of(0), splat(builder, arguments[1], SIZES))
        below = builder.fcmp_ordered("<", vector_of(2), splat(builder, arguments[3], SIZES))
        bits = builder.bitcast(builder.and_(is_open, below), ir.IntType(SIZES))
        return builder.zext(builder.ctpop(bits), i64)

    one = types.float32
    return types.int64(row_type(gate, one), one, row_type(values, one), one), generate


def count_below(gate: F32, least: np.float32, values: F32, limit: np.float32) -> int:
    """Do what ``history.count_below`` does."""
    return int(_count_below(gate, least, values, limit))


def narrow(value: int) -> Any:
    """Do what ``team.narrow`` does."""
    return np.int32(value)


IN_ANY_ORDER = frozenset((vae.inner_product,))  # float32 sums that may be added in any order, as BLAS adds them
BODIES: dict[Body, Body] = {
    scalar_narrow: narrow,
    scalar_largest: largest,
    scalar_least: least,
    scalar_count_below: count_below,
    vae.multiply: matrix.multiply,
}
if has(pair_filter.FEATURE):
    BODIES[scalar_filter_block] = pair_filter.filter_block
