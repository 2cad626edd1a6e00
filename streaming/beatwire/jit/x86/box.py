"""The sums of ``ricker.sum_box``, sixteen at a time: more than twice as fast as one after the other, equal to the bit.

A running sum waits for the sum before. Here the differences of sixteen sums are added up within a vector, in four
steps, and only the last of sixteen is waited for.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from beatwire.jit.x86.llvm import Body, has, i32, i64, load_vector, row_type, splat, store_vector
from beatwire.kernels.detection.ricker import sum_box as scalar_sum_box
from beatwire.records import I32

FEATURE = "avx512f"  # of a CPU that shifts a vector of sixteen by whole numbers, by LLVM's name
WIDTH = 16
i32s = ir.VectorType(i32, WIDTH)


def _places(numbers: Any) -> Any:
    return ir.Constant(i32s, list(numbers))


@intrinsic  # type: ignore[untyped-decorator]
def _sum_differences(_: Any, a: Any, first: Any, n: Any, box: Any, out: Any) -> Any:
    """Write ``out[first : first + n]``, where ``out[first - 1]`` is known; ``n`` is a multiple of ``WIDTH``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values, sums = (make_array(signature.args[k])(context, builder, arguments[k]).data for k in (0, 4))
        first, n, box = arguments[1:4]
        before = builder.load(builder.gep(sums, [builder.sub(first, i64(1))]))
        last = cgutils.alloca_once_value(builder, splat(builder, before, WIDTH))
        zeros = ir.Constant(i32s, None)
        with cgutils.for_range_slice(builder, first, builder.add(first, n), i64(WIDTH)) as (j, _):
            new = load_vector(builder, values, builder.add(j, builder.shl(box, i64(1))), i32s)
            total = builder.sub(new, load_vector(builder, values, builder.sub(j, i64(1)), i32s))
            for step in (1, 2, 4, 8):
                moved = builder.shuffle_vector(zeros, total, _places(range(WIDTH - step, 2 * WIDTH - step)))
                total = builder.add(total, moved)
            total = builder.add(total, builder.load(last))
            store_vector(builder, total, sums, j)
            builder.store(builder.shuffle_vector(total, zeros, _places([WIDTH - 1] * WIDTH)), last)
        return context.get_dummy_value()

    return types.void(row_type(a), first, n, box, row_type(out)), generate


def sum_box(a: I32, n: int, box: int, out: I32) -> None:
    """Do what ``ricker.sum_box`` does."""
    if n > 0:
        total = 0
        for j in range(2 * box + 1):
            total += int(a[j])
        out[0] = total
        whole = (n - 1) // WIDTH * WIDTH
        _sum_differences(a, 1, whole, box, out)
        for j in range(whole + 1, n):
            out[j] = int(out[j - 1]) + int(a[j + 2 * box]) - int(a[j - 1])


BODIES: dict[Body, Body] = {}
if has(FEATURE):
    BODIES = {scalar_sum_box: sum_box}
