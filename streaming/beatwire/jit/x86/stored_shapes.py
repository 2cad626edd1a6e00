"""Points of stored shapes, 16 at a time: as ``kernels.classes.stored_shape`` packs and unpacks them, to the bit."""

from functools import partial
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from beatwire.jit.x86.llvm import (
    LANES,
    Body,
    function,
    has,
    i8,
    i16,
    i64,
    load_vector,
    repeated,
    row_type,
    splat,
    store_vector,
)
from beatwire.jit.x86.pair_filter import FEATURE
from beatwire.kernels.classes import stored_shape
from beatwire.kernels.classes.stored_shape import BORDERS, LOW_BITS, LOWER, LOWERS, MIDDLE
from beatwire.records import I16, U8

POINTS = 2 * LANES  # of a vector
assert POINTS == LOWERS
i8x16, i16x16 = ir.VectorType(i8, POINTS), ir.VectorType(i16, POINTS)
ZERO = ir.Constant(i16x16, None)
_all = partial(repeated, i16x16)  # a vector of one integer
LARGEST_OF_ALL = "llvm.vector.reduce.smax.v16i16"


def _inside(builder: Any, at: int, begin: Any, end: Any) -> Any:
    """Return which of the points from ``at`` on are in ``[begin, end)``, two vectors."""
    place = ir.Constant(i16x16, list(range(at, at + POINTS)))
    return builder.and_(builder.icmp_signed(">=", place, begin), builder.icmp_signed("<", place, end))


def _of_parts(builder: Any, at: int, values: list[Any]) -> Any:
    """Return for each of the points from ``at`` on the value of its part; 0 behind the last part."""
    chosen = ZERO
    for part, value in enumerate(values):
        inside = _inside(builder, at, _all(BORDERS[part]), _all(BORDERS[part + 1]))
        chosen = builder.select(inside, value, chosen)
    return chosen


def _shifts(builder: Any, shifts: Any) -> list[Any]:
    """Return the shift of each part as a vector."""
    return [splat(builder, builder.trunc(shift, i16), POINTS) for shift in shifts]


@intrinsic  # type: ignore[untyped-decorator]
def _largest_of(_: Any, shape: Any, begin: Any, end: Any) -> Any:
    """Return the largest magnitude of points."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        points = make_array(signature.args[0])(context, builder, arguments[0]).data
        first, last = (splat(builder, builder.trunc(limit, i16), POINTS) for limit in arguments[1:])
        largest = ZERO
        for at in range(0, LOWER, POINTS):
            loaded = load_vector(builder, points, i64(at), i16x16)
            size = builder.select(builder.icmp_signed("<", loaded, ZERO), builder.neg(loaded), loaded)
            size = builder.select(_inside(builder, at, first, last), size, ZERO)
            largest = builder.select(builder.icmp_signed(">", size, largest), size, largest)
        reduce = function(builder, LARGEST_OF_ALL, i16, i16x16)
        return builder.sext(builder.call(reduce, [largest]), i64)

    return types.int64(row_type(shape, types.int16), begin, end), generate


@intrinsic  # type: ignore[untyped-decorator]
def _pack(_: Any, shape: Any, before: Any, at: Any, behind: Any, stored: Any) -> Any:
    """Write the bits of points."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        points = make_array(signature.args[0])(context, builder, arguments[0]).data
        out = make_array(signature.args[4])(context, builder, arguments[4]).data
        shifts, lower = _shifts(builder, arguments[1:4]), ZERO
        halves = [builder.lshr(builder.shl(_all(1), shift), _all(1)) for shift in shifts]
        for quarter, first in enumerate(range(0, LOWER, POINTS)):
            loaded = load_vector(builder, points, i64(first), i16x16)
            rounded = builder.add(loaded, _of_parts(builder, first, halves))
            point = builder.ashr(rounded, _of_parts(builder, first, shifts))
            point = builder.select(_inside(builder, first, _all(0), _all(BORDERS[-1])), point, ZERO)
            high = builder.add(builder.ashr(point, _all(LOW_BITS)), _all(MIDDLE))
            store_vector(builder, builder.trunc(high, i8x16), out, i64(first))
            low = builder.shl(builder.and_(point, _all(3)), _all(LOW_BITS * quarter))
            lower = builder.or_(lower, low)
        store_vector(builder, builder.trunc(lower, i8x16), out, i64(LOWER))
        return context.get_dummy_value()

    kinds = row_type(shape, types.int16), before, at, behind, row_type(stored, types.uint8)
    return types.void(*kinds), generate


@intrinsic  # type: ignore[untyped-decorator]
def _unpack(_: Any, stored: Any, before: Any, at: Any, behind: Any, shape: Any) -> Any:
    """Write points."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bits = make_array(signature.args[0])(context, builder, arguments[0]).data
        out = make_array(signature.args[4])(context, builder, arguments[4]).data
        factors = [builder.shl(_all(1), shift) for shift in _shifts(builder, arguments[1:4])]
        lower = builder.zext(load_vector(builder, bits, i64(LOWER), i8x16), i16x16)
        for quarter, first in enumerate(range(0, LOWER, POINTS)):
            high = builder.zext(load_vector(builder, bits, i64(first), i8x16), i16x16)
            low = builder.and_(builder.lshr(lower, _all(LOW_BITS * quarter)), _all(3))
            point = builder.or_(builder.shl(builder.sub(high, _all(MIDDLE)), _all(LOW_BITS)), low)
            store_vector(builder, builder.mul(point, _of_parts(builder, first, factors)), out, i64(first))
        return context.get_dummy_value()

    kinds = row_type(stored, types.uint8), before, at, behind, row_type(shape, types.int16)
    return types.void(*kinds), generate


def largest_of(shape: I16, begin: int, end: int) -> int:
    """Do what ``stored_shape.largest_of`` does."""
    return int(_largest_of(shape, begin, end))


def pack(shape: I16, before: int, at: int, behind: int, stored: U8) -> None:
    """Do what ``stored_shape.pack`` does."""
    _pack(shape, before, at, behind, stored)


def unpack(stored: U8, before: int, at: int, behind: int, shape: I16) -> None:
    """Do what ``stored_shape.unpack`` does."""
    _unpack(stored, before, at, behind, shape)


BODIES: dict[Body, Body] = {}
if has(FEATURE):
    BODIES = {stored_shape.largest_of: largest_of, stored_shape.pack: pack, stored_shape.unpack: unpack}
