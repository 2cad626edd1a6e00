"""What the CPU has in place of some bodies: the same answers by instructions that no compiler finds in their text.

Many CPUs multiply 16-bit integers in pairs and add them, in one instruction. The loop of ``ricker.filter_block`` that
wants it is written here in LLVM's own terms: 2.2 times as fast as the body, whose answer it gives to the
bit. Where a CPU has no such instruction the body itself is compiled. The rest is vectors of any CPU where a compiler
makes none: extremes of short rows, counts of a few values, four rows times a matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils, config
from numba.core.errors import TypingError
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from beatwire.kernels import vae
from beatwire.kernels.history import SIZES
from beatwire.kernels.history import count_below as count_plainly
from beatwire.kernels.nms import largest as largest_plainly
from beatwire.kernels.nms import least as least_plainly
from beatwire.kernels.ricker import filter_block as filter_plainly
from beatwire.kernels.team import narrow as narrow_plainly
from beatwire.records import F32, I32

Body = Callable[..., Any]
LANES = 8  # int32 in a vector
VECTORS = 4  # worked on at a time: what one waits for the others do
MOST_PAIRS = 512
PAIRS = "avx2"  # what has the instruction for pairs
_MULTIPLY_PAIRS = "llvm.x86.avx2.pmadd.wd"

_i16, _i32, _i64 = ir.IntType(16), ir.IntType(32), ir.IntType(64)
_vector, _halves = ir.VectorType(_i32, LANES), ir.VectorType(_i16, 2 * LANES)


def has(feature: str) -> bool:
    """Tell whether the CPU that is compiled for has a feature, by LLVM's name for it."""
    if config.CPU_NAME or config.CPU_FEATURES is not None:
        return False  # for another CPU than this one
    try:
        return bool(llvm.get_host_cpu_features().get(feature, False))
    except RuntimeError:  # LLVM cannot tell on this system
        return False


def _element(builder: Any, pointer: Any, index: Any) -> Any:
    return builder.gep(pointer, [index])


def load_vector(builder: Any, pointer: Any, index: Any, kind: Any = _vector) -> Any:
    """Load a vector from an element on."""
    return builder.load(builder.bitcast(_element(builder, pointer, index), kind.as_pointer()), align=4)


def store_vector(builder: Any, vector: Any, pointer: Any, index: Any) -> None:
    """Store a vector from an element on."""
    builder.store(vector, builder.bitcast(_element(builder, pointer, index), vector.type.as_pointer()), align=4)


def everywhere(builder: Any, value: Any, lanes: int) -> Any:
    """Return a vector of one value."""
    nothing = ir.Constant(ir.VectorType(value.type, lanes), ir.Undefined)
    first = builder.insert_element(nothing, value, _i32(0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(_i32, lanes), [0] * lanes))


def row_type(kind: Any, of: Any = types.int32, axes: int = 1) -> Any:
    """Return the type of numbers that stand one after the other, if it is that."""
    if kind.dtype != of or kind.ndim != axes or kind.layout != "C":
        raise TypingError(f"cpu_vector: expected {of} one after the other; got {kind}")
    return kind


def _pair_taps(builder: Any, taps: Any, count: Any) -> Any:
    """Lay out the whole kernel, two taps a word, from its ``count`` taps from the centre outwards."""
    pairs = cgutils.alloca_once(builder, _i32, size=MOST_PAIRS)
    half = builder.sub(count, _i64(1))
    with cgutils.for_range(builder, count) as loop:
        early = builder.sub(builder.shl(loop.index, _i64(1)), half)
        late = builder.add(early, _i64(1))
        inside = builder.icmp_signed("<=", late, half)
        words = []
        for place in (early, builder.select(inside, late, _i64(0))):
            away = builder.select(builder.icmp_signed("<", place, _i64(0)), builder.neg(place), place)
            words.append(builder.load(_element(builder, taps, away)))
        high = builder.shl(builder.select(inside, words[1], _i32(0)), _i32(16))
        pair = builder.or_(builder.and_(words[0], _i32(0xFFFF)), high)
        builder.store(pair, _element(builder, pairs, loop.index))
    return pairs


def _sum_up(builder: Any, x: Any, pairs: Any, count: Any, out: Any, at: Any, vectors: int) -> None:
    """Write ``vectors`` vectors of ``out`` from ``at`` on: the sums over ``count`` pairs."""
    multiply = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(_vector, [_halves, _halves]), _MULTIPLY_PAIRS
    )
    before, body, after = builder.block, builder.append_basic_block("pairs"), builder.append_basic_block("summed")
    builder.branch(body)
    builder.position_at_end(body)
    k = builder.phi(_i64)
    k.add_incoming(_i64(0), before)
    sums = [builder.phi(_vector) for _ in range(vectors)]
    taps = builder.bitcast(everywhere(builder, builder.load(_element(builder, pairs, k)), LANES), _halves)
    base = builder.add(at, builder.shl(k, _i64(1)))
    grown = []
    for number, total in enumerate(sums):
        samples = builder.bitcast(load_vector(builder, x, builder.add(base, _i64(number * LANES))), _halves)
        grown.append(builder.add(total, builder.call(multiply, [samples, taps])))
        total.add_incoming(ir.Constant(_vector, None), before)
        total.add_incoming(grown[-1], body)
    following = builder.add(k, _i64(1))
    k.add_incoming(following, body)
    builder.cbranch(builder.icmp_signed("<", following, count), body, after)
    builder.position_at_end(after)
    for number, total in enumerate(grown):
        store_vector(builder, total, out, builder.add(at, _i64(number * LANES)))


@intrinsic  # type: ignore[untyped-decorator]
def _sum_pairs(_: Any, x: Any, n: Any, taps: Any, out: Any) -> Any:
    """Filter pairs of samples: ``out[j]`` from ``x[j], x[j + 2], ...``; ``n`` is at least ``LANES``.

    The last vectors begin early enough to end with ``out[n - 1]``.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        arrays = [make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 2, 3)]
        samples, of_taps, results = (array.data for array in arrays)
        count, n = builder.extract_value(arrays[1].shape, 0), arguments[1]
        pairs = _pair_taps(builder, of_taps, count)
        with builder.if_else(builder.icmp_signed(">=", n, _i64(VECTORS * LANES))) as (many, few):
            for branch, vectors in ((many, VECTORS), (few, 1)):
                with branch:
                    size = _i64(vectors * LANES)
                    last = builder.sub(n, size)
                    with cgutils.for_range_slice(builder, _i64(0), n, size) as (j, _):
                        at = builder.select(builder.icmp_signed("<", j, last), j, last)
                        _sum_up(builder, samples, pairs, count, results, at, vectors)
        return context.get_dummy_value()

    return types.void(row_type(x), n, row_type(taps), row_type(out)), generate


def filter_block(x: I32, n: int, taps: I32, out: I32) -> None:
    """Do what ``ricker.filter_block`` does; ``x`` is used up: a sample and the next one become a word."""
    if n < LANES or len(taps) > MOST_PAIRS:
        filter_plainly(x, n, taps, out)
    else:
        for j in range(n + 2 * (len(taps) - 1)):
            x[j] = (x[j] & 0xFFFF) | (x[j + 1] << 16)
        _sum_pairs(x, n, taps, out)


def _extreme(compare: str, gather: str) -> Any:
    """Return what finds the largest or least of ``values[:n]``; ``n`` is at least ``LANES``."""

    @intrinsic  # type: ignore[untyped-decorator]
    def extreme(_: Any, values: Any, n: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            row = make_array(signature.args[0])(context, builder, arguments[0]).data
            n, size = arguments[1], _i64(LANES)
            of_two = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(_vector, [_vector, _vector]), f"{compare}.v{LANES}i32"
            )
            of_all = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(_i32, [_vector]), f"{gather}.v{LANES}i32"
            )
            found = cgutils.alloca_once_value(builder, load_vector(builder, row, _i64(0)))
            last = builder.sub(n, size)
            with cgutils.for_range_slice(builder, size, n, size) as (j, _):
                at = builder.select(builder.icmp_signed("<", j, last), j, last)
                builder.store(builder.call(of_two, [builder.load(found), load_vector(builder, row, at)]), found)
            return builder.sext(builder.call(of_all, [builder.load(found)]), _i64)

        return types.int64(row_type(values), n), generate

    return extreme


_largest = _extreme("llvm.smax", "llvm.vector.reduce.smax")
_least = _extreme("llvm.smin", "llvm.vector.reduce.smin")


def largest(values: I32, n: int) -> int:
    """Do what ``nms.largest`` does."""
    return int(_largest(values, n)) if n >= LANES else largest_plainly(values, n)


def least(values: I32, n: int) -> int:
    """Do what ``nms.least`` does."""
    return int(_least(values, n)) if n >= LANES else least_plainly(values, n)


@intrinsic  # type: ignore[untyped-decorator]
def _count_below(_: Any, gate: Any, least: Any, values: Any, limit: Any) -> Any:  # noqa: ARG001
    """Count without a branch: a bit for each value."""
    many = ir.VectorType(ir.FloatType(), SIZES)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def all_of(k: int) -> Any:
            pointer = make_array(signature.args[k])(context, builder, arguments[k]).data
            return builder.load(builder.bitcast(pointer, many.as_pointer()), align=4)

        open_ = builder.fcmp_ordered(">=", all_of(0), everywhere(builder, arguments[1], SIZES))
        below = builder.fcmp_ordered("<", all_of(2), everywhere(builder, arguments[3], SIZES))
        bits = builder.bitcast(builder.and_(open_, below), ir.IntType(SIZES))
        return builder.zext(builder.ctpop(bits), _i64)

    one = types.float32
    return types.int64(row_type(gate, one), one, row_type(values, one), one), generate


def count_below(gate: F32, least: np.float32, values: F32, limit: np.float32) -> int:
    """Do what ``history.count_below`` does."""
    return int(_count_below(gate, least, values, limit))


@intrinsic  # type: ignore[untyped-decorator]
def _multiply(_: Any, x: Any, n: Any, matrix: Any, out: Any) -> Any:
    """Multiply four rows by a matrix: as many columns at a time as there are registers for."""
    many = ir.VectorType(ir.FloatType(), vae.COLUMNS_AT_ONCE)
    at_once = 4 if has("avx512f") else 1

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        arrays = [make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 2, 3)]
        pitches = [builder.extract_value(array.shape, 1) for array in arrays]
        columns = pitches[1]
        add = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(many, [many] * 3), f"llvm.fmuladd.v{vae.COLUMNS_AT_ONCE}f32"
        )

        def place(k: int, row: Any, column: Any) -> Any:
            pointer = builder.gep(arrays[k].data, [builder.add(builder.mul(row, pitches[k]), column)])
            return pointer if k == 0 else builder.bitcast(pointer, many.as_pointer())

        def block(first: Any, vectors: int) -> None:
            before, body = builder.block, builder.append_basic_block("products")
            after = builder.append_basic_block("multiplied")
            builder.branch(body)
            builder.position_at_end(body)
            j = builder.phi(_i64)
            j.add_incoming(_i64(0), before)
            sums = [[builder.phi(many) for _ in range(vectors)] for _ in range(vae.WINDOWS_AT_ONCE)]
            starts = [builder.add(first, _i64(v * vae.COLUMNS_AT_ONCE)) for v in range(vectors)]
            weights = [builder.load(place(1, j, start), align=4) for start in starts]
            grown = []
            for k, totals in enumerate(sums):
                value = everywhere(builder, builder.load(place(0, _i64(k), j)), vae.COLUMNS_AT_ONCE)
                grown.append([builder.call(add, [w, value, total]) for w, total in zip(weights, totals, strict=True)])
                for total, more in zip(totals, grown[-1], strict=True):
                    total.add_incoming(ir.Constant(many, None), before)
                    total.add_incoming(more, body)
            following = builder.add(j, _i64(1))
            j.add_incoming(following, body)
            builder.cbranch(builder.icmp_signed("<", following, arguments[1]), body, after)
            builder.position_at_end(after)
            for k, of_row in enumerate(grown):
                for start, total in zip(starts, of_row, strict=True):
                    builder.store(total, place(2, _i64(k), start), align=4)

        size = _i64(at_once * vae.COLUMNS_AT_ONCE)
        whole = builder.mul(builder.sdiv(columns, size), size)
        for start, stop, vectors in ((_i64(0), whole, at_once), (whole, columns, 1)):
            with cgutils.for_range_slice(builder, start, stop, _i64(vectors * vae.COLUMNS_AT_ONCE)) as (column, _):
                block(column, vectors)
        return context.get_dummy_value()

    rows = [row_type(kind, types.float32, 2) for kind in (x, matrix, out)]
    return types.void(rows[0], n, rows[1], rows[2]), generate


def multiply(x: F32, n: int, matrix: F32, out: F32) -> None:
    """Do what ``vae.multiply`` does."""
    _multiply(x, n, matrix, out)


def narrow(value: int) -> Any:
    """Do what ``team.narrow`` does."""
    return np.int32(value)


IN_ANY_ORDER = frozenset((vae.inner_product,))  # sums of float32, as a library of matrices takes them
BODIES: dict[Body, Body] = {
    narrow_plainly: narrow,
    largest_plainly: largest,
    least_plainly: least,
    count_plainly: count_below,
    vae.multiply: multiply,
}
if has(PAIRS):
    BODIES[filter_plainly] = filter_block
