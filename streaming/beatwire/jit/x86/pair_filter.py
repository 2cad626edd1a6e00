"""The filter of ``ricker`` by pairs of taps: more than twice as fast as the scalar body, equal to the bit.

AVX2 multiplies 16-bit integers in pairs and adds the two products, in one instruction (``vpmaddwd``); AVX-512 does so
for twice as many. No compiler finds it in the loop of ``ricker.filter_block``.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from beatwire.jit.x86.llvm import LANES, element, has, i16, i32, i64, load_vector, row_type, splat, store_vector
from beatwire.kernels.detection.ricker import filter_block as scalar_filter_block
from beatwire.records import I32

FEATURE, WIDE_FEATURE = "avx2", "avx512bw"  # of a CPU that has the instruction, by LLVM's names
MULTIPLY_PAIRS = {8: "llvm.x86.avx2.pmadd.wd", 16: "llvm.x86.avx512.pmaddw.d.512"}  # by lanes
# Ways to filter: lanes of a vector, and vectors of sums at a time. Four independent chains hide the latency of the
# additions. A way takes at least as many samples as it has lanes.
SHORT, NARROW, WIDE_SHORT, WIDE = (LANES, 1), (LANES, 4), (2 * LANES, 2), (2 * LANES, 4)
MOST_TAPS = 512  # from the centre outwards: 2 kB of the stack


def _pair_taps(builder: Any, taps: Any, count: Any) -> Any:
    """Write the whole symmetric kernel, two taps a word, from its ``count`` taps from the centre outwards."""
    pairs = cgutils.alloca_once(builder, i32, size=MOST_TAPS)
    half = builder.sub(count, i64(1))
    with cgutils.for_range(builder, count) as loop:
        early = builder.sub(builder.shl(loop.index, i64(1)), half)
        late = builder.add(early, i64(1))
        inside = builder.icmp_signed("<=", late, half)
        words = []
        for offset in (early, builder.select(inside, late, i64(0))):
            distance = builder.select(builder.icmp_signed("<", offset, i64(0)), builder.neg(offset), offset)
            words.append(builder.load(element(builder, taps, distance)))
        high = builder.shl(builder.select(inside, words[1], i32(0)), i32(16))
        pair = builder.or_(builder.and_(words[0], i32(0xFFFF)), high)
        builder.store(pair, element(builder, pairs, loop.index))
    return pairs


def _add_products(builder: Any, x: Any, pairs: Any, count: Any, out: Any, at: Any, lanes: int, vectors: int) -> None:
    """Write ``vectors`` vectors of sums over ``count`` pairs to ``out``, beginning at ``out[at]``."""
    words, halves = ir.VectorType(i32, lanes), ir.VectorType(i16, 2 * lanes)
    multiply = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(words, [halves, halves]), MULTIPLY_PAIRS[lanes]
    )
    before, body, after = builder.block, builder.append_basic_block("pairs"), builder.append_basic_block("summed")
    builder.branch(body)
    builder.position_at_end(body)
    k = builder.phi(i64)
    k.add_incoming(i64(0), before)
    sums = [builder.phi(words) for _ in range(vectors)]
    taps = builder.bitcast(splat(builder, builder.load(element(builder, pairs, k)), lanes), halves)
    base = builder.add(at, builder.shl(k, i64(1)))
    added = []
    for number, total in enumerate(sums):
        samples = builder.bitcast(load_vector(builder, x, builder.add(base, i64(number * lanes)), words), halves)
        added.append(builder.add(total, builder.call(multiply, [samples, taps])))
        total.add_incoming(ir.Constant(words, None), before)
        total.add_incoming(added[-1], body)
    following = builder.add(k, i64(1))
    k.add_incoming(following, body)
    builder.cbranch(builder.icmp_signed("<", following, count), body, after)
    builder.position_at_end(after)
    for number, total in enumerate(added):
        store_vector(builder, total, out, builder.add(at, i64(number * lanes)))


@intrinsic  # type: ignore[untyped-decorator]
def _filter_pairs(_: Any, x: Any, n: Any, taps: Any, out: Any) -> Any:
    """Filter pairs of samples: ``out[j]`` from ``x[j], x[j + 2], ...``; ``n`` is at least ``LANES``.

    The last vectors overlap those before them: they end with ``out[n - 1]``.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        arrays = [make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 2, 3)]
        samples, tap_values, results = (array.data for array in arrays)
        count, n = builder.extract_value(arrays[1].shape, 0), arguments[1]
        pairs = _pair_taps(builder, tap_values, count)

        def filter_by(ways: tuple[tuple[int, int], ...]) -> None:
            """Filter by the last of the ways that ``n`` is long enough for."""
            if len(ways) > 1:
                size = ways[-1][0] * ways[-1][1]
                with builder.if_else(builder.icmp_signed(">=", n, i64(size))) as (long, short):
                    with long:
                        filter_by(ways[-1:])
                    with short:
                        filter_by(ways[:-1])
                return
            lanes, vectors = ways[0]
            size = i64(lanes * vectors)
            last = builder.sub(n, size)
            with cgutils.for_range_slice(builder, i64(0), n, size) as (j, _):
                at = builder.select(builder.icmp_signed("<", j, last), j, last)
                _add_products(builder, samples, pairs, count, results, at, lanes, vectors)

        filter_by((SHORT, WIDE_SHORT, WIDE) if has(WIDE_FEATURE) else (SHORT, NARROW))
        return context.get_dummy_value()

    return types.void(row_type(x), n, row_type(taps), row_type(out)), generate


def filter_block(x: I32, n: int, taps: I32, out: I32) -> None:
    """Do what ``ricker.filter_block`` does. It overwrites ``x``: each word becomes a sample and the next one."""
    if n < LANES or len(taps) > MOST_TAPS:
        scalar_filter_block(x, n, taps, out)
    else:
        for j in range(n + 2 * (len(taps) - 1)):
            x[j] = (x[j] & 0xFFFF) | (x[j + 1] << 16)
        _filter_pairs(x, n, taps, out)
