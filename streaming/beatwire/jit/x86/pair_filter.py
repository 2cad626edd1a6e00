"""The filter of ``ricker`` by pairs of taps: four times as fast as the scalar body, equal to the bit.

AVX2 multiplies 16-bit integers in pairs and adds the two products, in one instruction (``vpmaddwd``); AVX-512 does so
for twice as many, and with VNNI adds them to a sum, too. No compiler finds it in the loop of ``ricker.filter_block``.

A vector of samples is loaded once for two vectors of sums: those of the samples with even numbers, and with the taps
one place on those of the samples behind them.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from beatwire.jit.x86.llvm import LANES, element, function, has, i16, i32, i64, load_vector, row_type, splat
from beatwire.kernels.detection.ricker import filter_block as scalar_filter_block
from beatwire.records import I32

FEATURE, WIDE_FEATURE = "avx2", "avx512bw"  # of a CPU that has the instruction, by LLVM's names
MULTIPLY_PAIRS = {  # by lanes
    4: "llvm.x86.sse2.pmadd.wd", 8: "llvm.x86.avx2.pmadd.wd", 16: "llvm.x86.avx512.pmaddw.d.512",
}  # fmt: skip
# Ways to filter: lanes of a vector, and vectors of samples at a time, each of which has two of sums. Independent chains
# hide the latency of the additions. A way takes at least as many samples as it has sums.
SHORT, MIDDLE, NARROW, WIDE = (LANES // 2, 1), (LANES, 1), (LANES, 3), (2 * LANES, 3)
MOST_TAPS = 512  # from the centre outwards: 2 kB of the stack
AT_ONCE = 2048  # samples: with what overlaps 6 kB of the stack
LEAST = 16  # samples that are narrowed at once


def _all_taps(builder: Any, taps: Any, count: Any) -> Any:
    """Write the whole symmetric kernel, a zero on each side, from its ``count`` taps from the centre outwards."""
    kernel = cgutils.alloca_once(builder, i16, size=2 * MOST_TAPS + 1)
    half = builder.sub(count, i64(1))
    builder.store(i16(0), kernel)
    builder.store(i16(0), element(builder, kernel, builder.shl(count, i64(1))))
    with cgutils.for_range(builder, count) as loop:
        tap = builder.trunc(builder.load(element(builder, taps, loop.index)), i16)
        for away in (loop.index, builder.neg(loop.index)):
            builder.store(tap, element(builder, kernel, builder.add(builder.add(half, i64(1)), away)))
    return element(builder, kernel, i64(1))


def _narrowed(builder: Any, x: Any, n: Any, out: Any) -> None:
    """Write ``x[:n]`` as int16; ``n`` is at least ``LEAST``."""
    last = builder.sub(n, i64(LEAST))
    with cgutils.for_range_slice(builder, i64(0), n, i64(LEAST)) as (j, _):
        at = builder.select(builder.icmp_signed("<", j, last), j, last)
        samples = builder.trunc(load_vector(builder, x, at, ir.VectorType(i32, LEAST)), ir.VectorType(i16, LEAST))
        builder.store(samples, builder.bitcast(element(builder, out, at), samples.type.as_pointer()), align=2)


def _add_products(builder: Any, x: Any, kernel: Any, count: Any, out: Any, at: Any, lanes: int, vectors: int) -> None:
    """Write sums over ``count`` pairs to ``out``, beginning at ``out[at]``: two vectors for each of samples."""
    words, halves = ir.VectorType(i32, lanes), ir.VectorType(i16, 2 * lanes)
    multiply = function(builder, MULTIPLY_PAIRS[lanes], words, halves, halves)
    before, body, after = builder.block, builder.append_basic_block("pairs"), builder.append_basic_block("summed")
    builder.branch(body)
    builder.position_at_end(body)
    k = builder.phi(i64)
    k.add_incoming(i64(0), before)
    sums = [[builder.phi(words) for _ in range(2)] for _ in range(vectors)]
    first = builder.shl(k, i64(1))
    taps = []
    for place in (first, builder.sub(first, i64(1))):
        pair = builder.load(builder.bitcast(element(builder, kernel, place), i32.as_pointer()), align=2)
        taps.append(builder.bitcast(splat(builder, pair, lanes), halves))
    base, added = builder.add(at, first), []
    for number, totals in enumerate(sums):
        place = element(builder, x, builder.add(base, i64(2 * number * lanes)))
        samples = builder.load(builder.bitcast(place, halves.as_pointer()), align=2)
        added.append([
            builder.add(total, builder.call(multiply, [samples, of])) for total, of in zip(totals, taps, strict=True)
        ])  # fmt: skip
        for total, next_total in zip(totals, added[-1], strict=True):
            total.add_incoming(ir.Constant(words, None), before)
            total.add_incoming(next_total, body)
    following = builder.add(k, i64(1))
    k.add_incoming(following, body)
    builder.cbranch(builder.icmp_signed("<", following, count), body, after)
    builder.position_at_end(after)
    in_turn = ir.Constant(ir.VectorType(i32, 2 * lanes), [j // 2 + j % 2 * lanes for j in range(2 * lanes)])
    for number, (even, odd) in enumerate(added):
        both = builder.shuffle_vector(even, odd, in_turn)
        place = element(builder, out, builder.add(at, i64(2 * number * lanes)))
        builder.store(both, builder.bitcast(place, both.type.as_pointer()), align=4)


@intrinsic  # type: ignore[untyped-decorator]
def _filter_pairs(_: Any, x: Any, n: Any, taps: Any, out: Any) -> Any:
    """Filter at least ``LANES`` samples; with the taps on both sides at least ``LEAST``.

    The last vectors overlap those before them: they end with ``out[n - 1]``.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        arrays = [make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 2, 3)]
        samples, tap_values, results = (array.data for array in arrays)
        count, whole = builder.extract_value(arrays[1].shape, 0), arguments[1]
        kernel, around = _all_taps(builder, tap_values, count), builder.shl(builder.sub(count, i64(1)), i64(1))
        stretch = cgutils.alloca_once(builder, i16, size=AT_ONCE + 2 * MOST_TAPS)

        def filter_by(ways: tuple[tuple[int, int], ...], n: Any, out: Any) -> None:
            """Filter by the last of the ways that ``n`` is long enough for."""
            lanes, vectors = ways[-1]
            size = i64(2 * lanes * vectors)
            if len(ways) > 1:
                with builder.if_else(builder.icmp_signed(">=", n, size)) as (long, short):
                    with long:
                        filter_by(ways[-1:], n, out)
                    with short:
                        filter_by(ways[:-1], n, out)
                return
            last = builder.sub(n, size)
            with cgutils.for_range_slice(builder, i64(0), n, size) as (j, _):
                at = builder.select(builder.icmp_signed("<", j, last), j, last)
                _add_products(builder, stretch, kernel, count, out, at, lanes, vectors)

        most = i64(AT_ONCE)
        with cgutils.for_range_slice(builder, i64(0), whole, most) as (j, _):
            last = builder.sub(whole, most)
            late = builder.select(builder.icmp_signed("<", j, last), j, last)
            at = builder.select(builder.icmp_signed("<", late, i64(0)), i64(0), late)
            n = builder.select(builder.icmp_signed("<", whole, most), whole, most)
            _narrowed(builder, element(builder, samples, at), builder.add(n, around), stretch)
            ways = (SHORT, MIDDLE, NARROW, WIDE) if has(WIDE_FEATURE) else (SHORT, MIDDLE, NARROW)
            filter_by(ways, n, element(builder, results, at))
        return context.get_dummy_value()

    return types.void(row_type(x), n, row_type(taps), row_type(out)), generate


def filter_block(x: I32, n: int, taps: I32, out: I32) -> None:
    """Do what ``ricker.filter_block`` does."""
    if n < LANES or n + 2 * len(taps) < LEAST + 2 or len(taps) > MOST_TAPS:
        scalar_filter_block(x, n, taps, out)
    else:
        _filter_pairs(x, n, taps, out)
