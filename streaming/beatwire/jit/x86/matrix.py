"""Four rows times a matrix, for ``vae``: vectors of columns, multiplied and added in one instruction."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from beatwire.jit.x86.llvm import f32, function, has, i64, row_type, splat
from beatwire.kernels.scores import vae
from beatwire.records import F32


@intrinsic  # type: ignore[untyped-decorator]
def _multiply(_: Any, x: Any, n: Any, matrix: Any, out: Any) -> Any:
    """Multiply four rows by a matrix, by vectors of columns."""
    floats = ir.VectorType(f32, vae.COLUMNS_AT_ONCE)
    vectors_at_once = 4 if has("avx512f") else 1  # 16 sums fit into the 32 registers of AVX-512, not into 16 of AVX2

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        arrays = [make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 2, 3)]
        pitches = [builder.extract_value(array.shape, 1) for array in arrays]
        columns = pitches[1]
        add = function(builder, f"llvm.fmuladd.v{vae.COLUMNS_AT_ONCE}f32", floats, floats, floats, floats)

        def pointer_to(k: int, row: Any, column: Any) -> Any:
            pointer = builder.gep(arrays[k].data, [builder.add(builder.mul(row, pitches[k]), column)])
            return pointer if k == 0 else builder.bitcast(pointer, floats.as_pointer())

        def block(first: Any, vectors: int) -> None:
            before, body = builder.block, builder.append_basic_block("products")
            after = builder.append_basic_block("multiplied")
            builder.branch(body)
            builder.position_at_end(body)
            j = builder.phi(i64)
            j.add_incoming(i64(0), before)
            sums = [[builder.phi(floats) for _ in range(vectors)] for _ in range(vae.WINDOWS_AT_ONCE)]
            starts = [builder.add(first, i64(v * vae.COLUMNS_AT_ONCE)) for v in range(vectors)]
            weights = [builder.load(pointer_to(1, j, start), align=4) for start in starts]
            added = []
            for k, totals in enumerate(sums):
                value = splat(builder, builder.load(pointer_to(0, i64(k), j)), vae.COLUMNS_AT_ONCE)
                added.append([builder.call(add, [w, value, total]) for w, total in zip(weights, totals, strict=True)])
                for total, next_total in zip(totals, added[-1], strict=True):
                    total.add_incoming(ir.Constant(floats, None), before)
                    total.add_incoming(next_total, body)
            following = builder.add(j, i64(1))
            j.add_incoming(following, body)
            builder.cbranch(builder.icmp_signed("<", following, arguments[1]), body, after)
            builder.position_at_end(after)
            for k, row_sums in enumerate(added):
                for start, total in zip(starts, row_sums, strict=True):
                    builder.store(total, pointer_to(2, i64(k), start), align=4)

        size = i64(vectors_at_once * vae.COLUMNS_AT_ONCE)
        full = builder.mul(builder.sdiv(columns, size), size)
        for start, stop, vectors in ((i64(0), full, vectors_at_once), (full, columns, 1)):
            with cgutils.for_range_slice(builder, start, stop, i64(vectors * vae.COLUMNS_AT_ONCE)) as (column, _):
                block(column, vectors)
        return context.get_dummy_value()

    rows = [row_type(kind, types.float32, 2) for kind in (x, matrix, out)]
    return types.void(rows[0], n, rows[1], rows[2]), generate


def multiply(x: F32, n: int, matrix: F32, out: F32) -> None:
    """Do what ``vae.multiply`` does."""
    _multiply(x, n, matrix, out)
