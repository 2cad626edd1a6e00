"""What the CPU has in place of bodies that take samples from places apart: the same answers, many at a time.

A compiler sees in such a loop one load after the other. Here a vector of samples is loaded and put in order by one
instruction (``interpolate``), or what stands at a vector of places is loaded by one (``add_spread``). The answers are
those of the bodies, to the bit.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from beatwire.jit.x86.vector import LANES, Body, everywhere, has, load_vector, row_type, store_vector
from beatwire.kernels.flutter import FINE, POINTS, SPREAD
from beatwire.kernels.flutter import add_spread as add_spread_plainly
from beatwire.kernels.windows import FIXED_POINT, WINDOW
from beatwire.kernels.windows import interpolate as interpolate_plainly
from beatwire.records import F32, I16, I32

WIDEST_STEP = ((LANES - 2) * FIXED_POINT) // (
    LANES - 1
)  # with which the places of a vector are in one vector of samples
SHUFFLE = "avx2"  # what has the instructions
_PERMUTE = "llvm.x86.avx2.permps"
_GATHER = "llvm.x86.avx2.gather.d.d.256"

_byte, _i32, _i64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_places, _numbers = ir.VectorType(_i32, LANES), ir.VectorType(ir.FloatType(), LANES)
_in_turn = ir.Constant(_places, list(range(LANES)))


def _all(value: int) -> Any:
    return ir.Constant(_places, [value] * LANES)


@intrinsic  # type: ignore[untyped-decorator]
def _interpolate(_: Any, flat: Any, start: Any, step: Any, out: Any) -> Any:
    """Interpolate ``WINDOW`` points; ``step`` is at most ``WIDEST_STEP``, ``flat`` has ``LANES`` numbers at least."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        arrays = [make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 3)]
        samples, points = (array.data for array in arrays)
        last = builder.trunc(builder.sub(builder.extract_value(arrays[0].shape, 0), _i64(LANES)), _i32)
        start, step = (builder.trunc(arguments[k], _i32) for k in (1, 2))
        ramp = builder.mul(everywhere(builder, step, LANES), _in_turn)
        permute = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_numbers, [_numbers, _places]), _PERMUTE
        )
        with cgutils.for_range_slice(builder, _i64(0), _i64(WINDOW), _i64(LANES)) as (j, _):
            first = builder.add(start, builder.mul(builder.trunc(j, _i32), step))
            place = builder.add(everywhere(builder, first, LANES), ramp)
            base = builder.ashr(first, _i32(16))
            base = builder.select(builder.icmp_signed("<", base, last), base, last)
            loaded = load_vector(builder, samples, builder.sext(base, _i64), _numbers)
            within = builder.sub(builder.ashr(place, _all(16)), everywhere(builder, base, LANES))
            low = builder.call(permute, [loaded, within])
            high = builder.call(permute, [loaded, builder.add(within, _all(1))])
            fraction = builder.sitofp(builder.and_(place, _all(FIXED_POINT - 1)), _numbers)
            fraction = builder.fmul(fraction, ir.Constant(_numbers, [1.0 / FIXED_POINT] * LANES))
            value = builder.fadd(low, builder.fmul(fraction, builder.fsub(high, low)))
            store_vector(builder, value, points, j)
        return context.get_dummy_value()

    one = types.float32
    return types.void(row_type(flat, one), start, step, row_type(out, one)), generate


def interpolate(flat: F32, start: int, step: int, out: F32) -> None:
    """Do what ``windows.interpolate`` does."""
    if step > WIDEST_STEP or len(flat) < LANES:
        interpolate_plainly(flat, start, step, out)
    else:
        _interpolate(flat, start, step, out)


@intrinsic  # type: ignore[untyped-decorator]
def _add_spread(_: Any, ring: Any, before: Any, length: Any, points: Any) -> Any:
    """Add up the samples of each point; the ring has an even number of them: two are loaded, one is taken."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        arrays = [make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 3)]
        pairs, points = builder.bitcast(arrays[0].data, _byte.as_pointer()), arrays[1].data
        size = everywhere(builder, builder.trunc(builder.extract_value(arrays[0].shape, 0), _i32), LANES)
        before, length = (everywhere(builder, builder.trunc(arguments[k], _i32), LANES) for k in (1, 2))
        gather = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_places, [_places, _byte.as_pointer(), _places, _places, _byte]), _GATHER
        )
        with cgutils.for_range_slice(builder, _i64(0), _i64(POINTS), _i64(LANES)) as (j, _):
            point = builder.add(everywhere(builder, builder.trunc(j, _i32), LANES), _in_turn)
            total = _all(0)
            for k in range(SPREAD):
                part = builder.add(builder.mul(point, _all(SPREAD)), _all(k))
                along = builder.ashr(builder.mul(length, part), _all((SPREAD * POINTS).bit_length() - 1))
                column = builder.add(before, along)
                wrapped = builder.sub(column, size)
                column = builder.select(builder.icmp_signed("<", column, size), column, wrapped)
                index = builder.ashr(column, _all(1))
                both = builder.call(gather, [_all(0), pairs, index, _all(-1), _byte(_i32.width // 8)])
                even = builder.shl(builder.xor(builder.and_(column, _all(1)), _all(1)), _all(4))
                total = builder.add(total, builder.ashr(builder.shl(both, even), _all(16)))
            value = builder.mul(total, _all(FINE // SPREAD))
            store_vector(builder, value, points, j)
        return context.get_dummy_value()

    return types.void(row_type(ring, types.int16), before, length, row_type(points)), generate


def add_spread(ring: I16, before: int, length: int, points: I32) -> None:
    """Do what ``flutter.add_spread`` does."""
    if len(ring) % 2:
        add_spread_plainly(ring, before, length, points)
    else:
        _add_spread(ring, before, length, points)


BODIES: dict[Body, Body] = {}
if has(SHUFFLE):
    BODIES = {interpolate_plainly: interpolate, add_spread_plainly: add_spread}
