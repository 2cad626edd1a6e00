"""Sixteen trees side by side: twice as fast as one after the other, equal to the bit.

Each lane of a vector is a tree. On each level a row of the trees' arrays is one node of all lanes, so the node that a
lane has reached is chosen among the rows of the level by its decisions so far: only the features are looked up, in
registers with AVX-512 (``vpermi2ps``), else by a gather.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from beatwire.jit.x86.llvm import Body, f32, function, has, i8, i16, i32, i64, load_vector, repeated, row_type, splat
from beatwire.kernels.peaks.classify import LEAF_UNIT
from beatwire.kernels.peaks.classify import SIDE_BY_SIDE as SIDE
from beatwire.kernels.peaks.classify import evaluate_trees as scalar_evaluate_trees
from beatwire.records import F32, I16, I32

FEATURE, WIDE_FEATURE = "avx2", "avx512f"  # of a CPU that has the instructions, by LLVM's names
MOST_PERMUTED = 128  # features: eight registers
GATHER, GATHERED = "llvm.x86.avx2.gather.d.d.256", 8
PERMUTE = "llvm.x86.avx512.vpermi2var.ps.512"
LOAD = "llvm.masked.load.v16f32.p0"
ADD_ALL = "llvm.vector.reduce.add.v16i64"

i16s, i32s, i64s, f32s, bits = (ir.VectorType(kind, SIDE) for kind in (i16, i32, i64, f32, ir.IntType(1)))
_ramp = list(range(SIDE))
_constant = partial(repeated, i32s)  # a vector of one integer


def _by_permutation(builder: Any, features: Any, count: Any) -> Callable[[Any], Any]:
    """Return how features are looked up in registers, of which there are at most ``MOST_PERMUTED``."""
    load = function(builder, LOAD, f32s, f32s.as_pointer(), i32, bits, f32s)
    permute = function(builder, PERMUTE, f32s, f32s, i32s, f32s)
    registers = []
    for at in range(0, MOST_PERMUTED, SIDE):
        place = builder.bitcast(builder.gep(features, [i64(at)]), f32s.as_pointer())
        known = builder.icmp_signed("<", ir.Constant(i32s, [at + lane for lane in _ramp]), count)
        registers.append(builder.call(load, [place, i32(4), known, ir.Constant(f32s, None)]))

    def look_up(number: Any) -> Any:
        found = [builder.call(permute, [registers[k], number, registers[k + 1]]) for k in range(0, len(registers), 2)]
        for bit in (2 * SIDE, 4 * SIDE):
            late = builder.icmp_signed("!=", builder.and_(number, _constant(bit)), _constant(0))
            found = [builder.select(late, found[k + 1], found[k]) for k in range(0, len(found), 2)]
        return found[0]

    return look_up


def _by_gather(builder: Any, values: Any) -> Callable[[Any], Any]:
    """Return how values of 32 bits are looked up in memory; they are returned as integers."""
    words = ir.VectorType(i32, GATHERED)
    gather = function(builder, GATHER, words, words, i8.as_pointer(), words, words, i8)
    base, none, every = builder.bitcast(values, i8.as_pointer()), ir.Constant(words, None), [-1] * GATHERED

    def look_up(number: Any) -> Any:
        halves = []
        for first in range(0, SIDE, GATHERED):
            lanes = ir.Constant(words, _ramp[first : first + GATHERED])
            part = builder.shuffle_vector(number, number, lanes)
            halves.append(builder.call(gather, [none, base, part, ir.Constant(words, every), i8(4)]))
        return builder.shuffle_vector(*halves, ir.Constant(i32s, _ramp))

    return look_up


def _chosen(builder: Any, rows: Sequence[Any], decisions: Sequence[Any]) -> Any:
    """Return of each lane the row that its decisions lead to."""
    for above in reversed(decisions):
        rows = [builder.select(above, rows[k + 1], rows[k]) for k in range(0, len(rows), 2)]
    return rows[0]


def _evaluate(levels: int) -> Any:
    """Return an intrinsic that returns the sum of the leaves of trees of so many levels, a multiple of ``SIDE``."""

    @intrinsic  # type: ignore[untyped-decorator]
    def evaluate(_: Any, feature: Any, threshold: Any, leaf: Any, features: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            arrays = [make_array(signature.args[k])(context, builder, arguments[k]) for k in range(4)]
            trees, count = builder.extract_value(arrays[0].shape, 1), builder.extract_value(arrays[3].shape, 0)
            if has(WIDE_FEATURE):
                look_up = _by_permutation(builder, arrays[3].data, splat(builder, builder.trunc(count, i32), SIDE))
            else:
                look_up = _by_gather(builder, arrays[3].data)
            leaf_of = _by_gather(builder, arrays[2].data)
            total = cgutils.alloca_once_value(builder, ir.Constant(i64s, None))
            with cgutils.for_range_slice(builder, i64(0), trees, i64(SIDE)) as (tree, _):

                def row(array: Any, number: int, kind: Any) -> Any:
                    at = builder.add(builder.mul(i64(number), trees), tree)
                    return load_vector(builder, array.data, at, kind)

                decisions: list[Any] = []
                place = ir.Constant(i32s, None)
                for level in range(levels):
                    nodes = range((1 << level) - 1, (2 << level) - 1)
                    asked = _chosen(builder, [row(arrays[0], node, i16s) for node in nodes], decisions)
                    limit = _chosen(builder, [row(arrays[1], node, f32s) for node in nodes], decisions)
                    value = builder.bitcast(look_up(builder.zext(asked, i32s)), f32s)
                    decisions.append(builder.fcmp_ordered(">", value, limit))
                    place = builder.add(builder.shl(place, _constant(1)), builder.zext(decisions[-1], i32s))
                wide = splat(builder, builder.trunc(trees, i32), SIDE)
                lane = builder.add(splat(builder, builder.trunc(tree, i32), SIDE), ir.Constant(i32s, _ramp))
                reached = leaf_of(builder.add(builder.mul(place, wide), lane))
                builder.store(builder.add(builder.load(total), builder.sext(reached, i64s)), total)
            return builder.call(function(builder, ADD_ALL, i64, i64s), [builder.load(total)])

        rows = row_type(feature, types.int16, 2), row_type(threshold, types.float32, 2), row_type(leaf, types.int32, 2)
        return types.int64(*rows, row_type(features, types.float32)), generate

    return evaluate


_evaluate_4, _evaluate_5, _evaluate_6 = map(_evaluate, (4, 5, 6))


def evaluate_trees(feature: I16, threshold: F32, leaf: I32, features: F32) -> float:
    """Do what ``classify.evaluate_trees`` does."""
    nodes, trees = feature.shape
    if trees % SIDE == 0 and len(features) <= MOST_PERMUTED:
        if nodes == 63:
            return float(_evaluate_6(feature, threshold, leaf, features) / LEAF_UNIT)
        if nodes == 31:
            return float(_evaluate_5(feature, threshold, leaf, features) / LEAF_UNIT)
        if nodes == 15:
            return float(_evaluate_4(feature, threshold, leaf, features) / LEAF_UNIT)
    return float(scalar_evaluate_trees(feature, threshold, leaf, features))


BODIES: dict[Body, Body] = {}
if has(FEATURE):
    BODIES = {scalar_evaluate_trees: evaluate_trees}
