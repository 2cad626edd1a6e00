"""Bodies that permutations and gathers of vectors replace, with results equal to the bit.

In such a loop a compiler sees one load after the other. ``interpolate`` loads a vector of samples and permutes it;
``add_spread`` loads the samples at a vector of indices with one gather.
"""

from functools import partial
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from beatwire.jit.x86.llvm import (
    LANES,
    Body,
    f32x8,
    function,
    has,
    i8,
    i16,
    i32,
    i32x8,
    i64,
    load_vector,
    repeated,
    row_type,
    splat,
    store_vector,
)
from beatwire.jit.x86.pair_filter import MULTIPLY_PAIRS
from beatwire.kernels.detection.windows import FIXED_POINT, WINDOW
from beatwire.kernels.detection.windows import interpolate as scalar_interpolate
from beatwire.kernels.rhythms.flutter import FINE, POINTS, SPREAD
from beatwire.kernels.rhythms.flutter import add_spread as scalar_add_spread
from beatwire.records import F32, I16, I32

WIDEST_STEP = ((LANES - 2) * FIXED_POINT) // (LANES - 1)  # the points of one vector then lie in one vector of samples
FEATURE, WIDE_FEATURE = "avx2", "avx512bw"  # of a CPU that has the instructions, by LLVM's names
PERMUTE = "llvm.x86.avx2.permps"
GATHER = "llvm.x86.avx2.gather.d.d.256"
PERMUTE_WORDS = "llvm.x86.avx512.vpermi2var.hi.512"
WORDS = 4 * LANES  # int16 of a vector of 512 bits
PARTS_BITS = (SPREAD * POINTS).bit_length() - 1
LONGEST_PERMUTED = 1000  # samples: those of eight points are at most two vectors

i16s, i32x16 = ir.VectorType(i16, WORDS), ir.VectorType(i32, 2 * LANES)
_ramp = ir.Constant(i32x8, list(range(LANES)))
_constant = partial(repeated, i32x8)  # a vector of one integer


@intrinsic  # type: ignore[untyped-decorator]
def _interpolate(_: Any, flat: Any, start: Any, step: Any, out: Any) -> Any:
    """Interpolate ``WINDOW`` points; ``step`` is at most ``WIDEST_STEP``, ``flat`` has at least ``LANES`` numbers."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        arrays = [make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 3)]
        samples, points = (array.data for array in arrays)
        last = builder.trunc(builder.sub(builder.extract_value(arrays[0].shape, 0), i64(LANES)), i32)
        start, step = (builder.trunc(arguments[k], i32) for k in (1, 2))
        ramp = builder.mul(splat(builder, step, LANES), _ramp)
        permute = function(builder, PERMUTE, f32x8, f32x8, i32x8)
        with cgutils.for_range_slice(builder, i64(0), i64(WINDOW), i64(LANES)) as (j, _):
            first = builder.add(start, builder.mul(builder.trunc(j, i32), step))
            place = builder.add(splat(builder, first, LANES), ramp)
            base = builder.ashr(first, i32(16))
            base = builder.select(builder.icmp_signed("<", base, last), base, last)
            loaded = load_vector(builder, samples, builder.sext(base, i64), f32x8)
            within = builder.sub(builder.ashr(place, _constant(16)), splat(builder, base, LANES))
            low = builder.call(permute, [loaded, within])
            high = builder.call(permute, [loaded, builder.add(within, _constant(1))])
            fraction = builder.sitofp(builder.and_(place, _constant(FIXED_POINT - 1)), f32x8)
            fraction = builder.fmul(fraction, repeated(f32x8, 1.0 / FIXED_POINT))
            value = builder.fadd(low, builder.fmul(fraction, builder.fsub(high, low)))
            store_vector(builder, value, points, j)
        return context.get_dummy_value()

    one = types.float32
    return types.void(row_type(flat, one), start, step, row_type(out, one)), generate


def interpolate(flat: F32, start: int, step: int, out: F32) -> None:
    """Do what ``windows.interpolate`` does."""
    if step > WIDEST_STEP or len(flat) < LANES:
        scalar_interpolate(flat, start, step, out)
    else:
        _interpolate(flat, start, step, out)


@intrinsic  # type: ignore[untyped-decorator]
def _add_spread(_: Any, ring: Any, before: Any, length: Any, points: Any) -> Any:
    """Add the samples of each point. The ring has an even number of samples: a gather loads two, one is used."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        arrays = [make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 3)]
        pairs, points = builder.bitcast(arrays[0].data, i8.as_pointer()), arrays[1].data
        size = splat(builder, builder.trunc(builder.extract_value(arrays[0].shape, 0), i32), LANES)
        before, length = (splat(builder, builder.trunc(arguments[k], i32), LANES) for k in (1, 2))
        gather = function(builder, GATHER, i32x8, i32x8, i8.as_pointer(), i32x8, i32x8, i8)
        with cgutils.for_range_slice(builder, i64(0), i64(POINTS), i64(LANES)) as (j, _):
            point = builder.add(splat(builder, builder.trunc(j, i32), LANES), _ramp)
            total = _constant(0)
            for k in range(SPREAD):
                part = builder.add(builder.mul(point, _constant(SPREAD)), _constant(k))
                along = builder.ashr(builder.mul(length, part), _constant(PARTS_BITS))
                column = builder.add(before, along)
                wrapped = builder.sub(column, size)
                column = builder.select(builder.icmp_signed("<", column, size), column, wrapped)
                index = builder.ashr(column, _constant(1))
                both = builder.call(gather, [_constant(0), pairs, index, _constant(-1), i8(i32.width // 8)])
                even = builder.shl(builder.xor(builder.and_(column, _constant(1)), _constant(1)), _constant(4))
                total = builder.add(total, builder.ashr(builder.shl(both, even), _constant(16)))
            value = builder.mul(total, _constant(FINE // SPREAD))
            store_vector(builder, value, points, j)
        return context.get_dummy_value()

    return types.void(row_type(ring, types.int16), before, length, row_type(points)), generate


@intrinsic  # type: ignore[untyped-decorator]
def _add_spread_permuted(_: Any, ring: Any, before: Any, length: Any, points: Any) -> Any:
    """Add the samples of each point, eight points at a time: two vectors of samples hold them.

    No sample is beyond the last column, ``length`` is at most ``LONGEST_PERMUTED``, and the ring has at least two
    vectors.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        arrays = [make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 3)]
        samples, points = (array.data for array in arrays)
        last = builder.sub(builder.extract_value(arrays[0].shape, 0), i64(2 * WORDS))
        permute = function(builder, PERMUTE_WORDS, i16s, i16s, i16s, i16s)
        pairs = function(builder, MULTIPLY_PAIRS[2 * LANES], i32x16, i16s, i16s)
        # Of each point the first two samples, then of each the last two: sums of pairs are halves of points.
        half = WORDS // 2
        ramp = ir.Constant(i16s, [SPREAD * (j % half // 2) + 2 * (j // half) + j % 2 for j in range(WORDS)])
        along = builder.mul(ramp, splat(builder, builder.trunc(arguments[2], i16), WORDS))
        with cgutils.for_range_slice(builder, i64(0), i64(POINTS), i64(LANES)) as (j, _):
            begin = builder.mul(builder.mul(j, i64(SPREAD)), arguments[2])
            first = builder.add(arguments[1], builder.lshr(begin, i64(PARTS_BITS)))
            start = builder.select(builder.icmp_signed("<", first, last), first, last)
            rest = builder.trunc(builder.and_(begin, i64((1 << PARTS_BITS) - 1)), i16)
            late = builder.trunc(builder.sub(first, start), i16)
            place = builder.lshr(builder.add(along, splat(builder, rest, WORDS)), repeated(i16s, PARTS_BITS))
            place = builder.add(place, splat(builder, late, WORDS))
            halves = [load_vector(builder, samples, builder.add(start, i64(k)), i16s) for k in (0, WORDS)]
            chosen = builder.call(permute, [halves[0], place, halves[1]])
            sums = builder.call(pairs, [chosen, repeated(i16s, 1)])
            low, high = (
                builder.shuffle_vector(sums, sums, ir.Constant(i32x8, list(range(k, k + LANES)))) for k in (0, LANES)
            )
            store_vector(builder, builder.mul(builder.add(low, high), _constant(FINE // SPREAD)), points, j)
        return context.get_dummy_value()

    return types.void(row_type(ring, types.int16), before, length, row_type(points)), generate


def add_spread(ring: I16, before: int, length: int, points: I32) -> None:
    """Do what ``flutter.add_spread`` does."""
    if len(ring) % 2:
        scalar_add_spread(ring, before, length, points)
    else:
        _add_spread(ring, before, length, points)


def add_spread_permuted(ring: I16, before: int, length: int, points: I32) -> None:
    """Do what ``flutter.add_spread`` does."""
    if length <= LONGEST_PERMUTED and before + length <= len(ring) and len(ring) >= 2 * WORDS:
        _add_spread_permuted(ring, before, length, points)
    elif len(ring) % 2:
        scalar_add_spread(ring, before, length, points)
    else:
        _add_spread(ring, before, length, points)


BODIES: dict[Body, Body] = {}
if has(FEATURE):
    BODIES = {scalar_interpolate: interpolate, scalar_add_spread: add_spread}
if has(WIDE_FEATURE):
    BODIES[scalar_add_spread] = add_spread_permuted
