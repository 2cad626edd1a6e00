"""Body of the network that scores: four windows at a time, so that each weight is read once for them.

In:    windows float32 [n, 256] and their scale
Out:   latents float32 [n, 8] and the logarithm of the reconstruction error, float32 [n]
State: none

``Layers`` holds the matrices, with a row for each input. The reconstruction of a window is never computed: its distance
from the window follows from products of the window and the output weights.
"""

import math

from numpy import float32

from beatwire.records import F32
from beatwire.records.scoring import Layers

WINDOWS_AT_ONCE = 4
COLUMNS_AT_ONCE = 16  # matrices are padded with columns of zeros to a multiple of it
PRODUCTS, HIDDEN, OUT = range(3)  # rows of the scratch
SCRATCH_ROWS = 3


def multiply(x: F32, n: int, matrix: F32, out: F32) -> None:
    """Write ``x[:, :n] @ matrix`` to ``out``, of four rows and a multiple of ``COLUMNS_AT_ONCE`` columns."""
    for k in range(WINDOWS_AT_ONCE):
        for column in range(matrix.shape[1]):
            total = float32(0.0)
            for j in range(n):
                total += x[k, j] * matrix[j, column]
            out[k, column] = total


def inner_product(x: F32, y: F32, n: int) -> float:
    """Return the inner product of ``x[:n]`` and ``y[:n]``."""
    total = float32(0.0)
    for j in range(n):
        total += x[j] * y[j]
    return total  # type: ignore[return-value]


def embed_windows(
    i: int, windows: F32, scale: F32, layers: Layers, work: F32, latents: F32, reconstruction_error: F32
) -> None:
    """Write the latents and the log reconstruction error of windows ``4 i`` to ``4 i + 3`` times their scale.

    Parameters
    ----------
    windows, scale : float32 [n, points], [n]
        A scale of NaN gives NaN.
    work : float32 [SCRATCH_ROWS, 4, points, or columns of ``layers.first`` if these are more]
        Scratch.
    latents, reconstruction_error : float32 [n, 8], [n], written
    """
    last = scale.shape[0] - 1
    size, codes = layers.encode_bias.shape[0], layers.latent_bias.shape[0]
    products, hidden, out = work[PRODUCTS], work[HIDDEN], work[OUT]
    start = WINDOWS_AT_ONCE * i
    if start + WINDOWS_AT_ONCE - 1 <= last:
        multiply(windows[start:], windows.shape[1], layers.first, products)
    else:
        for k in range(WINDOWS_AT_ONCE):
            for j in range(windows.shape[1]):
                hidden[k, j] = windows[min(start + k, last), j]
        multiply(hidden, windows.shape[1], layers.first, products)
    for k in range(WINDOWS_AT_ONCE):
        factor = scale[min(start + k, last)]
        for h in range(2 * size):
            products[k, h] *= factor
        for h in range(size):
            value = products[k, h] + layers.encode_bias[h]
            hidden[k, h] = float32(0.0) if value < 0.0 else value
    multiply(hidden, size, layers.latent, out)
    for k in range(WINDOWS_AT_ONCE):
        for h in range(codes):
            out[k, h] += layers.latent_bias[h]
            latents[min(start + k, last), h] = out[k, h]
        reconstruction_error[min(start + k, last)] = float32(0.5) * inner_product(out[k], out[k], codes)
    multiply(out, codes, layers.decode, hidden)
    for k in range(WINDOWS_AT_ONCE):
        for h in range(size):
            value = hidden[k, h] + layers.decode_bias[h]
            hidden[k, h] = float32(0.0) if value < 0.0 else value
    multiply(hidden, size, layers.gram, out)
    for k in range(min(WINDOWS_AT_ONCE, last + 1 - start)):
        row = start + k
        for h in range(size):
            out[k, h] += layers.crossed[h] - products[k, size + h]
        x, factor = windows[row], scale[row]
        of_window = factor * factor * inner_product(x, x, len(x)) - factor * inner_product(x, layers.bias, len(x))
        squares = inner_product(hidden[k], out[k], size) + of_window + layers.constants[0]
        if squares < 0.0:
            squares = float32(0.0)
        reconstruction_error[row] = math.log(squares * layers.constants[1] + reconstruction_error[row])
