"""Matrices of integers on the tensor cores of a card: the layers of ``kernels.peaks.wave_network``.

A warp multiplies a tile of 32 rows and 16 columns by ``mma`` instructions (PTX ISA, warp-level matrix instructions):
values of 11 bits at most, which TF32 holds exactly, with sums in float32. ``model.waveform`` checks that both are
exact, so the frames are those of the bodies that these replace.

The order of the products in a sum is free, so thread ``k`` of four that share a row reads four values that are next to
each other, in one load: products ``4 k`` to ``4 k + 3`` of 16. The first two are in one instruction, the others in the
next one.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.cuda.extending import intrinsic

from beatwire.kernels.peaks import wave_network
from beatwire.kernels.peaks.wave_network import DEEP, LOOKS, TAPS, requantised, write_zeros
from beatwire.kernels.team import WIDTH, member, wait
from beatwire.records import F32, I64
from beatwire.records.waveform import WaveNetwork

ROWS, COLUMNS, PRODUCTS = 32, 16, 16  # of a tile, and of a step of its sums
ROW, TILE = types.UniTuple(types.float32, 4), types.UniTuple(types.float32, 8)
MULTIPLY = (
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
    "{$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$10, $11, $12, $13};"
)
ZEROS = (np.float32(0.0),) * 8


@intrinsic  # type: ignore[untyped-decorator]
def four_values(_: Any, array: Any, _index: Any) -> Any:
    """Return four values from an index of an array of float32 on; their address is a multiple of 16 bytes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from numba.cuda.np.arrayobj import make_array

        values = make_array(signature.args[0])(context, builder, arguments[0])
        pointer = builder.gep(values.data, [arguments[1]])
        four = builder.load(builder.bitcast(pointer, ir.VectorType(ir.FloatType(), 4).as_pointer()), align=16)
        return context.make_tuple(builder, ROW, [builder.extract_element(four, ir.IntType(32)(k)) for k in range(4)])

    return ROW(array, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def add_products(_: Any, _sums: Any, _rows: Any, _columns: Any) -> Any:
    """Return the sums of a thread in 16 rows and 16 columns with the products of 8 pairs.

    The sums and values are those of the threads' parts of the instruction. The last argument has two values of each of
    two groups of eight columns.
    """

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        number, word = ir.FloatType(), ir.IntType(32)
        result = ir.LiteralStructType([number] * 4)
        code = ir.FunctionType(result, [word] * 6 + [number] * 4)
        multiply = ir.InlineAsm(code, MULTIPLY, "=f,=f,=f,=f,r,r,r,r,r,r,f,f,f,f", side_effect=True)
        of_sums, of_rows, of_columns = (
            [builder.extract_value(argument, k) for k in range(argument.type.count)] for argument in arguments
        )
        words = [builder.bitcast(value, word) for value in of_rows + of_columns]
        added = []
        for k in range(2):
            of_group = words[4 + 2 * k : 6 + 2 * k]
            found = builder.call(multiply, words[:4] + of_group + of_sums[4 * k : 4 * k + 4])
            added += [builder.extract_value(found, j) for j in range(4)]
        return context.make_tuple(builder, TILE, added)

    return TILE(TILE, ROW, ROW), generate


def write_frames(
    x: F32, start: int, n: int, pitch: int, size: int, matrix: F32, factor: I64, offset: I64, most: int,
    old: F32, old_pitch: int, residual: int, out: F32,
) -> None:  # fmt: skip
    """Write frames ``[start, n)``, each of ``size`` values of ``x`` that begin ``pitch`` apart.

    To each sum ``residual`` times the value of ``old`` is added, of which frames begin ``old_pitch`` apart.
    """
    columns, lane = matrix.shape[1], member() & 31
    across, group, quarter = columns // COLUMNS, lane >> 2, lane & 3
    for tile in range(member() >> 5, (max(0, n - start) + ROWS - 1) // ROWS * across, WIDTH >> 5):
        row, column = start + tile // across * ROWS + group, tile % across * COLUMNS
        first = min(row, n - 1) * pitch + 4 * quarter
        second = min(row + 8, n - 1) * pitch + 4 * quarter
        third = min(row + 16, n - 1) * pitch + 4 * quarter
        fourth = min(row + 24, n - 1) * pitch + 4 * quarter
        upper = lower = ZEROS
        for k in range(0, size, PRODUCTS):
            a, b = four_values(x, first + k), four_values(x, second + k)
            c, d = four_values(x, third + k), four_values(x, fourth + k)
            weights = two_rows(matrix, k + 4 * quarter, column + group)
            upper = add_products(upper, (a[0], b[0], a[1], b[1]), weights)
            lower = add_products(lower, (c[0], d[0], c[1], d[1]), weights)
            weights = two_rows(matrix, k + 4 * quarter + 2, column + group)
            upper = add_products(upper, (a[2], b[2], a[3], b[3]), weights)
            lower = add_products(lower, (c[2], d[2], c[3], d[3]), weights)
        h = column + 2 * quarter
        write_sums(upper[:4], row, h, n, columns, factor, offset, most, old, old_pitch, residual, out)
        write_sums(upper[4:], row, h + 8, n, columns, factor, offset, most, old, old_pitch, residual, out)
        write_sums(lower[:4], row + 16, h, n, columns, factor, offset, most, old, old_pitch, residual, out)
        write_sums(lower[4:], row + 16, h + 8, n, columns, factor, offset, most, old, old_pitch, residual, out)
    wait()


def write_sums(
    sums: Any, row: int, h: int, n: int, columns: int, factor: I64, offset: I64,
    most: int, old: F32, old_pitch: int, residual: int, out: F32,
) -> None:  # fmt: skip
    """Write the values of columns ``h`` and ``h + 1`` in ``row`` and the eighth after it, if they are below ``n``."""
    left, right = int(offset[h]), int(offset[h + 1])
    if row < n:
        j = row * old_pitch + h
        first, second = left + residual * int(old[j]), right + residual * int(old[j + 1])
        out[row * columns + h] = requantised(int(sums[0]), int(factor[h]), first, most)
        out[row * columns + h + 1] = requantised(int(sums[1]), int(factor[h + 1]), second, most)
    if row + 8 < n:
        j = (row + 8) * old_pitch + h
        first, second = left + residual * int(old[j]), right + residual * int(old[j + 1])
        out[(row + 8) * columns + h] = requantised(int(sums[2]), int(factor[h]), first, most)
        out[(row + 8) * columns + h + 1] = requantised(int(sums[3]), int(factor[h + 1]), second, most)


def two_rows(matrix: F32, j: int, column: int) -> Any:
    """Return the values of rows ``j`` and ``j + 1`` in two columns that are eight apart."""
    return matrix[j, column], matrix[j + 1, column], matrix[j, column + 8], matrix[j + 1, column + 8]


def halve(x: F32, inputs: int, n: int, begin: int, layer: int, matrix: F32, network: WaveNetwork, _work: F32,
          out: F32) -> None:  # fmt: skip
    """Do what ``wave_network.halve`` does."""
    start = write_zeros(min(begin, n), matrix.shape[1], out)
    factor, offset, most = network.factor[layer], network.offset[layer], int(network.most[layer])
    write_frames(x, start, n, 2 * inputs, TAPS * inputs, matrix, factor, offset, most, x, 0, 0, out)


def look_back(x: F32, n: int, begin: int, deep: int, network: WaveNetwork, work: F32, out: F32) -> None:
    """Do what ``wave_network.look_back`` does."""
    size, wide, narrow = network.narrow.shape[2], DEEP + 2 * deep, DEEP + 2 * deep + 1
    start, hidden = write_zeros(min(begin, n), size, out), work.reshape(work.size)
    factor, offset, most = network.factor[wide], network.offset[wide], int(network.most[wide])
    write_frames(x, start, n, 2 * size, LOOKS * size, network.wide[deep], factor, offset, most, x, 0, 0, hidden)
    factor, offset, most = network.factor[narrow], network.offset[narrow], int(network.most[narrow])
    newest, residual = x[(LOOKS - 1) * size :], int(network.residual[deep])
    write_frames(
        hidden, start, n, size, size, network.narrow[deep], factor, offset, most, newest, 2 * size, residual, out
    )


BODIES: dict[Callable[..., Any], Callable[..., Any]] = {wave_network.halve: halve, wave_network.look_back: look_back}
