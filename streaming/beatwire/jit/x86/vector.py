"""Bodies that vector instructions replace, with equal results: loops that compilers do not vectorise.

``box``, ``pair_filter``, ``extremes``, ``matrix``, ``past``, ``trees``, ``shapes`` and ``stored_shapes`` are files of
their own. Here is the count of a few values below a limit. A replacement stays only if the graph, or the detection
alone, is 3 % slower without it.
``BODIES`` maps each body to its replacement; the body itself is compiled where the CPU lacks the instructions.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from beatwire.jit.x86 import box, extremes, matrix, pair_filter, past, shapes, stored_shapes, trees
from beatwire.jit.x86.llvm import Body, f32, has, i64, row_type, splat
from beatwire.kernels.detection.ricker import filter_block as scalar_filter_block
from beatwire.kernels.scores import vae
from beatwire.kernels.scores.history import SIZES
from beatwire.kernels.scores.history import count_below as scalar_count_below
from beatwire.records import F32


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


IN_ANY_ORDER = frozenset((vae.inner_product,))  # float32 sums that may be added in any order, as BLAS adds them
BODIES: dict[Body, Body] = {scalar_count_below: count_below, vae.multiply: matrix.multiply}
BODIES |= box.BODIES | extremes.BODIES | trees.BODIES | shapes.BODIES | stored_shapes.BODIES | past.BODIES
if has(pair_filter.FEATURE):
    BODIES[scalar_filter_block] = pair_filter.filter_block
