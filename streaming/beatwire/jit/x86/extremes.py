"""The largest and the least of a stretch of responses, and where a value is: half of the time of ``nms.suppress``.

The loop of a compiler takes 32 or 64 values at a time and what is left one by one, and most stretches have 16-180. Here
a vector has 16 values, and what is left is loaded with a mask.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from beatwire.jit.x86.llvm import Body, function, has, i32, i64, load_vector, row_type, splat
from beatwire.kernels.detection import nms
from beatwire.records import I32

FEATURE = "avx2"  # of a CPU that loads with a mask
WIDTH = 16
LOAD = "llvm.masked.load.v16i32.p0"
REDUCE = "llvm.vector.reduce.{}.v16i32"
FIRST_BIT = "llvm.cttz.i16"

i32s, bits, lane_bits = ir.VectorType(i32, WIDTH), ir.VectorType(ir.IntType(1), WIDTH), ir.IntType(WIDTH)
_RAMP = ir.Constant(i32s, list(range(WIDTH)))


def _load_rest(builder: Any, pointer: Any, at: Any, n: Any, absent: Any) -> tuple[Any, Any]:
    """Return the values ``[at, n)``, fewer than 16, with others in place of what is behind them; and which they are."""
    load = function(builder, LOAD, i32s, i32s.as_pointer(), i32, bits, i32s)
    there = builder.icmp_signed("<", _RAMP, splat(builder, builder.trunc(builder.sub(n, at), i32), WIDTH))
    place = builder.bitcast(builder.gep(pointer, [at]), i32s.as_pointer())
    return builder.call(load, [place, i32(4), there, absent]), there


def _extreme_of(name: str, before: str) -> Any:
    """Return an intrinsic of Numba: the extreme of values, of two the one that is ``before`` the other."""

    @intrinsic  # type: ignore[untyped-decorator]
    def extreme(_: Any, values: Any, n: Any) -> Any:  # noqa: ARG001
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            pointer, n = make_array(signature.args[0])(context, builder, arguments[0]).data, arguments[1]
            found = cgutils.alloca_once_value(builder, splat(builder, builder.load(pointer), WIDTH))

            def take(vector: Any) -> None:
                so_far = builder.load(found)
                builder.store(builder.select(builder.icmp_signed(before, vector, so_far), vector, so_far), found)

            whole = builder.and_(n, i64(-WIDTH))
            with cgutils.for_range_slice(builder, i64(0), whole, i64(WIDTH)) as (j, _):
                take(load_vector(builder, pointer, j, i32s))
            take(_load_rest(builder, pointer, whole, n, builder.load(found))[0])
            reduce = function(builder, REDUCE.format(name), i32, i32s)
            return builder.sext(builder.call(reduce, [builder.load(found)]), i64)

        return types.int64(row_type(values), types.int64), generate

    return extreme


_largest, _least = _extreme_of("smax", ">"), _extreme_of("smin", "<")


@intrinsic  # type: ignore[untyped-decorator]
def _place_in(_: Any, value: Any, values: Any, at: Any, n: Any) -> Any:  # noqa: ARG001
    """Return which of the 16 values from ``at`` on, before ``n``, is the first that equals a value; 16: none."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value, values, at, n = arguments
        pointer = make_array(signature.args[1])(context, builder, values).data
        sought = splat(builder, builder.trunc(value, i32), WIDTH)
        loaded, there = _load_rest(builder, pointer, at, n, sought)
        equal = builder.and_(builder.icmp_signed("==", loaded, sought), there)
        first = function(builder, FIRST_BIT, lane_bits, lane_bits, ir.IntType(1))
        return builder.zext(builder.call(first, [builder.bitcast(equal, lane_bits), ir.IntType(1)(0)]), i64)

    return types.int64(types.int64, row_type(values), types.int64, types.int64), generate


def largest(values: I32, n: int) -> int:
    """Do what ``nms.largest`` does."""
    return int(_largest(values, n))


def least(values: I32, n: int) -> int:
    """Do what ``nms.least`` does."""
    return int(_least(values, n))


def place_of(value: int, values: I32) -> int:
    """Do what ``nms.place_of`` does."""
    n: int = values.shape[0]
    for at in range(0, n, WIDTH):
        place = int(_place_in(value, values, at, n))
        if place < WIDTH:
            return at + place
    return n


BODIES: dict[Body, Body] = {}
if has(FEATURE):
    BODIES = {nms.largest: largest, nms.least: least, nms.place_of: place_of}
